/**
 * One worker seen from the host: it is started, watched and killed here, and every frame that it sends is checked
 * against what was assigned to it.
 */
import { HostError } from "../permissions/mod.ts";
import { type ConfinedProcess, type ProcessExit } from "./confine.ts";
import type { ConfinementPlan } from "./confine_plan.ts";
import { firstWord } from "./first_word.ts";
import { type IsolateEvents, tellOwner } from "./isolate_events.ts";
import { awakeUs, launchWorker } from "./launch_worker.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import { type CreateOrder, FROM_WORKER, type GoneReason, TO_WORKER } from "./protocol.ts";
import { type Frame, FrameDecoder, FrameWriter, textOf } from "./wire.ts";
import { Wakeful } from "./wakeful.ts";
import { type IsolateOwner, type KillReason, ownerKey, suspectsOf, type WorkerEnd } from "./worker_end.ts";

/** What is needed to start a worker. */
export interface WorkerOptions {
  /** How it is confined. */
  readonly plan: ConfinementPlan;
  /** Text of the guest platform. */
  readonly platform: string;
  /** Absolute path of the engine's binary. */
  readonly engine: string;
  /** Its process, where that was started before. */
  readonly launched?: Promise<ConfinedProcess> | undefined;
  /** Ends it while it starts. */
  readonly signal?: AbortSignal;
}

/** A started worker. */
export class WorkerProcess {
  readonly #process: ConfinedProcess;
  readonly #writer: FrameWriter;
  readonly #isolates = new Map<number, { readonly events: IsolateEvents; readonly memoryMb: number }>();
  readonly #baseBytes: number;
  #nextIsolate = 1;
  #killedFor: KillReason | null = null;
  /** Looks at the worker since it last answered; looks and not time, because a host that was held up did not listen. */
  #looksInSilence = 0;
  #watch: NodeJS.Timeout | undefined;
  /** What it had used when it was first found blocked, when it was last seen to use more, and how many looks ago. */
  #blocked: { readonly fromMs: number; lastMs: number; looksAtRest: number } | null = null;
  /** From then on nothing that it makes may be kept as code. */
  #hasRunGuests = false;
  #runsInline = false;
  readonly #awake = new Wakeful(awakeUs(RUNTIME_LIMITS.hostAwakeUsMax));
  #wasBusy = false;
  #residentBytes = 0;
  /** Everybody whose code ever ran here, by their one text. */
  readonly #owners = new Map<string, IsolateOwner>();
  readonly #ended = Promise.withResolvers<WorkerEnd>();
  #isPaused = false;
  /** What was read and not yet heard. */
  #inbox: readonly Frame[] = [];
  #retained = 0;
  #isHeld = false;
  #end: WorkerEnd | null = null;
  #isTainted = false;
  /** Whose code brought that about; null of nobody's. */
  readonly #tainters: (IsolateOwner | null)[] = [];
  /** Isolates that were told to go and have not said that they are gone. */
  readonly #disposing = new Set<number>();
  #onSettled: (() => void)[] = [];

  private constructor(started: ConfinedProcess, baseBytes: number) {
    this.#process = started;
    this.#writer = new FrameWriter((bytes) => this.#write(bytes));
    this.#baseBytes = baseBytes;
  }

