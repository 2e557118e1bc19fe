/**
 * What the broker knows of one run. A class, because each object literal with a getter of its own makes the engine make a
 * hidden class, and that keeps the getter, and with it the whole run, until everything is collected: a host that serves
 * many calls would spend its time on those that have ended.
 */
import type { CallIo } from "./call_io.ts";
import type { CallSignal } from "./call_signal.ts";
import type { RunOptions } from "./guest_run.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import type { CallScope, Use } from "./principal.ts";
import type { Denial } from "./refusal.ts";

/** What the isolate does for a run. */
interface RunParts {
  /** Its end. */
  readonly ending: CallSignal;
  /** Stops its clock while a person is asked. */
  readonly pause: NonNullable<CallScope["pause"]>;
  /** What is left of its time. */
  readonly remainingMs: () => number;
}

/** The scope of one run. */
export class RunScope implements CallScope {
  /** Id in the audit. */
  readonly id: string;
  /** Capabilities that called one another. */
  readonly chain: readonly string[];
  /** Id of the call that made it. */
  readonly parent: string | undefined;
  /** What flows between it and its caller meanwhile. */
  readonly io: CallIo | undefined;
  /** Waits for a person. */
  readonly pause: NonNullable<CallScope["pause"]>;
  /** What is left of its time. */
  readonly remainingMs: () => number;
  readonly #options: RunOptions;
  readonly #ending: CallSignal;

  /** Begins with the run. */
  constructor(options: RunOptions, { ending, pause, remainingMs }: RunParts) {
    this.id = options.id;
    this.chain = options.chain ?? [];
    this.parent = options.origin?.call;
    this.io = options.io;
    this.pause = pause;
    this.remainingMs = remainingMs;
    this.#options = options;
    this.#ending = ending;
  }

  /** Ends when the run ends; made when it is asked for. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Remembers a refusal. */
  deny(denial: Denial): void {
    const { denials } = this.#options;
    if (denials.length < RUNTIME_LIMITS.denialsPerCallMax) denials.push(denial);
  }

  /** Tells of a decision about a use. */
  decided(use: Use): void {
    this.#options.onUse?.(use);
  }
}
