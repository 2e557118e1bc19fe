/**
 * Prints how the rules of permissions compare with Deno's: the table of cases, generated questions that both are asked,
 * and the suite itself, the algebra's laws among it, under Deno. `--seed N` and `--cases N` repeat or enlarge a run.
 */
import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import process from "node:process";
import { parseArgs } from "node:util";
import { compare, judge } from "../test/differential/compare.ts";
import { RULES } from "../test/differential/rules.ts";
import { faultOf, isDifferent, ROWS } from "../test/permissions/rows.ts";

const FIXED_SEED = 20_260_821;
const SHOWN_MAX = 20;

const { values } = parseArgs({
  options: { seed: { type: "string" }, cases: { type: "string", default: "24000" } },
});
const [seed, cases] = [Number(values.seed ?? randomInt(2 ** 31)), Number(values.cases)];
if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(cases) || cases < 1) {
  throw new TypeError("--seed and --cases are whole numbers");
}

const isClean = [rows(), await generated(), suite()].every((part) => part);
console.log(isClean ? "\nconformance: passed" : "\nconformance: FAILED");
process.exitCode = isClean ? 0 : 1;

function rows(): boolean {
  const faults = ROWS.map(faultOf).filter((fault) => fault !== undefined);
  const different = ROWS.filter(isDifferent).length;
  console.log(
    `rows: ${ROWS.length - faults.length} passed of ${ROWS.length}, ${different} by a difference on purpose`,
  );
  for (const fault of faults) console.log(`  ${fault}`);
  return faults.length === 0;
}

async function generated(): Promise<boolean> {
  const start = performance.now();
  const rules = new Map<string, number>(Object.keys(RULES).map((rule) => [rule, 0]));
  const kinds = new Map<string, number>();
  const distinct = new Set<string>();
  const denos = new Map<string, number>();
  let [total, same, unexplained] = [0, 0, 0];
  for (const part of [FIXED_SEED, seed]) {
    for await (const compared of compare(part, cases / 2)) {
      const { question, answers, outcome } = compared;
      const { kind, allow, deny, request } = question;
      const row = JSON.stringify({ kind, allow, deny, request });
      const verdict = judge(compared);
      total += 1;
      distinct.add(row);
      count(kinds, kind);
      count(denos, answers.verbatim ?? "invalid-grant");
      if (verdict.form === "same") same += 1;
      else if (verdict.form === "explained") count(rules, verdict.rule);
      else if ((unexplained += 1) <= SHOWN_MAX) {
        console.log(
          `  UNEXPLAINED (seed ${part}): ${outcome}, right is ${verdict.right}: ${row} ${
            JSON.stringify(answers)
          }`,
        );
      }
    }
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  console.log(
    `generated: ${total} cases compared with Deno in ${seconds} s (${distinct.size} distinct), seeds ${FIXED_SEED} and ${seed}`,
  );
  console.log(`  by kind: ${list(kinds)}`);
  console.log(`  Deno's answers: ${list(denos)}`);
  console.log(`  same answer: ${same}`);
  console.log(`  explained differences: ${total - same - unexplained}`);
  for (const [rule, times] of rules) {
    console.log(`    ${String(times).padStart(6)}  ${rule}: ${RULES[rule as keyof typeof RULES]}`); // its own keys
  }
  console.log(`  unexplained: ${unexplained}`);
  return unexplained === 0;
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function list(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, times]) => `${name} ${times}`).join(", ");
}

/** Runs test/permissions, the laws of the algebra among it, under Deno, and says what came of it. */
function suite(): boolean {
  const { output, isPassed } = outputOf(["run", "--silent", "test:permissions:deno"]);
  console.log(
    `test/permissions under Deno: ${/\d+ passed \| \d+ failed/.exec(output)?.[0] ?? "did not run"}`,
  );
  if (!isPassed) console.log(output);
  return isPassed;
}

function outputOf(command: readonly string[]): { readonly output: string; readonly isPassed: boolean } {
  const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" };
  try {
    return { output: execFileSync("npm", command, { encoding: "utf8", env }), isPassed: true };
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { readonly stdout?: string; readonly stderr?: string }; // execFileSync's own
    return { output: stdout + stderr, isPassed: false };
  }
}
