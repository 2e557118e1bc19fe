/** One isolate seen from the host: loads a target, calls it, serves its ops, and ends what does not end by itself. */
import { randomBytes } from "node:crypto";
import { GuestError, HostError, LimitError, type SallyportError } from "../permissions/mod.ts";
import type { Broker, CallScope, Principal, Use } from "./broker.ts";
import type { CallOrigin } from "./powers.ts";
import { depthOfJson } from "./json_depth.ts";
import { type GuestLimits, RUNTIME_LIMITS } from "./limits.ts";
import {
  type CreateOrder,
  type GoneReason,
  type GuestConfig,
  type LoadOrder,
  TO_WORKER,
} from "./protocol.ts";
import { type Denial, toOperator } from "./refusal.ts";
import { joinParts } from "./wire.ts";
import type { IsolateEvents, WorkerEnd, WorkerProcess } from "./worker_process.ts";

/** A console line of a guest. */
export interface GuestLine {
  /** Severity. */
  readonly level: "debug" | "info" | "log" | "warn" | "error";
  /** The guest's own text; not safe for a terminal. */
  readonly text: string;
}

/** What one run of guest code is given. */
export interface RunOptions {
  /** Id in the audit. */
  readonly id: string;
  /** When it must have ended, by `performance.now()`. */
  readonly deadline: number;
  /** The bound that `deadline` came from, for messages; milliseconds. */
  readonly wallMs: number;
  /** Ends it early. */
  readonly signal?: AbortSignal | undefined;
  /** Gets console lines. */
  readonly onLine?: ((line: GuestLine) => void) | undefined;
  /** Collects refusals. */
  readonly denials: Denial[];
  /** Told of each decision about a use. */
  readonly onUse?: ((use: Use) => void) | undefined;
  /** How long `deadline` stood still while a person was asked; shared by the load and the call of one run. */
  readonly paused?: { ms: number } | undefined;
  /** The plugin's call that made this one. */
  readonly origin?: CallOrigin | undefined;
  /** Full ids of the capabilities that called one another, this one last. */
  readonly chain?: readonly string[] | undefined;
}

/** What a guest answered; all of it is the guest's word. */
export type GuestAnswer =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly error: GuestFailure };

/** An error as a guest described it. */
export interface GuestFailure {
  /** Its name; empty when it was no error. */
  readonly name: string;
  /** Its message, cut. */
  readonly message: string;
  /** Its stack, cut. */
  readonly stack: string;
  /** Its code, when that is text. */
  readonly code?: string | undefined;
  /** Id of a refusal that it tells of. */
  readonly denial?: string | undefined;
  /** The handler gave what is not JSON. */
  readonly isInvalid: boolean;
  /** The result's size where it was above the bound. */
  readonly tooLarge?: number | undefined;
}

interface Run {
  readonly id: number;
  readonly options: RunOptions;
  readonly scope: CallScope;
  readonly controller: AbortController;
  readonly settle: (answer: GuestAnswer | SallyportError) => void;
  ops: number;
  lines: number;
  lineBytes: number;
}

const LEVELS: Readonly<Record<string, GuestLine["level"]>> = {
  d: "debug",
  i: "info",
  l: "log",
  w: "warn",
  e: "error",
};
/** Signals by which the engine itself gives up, as when a single allocation is too large for it. */
const ENGINE_ABORTS = new Set(["SIGABRT", "SIGTRAP", "SIGILL", "SIGSEGV", "SIGBUS"]);
/** The answer to an op whose call has ended; it frees what the guest's platform keeps for it. */
const CALL_ENDED =
  '{"ok":false,"error":{"name":"Interrupted","code":"ERR_CALL_ENDED","message":"The call has ended"}}';
const ANSWER_HEAD = '{"ok":true,"value":';

/** An isolate of one plugin under one grant. */
export class GuestIsolate {
  readonly #worker: WorkerProcess;
  readonly #broker: Broker;
  readonly #principal: Principal;
  readonly #limits: GuestLimits;
  readonly #runs = new Map<number, Run>();
  #id = 0;
  #nextRun = 1;
  #opsInFlight = 0;
  #opBytesInFlight = 0;
  #end: SallyportError | null = null;
  #settling: NodeJS.Timeout | undefined;
  /** What the evaluation began may be awaited by any later call, so it ends with the isolate. */
  #evaluation:
    | { readonly id: number; readonly controller: AbortController; readonly goesOn: boolean }
    | undefined;

