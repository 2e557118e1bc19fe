/** One call on its way: when it must have ended, who may end it, and what it has to tell. */
import { randomUUID } from "node:crypto";
import { ActivationError, HostError, SallyportError } from "../permissions/mod.ts";
import {
  afterTimers,
  type Body,
  BodyReader,
  type CallIo,
  type CallOrigin,
  type ChunkWindow,
  type Denial,
  type GuestLine,
  type Progress,
  ProgressReports,
  type Redactor,
  type Use,
  wallError,
} from "../runtime/mod.ts";
import type { Stage } from "./stage.ts";
import type { Unit } from "./unit.ts";

/** What a caller may say about one call. */
export interface CallOptions {
  /** Ends the call. */
  readonly signal?: AbortSignal;
  /** Lowers the bound of this call, milliseconds. */
  readonly wallMs?: number;
  /** Gets console lines of the guest; their text is not safe for a terminal. */
  readonly onLine?: (line: GuestLine) => void;
  /** Gets every refusal, those that the guest caught included. */
  readonly onDenial?: (denial: Denial) => void;
  /** Gets each decision about a use, as it is made. */
  readonly onUse?: (use: Use) => void;
  /** Hears how far the guest says it is, a few times a second at most; its message is not safe for a terminal. */
  readonly onProgress?: (progress: Progress) => void;
  /** What the guest reads piece by piece as `context.body`, only as fast as it reads: text and bytes. */
  readonly body?: Body;
}

/** What the host says of one call besides. */
export interface InnerCallOptions extends CallOptions {
  /** Its id in the audit; absent is a new one. */
  readonly id?: string;
  /** Takes what the call gives piece by piece; absent where one value is wanted. */
  readonly chunks?: ChunkWindow;
  /** The plugin's call that makes this one: its chain and its deadline are inherited. */
  readonly origin?: CallOrigin;
  /** Where it runs; absent is the present build. */
  readonly stage?: Stage;
}

/** One call. */
export interface Run {
  /** Id in the audit. */
  readonly id: string;
  /** When it must have ended, by `performance.now()`. */
  readonly deadline: number;
  /** The bound that it came from, milliseconds. */
  readonly wallMs: number;
  /** The caller's own. */
  readonly signal: AbortSignal | undefined;
  /** Gets console lines, redacted. */
  readonly onLine: ((line: GuestLine) => void) | undefined;
  /** Collects refusals. */
  readonly denials: Denial[];
  /** Told of each decision about a use. */
  readonly onUse: ((use: Use) => void) | undefined;
  /** What a person took to answer does not count. */
  readonly paused: { ms: number; isNow?: boolean };
  /** Whether it only starts something, and calls nothing. */
  readonly isActivation?: boolean;
  /** Whether it is what an isolate does last, however many calls are under way. */
  readonly isLast?: boolean;
  /** The plugin's call that made it. */
  readonly origin: CallOrigin | undefined;
  /** Full ids of the capabilities that called one another, this one last. */
  readonly chain: readonly string[];
  /** What flows between it and its caller meanwhile. */
  readonly io?: RunIo | undefined;
}

/** The same with what is to be done about it when the call is over. */
interface RunIo extends CallIo {
  readonly chunks: ChunkWindow | undefined;
  readonly body: BodyReader | undefined;
  readonly progress: ProgressReports | undefined;
}

/** Begins one. */
export function startRun(unit: Unit, options: InnerCallOptions, redactor: Redactor): Run {
  const { onLine, signal, onUse, origin, wallMs: asked = Infinity } = options;
  const inherited = Math.max(1, Math.floor(origin?.remainingMs() ?? Infinity));
  const wallMs = Math.min(unit.limits.wallMs, asked, inherited);
  return {
    id: options.id ?? randomUUID(),
    deadline: performance.now() + wallMs,
    wallMs,
    signal,
    onLine: onLine === undefined ? undefined : redacted(onLine, redactor),
    denials: [],
    onUse,
    paused: { ms: 0 },
    origin,
    chain: [...origin?.chain ?? [], ...unit.call === undefined ? [] : [unit.call.value ?? ""]],
    io: ioOf(options, redactor),
  };
}

/** Most calls have none. */
function ioOf({ chunks, body, onProgress }: InnerCallOptions, redactor: Redactor): RunIo | undefined {
  if (chunks === undefined && body === undefined && onProgress === undefined) return undefined;
  const told = ({ message, ...rest }: Progress): Progress => {
    return { ...rest, message: message === null ? null : redactor.message(message) };
  };
  return {
    chunks,
    body: body === undefined ? undefined : new BodyReader(body),
    progress: onProgress === undefined
      ? undefined
      : new ProgressReports((progress) => onProgress(told(progress))),
  };
}

