/** What the operations of one isolate may cost its host at once and over time, whatever the platform in it counted. */
import { type GuestLimits, RUNTIME_LIMITS } from "./limits.ts";
import { Rate } from "./rate.ts";

/** Why an operation is not let in: a bound that ends the call, or the rate, which refuses this one alone. */
export type GateRefusal = "ops" | "bytes" | "rate";

/** The answer to an op whose call has ended; it frees what the guest's platform keeps for it. */
export const CALL_ENDED: string = failedEnvelope("Interrupted", "ERR_CALL_ENDED", "The call has ended");

/** The operations of one isolate that have not been answered. */
export class OpGate {
  /** The answer to an op that was refused for its rate. */
  readonly tooFast: string;
  readonly #rate: Rate;
  #count = 0;
  #bytes = 0;

  /** Two seconds' worth of the rate may be saved up, so that a burst is no matter. */
  constructor({ opsPerSecondMax }: GuestLimits) {
    const message = `More than ${opsPerSecondMax} operations a second`;
    this.tooFast = failedEnvelope("LimitError", "ERR_LIMIT_RATE", message);
    this.#rate = new Rate(opsPerSecondMax, 2 * opsPerSecondMax);
  }

  /** How many are under way. */
  get count(): number {
    return this.#count;
  }

  /** Lets one in, or says why not. */
  enter(bytes: number): GateRefusal | null {
    // The platform bounds this first; that it did not means that it is no longer ours.
    if (this.#count >= 2 * RUNTIME_LIMITS.opsInFlightMax) return "ops";
    if (this.#bytes + bytes > RUNTIME_LIMITS.opBytesInFlightMax) return "bytes";
    if (!this.#rate.take()) return "rate";
    this.#count += 1;
    this.#bytes += bytes;
    return null;
  }

  /** One that was let in was answered. */
  leave(bytes: number): void {
    this.#count -= 1;
    this.#bytes -= bytes;
  }
}

/** The answer to an op that is never dispatched. */
function failedEnvelope(name: string, code: string, message: string): string {
  return JSON.stringify({ ok: false, error: { name, code, message } });
}
