/**
 * Prints, for each behaviour of test/mission.md, the tests whose titles carry its id: proven, waiting for what is named here,
 * or missing. Exits 1 when something is missing and `--strict` is given.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";

/** Rows that no test can prove yet, and what they wait for. */
const WAITING: Readonly<Record<string, string>> = {
  R35: "HTTP and MCP front ends",
  R38: "HTTP and MCP front ends",
};

const ROOT = join(import.meta.dirname, "..");
const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    strict: { type: "boolean", default: false },
    titles: { type: "boolean", default: false },
  },
});

interface Row {
  readonly id: string;
  readonly text: string;
  readonly state: "proven" | "waiting" | "missing";
  readonly waitsFor: string | null;
  readonly tests: readonly string[];
}

const titles = titlesById();
const rows = readFileSync(join(ROOT, "test/mission.md"), "utf8")
  .split(/\n(?=- \[|\n)/) // a row may go on in further lines, until the next row or an empty line
  .flatMap((part) => {
    const [, id, text] = /^- \[([ALRP]\d\d)\] ([^]*)$/.exec(part) ?? [];
    return id === undefined || text === undefined ? [] : [rowOf(id, text.replaceAll(/\s+/g, " "))];
  });
const count = (state: Row["state"]): number => rows.filter((row) => row.state === state).length;

if (options.json) console.log(JSON.stringify({ schema_version: 1, rows }, null, 2));
else {
  for (const { id, text, state, waitsFor, tests } of rows) {
    const what = state === "proven" ? `${tests.length} tests` : waitsFor === null ? text : `for ${waitsFor}`;
    console.log(`${id} ${state.padEnd(7)} ${what}`);
    if (options.titles) { for (const title of tests) console.log(`    ${title}`); }
  }
  console.log(`\n${count("proven")} proven, ${count("waiting")} waiting, ${count("missing")} missing`);
}
if (options.strict && count("missing") > 0) process.exitCode = 1;

function rowOf(id: string, text: string): Row {
  const tests = titles.get(id) ?? [];
  const waitsFor = WAITING[id] ?? null;
  const state = tests.length > 0 ? "proven" : waitsFor === null ? "missing" : "waiting";
  return { id, text, state, waitsFor, tests };
}

/**
 * Titles are string literals of tests that begin with an id, or with several, and the first lines of specs that do; nothing
 * else in the tests looks like that.
 */
function titlesById(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const path of readdirSync(join(ROOT, "test"), { recursive: true, encoding: "utf8" })) {
    const isSpec = /^specs\/[^/]+\/command$/.test(path);
    if (!isSpec && !path.endsWith(".test.ts")) continue;
    const text = readFileSync(join(ROOT, "test", path), "utf8");
    const pattern = isSpec ? /^# ((?:\[[A-Z]\d\d\] ?)+.*)/g : /["'`]((?:\[[A-Z]\d\d\] ?)+[^"'`\n]*)["'`]/g;
    for (const [, title = ""] of text.matchAll(pattern)) {
      for (const [, id = ""] of title.matchAll(/\[([ALRP]\d\d)\]/g)) {
        found.set(id, [...(found.get(id) ?? []), `${path}: ${title}`]);
      }
    }
  }
  return found;
}
