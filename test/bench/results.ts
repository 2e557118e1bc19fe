/** What a run has found out. */
import type { CellName } from "./cells.ts";
import type { PeerName } from "./peers/mod.ts";
import type { Turns } from "./stats.ts";

/** The programs that are run from the shell. */
export const SHELL_PROGRAMS = {
  sallyportShell: "sallyport run, trusted plugin",
  denoShell: "deno run of the same code",
  floorShell: "Node host + confined worker + one bare isolate",
  nodeShell: "node of the same code",
} as const;

/** Whoever has figures. */
export type Subject = PeerName | keyof typeof SHELL_PROGRAMS;

/** All figures, as they can be written to a file. */
export interface Results {
  /** The machine, in general terms. */
  readonly machine: readonly string[];
  /** How much was measured. */
  readonly effort: string;
  /** Samples by cell and subject. */
  readonly cells: Readonly<
    Partial<Record<CellName, Readonly<Partial<Record<Subject, Turns>>>>>
  >;
  /** Sizes of what is loaded at the start, bytes. */
  readonly sizes: Readonly<Record<string, number>>;
  /** What could not be measured, and why. */
  readonly gaps: readonly string[];
}

/** Samples of a subject in a cell; none is no turns. */
export function turnsOf(
  results: Results,
  cell: CellName,
  subject: Subject,
): Turns {
  return results.cells[cell]?.[subject] ?? [];
}
