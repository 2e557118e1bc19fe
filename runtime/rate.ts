/** How often something may happen: so many times a second on average, and as many at once as were saved up. */

/** What is left of a rate. */
export class Rate {
  readonly #perSecond: number;
  readonly #most: number;
  readonly #now: () => number;
  #left: number;
  #countedAt: number;

  /** `savedMax` is the most that may be saved up; `now` is a clock in milliseconds. */
  constructor(perSecond: number, savedMax: number = perSecond, now: () => number = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#most = Math.max(savedMax, 1);
    this.#now = now;
    this.#left = this.#most;
    this.#countedAt = now();
  }

  /** Whether it may happen once more now; if so, it is counted. */
  take(): boolean {
    const now = this.#now();
    this.#left = Math.min(this.#most, this.#left + ((now - this.#countedAt) / 1_000) * this.#perSecond);
    this.#countedAt = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
