/**
 * One worker seen from the host: it is started, watched and killed here, and every frame that it sends is checked
 * against what was assigned to it.
 */
import { fileURLToPath } from "node:url";
import { HostError } from "../permissions/mod.ts";
import { type ConfinedProcess, type ConfinementPlan, type ProcessExit, startConfined } from "./confine.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import { type CreateOrder, FROM_WORKER, type GoneReason, TO_WORKER, type WorkerFacts } from "./protocol.ts";
import { encodeFrame, type Frame, FrameDecoder, splitParts, textOf } from "./wire.ts";

/** Why a worker ended, as far as the host can tell. */
export interface WorkerEnd {
  /** Why the host killed it; null when it ended by itself or by somebody else's hand. */
  readonly killedFor: "memory" | "silence" | "breach" | "stuck" | "closing" | null;
  /** How the process ended. */
  readonly exit: ProcessExit;
  /** Calls that were under way in it. */
  readonly callsInFlight: number;
  /** The end of what it wrote to stderr, for the operator. */
  readonly stderr: string;
}

/** What an isolate's owner is told. Texts are the guest's word. */
export interface IsolateEvents {
  /** Calls under way in this isolate. */
  callsInFlight(): number;
  /** It was made. */
  onCreated(): void;
  /** The answer to a load or call. */
  onResult(call: number, text: string): void;
  /** A request for an operation. */
  onOp(op: number, call: number, text: string): void;
  /** A console line behind the character of its level. */
  onLog(call: number, text: string): void;
  /** A bound was reached. */
  onBreach(call: number, what: string): void;
  /** Something went wrong outside any answer. */
  onFault(call: number, text: string): void;
  /** No code of its guest runs until the next call. */
  onIdle(): void;
  /** It is no more. */
  onGone(reason: GoneReason, message: string): void;
  /** Its process is no more. */
  onWorkerLost(end: WorkerEnd): void;
}

/** What is needed to start a worker. */
export interface WorkerOptions {
  /** How it is confined. */
  readonly plan: ConfinementPlan;
  /** Text of the guest platform. */
  readonly platform: string;
  /** Absolute path of the engine's binary. */
  readonly engine: string;
}

const SOURCE = import.meta.url.endsWith(".ts");
/** The files that a worker may read while it starts; nothing here belongs to anybody but Sallyport. */
const WORKER_FILES = SOURCE
  ? [
    "./worker/serve.ts",
    "./worker/isolate.ts",
    "./worker/timers.ts",
    "./worker/confine_self.ts",
    "./wire.ts",
    "./protocol.ts",
    "./limits.ts",
    "../package.json",
  ]
  : ["../../package.json"];
/** Without the first, an ordinary allocating loop defeats time-outs, memory limits and dispose on Node 24 and 26. */
const ENGINE_FLAGS = ["--no-turboshaft-loop-unrolling", "--no-node-snapshot"];

/** A started worker. */
export class WorkerProcess {
  readonly #process: ConfinedProcess;
  readonly #isolates = new Map<number, { readonly events: IsolateEvents; readonly memoryMb: number }>();
  readonly #baseBytes: number;
  #nextIsolate = 1;
  #killedFor: WorkerEnd["killedFor"] = null;
  /** Looks at the worker since it last answered; looks and not time, because a host that was held up did not listen. */
  #looksInSilence = 0;
  #watch: NodeJS.Timeout | undefined;
  #retained = 0;
  #isHeld = false;
  #end: WorkerEnd | null = null;
  #isTainted = false;
  /** Isolates that were told to go and have not said that they are gone. */
  readonly #disposing = new Set<number>();
  #onSettled: (() => void)[] = [];

  private constructor(started: ConfinedProcess, baseBytes: number) {
    this.#process = started;
    this.#baseBytes = baseBytes;
  }

