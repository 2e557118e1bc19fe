/**
 * Lets every hostile plugin loose and prints, for each class, how many there are and how many were not contained, and how
 * late the host's heartbeat was at worst. `--only CLASS` takes one class. Ends with 1 when anything escaped.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { Arena, type HostilePlugin } from "../test/escape/arena.ts";
import { HOSTILE } from "../test/escape/hostile/mod.ts";
import { PROBES } from "../test/escape/probes.ts";

const { values: { only } } = parseArgs({ options: { only: { type: "string" } } });
const begin = performance.now();
const classes = new Map<string, { probes: number; escapes: number; lateMs: number }>();
const escapes: string[] = [];
let worstLateMs = 0;
for (const table of [PROBES, ...Object.values(HOSTILE)]) {
  const rows = table.filter((row) => only === undefined || row.class === only);
  if (rows.length > 0) await letLoose(rows);
}
const width = Math.max(...[...classes.keys()].map(({ length }) => length));
console.log(`${"class".padEnd(width)}  probes  escapes  heartbeat late by`);
for (const [name, { probes, escapes, lateMs }] of [...classes].sort(([a], [b]) => a < b ? -1 : 1)) {
  console.log(
    `${name.padEnd(width)}  ${String(probes).padStart(6)}  ${String(escapes).padStart(7)}  ${
      String(Math.round(lateMs)).padStart(14)
    } ms`,
  );
}
for (const escape of escapes) console.log(escape);
const probes = [...classes.values()].reduce((sum, { probes }) => sum + probes, 0);
console.log(
  `\n${classes.size} classes, ${probes} probes, escapes = ${escapes.length}, worst heartbeat lateness ${
    Math.round(worstLateMs)
  } ms, ${Math.round((performance.now() - begin) / 1_000)} s`,
);
process.exitCode = escapes.length === 0 && probes > 0 ? 0 : 1;

async function letLoose(rows: readonly HostilePlugin[]): Promise<void> {
  await using arena = await Arena.open(rows);
  for (const row of rows) {
    const { problems, lateMs } = await arena.attempt(row);
    const of = classes.get(row.class) ?? { probes: 0, escapes: 0, lateMs: 0 };
    of.probes += 1;
    of.lateMs = Math.max(of.lateMs, lateMs);
    if (problems.length > 0) of.escapes += 1;
    classes.set(row.class, of);
    escapes.push(...problems.map((problem) => `  ${row.id}: ${problem}`));
  }
  worstLateMs = Math.max(worstLateMs, arena.worstLateMs);
  console.log(`${rows.length} of ${rows[0]!.class} and others were let loose`);
}
