/** What a run gathers, and what it is told to do. */
import type { CellName, Effort } from "./cells.ts";
import type { PeerName } from "./peers/mod.ts";
import type { Subject } from "./results.ts";

/** What is gathered. */
export interface Gathered {
  /** Samples by cell and subject. */
  readonly cells: Partial<
    Record<CellName, Partial<Record<Subject, number[][]>>>
  >;
  /** What could not be measured, and why. */
  readonly gaps: string[];
}

/** What to run, and how. */
export interface RunOptions {
  /** How much. */
  readonly effort: Effort;
  /** When the time began to run. */
  readonly start: number;
  /** Only these peers, and Sallyport's reference. */
  readonly peers: readonly PeerName[];
  /** Only these cells. */
  readonly cells: readonly CellName[];
  /** Gets a line about what is done. */
  readonly tell: (line: string) => void;
}

/** Every subject gets a turn, if an empty one, so that turns of the same number belong together. */
export function record(
  found: Gathered,
  cell: CellName,
  subjects: readonly Subject[],
  row: ReadonlyMap<Subject, readonly number[]>,
): void {
  const turns = found.cells[cell] ??= {};
  for (const subject of subjects) {
    (turns[subject] ??= []).push([...row.get(subject) ?? []]);
  }
}

/** Remembers what could not be measured, once. */
export function gap(
  found: Gathered,
  who: string,
  what: string,
  error: unknown,
): void {
  const line = `${who}, ${what}: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`;
  if (!found.gaps.includes(line)) found.gaps.push(line);
}
