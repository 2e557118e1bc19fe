/** What an isolate is made with, and what one run of code in it is given. */
import type { SallyportError } from "../permissions/mod.ts";
import type { Broker } from "./broker.ts";
import type { CallIo } from "./call_io.ts";
import type { CodeCache } from "./code_cache.ts";
import type { Compiler } from "./compile_apart.ts";
import type { GuestAnswer } from "./guest_answer.ts";
import type { GuestLimits } from "./limits.ts";
import type { CallOrigin } from "./powers.ts";
import type { CallScope, Principal, Use } from "./principal.ts";
import type { Denial } from "./refusal.ts";
import type { WorkerProcess } from "./worker_process.ts";

/** What making an isolate takes. */
export interface IsolateOptions {
  /** The worker that it is in. */
  readonly worker: WorkerProcess;
  /** A blank isolate of the worker, if there is one. */
  readonly blank?: number | undefined;
  /** Where its ops go. */
  readonly broker: Broker;
  /** Whose it is. */
  readonly principal: Principal;
  /** What it may use. */
  readonly limits: GuestLimits;
  /** Told once, when it is no more, and whether its own code may have brought that about. */
  readonly onEnd?: (isOwnFault: boolean) => void;
  /** Where code caches are kept; absent is nowhere. */
  readonly codeCache?: CodeCache | undefined;
  /** What makes caches where the worker may not. */
  readonly compiler?: Compiler | undefined;
  /** Whether short slices may run on the worker's own thread, as long as it serves nobody else. */
  readonly mayRunInline?: boolean;
}

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
  readonly paused?: { ms: number; isNow?: boolean } | undefined;
  /** What is done last is done however many calls are under way. */
  readonly isLast?: boolean | undefined;
  /** The plugin's call that made this one. */
  readonly origin?: CallOrigin | undefined;
  /** Full ids of the capabilities that called one another, this one last. */
  readonly chain?: readonly string[] | undefined;
  /** What flows between it and its caller meanwhile. */
  readonly io?: CallIo | undefined;
}

/** One call, or load, that is under way. */
export interface Run {
  /** Its number, on the pipe. */
  readonly id: number;
  /** What it was given. */
  readonly options: RunOptions;
  /** In which ops are dispatched. */
  readonly scope: CallScope;
  /** Ends it. */
  readonly settle: (answer: GuestAnswer | SallyportError) => void;
  /** Operations that it asked for. */
  ops: number;
  /** Whether one of its operations was refused for the rate. */
  isTooFast: boolean;
  /** Console lines of it. */
  lines: number;
  /** Their text. */
  lineBytes: number;
}

/** The level of a line, by the character before its text. */
export const LEVELS: Readonly<Record<string, GuestLine["level"]>> = {
  d: "debug",
  i: "info",
  l: "log",
  w: "warn",
  e: "error",
};
