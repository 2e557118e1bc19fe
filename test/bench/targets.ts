/** What Sallyport is to reach, and the generous thresholds whose breach keeps a release back. Pure. */
import type { CellName } from "./cells.ts";
import { type Results, type Subject, turnsOf } from "./results.ts";
import { ratioOf, type Stat, summarize } from "./stats.ts";

/** One row: a figure of Sallyport's, as a multiple of another figure or as it is. */
export interface Target {
  /** What is measured. */
  readonly cell: CellName;
  /** Whose figure, where it is not the peer's in general. */
  readonly of?: Subject;
  /** Which figure; absent is the median. */
  readonly stat?: Stat;
  /** What it is a multiple of; absent is an absolute figure in the cell's unit. */
  readonly over?: { readonly subject: Subject; readonly cell?: CellName };
  /** How it is held to the bound. */
  readonly is: "at most" | "at least" | "within";
  /** The bound; for `within`, how far from 1 the ratio may be. */
  readonly bound: number;
  /** Beyond what is asked. */
  readonly isStretch?: boolean;
}

/** What became of a target. */
export interface Verdict {
  /** Its target. */
  readonly target: Target;
  /** The figure; null when it was not measured. */
  readonly value: number | null;
  /** Least and greatest of its turns, for ratios. */
  readonly range: readonly [number, number] | null;
  /** Whether it is reached. */
  readonly isMet: boolean;
  /** In words: `met`, or by how much it is missed. */
  readonly words: string;
}

const raw = { subject: "ivm" } as const;
const denoWorker = { subject: "denoWorker" } as const;
const native = { subject: "native" } as const;

/** All targets. */
export const TARGETS: readonly Target[] = [
  { cell: "coldSmall", over: raw, is: "at most", bound: 1 },
  { cell: "coldSmall", over: denoWorker, is: "at most", bound: 0.2 },
  { cell: "coldLarge", over: raw, is: "at most", bound: 0.8 },
  { cell: "coldLarge", over: denoWorker, is: "at most", bound: 0.35 },
  { cell: "coldLarge", over: raw, is: "at most", bound: 0.4, isStretch: true },
  { cell: "warmSmall", over: raw, is: "at most", bound: 1.9 },
  {
    cell: "warmSmall",
    over: { subject: "nodeChild" },
    is: "at most",
    bound: 1.1,
  },
  {
    cell: "warmSmall",
    over: { subject: "workerd" },
    is: "at most",
    bound: 0.35,
  },
  { cell: "warmSmall", stat: "p99", over: raw, is: "at most", bound: 2 },
  { cell: "warmSmall", over: raw, is: "at most", bound: 1.1, isStretch: true },
  { cell: "warmLarge", over: raw, is: "at most", bound: 1.3 },
  { cell: "throughput64", over: raw, is: "at least", bound: 0.75 },
  {
    cell: "throughput64",
    over: { subject: "nodeChild" },
    is: "at least",
    bound: 1,
  },
  { cell: "opSerial", over: raw, is: "at most", bound: 2.2 },
  {
    cell: "opParallel",
    over: { subject: "ivm", cell: "opSerial" },
    is: "at most",
    bound: 0.3,
  },
  { cell: "memorySmall", is: "at most", bound: 2 },
  { cell: "memoryLarge", is: "at most", bound: 7 },
  {
    cell: "memorySmall",
    over: { subject: "sallyport", cell: "memorySmallFirst" },
    is: "within",
    bound: 0.05,
  },
  { cell: "cycleLeft", is: "at most", bound: 8 },
  { cell: "cpuFib", over: native, is: "at most", bound: 1.15 },
  { cell: "cpuJson", over: native, is: "at most", bound: 1.15 },
  { cell: "cpuMix", over: native, is: "at most", bound: 1.15 },
  { cell: "cpuSort", over: native, is: "at most", bound: 1.15 },
  { cell: "typescript", over: raw, is: "at most", bound: 1.5 },
  {
    cell: "shell",
    of: "sallyportShell",
    over: { subject: "denoShell" },
    is: "at most",
    bound: 4,
  },
  {
    cell: "shell",
    of: "sallyportShell",
    over: { subject: "denoShell" },
    is: "at most",
    bound: 2,
    isStretch: true,
  },
];

/**
 * The gate. Ratios, since figures of one machine say nothing about another, and far enough from what is measured that only
 * a change which somebody made breaks them. Most are of the best tenth: other work on the machine hardly shows in it.
 */
export const GATES: readonly Target[] = [
  { cell: "coldSmall", stat: "p10", over: raw, is: "at most", bound: 4 },
  { cell: "coldLarge", stat: "p10", over: raw, is: "at most", bound: 3 },
  { cell: "warmSmall", over: raw, is: "at most", bound: 6 },
  { cell: "warmSmall", stat: "p95", over: raw, is: "at most", bound: 12 },
  { cell: "warmLarge", stat: "p10", over: raw, is: "at most", bound: 3 },
  { cell: "throughput64", stat: "p90", over: raw, is: "at least", bound: 0.3 },
  { cell: "opSerial", stat: "p10", over: raw, is: "at most", bound: 6 },
  {
    cell: "opParallel",
    stat: "p10",
    over: { subject: "ivm", cell: "opSerial" },
    is: "at most",
    bound: 1,
  },
  { cell: "memorySmall", is: "at most", bound: 4 },
  { cell: "memoryLarge", is: "at most", bound: 12 },
  { cell: "cpuFib", stat: "p10", over: native, is: "at most", bound: 2 },
  { cell: "typescript", stat: "p10", over: raw, is: "at most", bound: 5 },
  {
    cell: "shell",
    of: "sallyportShell",
    stat: "p10",
    over: { subject: "denoShell" },
    is: "at most",
    bound: 14,
  },
];

/** The most that may be loaded at the start, bytes: what a guest is made with, the worker's one file, all of the package. */
export const SIZE_GATES: Readonly<Record<string, number>> = {
  "guest platform": 65_536,
  "worker": 131_072,
  "bundler's process": 131_072,
  "package": 8_388_608,
};

/** Holds results to a target. */
export function judge(results: Results, target: Target): Verdict {
  const { value, range } = figureOf(results, target);
  if (value === null || Number.isNaN(value)) {
    return {
      target,
      value: null,
      range: null,
      isMet: false,
      words: "not measured",
    };
  }
  const { is, bound } = target;
  const isMet = is === "at most"
    ? value <= bound
    : is === "at least"
    ? value >= bound
    : Math.abs(value - 1) <= bound;
  return {
    target,
    value,
    range,
    isMet,
    words: isMet ? "met" : missed(target, value),
  };
}

function figureOf(
  results: Results,
  { cell, of = "sallyport", stat = "p50", over }: Target,
): Pick<Verdict, "value" | "range"> {
  const turns = turnsOf(results, cell, of);
  if (over === undefined) {
    const summary = summarize(turns);
    return summary === null ? { value: null, range: null } : { value: summary[stat], range: summary.range };
  }
  const ratio = ratioOf(
    turns,
    turnsOf(results, over.cell ?? cell, over.subject),
    stat,
  );
  return ratio ?? { value: null, range: null };
}

function missed({ is, bound }: Target, value: number): string {
  if (is === "within") {
    return `missed: ${percent(Math.abs(value - 1))} away, ${percent(bound)} allowed`;
  }
  const factor = is === "at most" ? value / bound : bound / value;
  return factor < 2 ? `missed by ${percent(factor - 1)}` : `missed by a factor of ${factor.toFixed(1)}`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}
