/** The words of the protocol between host and worker: frame types, and the tags of the strings that a guest exchanges. */

/** Frames from the host to a worker. */
export const TO_WORKER = Object.freeze({
  /** Text of the guest platform. */
  boot: 1,
  /** Make an isolate: JSON `CreateOrder`. */
  create: 2,
  /** Evaluate a target: parts `LoadOrder` and code. */
  load: 3,
  /** Call the loaded target: JSON text for the guest. */
  call: 4,
  /** Answer of an op: JSON text for the guest. */
  reply: 5,
  /** Dispose the isolate. */
  dispose: 6,
  /** Are you alive? */
  ping: 7,
  /** Compile a target without running it, in a worker that has run none: its text. */
  compile: 8,
});

/** Frames from a worker to its host. */
export const FROM_WORKER = Object.freeze({
  /** The worker is confined and has its platform: JSON `WorkerFacts`. */
  ready: 101,
  /** The isolate is made. */
  created: 102,
  /** Answer to `load` or `call`: the guest's own JSON text, never trusted. */
  result: 103,
  /** An op: the number of its call and the guest's own JSON text. */
  op: 104,
  /** A console line: text whose first character is the level. */
  log: 105,
  /** The isolate is gone: JSON `{reason}`. */
  gone: 106,
  /** I am alive. */
  pong: 107,
  /** A bound that the guest platform or the worker enforces was reached: the bound's name. */
  breach: 108,
  /** Something of the guest's went wrong outside any answer: text. */
  fault: 109,
  /** The last call was answered and no code of the isolate runs any more, until the next one. */
  idle: 110,
  /** Answer to `compile`: the code cache, or nothing where the engine refused the text. */
  compiled: 111,
});

/** Payload of `create`. */
export interface CreateOrder {
  /** Heap of the isolate. */
  readonly memoryMb: number;
}

/** Header of `load`. */
export interface LoadOrder {
  /** Name of the code in stacks. */
  readonly filename: string;
  /** JSON text of the guest's `GuestConfig`; absent where the isolate has it already. */
  readonly config?: string;
  /** JSON text of a `GuestStage`: what is evaluated is lifecycle code, and is run at once. */
  readonly stage?: string;
  /** What the evaluation left waiting is done in the name of the call that follows, the only one. */
  readonly isScript?: boolean;
  /** Processor time that each call may use from now on; absent is any. */
  readonly cpuMs?: number;
  /** Whether short slices may run on the thread that reads the pipe, as long as no other tenant's code is in the worker. */
  readonly mayRunInline?: boolean;
  /** Whose code it is, by a number of this worker's; never 0. */
  readonly owner?: number;
  /** Whose tenant's, likewise. */
  readonly tenant?: number;
  /** Bytes at the end of the payload that are the code's cache. */
  readonly cacheBytes?: number;
}

/** What the guest platform is told before any code of a plugin runs. */
export interface GuestConfig {
  /** Granted environment variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Entries that say which further names are granted though unset. */
  readonly envAllow: true | readonly string[];
  /** Entries whose names are denied. */
  readonly envDeny: true | readonly string[];
  /** Granted facts about the machine: the JSON text of each, by its word. */
  readonly sys: Readonly<Record<string, string>>;
  /** Prefix of the ids under which a synchronous refusal is reported. */
  readonly denialPrefix: string;
  /** Whether code may be made from strings. */
  readonly dynamicCode: boolean;
  /** Whether there is a WebAssembly. */
  readonly wasm: boolean;
  /** A single script ends when nothing of it is left waiting. */
  readonly isScript: boolean;
  /** Whether the host is told of what the code uses without asking it, for finding out what a plugin needs. */
  readonly tellsReads: boolean;
  /** Names of the ops that an embedder added. */
  readonly hostOps: readonly string[];
  /** The bounds that the platform itself enforces first. */
  readonly limits: {
    readonly opsInFlightMax: number;
    readonly opsPerCallMax: number;
    readonly opBytesMax: number;
    readonly timersMax: number;
    readonly timerDelayMsMax: number;
    readonly logBytesPerCallMax: number;
    readonly logLinesPerCallMax: number;
    readonly resultBytesMax: number;
    readonly errorTextBytesMax: number;
  };
}

/** What the guest platform is told before lifecycle code is evaluated. */
export interface GuestStage {
  /** What the code is given, beside what the platform adds. */
  readonly context: Readonly<Record<string, unknown>>;
  /**
   * What it may register, by surface, a space and name: `here` is for this isolate, `elsewhere` for another one, `target` has
   * code of its own. Absent for code that runs last.
   */
  readonly names?: Readonly<Record<string, "here" | "elsewhere" | "target">>;
}

/** Payload of `ready`. */
export interface WorkerFacts {
  /** Version of Node in the worker. */
  readonly node: string;
  /** Whether the worker could still load native code; always false, asserted by the worker. */
  readonly addon: boolean;
  /** Whether the worker could still read files; always false, asserted by the worker. */
  readonly fsRead: boolean;
}

/** Why an isolate is gone. */
export type GoneReason = "disposed" | "memory" | "catastrophic" | "failed";

/** First character of a string that a guest sends. */
export const FROM_GUEST = Object.freeze({
  result: "r",
  op: "o",
  ownOp: "p",
  log: "l",
  timer: "t",
  clear: "c",
  breach: "x",
  fault: "f",
});

/** First argument of the guest platform's one entry function. */
export const TO_GUEST = Object.freeze({
  config: "config",
  stage: "stage",
  load: "load",
  call: "call",
  reply: "reply",
  timer: "timer",
});

/** What the worker puts before the code of a target; the host takes its length from the columns of a stack. */
export const TARGET_HEAD = '(async (__sallyport_register__) => { "use strict";';