  private constructor(worker: WorkerProcess, broker: Broker, principal: Principal, limits: GuestLimits) {
    this.#worker = worker;
    this.#broker = broker;
    this.#principal = principal;
    this.#limits = limits;
  }

  /** Takes a blank isolate of the worker, or makes one. Throws a HostError when the worker cannot. */
  static async create(options: {
    readonly worker: WorkerProcess;
    readonly blank?: number | undefined;
    readonly broker: Broker;
    readonly principal: Principal;
    readonly limits: GuestLimits;
  }): Promise<GuestIsolate> {
    const isolate = new GuestIsolate(options.worker, options.broker, options.principal, options.limits);
    if (options.blank !== undefined) {
      isolate.#id = options.blank;
      options.worker.assign(options.blank, isolate.#events());
      return isolate;
    }
    await orderIsolate(options.worker, options.limits.memoryMb, (id, created) => {
      isolate.#id = id;
      return isolate.#events(created);
    });
    return isolate;
  }

  /** Whether it can still be called. */
  get isAlive(): boolean {
    return this.#end === null;
  }

  /** Evaluates a target; the answer's text is the type of what it registered, as JSON. */
  load(code: string, order: LoadOrder, options: RunOptions): Promise<GuestAnswer> {
    return this.#run(options, (id, controller) => {
      this.#evaluation = { id, controller, goesOn: order.isScript === true };
      this.#worker.send(TO_WORKER.load, this.#id, id, joinParts(order, code));
    });
  }

  /** Calls the loaded target with the JSON text of `{input, context}`. */
  call(text: string, options: RunOptions): Promise<GuestAnswer> {
    return this.#run(options, (id) => this.#worker.send(TO_WORKER.call, this.#id, id, text));
  }

  /** Ends it and all that runs in it. */
  dispose(): void {
    this.#finish(new HostError("ERR_HOST_CLOSED", "Cannot finish the call: its isolate was disposed"));
  }

  #run(
    options: RunOptions,
    send: (id: number, controller: AbortController) => void,
  ): Promise<GuestAnswer> {
    if (this.#end !== null) return Promise.reject(this.#end);
    if (this.#runs.size >= RUNTIME_LIMITS.callsInFlightMax) {
      return Promise.reject(
        new LimitError(
          "ERR_LIMIT_RATE",
          `Cannot start the call: ${this.#runs.size} calls of "${this.#principal.plugin}" are under way`,
        ),
      );
    }
    const id = this.#nextRun++;
    const controller = new AbortController();
    return new Promise<GuestAnswer>((resolve, reject) => {
      const paused = options.paused ?? { ms: 0 };
      const watch = () =>
        setTimeout(
          () => this.#finish(wallError(this.#principal, options.wallMs), id),
          Math.max(0, options.deadline + paused.ms - performance.now()),
        );
      let timer = watch();
      let waits = 0;
      let since = 0;
      const pause = async <Value>(work: () => Promise<Value>): Promise<Value> => {
        if (waits++ === 0) {
          clearTimeout(timer);
          since = performance.now();
        }
        try {
          // Whoever waits for this call waits for the person as well.
          return await (options.origin === undefined ? work() : options.origin.pause(work));
        } finally {
          if (--waits === 0) {
            paused.ms += performance.now() - since;
            if (this.#runs.has(id)) timer = watch();
          }
        }
      };
      const onAbort = (): void => this.#finish(cancelled(this.#principal), id);
      const settle = (answer: GuestAnswer | SallyportError): void => {
        clearTimeout(timer);
        options.signal?.removeEventListener("abort", onAbort);
        this.#runs.delete(id);
        if (id !== this.#evaluation?.id) controller.abort();
        this.#onAnswered();
        this.#worker.onLoadChange();
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      };
      const scope: CallScope = {
        id: options.id,
        signal: controller.signal,
        deny: (denial) => {
          if (options.denials.length < RUNTIME_LIMITS.denialsPerCallMax) options.denials.push(denial);
        },
        pause,
        chain: options.chain ?? [],
        parent: options.origin?.call,
        remainingMs: () => options.deadline + paused.ms - performance.now(),
        ...(options.onUse === undefined ? {} : { decided: options.onUse }),
      };
      this.#runs.set(id, { id, options, scope, controller, settle, ops: 0, lines: 0, lineBytes: 0 });
      this.#onIdle(); // its own deadline watches from now on
      options.signal?.addEventListener("abort", onAbort, { once: true });
      this.#worker.onLoadChange();
      if (options.signal?.aborted) onAbort();
      else send(id, controller);
    });
  }

  /** The run that something is done under; what a script's evaluation left behind goes on in its call. */
  #runOf(call: number): Run | undefined {
    const run = this.#runs.get(call);
    if (run !== undefined || call !== this.#evaluation?.id || !this.#evaluation.goesOn) return run;
    return this.#runs.values().next().value;
  }

  /** Ends the isolate: the run that is to blame gets the error, its neighbours learn that they may try again. */
  #finish(error: SallyportError, culprit?: number): void {
    if (this.#end !== null) return;
    this.#end = new HostError("ERR_WORKER_LOST", "Cannot finish the call: another call ended its isolate");
    this.#worker.disposeIsolate(this.#id);
    this.#onIdle();
    this.#evaluation?.controller.abort();
    for (const [id, run] of [...this.#runs]) {
      run.settle(culprit === undefined || id === culprit ? error : this.#end);
    }
  }

  #events(onCreated: () => void = () => {}): IsolateEvents {
    return {
      callsInFlight: () => this.#runs.size,
      onCreated,
      onResult: (call, text) => this.#runs.get(call)?.settle(readAnswer(text)),
      onOp: (op, call, text) => void this.#onOp(op, call, text),
      onLog: (call, text) => this.#onLine(call, LEVELS[text[0] ?? ""] ?? "log", text.slice(1)),
      onBreach: (call, what) =>
        this.#finish(breachError(this.#principal, what), this.#runOf(call)?.id ?? call),
      onFault: (call, text) => this.#onLine(call, "error", `Uncaught ${text}`),
      onIdle: () => this.#onIdle(),
      onGone: (reason) => this.#onGone(reason),
      onWorkerLost: (end) => this.#onWorkerLost(end),
    };
  }

  async #onOp(op: number, call: number, text: string): Promise<void> {
    const run = this.#runOf(call);
    if (run === undefined) return this.#reply(op, CALL_ENDED); // nothing happens in its name any more
    // The platform bounds both first; that it did not means that it is no longer ours.
    if (++run.ops > RUNTIME_LIMITS.opsPerCallMax || this.#opsInFlight >= 2 * RUNTIME_LIMITS.opsInFlightMax) {
      return this.#finish(breachError(this.#principal, "ops"), run.id);
    }
    const bytes = Buffer.byteLength(text);
    if (this.#opBytesInFlight + bytes > RUNTIME_LIMITS.opBytesInFlightMax) {
      return this.#finish(breachError(this.#principal, "bytes"), run.id);
    }
    this.#opBytesInFlight += bytes;
    // An answer can be large, so the worker is watched until the last one is sent, even if no call waits for it.
    if (this.#opsInFlight++ === 0) this.#worker.retain();
    const envelope = await this.#broker.dispatch({ principal: this.#principal, scope: run.scope, op, text });
    this.#opBytesInFlight -= bytes;
    this.#reply(op, envelope);
    if (--this.#opsInFlight === 0) this.#worker.release();
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
    if (this.#end !== null || this.#runs.size > 0 || this.#settling !== undefined) return;
    this.#worker.retain();
    this.#settling = setTimeout(() => this.dispose(), RUNTIME_LIMITS.settleMs);
  }

  #onIdle(): void {
    if (this.#settling === undefined) return;
    clearTimeout(this.#settling);
    this.#settling = undefined;
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
    if (this.#end !== null) return;
    if (end.killedFor === "closing") {
      return this.#finish(hostClosed());
    }
    // Only one possible culprit may be blamed: with several calls under way, nobody can say whose it was (T11).
    const isOnlyCall = end.callsInFlight === 1;
    const isMemory = end.killedFor === "memory" ||
      (end.killedFor === null && end.exit.signal !== null && ENGINE_ABORTS.has(end.exit.signal));
    this.#finish(
      isOnlyCall && isMemory
        ? memoryError(this.#principal, this.#limits.memoryMb)
        : lostError(this.#principal, end),
    );
  }
}

/** Orders an isolate and waits until it is made. Throws a HostError when it is not. */
export async function orderIsolate(
  worker: WorkerProcess,
  memoryMb: number,
  own: (id: number, created: () => void) => IsolateEvents,
): Promise<number> {
  let timer: NodeJS.Timeout | undefined;
  const order: CreateOrder = { memoryMb, sliceMs: RUNTIME_LIMITS.sliceMs };
  try {
    return await new Promise<number>((resolve, reject) => {
      const settleLost = (why: string): void =>
        reject(new HostError("ERR_WORKER_LOST", `Cannot make an isolate: ${why}`));
      timer = setTimeout(() => settleLost("its worker did not answer"), RUNTIME_LIMITS.isolateStartMs);
      const made: { events?: IsolateEvents } = {};
      const id = worker.createIsolate(order, {
        callsInFlight: () => made.events?.callsInFlight() ?? 0,
        onCreated: () => resolve(id),
        onResult: (...rest) => made.events?.onResult(...rest),
        onOp: (...rest) => made.events?.onOp(...rest),
        onLog: (...rest) => made.events?.onLog(...rest),
        onBreach: (...rest) => made.events?.onBreach(...rest),
        onFault: (...rest) => made.events?.onFault(...rest),
        onIdle: () => made.events?.onIdle(),
        onGone: (reason, message) => {
          settleLost(message || reason);
          made.events?.onGone(reason, message);
        },
        onWorkerLost: (end) => {
          if (end.killedFor === "closing") reject(hostClosed());
          else settleLost("its worker ended");
          made.events?.onWorkerLost(end);
        },
      });
      made.events = own(id, () => {});
    });
  } finally {
    clearTimeout(timer);
  }
}

/** What the guest platform is told; `denialPrefix` is the principal's. */
export function guestConfig(
  facts:
    & Pick<GuestConfig, "env" | "envAllow" | "envDeny" | "denialPrefix" | "dynamicCode" | "isScript">
    & Partial<Pick<GuestConfig, "hostOps" | "sys" | "tellsReads" | "wasm">>,
): GuestConfig {
  const { opsInFlightMax, opsPerCallMax, opBytesMax, timersMax, timerDelayMsMax } = RUNTIME_LIMITS;
  const { logBytesPerCallMax, logLinesPerCallMax, resultBytesMax, errorTextBytesMax } = RUNTIME_LIMITS;
  return {
    hostOps: [],
    sys: {},
    tellsReads: false,
    wasm: false,
    ...facts,
    limits: {
      opsInFlightMax,
      opsPerCallMax,
      opBytesMax,
      timersMax,
      timerDelayMsMax,
      logBytesPerCallMax,
      logLinesPerCallMax,
      resultBytesMax,
      errorTextBytesMax,
    },
  };
}

/** A prefix for the ids of refusals that no guest can guess. */
export function newDenialPrefix(): string {
  return `d${randomBytes(12).toString("hex")}-`;
}

/**
 * Turns a guest's failure into what the caller gets: a refusal only where the broker made one in this very call
 * (decision 10), else the guest's own error.
 */
export function failureToError(
  failure: GuestFailure,
  denials: readonly Denial[],
  describe: { readonly title: string; readonly plugin: string; readonly stack: string },
): SallyportError {
  const denial = failure.denial === undefined ? undefined : denials.find(({ id }) => id === failure.denial);
  if (denial !== undefined) return toOperator(denial);
  if (failure.tooLarge !== undefined) {
    return new LimitError(
      "ERR_LIMIT_SIZE",
      `Cannot return the result of "${describe.plugin}": it has more than ${RUNTIME_LIMITS.resultBytesMax} bytes. Return less, or in parts`,
    );
  }
  if (failure.isInvalid) {
    return new GuestError(
      "ERR_RESULT_INVALID",
      `Cannot use the result of "${describe.plugin}": it is not JSON: ${failure.message}`,
    );
  }
  const what = failure.name === "" ? failure.message : `${failure.name}: ${failure.message}`;
  return new GuestError("ERR_GUEST_THREW", `${describe.title} failed: ${what}`, {
    details: { name: failure.name, message: failure.message, guestStack: describe.stack },
  });
}

function readAnswer(text: string): GuestAnswer {
  const bytes = Buffer.byteLength(text) - ANSWER_HEAD.length - 1;
  if (bytes > RUNTIME_LIMITS.resultBytesMax) return failed({ tooLarge: bytes });
  if (text.startsWith(ANSWER_HEAD) && text.endsWith("}")) {
    return { ok: true, text: text.slice(ANSWER_HEAD.length, -1) };
  }
  if (
    bytes > RUNTIME_LIMITS.errorAnswerBytesMax || depthOfJson(text) > RUNTIME_LIMITS.errorAnswerDepthMax
  ) {
    return invalid("what it says of its failure is larger or deeper than it may be");
  }
  let error: unknown;
  try {
    error = (JSON.parse(text) as { error?: unknown }).error;
  } catch {
    return invalid("its answer is not JSON");
  }
  if (typeof error !== "object" || error === null) return invalid("its answer has no shape");
  const facts = error as Record<string, unknown>;
  return {
    ok: false,
    error: {
      name: textOr(facts.name, "Error"),
      message: textOr(facts.message, ""),
      stack: typeof facts.stack === "string" ? facts.stack : "",
      code: typeof facts.code === "string" ? facts.code : undefined,
      denial: typeof facts.denial === "string" ? facts.denial : undefined,
      isInvalid: facts.invalid === true,
      tooLarge: typeof facts.tooLarge === "number" ? facts.tooLarge : undefined,
    },
  };
}

function invalid(message: string): GuestAnswer {
  return failed({ message, isInvalid: true });
}

function failed(facts: Partial<GuestFailure>): GuestAnswer {
  return { ok: false, error: { name: "", message: "", stack: "", isInvalid: false, ...facts } };
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value.slice(0, RUNTIME_LIMITS.errorTextBytesMax + 1) : otherwise;
}

function wallError({ title }: Principal, wallMs: number): LimitError {
  return new LimitError(
    "ERR_LIMIT_WALL",
    `${title} did not answer within ${wallMs} ms and was stopped. Raise limits.wallMs, or --wall-ms on the command line, if it needs longer`,
    { details: { wallMs } },
  );
}

function memoryError({ title }: Principal, memoryMb: number): LimitError {
  return new LimitError(
    "ERR_LIMIT_MEMORY",
    `${title} used more than its ${memoryMb} MB of memory and was stopped. Raise limits.memoryMb, or --memory-mb on the command line, if it needs more`,
    { details: { memoryMb } },
  );
}

/** What a call may ask for too much of, by the platform's word for it or by ours. */
const BREACHES: Readonly<Record<string, { readonly bound: number; readonly text: string }>> & {
  readonly ops: { readonly bound: number; readonly text: string };
} = {
  ops: { bound: RUNTIME_LIMITS.opsPerCallMax, text: "operations" },
  timers: { bound: RUNTIME_LIMITS.timersMax, text: "timers" },
  bytes: {
    bound: RUNTIME_LIMITS.opBytesInFlightMax,
    text: "bytes in operations that are under way (opBytesInFlightMax)",
  },
};

function breachError({ title }: Principal, what: string): LimitError {
  const { bound, text } = BREACHES[what] ?? BREACHES.ops;
  return new LimitError(
    "ERR_LIMIT_OPS",
    `${title} asked for more than ${bound} ${text} and was stopped`,
    { details: { what, bound } },
  );
}

function lostError({ plugin }: Principal, end: WorkerEnd): HostError {
  return new HostError(
    "ERR_WORKER_LOST",
    `The worker process of "${plugin}" ended during the call (${
      end.killedFor ?? end.exit.signal ?? end.exit.code
    }). The call may be made again`,
    { details: { killedFor: end.killedFor, signal: end.exit.signal, exitCode: end.exit.code } },
  );
}

function hostClosed(): HostError {
  return new HostError("ERR_HOST_CLOSED", "Cannot finish the call: the host was closed");
}

function cancelled({ plugin }: Principal): HostError {
  return new HostError("ERR_CALL_CANCELLED", `The call to "${plugin}" was cancelled by its caller`);
}