  /**
   * Starts a worker and waits until it is confined and has the platform. Throws HostError `ERR_WORKER_LOST` when it
   * does not say so in time, or says that it kept authority.
   */
  static async start(options: WorkerOptions): Promise<WorkerProcess> {
    const started = await (options.launched ?? launchWorker(options.plan, options.engine));
    const decoder = new FrameDecoder(RUNTIME_LIMITS.frameBytesMax);
    const giveUp = (): void => started.kill();
    options.signal?.addEventListener("abort", giveUp, { once: true });
    if (options.signal?.aborted) giveUp();
    const facts = await firstWord(started, decoder, options.platform)
      .finally(() => options.signal?.removeEventListener("abort", giveUp));
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

  /** Settles when the process is gone and whoever had an isolate in it was told. */
  get ended(): Promise<WorkerEnd> {
    return this.#ended.promise;
  }

  /** Whether work is under way in it that somebody waits for. */
  get isBusy(): boolean {
    return this.#retained > 0;
  }

  /** Resident memory; null where the system does not tell. */
  residentBytes(): number | null {
    return this.#process.rssBytes();
  }

  /** Resident memory when it became ready. */
  get baseBytes(): number {
    return this.#baseBytes;
  }

  /** Whether no guest has run in it: what it compiles may be kept. */
  get isClean(): boolean {
    return !this.#hasRunGuests;
  }

  /** Calls that are under way in it. */
  get callsInFlight(): number {
    return this.#callsInFlight();
  }

  /**
   * Says that an isolate is about to run the code of its owner, and gives what the worker must know about that: whether it
   * may run on the worker's own thread, which the host can only allow where it sees what the process uses.
   */
  beginGuest(
    owner: IsolateOwner,
    mayRunInline: boolean,
  ): { readonly owner: number; readonly tenant: number; readonly mayRunInline: boolean } {
    this.#hasRunGuests = true;
    const may = mayRunInline && this.#process.cpuMs() !== null;
    if (may) this.#runsInline = true;
    const number = [...this.#owners.keys()].indexOf(ownerKey(owner));
    const tenants = new Set([...this.#owners.values()].map(({ tenant }) => tenant));
    return { owner: number + 1, tenant: [...tenants].indexOf(owner.tenant) + 1, mayRunInline: may };
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
    this.#own(events);
    this.send(TO_WORKER.create, id, 0, JSON.stringify(order));
    return id;
  }

  /** Hands a blank isolate to its owner; false when it is gone. */
  assign(isolate: number, events: IsolateEvents): boolean {
    const entry = this.#isolates.get(isolate);
    if (entry === undefined || this.#disposing.has(isolate)) return false;
    this.#isolates.set(isolate, { ...entry, events });
    this.#own(events);
    return true;
  }

  /** Disposes an isolate; a worker that does not follow within its bound is killed. */
  disposeIsolate(isolate: number): void {
    if (!this.#isolates.has(isolate) || this.#end !== null) return;
    this.send(TO_WORKER.dispose, isolate, 0, "");
    this.#disposing.add(isolate);
    this.#expectGone(isolate, this.#process.cpuMs(), RUNTIME_LIMITS.disposeLooksMax);
  }

  /** A worker that was hardly given a processor is slow, not stuck; one that is busy with something else is. */
  #expectGone(isolate: number, cpuMs: number | null, looksLeft: number): void {
    const { disposeMs } = RUNTIME_LIMITS;
    const timer = setTimeout(() => {
      if (!this.#isolates.has(isolate) || this.#end !== null) return;
      const now = this.#process.cpuMs();
      const isStarved = cpuMs !== null && now !== null && now - cpuMs < disposeMs / 2;
      if (isStarved && looksLeft > 1) this.#expectGone(isolate, now, looksLeft - 1);
      else this.kill("stuck");
    }, disposeMs);
    timer.unref();
  }

  /** Sends one frame; a worker that does not read is not read either, and killed before its queue becomes the host's problem. */
  send(type: number, isolate: number, id: number, payload: Uint8Array | string): void {
    if (this.#end !== null) return;
    this.#writer.send(type, isolate, id, payload);
  }

  #write(bytes: Buffer): void {
    if (this.#end !== null) return;
    const { pipe } = this.#process;
    pipe.write(bytes);
    this.#awake.said();
    if (pipe.writableLength > RUNTIME_LIMITS.queuedBytesPerWorkerMax) this.kill("breach");
    else if (pipe.writableLength > RUNTIME_LIMITS.queuedBytesPausedAt) this.#pause();
  }

  /** Keeps the process awaited and watched while a call, or other work, is under way; undone by `release`. */
  retain(): void {
    this.#retained += 1;
    this.#onLoadChange();
  }

  /** Undoes one `retain`. */
  release(): void {
    this.#retained -= 1;
    this.#onLoadChange();
  }

  /** It is watched, and awaited, only while it works, and until the next look: calls follow one another fast. */
  #onLoadChange(): void {
    if (this.#end !== null || this.isBusy === this.#wasBusy) return;
    this.#wasBusy = this.isBusy;
    if (!this.isBusy) {
      if (this.#isTainted) this.kill("stuck");
      return;
    }
    this.#looksInSilence = 0;
    this.#blocked = null;
    if (!this.#isHeld) this.#process.hold(true);
    this.#isHeld = true;
    if (this.#watch === undefined) this.#startWatch();
  }

  #rest(): void {
    clearInterval(this.#watch);
    this.#watch = undefined;
    // One that was killed is waited for.
    if (this.#killedFor !== null) return;
    this.#isHeld = false;
    this.#process.hold(false);
  }

  /** What it asks for makes answers, of which it has more than enough. One that never reads on is killed for its silence. */
  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    const { pipe } = this.#process;
    pipe.pause();
    pipe.once("drain", () => {
      this.#isPaused = false;
      this.#resume();
    });
  }

  /** Kills the process at once. */
  kill(why: KillReason): void {
    if (this.#end !== null) return;
    this.#killedFor ??= why;
    this.#process.kill();
  }

  /** Ends the process and waits until it is gone. */
  async close(why: "closing" | "retired" = "closing"): Promise<void> {
    this.#process.hold(true);
    this.kill(why);
    await this.#process.exited;
  }

  #own({ owner }: IsolateEvents): void {
    if (owner === null) return;
    const { tenant, plugin, fingerprint } = owner;
    this.#owners.set(ownerKey(owner), { tenant, plugin, fingerprint });
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
    let nextPing = 0;
    // The process itself is what keeps the host awake, so the watch does not.
    this.#watch = setInterval(() => {
      if (!this.isBusy) return this.#rest();
      const now = performance.now();
      const silenceMs = ++this.#looksInSilence * RUNTIME_LIMITS.residentPollMs;
      if (silenceMs > RUNTIME_LIMITS.blockedMs && this.#runsInline) this.#onBlocked();
      else if (silenceMs > RUNTIME_LIMITS.pongMsMax) return this.kill("silence");
      if (now >= nextPing) {
        nextPing = now + RUNTIME_LIMITS.pingMs;
        this.send(TO_WORKER.ping, 0, 0, "");
      }
      this.#residentBytes = this.#process.rssBytes() ?? 0;
      if (this.#residentBytes > this.#residentBytesMax()) this.kill("memory");
    }, RUNTIME_LIMITS.residentPollMs).unref();
  }

  /**
   * One that runs a slice inline hears nothing meanwhile; the deadlines of its calls are what ends it. One that is silent and
   * does nothing has been parked by the engine, as after an allocation that it could not serve.
   */
  #onBlocked(): void {
    const usedMs = this.#process.cpuMs() ?? 0;
    const blocked = this.#blocked ??= { fromMs: usedMs, lastMs: usedMs, looksAtRest: 0 };
    blocked.looksAtRest = usedMs > blocked.lastMs ? 0 : blocked.looksAtRest + 1;
    blocked.lastMs = usedMs;
    if (blocked.looksAtRest * RUNTIME_LIMITS.residentPollMs > RUNTIME_LIMITS.pongMsMax) {
      return this.kill("parked");
    }
    const blockedMs = usedMs - blocked.fromMs;
    // Whose slice it is cannot be asked, and the others' calls wait for as long as that one's own bounds allow.
    if (blockedMs > RUNTIME_LIMITS.blockedBesideOthersMs && this.#isAwaitedBySeveral()) {
      return this.kill("stuck");
    }
    for (const { events } of [...this.#isolates.values()]) events.onBlocked(blockedMs);
  }

  /** Whether calls of more than one owner are under way. */
  #isAwaitedBySeveral(): boolean {
    const awaited = new Set<string>();
    for (const { events } of this.#isolates.values()) {
      if (events.owner !== null && events.callsInFlight() > 0) awaited.add(ownerKey(events.owner));
    }
    return awaited.size > 1;
  }

  #residentBytesMax(): number {
    let megabytes = RUNTIME_LIMITS.residentSlackMb;
    // What a blank isolate takes is part of the slack.
    for (const { events, memoryMb } of this.#isolates.values()) {
      if (events.owner !== null) megabytes += memoryMb;
    }
    return this.#baseBytes + megabytes * 1_048_576;
  }

  *#running(): Generator<IsolateOwner> {
    for (const owner of this.#tainters) if (owner !== null) yield owner;
    for (const [id, { events }] of this.#isolates) {
      if (events.owner !== null && (events.isRunning() || this.#disposing.has(id))) yield events.owner;
    }
  }

  #onData(decoder: FrameDecoder, chunk: Buffer): void {
    this.#awake.heard();
    if (this.#killedFor !== null) return; // what a condemned worker still says counts for nothing
    try {
      this.#inbox = decoder.push(chunk);
    } catch {
      // A worker that runs our code sends no such frame, so this one no longer does.
      this.kill("breach");
    }
    this.#read(RUNTIME_LIMITS.framesPerTurnMax);
  }

  /** A flood waits its turn: what else the host does comes in between, and no more is read meanwhile. */
  #read(framesMax: number): void {
    const { pipe } = this.#process;
    const frames = this.#inbox;
    try {
      for (const frame of frames.slice(0, framesMax)) if (this.#killedFor === null) this.#onFrame(frame);
    } catch {
      this.kill("breach");
    }
    this.#inbox = frames.slice(framesMax);
    if (this.#inbox.length > 0) {
      pipe.pause();
      setImmediate(() => this.#read(framesMax));
    } else if (frames.length > framesMax || pipe.isPaused()) this.#resume();
  }

  #resume(): void {
    if (!this.#isPaused && this.#inbox.length === 0) this.#process.pipe.resume();
  }

  #onFrame(frame: Frame): void {
    if (frame.type === FROM_WORKER.pong) {
      this.#looksInSilence = 0;
      this.#blocked = null;
      return;
    }
    const isolate = this.#isolates.get(frame.isolate);
    if (isolate === undefined) {
      // Words of an isolate that was just disposed may still be under way; one that never was is a lie.
      if (frame.isolate === 0 || frame.isolate >= this.#nextIsolate) this.kill("breach");
      return;
    }
    if (frame.type === FROM_WORKER.gone) return this.#onGone(frame, isolate.events);
    if (!tellOwner(isolate.events, frame)) this.kill("breach");
  }

  #onGone(frame: Frame, events: IsolateEvents): void {
    const { reason, message } = JSON.parse(textOf(frame)) as { reason: GoneReason; message: string };
    this.#isolates.delete(frame.isolate);
    this.#disposing.delete(frame.isolate);
    if (this.#disposing.size === 0) this.#settle();
    // After a catastrophic error the engine has parked a thread for good: the process is not worth keeping.
    if (reason === "catastrophic") {
      this.#isTainted = true;
      this.#tainters.push(events.owner);
    }
    events.onGone(reason, String(message));
    if (this.#isTainted && !this.isBusy) this.kill("stuck");
  }

  #onExit(exit: ProcessExit): void {
    this.#read(Infinity); // what it said before counts
    clearInterval(this.#watch);
    const killedFor = this.#killedFor;
    const end: WorkerEnd = {
      killedFor,
      exit,
      callsInFlight: this.#callsInFlight(),
      suspects: suspectsOf({ killedFor, exit }, {
        running: this.#running(),
        ever: this.#owners.values(),
        isLarge: this.#residentBytes - this.#baseBytes > RUNTIME_LIMITS.residentSlackMb * 1_048_576,
      }),
      stderr: this.#process.stderrTail(),
    };
    this.#end = end;
    const all = [...this.#isolates.values()];
    this.#isolates.clear();
    for (const { events } of all) events.onWorkerLost(end);
    this.#process.pipe.destroy();
    this.#disposing.clear();
    this.#settle();
    this.#ended.resolve(end);
  }
}
