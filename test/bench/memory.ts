/** What a process and all that it started hold in memory. */
import { readdirSync, readFileSync } from "node:fs";

/** Memory of a set of processes. */
export interface Memory {
  /** Proportional: a page that several map counts as parts of one, which is fair to those with a process for each plugin. */
  readonly pssKib: number;
  /** Resident: such a page counts for each. */
  readonly rssKib: number;
}

/** Memory of a process and its descendants. */
export function memoryOfTree(root: number): Memory {
  let [pssKib, rssKib] = [0, 0];
  for (const pid of treeOf(root)) {
    const text = readQuietly(`/proc/${pid}/smaps_rollup`);
    pssKib += field(text, "Pss");
    rssKib += field(text, "Rss");
  }
  return { pssKib, rssKib };
}

/** What the machine could still give. */
export function availableMib(): number {
  return field(readQuietly("/proc/meminfo"), "MemAvailable") / 1_024;
}

/** Ids of a process and all that it started, and what those started. */
export function treeOf(root: number): readonly number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    // The name of the program stands in brackets and may hold anything; the parent is the second word after it.
    const stat = readQuietly(`/proc/${name}/stat`);
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    if (parent > 0) parents.set(Number(name), parent);
  }
  const tree = [root];
  for (const pid of tree) {
    for (const [child, parent] of parents) if (parent === pid) tree.push(child);
  }
  return tree;
}

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);
}

/** A process may have ended since it was listed. */
function readQuietly(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
