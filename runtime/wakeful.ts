/**
 * A thread that waits for a short answer stays awake: putting a core to sleep and waking it takes longer than most calls, on a
 * virtual machine several times as long. It is learnt whether that pays: whoever waited in vain sleeps at once from then on, until
 * an answer comes that would have been worth it.
 */

/** One side of a pipe. */
export class Wakeful {
  readonly #msMax: number;
  readonly #look = (): void => this.#stayAwake();
  #since = 0;
  #isWaiting = false;
  #isLooking = false;
  #isWorth = true;
  #slept = 0;

  /** `usMax` is how long it stays awake, microseconds; 0 is never. */
  constructor(usMax: number) {
    this.#msMax = usMax / 1_000;
  }

  /** Something was said that may be answered at once. */
  said(): void {
    if (this.#msMax === 0) return;
    this.#since = performance.now();
    this.#isWaiting = true;
    if (this.#isLooking) return;
    // Asleep an answer takes longer than awake, so now and then it is tried again.
    if (!this.#isWorth && ++this.#slept < SLEPT_MAX) return;
    this.#slept = 0;
    this.#isLooking = true;
    setImmediate(this.#look);
  }

  /** Something was heard. */
  heard(): void {
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.#isWorth = performance.now() - this.#since <= this.#msMax;
  }

  /** The loop looks at what has come, and is asked again, instead of sleeping until something comes. */
  #stayAwake(): void {
    if (this.#isWaiting && performance.now() - this.#since <= this.#msMax) {
      return void setImmediate(this.#look);
    }
    this.#isLooking = false;
    if (this.#isWaiting) this.#isWorth = false;
  }
}

/** After so many waits asleep, one is spent awake. */
const SLEPT_MAX = 8;
