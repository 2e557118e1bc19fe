/** A bounded number of places for work of one kind; who comes later waits, and may stop waiting. */

/** Places that are taken for as long as some work runs. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  /** `count` is how much may run at once. */
  constructor(count: number) {
    this.#free = count;
  }

  /** Waits for a place, in order, and runs the work in it. Throws the signal's reason if that comes first. */
  async take<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    try {
      return await work();
    } finally {
      const [next] = this.#waiting;
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const give = (): void => {
        this.#waiting.delete(give);
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.delete(give);
        reject(signal.reason as Error);
      };
      this.#waiting.add(give);
      signal.addEventListener("abort", leave, { once: true });
    });
  }
}
