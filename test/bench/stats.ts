/** The arithmetic of the harness; pure. */

/** Samples of one measurement by turn: within a turn every peer was measured on the machine as it was then. */
export type Turns = readonly (readonly number[])[];

/** What a table says about samples. */
export interface Summary extends Readonly<Record<Stat, number>> {
  /** Least and greatest of the turns' medians. */
  readonly range: readonly [least: number, greatest: number];
  /** How many samples. */
  readonly n: number;
}

/** One figure as a multiple of another. */
export interface Ratio {
  /** Middle of the turns' ratios. */
  readonly value: number;
  /** Least and greatest of them. */
  readonly range: readonly [least: number, greatest: number];
}

/** A figure of samples: the middle, either tail. */
export type Stat = "p10" | "p50" | "p90" | "p95" | "p99";

const SHARES: Readonly<Record<Stat, number>> = {
  p10: 0.1,
  p50: 0.5,
  p90: 0.9,
  p95: 0.95,
  p99: 0.99,
};

/** The value below which a share of the samples lies, by nearest rank; NaN without samples. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const place = Math.ceil(share * sorted.length) - 1;
  return sorted[Math.min(Math.max(place, 0), sorted.length - 1)] ?? NaN;
}

/** The middle one, the mean of the two in the middle for an even number; NaN without samples. */
export function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle]!;
  return sorted.length === 0 ? NaN : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Sums up all turns; null when nothing was measured. */
export function summarize(turns: Turns): Summary | null {
  const measured = turns.filter((turn) => turn.length > 0);
  if (measured.length === 0) return null;
  const all = measured.flat();
  const medians = measured.map(median);
  return {
    p10: quantileOf(all, "p10"),
    p50: quantileOf(all, "p50"),
    p90: quantileOf(all, "p90"),
    p95: quantileOf(all, "p95"),
    p99: quantileOf(all, "p99"),
    range: [Math.min(...medians), Math.max(...medians)],
    n: all.length,
  };
}

/**
 * How many times the reference it is. Medians are compared turn by turn, so that what the machine did in a turn falls on
 * both; further out in the tail, where a turn has too few samples, all samples are. Null when one was not measured.
 */
export function ratioOf(
  turns: Turns,
  reference: Turns,
  stat: Stat = "p50",
): Ratio | null {
  const pairs = turns.flatMap((turn, place) => {
    const other = reference[place];
    return turn.length === 0 || other === undefined || other.length === 0 ? [] : [[turn, other] as const];
  });
  if (pairs.length === 0) return null;
  const ratios = pairs.map(([turn, other]) => quantileOf(turn, stat) / quantileOf(other, stat));
  const range = [Math.min(...ratios), Math.max(...ratios)] as const;
  if (stat === "p50") return { value: median(ratios), range };
  const value = quantileOf(pairs.flatMap(([turn]) => turn), stat) /
    quantileOf(pairs.flatMap(([, other]) => other), stat);
  return { value, range };
}

function quantileOf(samples: readonly number[], stat: Stat): number {
  return stat === "p50" ? median(samples) : quantile(samples, SHARES[stat]);
}
