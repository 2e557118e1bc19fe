/** How many calls a tenant may make: what is above is refused at once, and written down no more than once a second. */
import { LimitError } from "../permissions/mod.ts";
import { Rate, RUNTIME_LIMITS } from "../runtime/mod.ts";
import type { FairTurns } from "./fair_turns.ts";

/** What bounds the calls of one tenant. */
export interface CallRateOptions {
  /** Id of the tenant, for messages. */
  readonly tenant: string;
  /** Calls a second, on average; absent is the runtime's own bound. */
  readonly callsPerSecondMax?: number | undefined;
  /** When a call may begin beside those of other tenants; absent is at once. */
  readonly turns?: Pick<FairTurns, "take">;
  /** Told that calls were refused, with how many since it was last told. */
  readonly onRefused: (count: number) => void;
  /** A clock in milliseconds. */
  readonly now?: () => number;
}

/** The calls of one tenant. */
export class CallRate {
  readonly #options: CallRateOptions;
  readonly #callsPerSecondMax: number;
  readonly #rate: Rate;
  readonly #tell: Rate;
  #untold = 0;

  /** A second's worth of calls may be saved up. */
  constructor(options: CallRateOptions) {
    const { now, callsPerSecondMax = RUNTIME_LIMITS.callsPerSecondMax } = options;
    this.#options = options;
    this.#callsPerSecondMax = callsPerSecondMax;
    this.#rate = new Rate(callsPerSecondMax, callsPerSecondMax, now);
    this.#tell = new Rate(1, 1, now);
  }

  /**
   * Counts a call: undefined where it may begin at once, else what settles when it may. Throws LimitError `ERR_LIMIT_RATE` when
   * there were too many.
   */
  take(): Promise<void> | undefined {
    if (this.#rate.take()) return this.#options.turns?.take(this.#options.tenant);
    this.#untold += 1;
    if (this.#tell.take()) {
      this.#options.onRefused(this.#untold);
      this.#untold = 0;
    }
    throw new LimitError(
      "ERR_LIMIT_RATE",
      `Cannot start the call: tenant "${this.#options.tenant}" makes more than ${this.#callsPerSecondMax} calls a second (callsPerSecondMax)`,
      { details: { callsPerSecondMax: this.#callsPerSecondMax } },
    );
  }
}
