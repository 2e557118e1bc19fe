/**
 * Whether slices of an isolate run inline, on the thread that reads the pipe, or on a thread of the engine. A hop between
 * threads costs more than a short slice; a long one would keep the worker from hearing its host. So it is learnt: whoever
 * was short a few times runs inline, and whoever then is long loses that for good.
 */
import { RUNTIME_LIMITS } from "../limits.ts";

/** What was seen of one isolate's slices. */
export class Pace {
  #short = 0;
  #overruns = 0;
  #isAllowed: boolean;

  /** `isAllowed` says whether the isolate may run inline at all. */
  constructor(isAllowed: boolean) {
    this.#isAllowed = isAllowed;
  }

  /** Whether the next slice runs inline. */
  get isInline(): boolean {
    return this.#isAllowed && this.#short >= RUNTIME_LIMITS.inlineAfterSlices;
  }

  /**
   * Counts a slice that ended; `isShared` says that other plugins waited for it. The engine counts time and not work, so that on a busy machine a short slice may look long once in
   * a while; those of a tool that really is slow do so again and again.
   */
  took(ms: number, isShared = false): void {
    const { inlineOverrunsMax, inlineForgivenAfter } = RUNTIME_LIMITS;
    const sliceMsMax = RUNTIME_LIMITS[isShared ? "inlineSharedSliceMsMax" : "inlineSliceMsMax"];
    const overrunMs = RUNTIME_LIMITS[isShared ? "inlineSharedOverrunMs" : "inlineOverrunMs"];
    if (!this.isInline) this.#short = ms <= sliceMsMax ? this.#short + 1 : 0;
    else if (ms <= overrunMs) this.#overruns = Math.max(0, this.#overruns - 1 / inlineForgivenAfter);
    else if (++this.#overruns > inlineOverrunsMax - 0.5) this.demote();
  }

  /** Never inline again. */
  demote(): void {
    this.#isAllowed = false;
  }
}
