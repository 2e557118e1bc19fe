/** One plugin's schemas, checked one after the other in an isolate of their own: what they do to it, they do to themselves. */
import { HostError, LimitError } from "../../permissions/mod.ts";
import type { GuestAnswer, GuestIsolate } from "../../runtime/mod.ts";
import { VALIDATOR_LIMITS as LIMITS } from "./limits.ts";

/** A lane of checks, and the isolate that they run in. */
export class Judge {
  readonly #plugin: string;
  readonly #start: () => Promise<GuestIsolate>;
  #isolate: GuestIsolate | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Starts nothing; `start` makes an isolate with the library in it. */
  constructor(plugin: string, start: () => Promise<GuestIsolate>) {
    this.#plugin = plugin;
    this.#start = start;
  }

  /** Runs a check once those before it have ended. Throws LimitError, or HostError when there can be no isolate. */
  async check(run: (isolate: GuestIsolate) => Promise<GuestAnswer>): Promise<GuestAnswer> {
    if (this.#waiting >= LIMITS.schemaChecksWaitingMax) {
      throw new LimitError(
        "ERR_LIMIT_RATE",
        `Cannot check a value of "${this.#plugin}": ${this.#waiting} of its checks are under way`,
      );
    }
    this.#waiting += 1;
    const turn = this.#last.then(() => this.#runTwice(run));
    this.#last = turn.catch(() => {}).finally(() => this.#waiting -= 1);
    return await turn;
  }

  /** Ends its isolate once the last check has ended. */
  close(): void {
    void this.#last.then(() => this.#isolate?.dispose());
  }

  /** A neighbour's schema may have ended the worker that both isolates are in; a second try is in a new one. */
  async #runTwice(run: (isolate: GuestIsolate) => Promise<GuestAnswer>): Promise<GuestAnswer> {
    try {
      return await run(await this.#ready());
    } catch (error) {
      if (!(error instanceof HostError && error.retryable)) throw error;
      return await run(await this.#ready());
    }
  }

  async #ready(): Promise<GuestIsolate> {
    if (!this.#isolate?.isAlive) this.#isolate = await this.#start();
    return this.#isolate;
  }
}
