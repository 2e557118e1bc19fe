/** Reports of one call's progress, a few a second: of those that come faster the last is told. */
import type { Progress, ProgressSink } from "./call_io.ts";
import { RUNTIME_LIMITS } from "./limits.ts";

/** Tells of the progress of one call. */
export class ProgressReports implements ProgressSink {
  readonly #tell: (progress: Progress) => void;
  #waiting: Progress | null = null;
  #turn: Promise<void> | null = null;
  #endTurn: (() => void) | null = null;

  /** `tell` is called now and then; what it throws is its own affair. */
  constructor(tell: (progress: Progress) => void) {
    this.#tell = (progress) => {
      try {
        tell(progress);
      } catch {
        // Neither the guest nor the call can do anything about whoever listens.
      }
    };
  }

  /** Settles when the next one may be told; the guest's platform waits for that, and whoever does not is not heard sooner. */
  report(progress: Progress): Promise<void> {
    if (this.#turn === null) this.#begin(progress);
    else this.#waiting = progress;
    return this.#turn!;
  }

  /** Tells what still waits, at the end of the call. */
  flush(): void {
    this.#endTurn?.();
    this.#tellWaiting();
  }

  #begin(progress: Progress): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#endTurn?.();
      const waiting = this.#waiting;
      this.#waiting = null;
      if (waiting !== null) this.#begin(waiting);
    }, RUNTIME_LIMITS.progressMsMin);
    this.#turn = promise;
    this.#endTurn = () => {
      clearTimeout(timer);
      this.#turn = this.#endTurn = null;
      resolve();
    };
    this.#tell(progress);
  }

  #tellWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting !== null) this.#tell(waiting);
  }
}
