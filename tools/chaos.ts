/** `npm run chaos`: kills random workers under load and prints what came of it. `--seconds 30`, `--json`. */
import process from "node:process";
import { parseArgs } from "node:util";
import { chaos } from "../test/host/chaos_driver.ts";

const { values } = parseArgs({
  options: { seconds: { type: "string", default: "30" }, json: { type: "boolean", default: false } },
});
const figures = await chaos({
  ms: Number(values.seconds) * 1_000,
  everyMs: 200,
  tenants: 4,
  inFlight: 32,
  hangMs: 60_000,
});
if (values.json) console.log(JSON.stringify(figures, null, 2));
else {
  const { calls, answered, wrong, hanging, kills, p50Ms, p99Ms, wholeAfterMs, workers, left } = figures;
  const lines = [
    `workers killed        ${kills} (SIGKILL, one every 200 ms)`,
    `calls                 ${calls}`,
    `  answered            ${answered} (p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms)`,
    `  lost, to be retried ${JSON.stringify(figures.lost)}`,
    `  any other end       ${JSON.stringify(figures.other)}`,
    `  wrong answer        ${wrong}`,
    `  hanging             ${hanging}`,
    `pool whole again      ${wholeAfterMs.toFixed(0)} ms after the last kill, ${workers} workers`,
    `dead processes left   ${left}`,
    `crashes in the audit  ${figures.crashes}`,
  ];
  console.log(lines.join("\n"));
}
const isGood = figures.wrong === 0 && figures.hanging === 0 && figures.left === 0 &&
  Object.keys(figures.other).length === 0;
process.exitCode = isGood ? 0 : 1;
