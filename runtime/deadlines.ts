/** The deadlines of one isolate under one timer: calls follow one another faster than timers should be made. */

/** What is due when, each by its number. */
export class Deadlines {
  readonly #due = new Map<number, number>();
  readonly #onDue: (id: number) => void;
  #timer: NodeJS.Timeout | undefined;
  #armedFor = Infinity;

  /** `onDue` gets the number of each deadline that has come. */
  constructor(onDue: (id: number) => void) {
    this.#onDue = onDue;
  }

  /** Sets one, by `performance.now()`; whoever waits for it keeps the process awake, the timer does not. */
  set(id: number, at: number): void {
    this.#due.set(id, at);
    if (at < this.#armedFor) this.#arm(at);
  }

  /** Takes one back. The timer stays: it will find that there is nothing to do. */
  clear(id: number): void {
    this.#due.delete(id);
  }

  /** Takes all of them back. */
  clearAll(): void {
    this.#due.clear();
    clearTimeout(this.#timer);
    this.#armedFor = Infinity;
  }

  #arm(at: number): void {
    clearTimeout(this.#timer);
    this.#armedFor = at;
    this.#timer = setTimeout(() => this.#look(), Math.max(0, Math.ceil(at - performance.now())));
    this.#timer.unref();
  }

  #look(): void {
    this.#armedFor = Infinity;
    const now = performance.now();
    const come = [...this.#due].filter(([, at]) => at <= now);
    for (const [id] of come) this.#due.delete(id);
    if (this.#due.size > 0) this.#arm(Math.min(...this.#due.values()));
    for (const [id] of come) this.#onDue(id);
  }
}

/**
 * Does a work after all timers that are due by now: of two bounds that come at the same moment the same one is always first,
 * whichever timer the system takes first.
 */
export function afterTimers(work: () => void): void {
  // The loop's own clock stands still while it is busy, so it is set first. A timer that is due by now may be seen a millisecond
  // later, and after timers of other lengths: the end of their turn is after all of them.
  setImmediate(() => setTimeout(() => setImmediate(work), 2));
}
