/** The timers of one isolate: kept by the worker, because waiting needs no authority, only a clock. */
import { RUNTIME_LIMITS } from "../limits.ts";

/** Waiting timers of one isolate, each with the call that set it. */
export class GuestTimers {
  readonly #waiting = new Map<number, NodeJS.Timeout>();
  readonly #onFire: (timer: number, call: number) => void;

  /** `onFire` gets the guest's number of the timer and the call that set it. */
  constructor(onFire: (timer: number, call: number) => void) {
    this.#onFire = onFire;
  }

  /** Starts a timer once; a number in use and anything above the bound is ignored, as the platform has counted first. */
  set(timer: number, delayMs: number, call: number): void {
    if (this.#waiting.has(timer) || this.#waiting.size >= RUNTIME_LIMITS.timersMax) return;
    const delay = Math.min(
      Math.max(Number.isFinite(delayMs) ? delayMs : 0, 0),
      RUNTIME_LIMITS.timerDelayMsMax,
    );
    const handle = setTimeout(() => {
      this.#waiting.delete(timer);
      this.#onFire(timer, call);
    }, delay);
    this.#waiting.set(timer, handle);
  }

  /** Stops a timer; one that is gone is no error. */
  clear(timer: number): void {
    clearTimeout(this.#waiting.get(timer));
    this.#waiting.delete(timer);
  }

  /** Stops all of them. */
  clearAll(): void {
    for (const handle of this.#waiting.values()) clearTimeout(handle);
    this.#waiting.clear();
  }
}
