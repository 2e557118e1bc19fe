/** One worker of a pool: who lives in it, the blank isolates that wait in it, and when it is to end. */
import type { GuestIsolate } from "./guest_isolate.ts";
import { GUEST_LIMITS, type PoolLimits } from "./limits.ts";
import { orderIsolate } from "./order_isolate.ts";
import type { WorkerProcess } from "./worker_process.ts";

/** A worker with the isolates in it. */
export class Seat {
  /** The process. */
  readonly worker: WorkerProcess;
  /** Isolates that are somebody's. */
  readonly isolates = new Set<GuestIsolate>();
  readonly #limits: PoolLimits;
  readonly #bornAt = performance.now();
  /** The one that was ordered first comes first. */
  #blanks: Promise<number | undefined>[] = [];
  #blanksWanted: number;
  #refill: NodeJS.Timeout | undefined;
  #made = 0;
  #entering = 0;
  #usedAt = performance.now();
  #isDraining = false;

  /** `blanksWanted` isolates are made ready at once. */
  constructor(worker: WorkerProcess, limits: PoolLimits, blanksWanted: number) {
    this.worker = worker;
    this.#limits = limits;
    this.#blanksWanted = blanksWanted;
    this.#fill();
    void worker.ended.then(() => clearTimeout(this.#refill));
  }

  /** Whether new isolates may be made in it. */
  get isOpen(): boolean {
    return this.worker.isUsable && !this.#isDraining;
  }

  /** Whether it has as many isolates as one worker may have. */
  get isFull(): boolean {
    return this.isolates.size + this.#entering >= this.#limits.isolatesPerWorkerMax;
  }

  /** Since when, by `performance.now()`, nothing is under way in it; null while something is. */
  get idleSince(): number | null {
    if (this.#entering > 0 || this.worker.isBusy) return null;
    let since = this.#usedAt;
    for (const { idleSince } of this.isolates) {
      if (idleSince === null) return null;
      since = Math.max(since, idleSince);
    }
    return since;
  }

  /** How many blank isolates it is to keep from now on. */
  keepBlanks(count: number): void {
    this.#blanksWanted = count;
  }

  /** Runs the making of an isolate in it, with a blank one if it may be used and is there. */
  async enter(
    mayBeBlank: boolean,
    make: (blank: number | undefined) => Promise<GuestIsolate>,
  ): Promise<GuestIsolate> {
    this.#entering += 1;
    this.worker.retain();
    try {
      const blank = mayBeBlank ? await this.#takeBlank() : undefined;
      if (blank === undefined) this.#made += 1;
      const isolate = await make(blank);
      // It may have ended before anybody could know it.
      if (isolate.isAlive) this.isolates.add(isolate);
      return isolate;
    } finally {
      this.#entering -= 1;
      this.#usedAt = performance.now();
      this.worker.release();
    }
  }

  /** Ends idle isolates: those idle for `idleMs`. Call it from a turn of its own: who has just found one alive calls it first. */
  evictIdle(idleMs: number): void {
    const now = performance.now();
    for (const isolate of this.isolates) {
      const { idleSince } = isolate;
      if (idleSince !== null && now - idleSince >= idleMs) isolate.evict();
    }
  }

  /** Takes no new isolate from now on if its age, its work or its size say so; tells whether it is so. */
  wearOut(): boolean {
    const { workerAgeMsMax, isolatesMadePerWorkerMax } = this.#limits;
    this.#isDraining ||= performance.now() - this.#bornAt >= workerAgeMsMax ||
      this.#made >= isolatesMadePerWorkerMax || this.#isLarge();
    return this.#isDraining;
  }

  /** Ends it, with what is idle in it, and waits until it is gone. */
  async retire(): Promise<void> {
    this.#isDraining = true;
    for (const isolate of this.isolates) isolate.evict();
    await this.worker.close("retired");
  }

  #isLarge(): boolean {
    const { recycleMb, recyclePerIsolateMb } = this.#limits;
    const residentBytes = this.worker.isBusy ? 0 : this.worker.residentBytes() ?? 0;
    const keptMb = recycleMb + recyclePerIsolateMb * this.isolates.size;
    return residentBytes > this.worker.baseBytes + keptMb * 1_048_576;
  }

  async #takeBlank(): Promise<number | undefined> {
    const blank = this.#blanks.shift();
    clearTimeout(this.#refill);
    this.#refill = setTimeout(() => this.#fill(), this.#limits.blankDelayMs);
    this.#refill.unref();
    return await blank;
  }

  /** Makes the blanks that are missing, but not while calls are under way, which they would slow down. */
  #fill(): void {
    if (!this.isOpen || this.#made >= this.#limits.isolatesMadePerWorkerMax) return;
    if (this.worker.isBusy) {
      this.#refill = setTimeout(() => this.#fill(), this.#limits.blankDelayMs);
      this.#refill.unref();
      return;
    }
    while (this.#blanks.length < this.#blanksWanted) {
      this.#made += 1;
      // Whoever needs an isolate will order one and learn why it cannot be had.
      this.#blanks.push(orderIsolate(this.worker, GUEST_LIMITS.memoryMb).catch(() => undefined));
    }
  }
}
