/**
 * Whether the tests would notice that a surface is gone. In a copy of this tree, each surface is taken out of the table, and
 * then marked as not live; the effect test that bears its name must fail both times. `npm run mutate:surfaces [-- NAME…]`
 */
import { spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { SURFACES } from "../src/surfaces/mod.ts";

const ROOT = join(import.meta.dirname, "..");
const EFFECTS = "test/host/effects.test.ts";
/** What the tests of effects need. */
const COPIED = [
  "bin",
  "examples",
  "permissions",
  "runtime",
  "src",
  "test/bundler",
  "test/host",
  "test/offline.ts",
  "tools",
  "package.json",
  "tsconfig.json",
  "vitest.config.ts",
];

/** A change to one file that takes a surface away. */
interface Mutation {
  readonly what: string;
  readonly file: string;
  readonly before: RegExp;
  readonly after: string;
}

/** What vitest says of one test. */
interface Tested {
  readonly title: string;
  readonly status: string;
  readonly failureMessages: readonly string[];
}

const names = Object.keys(SURFACES).filter((name) =>
  process.argv.length < 3 || process.argv.slice(2).includes(name)
);
const copy = mkdtempSync(join(tmpdir(), "sallyport-mutants-"));
let isKilled = names.length > 0;
try {
  chmodSync(copy, 0o755); // a worker with a user of its own must be able to read it
  for (const path of COPIED) cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  const unchanged = (await outcomes(/^\[R11\]/)).filter(({ status }) => status === "passed");
  for (const name of names) {
    const title = new RegExp(`^\\[R11\\] ${name}: `);
    const tests = unchanged.filter((each) => title.test(each.title));
    if (tests.length !== 1) told(name, "unchanged", `${tests.length} tests that pass bear its name`, false);
    else for (const mutation of mutationsOf(name)) await mutate(name, title, mutation);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
process.exitCode = isKilled ? 0 : 1;

function mutationsOf(name: string): readonly Mutation[] {
  return [
    {
      what: "unregistered",
      file: "src/surfaces/mod.ts",
      before: new RegExp(`^  ${name},\n`, "m"),
      after: "",
    },
    {
      what: "not live",
      file: `src/surfaces/${name}.ts`,
      before: /^ {2}live: true,$/m,
      after: "  live: false,",
    },
  ];
}

async function mutate(name: string, title: RegExp, { what, file, before, after }: Mutation): Promise<void> {
  const path = join(copy, file);
  const text = readFileSync(path, "utf8");
  const mutant = text.replace(before, after);
  if (mutant === text) return told(name, what, `nothing in ${file} to change`, false);
  writeFileSync(path, mutant);
  try {
    const [tested] = (await outcomes(title)).filter((each) => title.test(each.title));
    const why = tested?.failureMessages[0]?.split("\n")[0] ?? "";
    // A tree that does not even load shows nothing about the test.
    if (tested === undefined) told(name, what, "the test did not run", false);
    else if (tested.status === "failed") told(name, what, `killed    ${why.slice(0, 140)}`, true);
    else told(name, what, `survived (${tested.status})`, false);
  } finally {
    writeFileSync(path, text);
  }
}

function told(name: string, what: string, outcome: string, isGood: boolean): void {
  isKilled &&= isGood;
  console.log(`${name.padEnd(13)} ${what.padEnd(13)} ${outcome}`);
}

/** What became of the effect tests with such a title, in the copy as it is now. */
async function outcomes(title: RegExp): Promise<readonly Tested[]> {
  const report = join(copy, "report.json");
  rmSync(report, { force: true });
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const asked = [
    "run",
    EFFECTS,
    "-t",
    title.source.replace("^", ""),
    "--reporter=json",
    `--outputFile=${report}`,
  ];
  const child = spawn(process.execPath, [vitest, ...asked], { cwd: copy, stdio: "ignore" });
  await new Promise((resolve) => child.once("close", resolve));
  if (!existsSync(report)) return [];
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as {
    readonly testResults: readonly { readonly assertionResults: readonly Tested[] }[];
  };
  return testResults.flatMap(({ assertionResults }) => assertionResults);
}