/** Nothing flows any more: the last report is told, and the body's maker learns that nobody reads on. */
export function endIo({ io }: Run): void {
  io?.progress?.flush();
  io?.body?.close();
}

function redacted(onLine: (line: GuestLine) => void, redactor: Redactor): (line: GuestLine) => void {
  const cut = redactor.lines();
  return ({ level, text }) => onLine({ level, text: cut(text) });
}

/** Whether nobody waits for it any more, or it may not begin. */
export function hasEnded(unit: Unit, { signal, deadline, paused }: Run): boolean {
  return signal?.aborted === true || (unit.tenure?.error ?? null) !== null ||
    performance.now() >= deadline + paused.ms;
}

/** Does what may take a while before any code of the call runs, under a signal that aborts when nobody waits any more. */
export async function withGiveUp<Value>(
  unit: Unit,
  run: Run,
  work: (giveUp: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const controller = new AbortController();
  const { signal } = controller;
  const sources = [run.signal, unit.tenure?.signal].filter((source) => source !== undefined);
  const giveUp = (): void => controller.abort();
  // A person who is asked while code is evaluated takes the time that they take.
  const leftMs = (): number =>
    run.paused.isNow === true ? PAUSED_LOOK_MS : run.deadline + run.paused.ms - performance.now();
  const look = (): void => {
    if (leftMs() <= 0) afterTimers(giveUp);
    else timer = setTimeout(look, Math.ceil(leftMs()));
  };
  let timer = setTimeout(look, Math.max(0, Math.ceil(leftMs())));
  for (const source of sources) source.addEventListener("abort", giveUp, { once: true });
  if (sources.some(({ aborted }) => aborted)) giveUp();
  try {
    return await work(signal);
  } finally {
    clearTimeout(timer);
    for (const source of sources) source.removeEventListener("abort", giveUp);
  }
}

/** The error of a call that has ended before it began, once whatever ends at the same moment has been heard. */
export async function ended(unit: Unit, run: Run): Promise<SallyportError> {
  await new Promise<void>((resolve) => afterTimers(resolve));
  return tooLate(unit, run);
}

/** The error of a call that did not get as far as to run. */
export function tooLate(unit: Unit, { wallMs, signal, isActivation }: Run): SallyportError {
  const ended = unit.tenure?.error ?? null;
  if (ended !== null) return ended;
  if (signal?.aborted && isActivation === true) {
    return new ActivationError("ERR_ACTIVATION_CANCELLED", `The start of ${unit.title} was cancelled`, {
      details: { plugin: unit.plugin },
    });
  }
  if (signal?.aborted) {
    return new HostError("ERR_CALL_CANCELLED", `The call to "${unit.plugin}" was cancelled by its caller`);
  }
  // In the same words as of one that ran: whoever looks first tells it, and nobody can tell them apart.
  return wallError(unit, wallMs);
}

/** Ends a wait for somebody else's work when nobody waits for this call any more. */
export async function orGiveUp<Value>(
  unit: Unit,
  run: Run,
  giveUp: AbortSignal,
  work: Promise<Value>,
): Promise<Value> {
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(tooLate(unit, run));
  giveUp.addEventListener("abort", onAbort, { once: true });
  if (giveUp.aborted) onAbort();
  try {
    return await Promise.race([work, givenUp]);
  } finally {
    giveUp.removeEventListener("abort", onAbort);
  }
}

/** Whether an error only says that another caller has given up. */
export function isGivenUp(error: unknown): boolean {
  if (!(error instanceof SallyportError)) return false;
  return GIVEN_UP.has(error.code) ||
    (error.code === "ERR_ACTIVATION_ROLLBACK_FAILED" && isGivenUp(error.cause));
}

const GIVEN_UP: ReadonlySet<string> = new Set([
  "ERR_CALL_CANCELLED",
  "ERR_LIMIT_WALL",
  "ERR_ACTIVATION_CANCELLED",
]);
const PAUSED_LOOK_MS = 100;

/** The run of what an isolate does last: nobody calls it, and it takes no longer than this. */
export function lastRun(wallMs: number): Run {
  return {
    id: randomUUID(),
    deadline: performance.now() + wallMs,
    wallMs,
    signal: undefined,
    onLine: undefined,
    denials: [],
    onUse: undefined,
    paused: { ms: 0 },
    origin: undefined,
    chain: [],
    isLast: true,
  };
}
