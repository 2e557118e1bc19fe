/**
 * How long an approval stands (T14). All isolates of one approval share one tenure; when what was approved is taken back, or
 * is no longer what is there, it is over once and for all, and what runs under it ends instead of being drained.
 */
import type { SallyportError } from "../permissions/mod.ts";

/** What ops and calls look at: one property, whatever it took to find out. */
export class Tenure {
  readonly #controller = new AbortController();
  #error: SallyportError | null = null;
  /** Calls under way under it; whoever begins one counts it. */
  calls = 0;

  /** Why it is over, as whoever waits for a call is told; null while it stands. */
  get error(): SallyportError | null {
    return this.#error;
  }

  /** Aborts when it is over. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends it, for the first reason that is given. */
  end(error: SallyportError): void {
    if (this.#error !== null) return;
    this.#error = error;
    this.#controller.abort(error);
  }
}
