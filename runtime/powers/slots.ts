/** A bounded number of places for work of one kind; who comes later waits, and may stop waiting. */

/** Places that are taken for as long as some work runs. Lanes take turns, so that a long one holds up nobody but itself. */
export class Slots {
  #free: number;
  /** Who waits, by lane; the lane whose turn is next comes first, and one in which nobody waits is not there. */
  readonly #lanes = new Map<string, Set<() => void>>();

  /** `count` is how much may run at once. */
  constructor(count: number) {
    this.#free = count;
  }

  /** Waits for a place, in the order of its lane, and runs the work in it. Throws the signal's reason if that comes first. */
  async take<Value>(lane: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(lane, signal);
    try {
      return await work();
    } finally {
      this.#giveNext();
    }
  }

  #giveNext(): void {
    const [first] = this.#lanes;
    if (first === undefined) {
      this.#free += 1;
      return;
    }
    const [lane, waiting] = first;
    const [next] = waiting;
    this.#lanes.delete(lane);
    this.#lanes.set(lane, waiting); // behind all others
    next!(); // a lane in which nobody waits is not there
  }

  #wait(lane: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = this.#lanes.get(lane) ?? new Set();
      this.#lanes.set(lane, waiting);
      const stop = (): void => {
        waiting.delete(give);
        if (waiting.size === 0) this.#lanes.delete(lane);
        signal.removeEventListener("abort", leave);
      };
      const give = (): void => {
        stop();
        resolve();
      };
      const leave = (): void => {
        stop();
        reject(signal.reason as Error);
      };
      waiting.add(give);
      signal.addEventListener("abort", leave, { once: true });
    });
  }
}
