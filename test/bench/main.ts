/**
 * `npm run bench`: Sallyport beside its peers, in one run on the same work.
 *
 *   --quick          less of everything, under three minutes
 *   --json           the results as JSON instead of tables
 *   --write          write RESULTS.md; a run that is not quick and leaves nothing out does so by itself
 *   --gate           fail when a generous threshold is broken (targets.ts)
 *   --from FILE      judge what `--json` printed before, and measure nothing
 *   --cells a,b      only these cells
 *   --peers a,b      only these peers; raw isolated-vm is always among them
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { CELL_NAMES, EFFORTS } from "./cells.ts";
import { denoPath } from "./deno.ts";
import { describeMachine } from "./machine.ts";
import { PEER_NAMES } from "./peers/mod.ts";
import { BENCH, PACKAGE, ROOT, WORK } from "./places.ts";
import { breaches, cellTables, markdown, targetTable } from "./report.ts";
import type { Results } from "./results.ts";
import { runAll } from "./run.ts";
import { setUp, startSizes, tidyUp } from "./setup.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    gate: { type: "boolean", default: false },
    from: { type: "string" },
    cells: { type: "string" },
    peers: { type: "string" },
  },
});

const start = performance.now();
const tell = (line: string): void =>
  void process.stderr.write(
    `${((performance.now() - start) / 1_000).toFixed(0).padStart(4)} s  ${line}\n`,
  );
const effort = EFFORTS[values.quick ? "quick" : "full"];
const cells = chosen(values.cells, CELL_NAMES);
const peers = PEER_NAMES.filter((name) => name === "ivm" || chosen(values.peers, PEER_NAMES).includes(name));

const results = values.from === undefined
  ? await measured()
  : JSON.parse(readFileSync(values.from, "utf8")) as Results; // as a run with --json has printed it
if (values.json) process.stdout.write(JSON.stringify(results) + "\n");
else {
  process.stdout.write(
    `${results.machine.join("\n")}\n\n${cellTables(results)}\n### Targets\n\n${
      targetTable(results, cells)
    }\n`,
  );
  for (const gap of results.gaps) {
    process.stdout.write(`not measured: ${gap}\n`);
  }
}
const isWhole = values.cells === undefined && values.peers === undefined;
if (values.write || (!values.quick && isWhole && values.from === undefined)) {
  const page = join(BENCH, "RESULTS.md");
  writeFileSync(page, markdown(results));
  execFileSync(denoPath(), [
    "fmt",
    "--quiet",
    "--config",
    join(ROOT, "deno.json"),
    page,
  ]);
}
if (values.gate) {
  const broken = breaches(results);
  for (const line of broken) process.stderr.write(`gate: ${line}\n`);
  if (broken.length > 0) process.exitCode = 1;
}

/** Measures all that was chosen. */
async function measured(): Promise<Results> {
  await setUp(tell);
  const { createHost } = await import(
    join(PACKAGE, "dist/src/mod.js")
  ) as typeof import("../../src/mod.ts");
  const host = await createHost({
    confinement: "best",
    home: join(WORK, "home"),
  });
  const machine = describeMachine(host.confinement.level);
  await host.close();
  const gathered = await runAll({ effort, start, peers, cells, tell });
  const sizes = startSizes();
  tidyUp();
  const passes = effort.passes === 1 ? "one pass" : `${effort.passes} passes`;
  return {
    machine,
    effort: `${values.quick ? "quick, " : ""}${passes}, ${Math.round((performance.now() - start) / 1_000)} s`,
    sizes,
    ...gathered,
  };
}

function chosen<Name extends string>(
  asked: string | undefined,
  all: readonly Name[],
): readonly Name[] {
  if (asked === undefined) return all;
  const names = asked.split(",");
  const unknown = names.find((name) => !all.includes(name as Name));
  if (unknown !== undefined) {
    throw new Error(`"${unknown}" is none of ${all.join(", ")}`);
  }
  return all.filter((name) => names.includes(name));
}
