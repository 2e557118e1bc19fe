/** One isolate seen from the host: loads a target, calls it, serves its ops, and ends what does not end by itself. */
import { HostError, LimitError, type SallyportError } from "../permissions/mod.ts";
import type { Broker } from "./broker.ts";
import { CallSignal } from "./call_signal.ts";
import type { CodeCache } from "./code_cache.ts";
import type { Compiler } from "./compile_apart.ts";
import { afterTimers, Deadlines } from "./deadlines.ts";
import { type GuestAnswer, readAnswer } from "./guest_answer.ts";
import {
  breachError,
  cancelled,
  hostClosed,
  lostError,
  memoryError,
  rateError,
  wallError,
} from "./guest_errors.ts";
import { type GuestLine, type IsolateOptions, LEVELS, type Run, type RunOptions } from "./guest_run.ts";
import { type GuestLimits, RUNTIME_LIMITS } from "./limits.ts";
import { CALL_ENDED, OpGate } from "./op_gate.ts";
import { orderIsolate } from "./order_isolate.ts";
import { type GoneReason, type LoadOrder, TO_WORKER } from "./protocol.ts";
import type { Principal } from "./principal.ts";
import { RunScope } from "./run_scope.ts";
import { UnderWay } from "./under_way.ts";
import { joinParts } from "./wire.ts";
import { ENGINE_ABORTS, ownerKey, type WorkerEnd } from "./worker_end.ts";
import type { IsolateEvents } from "./isolate_events.ts";
import type { WorkerProcess } from "./worker_process.ts";

/** The deadline that is no call's. */
const SETTLING = 0;

/** An isolate of one plugin under one grant. */
export class GuestIsolate {
  readonly #worker: WorkerProcess;
  readonly #broker: Broker;
  readonly #principal: Principal;
  readonly #limits: GuestLimits;
  readonly #onEnd: (isOwnFault: boolean) => void;
  readonly #runs = new UnderWay<Run>();
  readonly #ops: OpGate;
  /** Ends it in its user's own way, within a moment, when its place is wanted; absent is at once. */
  onEvict: (() => void) | undefined;
  #id = 0;
  #nextRun = 1;
  #lastUsedAt = performance.now();
  #isLoaded = false;
  #end: SallyportError | null = null;
  readonly #deadlines = new Deadlines((id) => this.#onDeadline(id));
  /** The last answer is there and the guest has not come to rest. */
  #isSettling = false;
  readonly #cache: CodeCache | undefined;
  readonly #compiler: Compiler | undefined;
  readonly #mayRunInline: boolean;
  #onCompiled: ((cache: Uint8Array | null) => void) | undefined;
  /** What evaluations began may be awaited by any later call, so it ends with the isolate. */
  readonly #evaluations = new Map<number, CallSignal>();
  /** The evaluation of a script, which goes on in its call. */
  #script: number | undefined;

  private constructor(options: IsolateOptions) {
    const { worker, broker, principal, limits, onEnd = () => {} } = options;
    this.#cache = options.codeCache;
    this.#compiler = options.compiler;
    this.#mayRunInline = options.mayRunInline === true;
    this.#worker = worker;
    this.#broker = broker;
    this.#principal = principal;
    this.#limits = limits;
    this.#onEnd = onEnd;
    this.#ops = new OpGate(limits);
  }

  /** Takes a blank isolate of the worker, or makes one. Throws a HostError when the worker cannot. */
  static async create(options: IsolateOptions): Promise<GuestIsolate> {
    const { worker, blank, limits } = options;
    const isolate = new GuestIsolate(options);
    const events = isolate.#events();
    const isBlankTaken = blank !== undefined && worker.assign(blank, events);
    isolate.#id = isBlankTaken ? blank : await orderIsolate(worker, limits.memoryMb);
    if (!isBlankTaken && !worker.assign(isolate.#id, events)) {
      throw new HostError(
        "ERR_WORKER_LOST",
        "Cannot make an isolate: its worker ended. The call may be made again",
      );
    }
    return isolate;
  }

  /** Whether it can still be called. */
  get isAlive(): boolean {
    return this.#end === null;
  }

  /** Whose it is. */
  get principal(): Principal {
    return this.#principal;
  }

  /** Since when, by `performance.now()`, nothing of it is under way; null while something is, or nothing was loaded yet. */
  get idleSince(): number | null {
    const isIdle = this.#isLoaded && !this.#isRunning && this.#ops.count === 0;
    return isIdle ? this.#lastUsedAt : null;
  }

  get #isRunning(): boolean {
    return this.#runs.size > 0 || this.#isSettling;
  }

