/** What is measured of every peer, in the order of the tables. */
import type { Order } from "./measure.ts";
import type { Stat } from "./stats.ts";

/** How much is measured. */
export interface Effort {
  /** Fresh processes of all peers. */
  readonly passes: number;
  /** Multiplies the turns of each cell in each pass. */
  readonly turns: number;
  /** How many plugins idle in the memory cells, by what each weighs. */
  readonly idle: Readonly<
    Record<"light" | "middle" | "heavy", readonly [few: number, many: number]>
  >;
  /** Bound of one memory cell of one peer. */
  readonly growMs: number;
  /** Load/unload cycles. */
  readonly cycles: number;
  /** Bound of them. */
  readonly cyclesMs: number;
  /** Runs of each program from the shell. */
  readonly shellTurns: number;
  /** Bound of the whole; above it turns are left out. */
  readonly totalMs: number;
}

/** `--quick`, and without it. */
export const EFFORTS = {
  quick: {
    passes: 1,
    turns: 1,
    idle: { light: [20, 50], middle: [10, 30], heavy: [4, 8] },
    growMs: 8_000,
    cycles: 300,
    cyclesMs: 8_000,
    shellTurns: 5,
    totalMs: 152_000,
  },
  full: {
    passes: 3,
    turns: 2,
    idle: { light: [50, 200], middle: [50, 200], heavy: [8, 20] },
    growMs: 60_000,
    cycles: 1_000,
    cyclesMs: 60_000,
    shellTurns: 20,
    totalMs: 1_800_000,
  },
} as const satisfies Readonly<Record<string, Effort>>;

/** One cell. */
export interface Cell {
  /** How tables call it. */
  readonly title: string;
  /** Under which heading. */
  readonly group: string;
  /** What its figures are. */
  readonly unit: "ms" | "µs" | "calls/s" | "MiB" | "KiB";
  /** Figures that tables show; the first one with its ratio and spread. */
  readonly stats?: readonly Stat[];
  /** What ratios in tables are multiples of; absent is `ivm`. */
  readonly reference?: "native" | "denoShell";
  /** How many turns at an effort of 1, and what is ordered in each; absent is measured otherwise. */
  readonly turns?: number;
  /** What is ordered in a turn; `seq` differs in each. */
  readonly order?: (seq: number) => Order;
}

const START = "Start";
const CALL = "Warm calls";
const HOST = "Ops and throughput";
const MEMORY = "Memory";
const CPU = "Processor-bound guest code, against the same code without a sandbox";
const SHELL = "From the shell, whole process";

/** Text of a small TypeScript file that nobody has seen. */
function unseen(seq: number): string {
  return `interface Input { readonly id: string }\n` +
    `export default (input: Input): object => ({ ...input, seq: ${seq} satisfies number });\n`;
}

const kernel = (
  title: string,
  name: "kernelFib" | "kernelJson" | "kernelMix" | "kernelSort",
): Cell => ({
  title,
  group: CPU,
  unit: "ms",
  reference: "native",
  turns: 3,
  order: () => ({ do: "cpu", kernel: name, count: 3 }),
});

/** All cells. */
export const CELLS = {
  coldSmall: {
    title: "cold start, small plugin (bundle cached)",
    group: START,
    unit: "ms",
    turns: 8,
    order: () => ({ do: "cold", fixture: "small", count: 1 }),
  },
  coldLarge: {
    title: "cold start, 290 KB plugin (bundle cached)",
    group: START,
    unit: "ms",
    turns: 5,
    order: () => ({ do: "cold", fixture: "large", count: 1 }),
  },
  warmSmall: {
    title: "call, 1 KB",
    group: CALL,
    unit: "µs",
    stats: ["p50", "p95", "p99"],
    turns: 5,
    order: () => ({ do: "warm", bytes: "small", ms: 150 }),
  },
  warmLarge: {
    title: "call, 100 KB",
    group: CALL,
    unit: "µs",
    stats: ["p50", "p99"],
    turns: 4,
    order: () => ({ do: "warm", bytes: "large", ms: 150 }),
  },
  opSerial: {
    title: "op, one at a time",
    group: HOST,
    unit: "µs",
    turns: 4,
    order: () => ({ do: "op", tool: "opSerial", ms: 120 }),
  },
  opParallel: {
    title: "op, 64 at once, each",
    group: HOST,
    unit: "µs",
    turns: 4,
    order: () => ({ do: "op", tool: "opParallel", ms: 120 }),
  },
  throughput1: {
    title: "throughput, 1 in flight",
    group: HOST,
    unit: "calls/s",
    turns: 3,
    order: () => ({ do: "throughput", flights: 1, ms: 120 }),
  },
  throughput64: {
    title: "throughput, 64 in flight",
    group: HOST,
    unit: "calls/s",
    turns: 4,
    order: () => ({ do: "throughput", flights: 64, ms: 150 }),
  },
  typescript: {
    title: "small TypeScript file never seen, host warm",
    group: START,
    unit: "ms",
    turns: 6,
    order: (seq) => ({ do: "typescript", text: unseen(seq) }),
  },
  firstSmall: {
    title: "first-ever start, small plugin (with bundling)",
    group: START,
    unit: "ms",
    turns: 2,
    order: () => ({ do: "first", fixture: "small" }),
  },
  firstLarge: {
    title: "first-ever start, 290 KB plugin (with bundling)",
    group: START,
    unit: "ms",
    turns: 2,
    order: () => ({ do: "first", fixture: "large" }),
  },
  cpuFib: kernel("fib(31)", "kernelFib"),
  cpuJson: kernel("JSON parse and stringify", "kernelJson"),
  cpuMix: kernel("integer mixing", "kernelMix"),
  cpuSort: kernel("sort 50,000 by comparator", "kernelSort"),
  shell: {
    title: "small plugin or script, one call",
    group: SHELL,
    unit: "ms",
    reference: "denoShell",
  },
  memorySmall: {
    title: "each further idle small plugin, PSS",
    group: MEMORY,
    unit: "MiB",
  },
  memorySmallFirst: {
    title: "… in the first half of that",
    group: MEMORY,
    unit: "MiB",
  },
  memoryLarge: {
    title: "each further idle 290 KB plugin, PSS",
    group: MEMORY,
    unit: "MiB",
  },
  memoryLargeFirst: {
    title: "… in the first half of that",
    group: MEMORY,
    unit: "MiB",
  },
  cycleLeft: {
    title: "left by a load/unload cycle, RSS",
    group: MEMORY,
    unit: "KiB",
  },
  cycleMs: { title: "load, call, unload", group: MEMORY, unit: "ms" },
} as const satisfies Readonly<Record<string, Cell>>;

/** Name of a cell. */
export type CellName = keyof typeof CELLS;

/** All names. */
export const CELL_NAMES = Object.keys(CELLS) as readonly CellName[];
