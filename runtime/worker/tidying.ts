/**
 * Isolates that come to rest are collected once: what a guest leaves behind, and the room that its heap keeps for more, is about a
 * third of what an idle plugin takes.
 */
import { RUNTIME_LIMITS } from "../limits.ts";

/** Who has come to rest, and since when. */
export class Tidying<Item> {
  readonly #since = new Map<Item, number>();
  readonly #tidy: (item: Item) => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #isTidying = false;

  /** `tidy` is called for one after the other. */
  constructor(tidy: (item: Item) => Promise<void>) {
    this.#tidy = tidy;
  }

  /** Something has come to rest. */
  rests(item: Item): void {
    this.#since.set(item, performance.now());
    this.#timer ??= setInterval(() => void this.#look(), RUNTIME_LIMITS.tidyLookMs).unref();
  }

  /** It works again, or is gone. */
  works(item: Item): void {
    this.#since.delete(item);
  }

  async #look(): Promise<void> {
    if (this.#isTidying) return;
    this.#isTidying = true;
    const before = performance.now() - RUNTIME_LIMITS.tidyIdleMs;
    for (const [item, since] of [...this.#since]) {
      if (since > before || !this.#since.delete(item)) continue;
      await this.#tidy(item);
    }
    this.#isTidying = false;
    if (this.#since.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
