/** A bounded number of places for work of one kind; who comes later waits, and may stop waiting. */

/** Places that are taken for as long as some work runs. Lanes take turns, so that a long one holds up nobody but itself. */
export class Slots {
  #free: number;
  readonly #perLane: number;
  /** How many places each lane has taken; one that has none is not there. */
  readonly #taken = new Map<string, number>();
  /** Who waits, by lane; the lane whose turn is next comes first, and one in which nobody waits is not there. */
  readonly #lanes = new Map<string, Set<() => void>>();

  /** `count` is how much may run at once, `perLane` how much of it for one lane. */
  constructor(count: number, perLane: number = count) {
    this.#free = count;
    this.#perLane = perLane;
  }

  /** Waits for a place, in the order of its lane, and runs the work in it. Throws the signal's reason if that comes first. */
  async take<Value>(lane: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
    signal.throwIfAborted();
    if (this.#free > 0 && this.#hasRoom(lane)) {
      this.#free -= 1;
      this.#count(lane, 1);
    } else await this.#wait(lane, signal);
    try {
      return await work();
    } finally {
      this.#count(lane, -1);
      this.#giveNext();
    }
  }

  #hasRoom(lane: string): boolean {
    return (this.#taken.get(lane) ?? 0) < this.#perLane;
  }

  #count(lane: string, by: 1 | -1): void {
    const now = (this.#taken.get(lane) ?? 0) + by;
    if (now === 0) this.#taken.delete(lane);
    else this.#taken.set(lane, now);
  }

  #giveNext(): void {
    const first = this.#lanes.entries().find(([lane]) => this.#hasRoom(lane));
    if (first === undefined) {
      this.#free += 1;
      return;
    }
    const [lane, waiting] = first;
    this.#count(lane, 1);
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
