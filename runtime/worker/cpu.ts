/** Processor time of the calls of one isolate: slices run one after the other, so each one's belongs to its call. */

/** What calls have used. */
export class CpuMeter {
  readonly #used = new Map<number, bigint>();
  #call = 0;
  #since: bigint | null = null;

  /** A slice of the call begins; `now` is what the isolate has used by then, in nanoseconds. */
  begin(call: number, now: bigint): void {
    this.#call = call;
    this.#since = now;
  }

  /** The slice has ended; gives what it took. */
  end(now: bigint): bigint {
    const took = this.#since === null ? 0n : now - this.#since;
    this.#used.set(this.#call, this.usedByCurrent(now));
    this.#since = null;
    return took;
  }

  /** What the call of the present slice has used. */
  usedByCurrent(now: bigint): bigint {
    return (this.#used.get(this.#call) ?? 0n) + (this.#since === null ? 0n : now - this.#since);
  }

  /** Keeps the figures of these calls only. */
  keep(calls: ReadonlySet<number>): void {
    if (this.#used.size <= calls.size) return; // asked after each slice, so that little is left to find
    for (const call of this.#used.keys()) if (!calls.has(call)) this.#used.delete(call);
  }
}