  /**
   * Evaluates a target; the answer's text is the type of what it registered, as JSON. Lifecycle code, which has a stage, is run
   * as well, and answers with what it registered, or with what failed of the end.
   */
  load(code: string, order: LoadOrder, options: RunOptions): Promise<GuestAnswer> {
    this.#isLoaded = true;
    return this.#run(options, (id, ending) => {
      this.#evaluations.set(id, ending);
      if (order.isScript === true) this.#script = id;
      if (this.#cache?.isWorth(code.length, this.#limits.memoryMb) !== true) {
        return this.#sendLoad(id, code, order, null);
      }
      // Whatever comes of it, the load is sent or the run is over.
      void this.#cacheOf(this.#cache, code, order).then((cache) => {
        if (this.#runs.has(id)) this.#sendLoad(id, code, order, cache);
      });
    });
  }

  #sendLoad(id: number, code: string, order: LoadOrder, cache: Uint8Array | null): void {
    const guest = this.#worker.beginGuest(this.#principal, this.#mayRunInline);
    const { cpuMs } = this.#limits;
    const header = { ...order, ...guest, cpuMs };
    const payload = cache === null
      ? joinParts(header, code)
      : joinParts({ ...header, cacheBytes: cache.byteLength }, code, cache);
    this.#worker.send(TO_WORKER.load, this.#id, id, payload);
  }

  /** The kept cache of a code; else, in a worker that has run nothing yet, one is made and kept. Never rejects. */
  async #cacheOf(cache: CodeCache, code: string, order: LoadOrder): Promise<Uint8Array | null> {
    const found = cache.find(code);
    if (found !== null) return found;
    if (!this.#worker.isClean) {
      this.#compiler?.want(code);
      return null;
    }
    const made = await new Promise<Uint8Array | null>((resolve) => {
      this.#onCompiled = resolve;
      this.#worker.send(TO_WORKER.compile, this.#id, 0, joinParts({ filename: order.filename }, code));
    });
    // Another guest may have begun to run beside the compilation. What was made is still in the isolate itself.
    if (made !== null && this.#worker.isClean) cache.keep(code, made);
    return null;
  }

  #onDeadline(id: number): void {
    if (id === SETTLING) return this.dispose();
    // Whoever's own signal was to come at the same moment has ended the call by then: with two bounds there is one reason.
    afterTimers(() => {
      const run = this.#runs.get(id);
      if (run !== undefined) this.#finish(wallError(this.#principal, run.options.wallMs), id);
    });
  }

  /** Only the one call that is under way can be the one that blocks its worker (T11). */
  #onBlocked(cpuMs: number): void {
    const [run] = this.#runs.values();
    if (run === undefined || cpuMs <= this.#limits.cpuMs) return;
    if (this.#worker.callsInFlight > 1) this.#worker.kill("stuck");
    else this.#finish(breachError(this.#principal, "cpu", this.#limits), run.id);
  }

  /** Calls the loaded target with the JSON text of `{input, context}`. */
  call(text: string, options: RunOptions): Promise<GuestAnswer> {
    return this.#run(options, (id) => this.#worker.send(TO_WORKER.call, this.#id, id, text));
  }

  /** Ends it because it is idle and its place is wanted; whoever calls it next starts another. */
  evict(): void {
    if (this.onEvict !== undefined) return this.onEvict();
    this.#finish(
      new HostError("ERR_WORKER_LOST", "Cannot start the call: its isolate was ended. Call again"),
    );
  }

  /** Ends it and all that runs in it, for a reason that whoever waits is told. */
  dispose(
    reason: SallyportError = new HostError(
      "ERR_HOST_CLOSED",
      "Cannot finish the call: its isolate was disposed",
    ),
  ): void {
    this.#finish(reason);
  }

  #run(
    options: RunOptions,
    send: (id: number, ending: CallSignal) => void,
  ): Promise<GuestAnswer> {
    if (this.#end !== null) return Promise.reject(this.#end);
    if (this.#runs.size >= RUNTIME_LIMITS.callsInFlightMax && options.isLast !== true) {
      return Promise.reject(
        new LimitError(
          "ERR_LIMIT_RATE",
          `Cannot start the call: ${this.#runs.size} calls of "${this.#principal.plugin}" are under way`,
        ),
      );
    }
    const id = this.#nextRun++;
    const ending = new CallSignal();
    return new Promise<GuestAnswer>((resolve, reject) => {
      const paused: NonNullable<RunOptions["paused"]> = options.paused ?? { ms: 0 };
      const watch = (): void => this.#deadlines.set(id, options.deadline + paused.ms);
      let waits = 0;
      let since = 0;
      const pause = async <Value>(work: () => Promise<Value>): Promise<Value> => {
        if (waits++ === 0) {
          this.#deadlines.clear(id);
          since = performance.now();
          paused.isNow = true;
        }
        try {
          // Whoever waits for this call waits for the person as well.
          return await (options.origin === undefined ? work() : options.origin.pause(work));
        } finally {
          if (--waits === 0) {
            paused.isNow = false;
            paused.ms += performance.now() - since;
            if (this.#runs.has(id)) watch();
          }
        }
      };
      const onAbort = (): void => this.#finish(cancelled(this.#principal), id);
      const settle = (answer: GuestAnswer | SallyportError): void => {
        this.#deadlines.clear(id);
        options.signal?.removeEventListener("abort", onAbort);
        this.#runs.delete(id);
        if (!this.#evaluations.has(id)) ending.end();
        this.#lastUsedAt = performance.now();
        this.#onAnswered();
        this.#worker.release();
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      };
      const remainingMs = (): number => options.deadline + paused.ms - performance.now();
      const scope = new RunScope(options, { ending, pause, remainingMs });
      this.#worker.retain();
      this.#runs.set(id, { id, options, scope, settle, ops: 0, isTooFast: false, lines: 0, lineBytes: 0 });
      this.#onIdle(); // its own deadline watches from now on
      watch();
      options.signal?.addEventListener("abort", onAbort, { once: true });
      if (options.signal?.aborted) onAbort();
      else send(id, ending);
    });
  }

  /** The run that something is done under; what a script's evaluation left behind goes on in its call. */
  #runOf(call: number): Run | undefined {
    const run = this.#runs.get(call);
    if (run !== undefined || call !== this.#script) return run;
    return this.#runs.values().next().value;
  }

  /** Ends the isolate: the run that is to blame gets the error, its neighbours learn that they may try again. */
  #finish(error: SallyportError, culprit?: number, isOwnFault = error instanceof LimitError): void {
    if (this.#end !== null) return;
    this.#end = new HostError("ERR_WORKER_LOST", "Cannot finish the call: another call ended its isolate");
    this.#worker.disposeIsolate(this.#id);
    this.#onIdle();
    this.#onCompiled?.(null);
    for (const ending of this.#evaluations.values()) ending.end();
    for (const [id, run] of [...this.#runs]) {
      run.settle(culprit === undefined || id === culprit ? error : this.#end);
    }
    this.#deadlines.clearAll();
    this.#onEnd(isOwnFault);
  }

  #events(): IsolateEvents {
    return {
      owner: this.#principal,
      callsInFlight: () => this.#runs.size,
      isRunning: () => this.#isRunning,
      onBlocked: (cpuMs) => this.#onBlocked(cpuMs),
      onCompiled: (_order, cache) => this.#onCompiled?.(cache),
      onCreated: () => {},
      onResult: (call, text) => this.#onResult(call, text),
      onOp: (op, call, text) => void this.#onOp(op, call, text),
      onLog: (call, text) => this.#onLine(call, LEVELS[text[0] ?? ""] ?? "log", text.slice(1)),
      onBreach: (call, what) =>
        this.#finish(breachError(this.#principal, what, this.#limits), this.#runOf(call)?.id ?? call),
      onFault: (call, text) => this.#onLine(call, "error", `Uncaught ${text}`),
      onIdle: () => this.#onIdle(),
      onGone: (reason) => this.#onGone(reason),
      onWorkerLost: (end) => this.#onWorkerLost(end),
    };
  }

  #onResult(call: number, text: string): void {
    const run = this.#runs.get(call);
    if (run === undefined) return;
    const answer = readAnswer(text);
    // Only what the host knows to have refused becomes the caller's LimitError; else anybody could say so.
    const isRate = run.isTooFast && !answer.ok && answer.error.code === "ERR_LIMIT_RATE";
    run.settle(isRate ? rateError(this.#principal, this.#limits) : answer);
  }

  async #onOp(op: number, call: number, text: string): Promise<void> {
    const run = this.#runOf(call);
    if (run === undefined) return this.#reply(op, CALL_ENDED); // nothing happens in its name any more
    const bytes = Buffer.byteLength(text);
    const refusal = ++run.ops > RUNTIME_LIMITS.opsPerCallMax ? "ops" : this.#ops.enter(bytes);
    if (refusal === "rate") {
      run.isTooFast = true;
      return this.#reply(op, this.#ops.tooFast);
    }
    if (refusal !== null) return this.#finish(breachError(this.#principal, refusal, this.#limits), run.id);
    // An answer can be large, so the worker is watched until the last one is sent, even if no call waits for it.
    if (this.#ops.count === 1) this.#worker.retain();
    const envelope = await this.#broker.dispatch({ principal: this.#principal, scope: run.scope, op, text });
    this.#ops.leave(bytes);
    this.#reply(op, envelope);
    if (this.#ops.count === 0) this.#worker.release();
  }

  #reply(op: number, envelope: string): void {
    if (this.#end === null) this.#worker.send(TO_WORKER.reply, this.#id, op, envelope);
  }

  /** The platform bounds its console; what nobody handled comes beside it, so both are counted here once more. */
  #onLine(call: number, level: GuestLine["level"], text: string): void {
    const run = this.#runOf(call);
    if (run === undefined) return;
    run.lines += 1;
    run.lineBytes += text.length;
    // One line more than the platform's own bound: it says that the rest is dropped.
    if (run.lines > RUNTIME_LIMITS.logLinesPerCallMax + 1) return;
    if (run.lineBytes > RUNTIME_LIMITS.logBytesPerCallMax + RUNTIME_LIMITS.errorTextBytesMax) return;
    run.options.onLine?.({ level, text });
  }

  /** After the last answer the guest has a moment to come to rest; no deadline watches over it any more. */
  #onAnswered(): void {
    if (this.#end !== null || this.#runs.size > 0 || this.#isSettling) return;
    this.#worker.retain();
    this.#isSettling = true;
    this.#deadlines.set(SETTLING, performance.now() + RUNTIME_LIMITS.settleMs);
  }

  #onIdle(): void {
    if (!this.#isSettling) return;
    this.#isSettling = false;
    this.#deadlines.clear(SETTLING);
    this.#worker.release();
  }

  #onGone(reason: GoneReason): void {
    if (this.#end !== null) return;
    const error = reason === "memory" || reason === "catastrophic"
      ? memoryError(this.#principal, this.#limits.memoryMb)
      : new HostError("ERR_WORKER_LOST", "Cannot finish the call: its isolate could not be made");
    this.#finish(error, this.#runs.size === 1 ? [...this.#runs.keys()][0] : undefined);
  }

  #onWorkerLost(end: WorkerEnd): void {
    this.#auditCrash(end);
    if (this.#end !== null) return;
    if (end.killedFor === "closing") {
      return this.#finish(hostClosed());
    }
    const own = ownerKey(this.#principal);
    const isSuspect = end.suspects.some((owner) => ownerKey(owner) === own);
    // Only one possible culprit may be blamed: with several calls under way, nobody can say whose it was (T11).
    const isOnlyCall = end.callsInFlight === 1;
    const isMemory = end.killedFor === "memory" || end.killedFor === "parked" ||
      (end.killedFor === null && end.exit.signal !== null && ENGINE_ABORTS.has(end.exit.signal));
    this.#finish(
      isOnlyCall && isMemory
        ? memoryError(this.#principal, this.#limits.memoryMb)
        : lostError(this.#principal, end),
      undefined,
      isSuspect,
    );
  }

  /** A worker that died under a call, or was taken over, is written down for each whose call or code that was. */
  #auditCrash({ killedFor, exit, suspects }: WorkerEnd): void {
    if (killedFor === "retired" || killedFor === "closing") return;
    const own = ownerKey(this.#principal);
    if (!this.#isRunning && !suspects.some((owner) => ownerKey(owner) === own)) return;
    const [run] = this.#runs.values();
    this.#broker.note(this.#principal, "crash", run?.options.id ?? null, {
      killedFor,
      signal: exit.signal,
      exitCode: exit.code,
      suspects: suspects.length,
    });
  }
}
