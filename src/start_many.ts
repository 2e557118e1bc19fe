/** Starting many plugins: a few at a time, under one budget, so that one that hangs costs the others nothing (DESIGN section 9). */
import type { LifecycleLimits } from "./lifecycle_limits.ts";

/** What starting many is bounded by. */
export interface StartMany {
  /** The bounds. */
  readonly limits: Pick<LifecycleLimits, "startersMax" | "startAllMs" | "stallMs">;
  /** Gives all of them up. */
  readonly signal?: AbortSignal | undefined;
  /** Whether a failure of this one gives all others up. */
  readonly isRequired: (place: number) => boolean;
}

/** What became of the starts. */
export interface StartedMany {
  /** The error of each, in the order of the items; undefined where it started. */
  readonly errors: readonly unknown[];
  /** The place of the required one that failed first. */
  readonly failed: number | null;
  /** Whether the budget was used up. */
  readonly isLate: boolean;
}

/**
 * Starts all items and waits for all of them. Each `start` must settle soon after its signal aborts. One that takes longer than
 * `stallMs` gives its place to the next, and goes on.
 */
export async function startMany(
  starts: readonly ((signal: AbortSignal) => Promise<unknown>)[],
  { limits, signal, isRequired }: StartMany,
): Promise<StartedMany> {
  const controller = new AbortController();
  const giveUp = (): void => controller.abort();
  let isLate = false;
  let failed: number | null = null;
  const budget = setTimeout(() => {
    isLate = true;
    giveUp();
  }, limits.startAllMs);
  signal?.addEventListener("abort", giveUp, { once: true });
  if (signal?.aborted) giveUp();
  const errors: unknown[] = starts.map(() => undefined);
  const all: Promise<void>[] = [];
  let next = 0;
  const starter = async (): Promise<void> => {
    while (next < starts.length) {
      const place = next++;
      const start = starts[place]!(controller.signal).then(() => {}, (error: unknown) => {
        errors[place] = error ?? new Error("it failed without a reason");
        if (!isRequired(place) || failed !== null) return;
        failed = place;
        giveUp();
      });
      all.push(start);
      await orStalled(start, limits.stallMs);
    }
  };
  try {
    await Promise.all(Array.from({ length: limits.startersMax }, starter));
    await Promise.all(all);
    return { errors, failed, isLate };
  } finally {
    clearTimeout(budget);
    signal?.removeEventListener("abort", giveUp);
  }
}

async function orStalled(start: Promise<void>, stallMs: number): Promise<void> {
  const { promise: stalled, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, stallMs);
  await Promise.race([start, stalled]);
  clearTimeout(timer);
}
