/**
 * Runs 20 tenants with 5 plugins each, a fifth of them hostile, and prints what became of the calls of the others. A
 * quarter of the time is without the hostile ones. `--minutes 2`, `--json`. Ends with 1 when a result was lost or
 * another's, or a call hangs.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { loadAverage, type Took } from "../test/soak/ground.ts";
import { soak, soakProblems } from "../test/soak/soak.ts";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "2" }, json: { type: "boolean", default: false } },
});
const ms = Number(values.minutes) * 60_000;
if (!(ms > 0)) throw new Error("--minutes is a number above 0");
const figures = await soak({
  tenants: 20,
  plugins: 5,
  quietMs: ms / 4,
  stormMs: ms * 3 / 4,
  callsPerSecond: 2,
  hangMs: 120_000,
});
const problems = soakProblems(figures);
if (values.json) console.log(JSON.stringify({ ...figures, problems }, null, 2));
else {
  const { lost, quarantined, servedAfter, plugins } = figures;
  const inAll = Object.values(lost).reduce((sum, times) => sum + times, 0);
  const line = ({ count, p50Ms, p99Ms }: Took): string =>
    `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms (${count} calls)`;
  console.log([
    `calls served                    ${figures.served}`,
    `lost                            ${inAll} ${inAll === 0 ? "" : JSON.stringify(lost)}`,
    `misattributed                   ${figures.misattributed}`,
    `hanging                         ${figures.hanging}`,
    `made again, well-behaved tenants ${JSON.stringify(figures.retriedFree)}`,
    `  beside hostile plugins        ${JSON.stringify(figures.retriedBeside)}`,
    `limits hit                      ${JSON.stringify(figures.limits)}`,
    `workers lost                    ${figures.workersLost}, as plugins saw it ${
      JSON.stringify(figures.crashes)
    }`,
    `quarantined, and enabled again  ${quarantined}`,
    `well-behaved tenants, alone     ${line(figures.quiet)}`,
    `  beside the hostile ones       ${line(figures.storm)}`,
    `their plugins' neighbours       ${line(figures.neighbours)}`,
    `event loop late, at worst       ${figures.quietLateMs.toFixed(0)} ms alone, ${
      figures.stormLateMs.toFixed(0)
    } ms beside them`,
    `answer afterwards               ${servedAfter} of ${plugins} plugins`,
    ...Object.entries(figures.hostile).map(([kind, ends]) => `  ${kind.padEnd(28)}${JSON.stringify(ends)}`),
    `load average                    ${loadAverage()}`,
    ...problems.map((problem) => `FAILED: ${problem}`),
    problems.length === 0 ? "soak: passed" : "soak: FAILED",
  ].join("\n"));
}
process.exitCode = problems.length === 0 ? 0 : 1;