  /**
   * Starts a worker and waits until it is confined and has the platform. Throws HostError `ERR_WORKER_LOST` when it
   * does not say so in time, or says that it kept authority.
   */
  static async start(options: WorkerOptions): Promise<WorkerProcess> {
    const started = await startConfined({
      plan: options.plan,
      entry: fileOf(`./worker/main${SOURCE ? ".ts" : ".js"}`),
      readable: WORKER_FILES.map(fileOf),
      addon: options.engine,
      nodeFlags: ENGINE_FLAGS,
      args: [{ file: options.engine }],
    });
    const decoder = new FrameDecoder(RUNTIME_LIMITS.frameBytesMax);
    const facts = await firstWord(started, decoder, options.platform);
    if (facts.addon || facts.fsRead) {
      started.kill();
      throw new HostError("ERR_WORKER_LOST", "Cannot use the worker: it kept authority that it must give up");
    }
    const worker = new WorkerProcess(started, started.rssBytes() ?? 0);
    started.pipe.on("data", (chunk: Buffer) => worker.#onData(decoder, chunk));
    void started.exited.then((exit) => worker.#onExit(exit));
    started.hold(false);
    return worker;
  }

  /** Process id, for logs and tests. */
  get pid(): number {
    return this.#process.pid;
  }

  /** How it is confined. */
  get confinement(): string {
    return this.#process.confinement;
  }

  /**
   * Settles when every isolate that was told to go is gone, or the worker is: one that does not follow takes the worker
   * with it, and whoever was let in meanwhile.
   */
  async settled(): Promise<void> {
    if (this.#disposing.size === 0) return;
    this.retain();
    await new Promise<void>((resolve) => this.#onSettled.push(resolve));
    this.release();
  }

  /** Whether new isolates may be made in it. */
  get isUsable(): boolean {
    return this.#end === null && !this.#isTainted && this.#killedFor === null;
  }

  /** Settles when the process is gone. */
  get exited(): Promise<ProcessExit> {
    return this.#process.exited;
  }

  /** Assigns a new isolate to its owner and orders it. */
  createIsolate(order: CreateOrder, events: IsolateEvents): number {
    const id = this.#nextIsolate++;
    if (this.#end !== null) {
      const end = this.#end;
      queueMicrotask(() => events.onWorkerLost(end));
      return id;
    }
    this.#isolates.set(id, { events, memoryMb: order.memoryMb });
    this.send(TO_WORKER.create, id, 0, JSON.stringify(order));
    return id;
  }

  /** Hands an isolate to another owner, as when a blank one is taken. */
  assign(isolate: number, events: IsolateEvents): void {
    const entry = this.#isolates.get(isolate);
    if (entry !== undefined) this.#isolates.set(isolate, { ...entry, events });
  }

  /** Disposes an isolate; a worker that does not follow within its bound is killed. */
  disposeIsolate(isolate: number): void {
    if (!this.#isolates.has(isolate) || this.#end !== null) return;
    this.send(TO_WORKER.dispose, isolate, 0, "");
    this.#disposing.add(isolate);
    const timer = setTimeout(() => {
      if (this.#isolates.has(isolate)) this.kill("stuck");
    }, RUNTIME_LIMITS.disposeMs);
    timer.unref();
  }

  /** Sends one frame; a worker that does not read is killed before its queue becomes the host's problem. */
  send(type: number, isolate: number, id: number, payload: Uint8Array | string): void {
    if (this.#end !== null) return;
    this.#process.pipe.write(encodeFrame(type, isolate, id, payload));
    if (this.#process.pipe.writableLength > RUNTIME_LIMITS.queuedBytesPerWorkerMax) this.kill("breach");
  }

  /** Keeps the process awaited and watched while work other than a call is under way; undone by `release`. */
  retain(): void {
    this.#retained += 1;
    this.onLoadChange();
  }

  /** Undoes one `retain`. */
  release(): void {
    this.#retained -= 1;
    this.onLoadChange();
  }

  /** Tells the worker that a call began or ended, so that it is watched, and awaited, only while it works. */
  onLoadChange(): void {
    if (this.#end !== null) return;
    const isBusy = this.#callsInFlight() + this.#retained > 0;
    if (isBusy !== this.#isHeld) {
      this.#isHeld = isBusy;
      this.#process.hold(isBusy);
    }
    if (isBusy && this.#watch === undefined) this.#startWatch();
    if (!isBusy) {
      clearInterval(this.#watch);
      this.#watch = undefined;
      if (this.#isTainted) this.kill("stuck");
    }
  }

  /** Kills the process at once. */
  kill(why: Exclude<WorkerEnd["killedFor"], null>): void {
    if (this.#end !== null) return;
    this.#killedFor ??= why;
    this.#process.kill();
  }

  /** Ends the process and waits until it is gone. */
  async close(): Promise<void> {
    this.#process.hold(true);
    this.kill("closing");
    await this.#process.exited;
  }

  #settle(): void {
    for (const resolve of this.#onSettled) resolve();
    this.#onSettled = [];
  }

  #callsInFlight(): number {
    let count = 0;
    for (const { events } of this.#isolates.values()) count += events.callsInFlight();
    return count;
  }

  #startWatch(): void {
    this.#looksInSilence = 0;
    let nextPing = 0;
    this.#watch = setInterval(() => {
      const now = performance.now();
      const silenceMs = ++this.#looksInSilence * RUNTIME_LIMITS.residentPollMs;
      if (silenceMs > RUNTIME_LIMITS.pongMsMax) return this.kill("silence");
      if (now >= nextPing) {
        nextPing = now + RUNTIME_LIMITS.pingMs;
        this.send(TO_WORKER.ping, 0, 0, "");
      }
      if ((this.#process.rssBytes() ?? 0) > this.#residentBytesMax()) this.kill("memory");
    }, RUNTIME_LIMITS.residentPollMs);
  }

  #residentBytesMax(): number {
    let megabytes = RUNTIME_LIMITS.residentSlackMb;
    for (const { memoryMb } of this.#isolates.values()) megabytes += memoryMb;
    return this.#baseBytes + megabytes * 1_048_576;
  }

  #onData(decoder: FrameDecoder, chunk: Buffer): void {
    if (this.#killedFor !== null) return; // what a condemned worker still says counts for nothing
    try {
      for (const frame of decoder.push(chunk)) if (this.#killedFor === null) this.#onFrame(frame);
    } catch {
      // A worker that runs our code sends no such frame, so this one no longer does.
      this.kill("breach");
    }
  }

  #onFrame(frame: Frame): void {
    if (frame.type === FROM_WORKER.pong) {
      this.#looksInSilence = 0;
      return;
    }
    const isolate = this.#isolates.get(frame.isolate);
    if (isolate === undefined) {
      // Words of an isolate that was just disposed may still be under way; one that never was is a lie.
      if (frame.isolate === 0 || frame.isolate >= this.#nextIsolate) this.kill("breach");
      return;
    }
    if (frame.type === FROM_WORKER.gone) return this.#onGone(frame, isolate.events);
    const handle = FRAME_HANDLERS[frame.type];
    if (handle === undefined) this.kill("breach");
    else handle(isolate.events, frame);
  }

  #onGone(frame: Frame, events: IsolateEvents): void {
    const { reason, message } = JSON.parse(textOf(frame)) as { reason: GoneReason; message: string };
    this.#isolates.delete(frame.isolate);
    this.#disposing.delete(frame.isolate);
    if (this.#disposing.size === 0) this.#settle();
    // After a catastrophic error the engine has parked a thread for good: the process is not worth keeping.
    if (reason === "catastrophic") this.#isTainted = true;
    events.onGone(reason, String(message));
    this.onLoadChange();
  }

  #onExit(exit: ProcessExit): void {
    clearInterval(this.#watch);
    const end: WorkerEnd = {
      killedFor: this.#killedFor,
      exit,
      callsInFlight: this.#callsInFlight(),
      stderr: this.#process.stderrTail(),
    };
    this.#end = end;
    const all = [...this.#isolates.values()];
    this.#isolates.clear();
    for (const { events } of all) events.onWorkerLost(end);
    this.#process.pipe.destroy();
    this.#disposing.clear();
    this.#settle();
  }
}

const FRAME_HANDLERS: Readonly<Record<number, (events: IsolateEvents, frame: Frame) => void>> = {
  [FROM_WORKER.created]: (events) => events.onCreated(),
  [FROM_WORKER.result]: (events, frame) => events.onResult(frame.id, textOf(frame)),
  [FROM_WORKER.op]: (events, frame) => {
    const { header, body } = splitParts(frame.payload);
    events.onOp(frame.id, Number((header as { call?: unknown }).call), body.toString("utf8"));
  },
  [FROM_WORKER.log]: (events, frame) => events.onLog(frame.id, textOf(frame)),
  [FROM_WORKER.breach]: (events, frame) => events.onBreach(frame.id, textOf(frame)),
  [FROM_WORKER.fault]: (events, frame) => events.onFault(frame.id, textOf(frame)),
  [FROM_WORKER.idle]: (events) => events.onIdle(),
};

function fileOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

async function firstWord(
  started: ConfinedProcess,
  decoder: FrameDecoder,
  platform: string,
): Promise<WorkerFacts> {
  started.pipe.write(encodeFrame(TO_WORKER.boot, 0, 0, platform));
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<WorkerFacts>((resolve, reject) => {
      const fail = (why: string): void =>
        reject(
          new HostError("ERR_WORKER_LOST", `Cannot start a worker: ${why}`, {
            details: { confinement: started.confinement, stderr: started.stderrTail() },
          }),
        );
      timer = setTimeout(() => fail("it did not become ready in time"), RUNTIME_LIMITS.workerStartMs);
      void started.exited.then(({ code, signal }) =>
        fail(`it ended with ${signal ?? code} while it started`)
      );
      started.pipe.once("data", (chunk: Buffer) => {
        try {
          const [frame] = decoder.push(chunk);
          if (frame?.type !== FROM_WORKER.ready) throw new RangeError("the first frame is not its readiness");
          resolve(JSON.parse(textOf(frame)) as WorkerFacts);
        } catch (error) {
          fail(String(error));
        }
      });
    });
  } catch (error) {
    started.kill();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
