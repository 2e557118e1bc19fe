/**
 * The generations of one tenant: one number that grows by one with each commit, and the snapshot of the present one. Commits and
 * readings follow one another in one lane, so that nobody reads half of a change; no plugin's code runs in it (T22).
 */
import { deepFreeze } from "./deep_freeze.ts";
import type { Snapshot } from "./snapshot.ts";

/** The generations of one tenant. */
export class Generations {
  readonly #content: () => Promise<Omit<Snapshot, "generation">>;
  #number = 1;
  /** Whether the number has grown since the last reading. */
  #hasGrown = false;
  #last: { readonly text: string; readonly snapshot: Snapshot } | null = null;
  #lane: Promise<unknown> = Promise.resolve();

  /** `content` reads what is offered now. */
  constructor(content: () => Promise<Omit<Snapshot, "generation">>) {
    this.#content = content;
  }

  /** The present one's. */
  get number(): number {
    return this.#number;
  }

  /** Makes a change; when it has been made, the next generation is the present one. */
  commit<Value>(change: () => Promise<Value> | Value): Promise<Value> {
    return this.#inLane(async () => {
      const value = await change();
      this.#number += 1;
      this.#hasGrown = true;
      return value;
    });
  }

  /** What is offered now; the same object as long as nothing changes. What was changed behind the tenant is a commit as well. */
  read(): Promise<Snapshot> {
    return this.#inLane(async () => {
      const content = await this.#content();
      const text = JSON.stringify(content);
      const isSame = this.#last?.text === text;
      if (this.#last !== null && isSame && this.#last.snapshot.generation === this.#number) {
        return this.#last.snapshot;
      }
      if (this.#last !== null && !isSame && !this.#hasGrown) this.#number += 1;
      this.#hasGrown = false;
      const snapshot: Snapshot = deepFreeze({ generation: this.#number, ...content });
      this.#last = { text, snapshot };
      return snapshot;
    });
  }

  #inLane<Value>(work: () => Promise<Value>): Promise<Value> {
    const turn = this.#lane.then(work);
    this.#lane = turn.catch(() => {});
    return turn;
  }
}
