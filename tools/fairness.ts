/**
 * Measures how far a tenant at full speed moves the p99 of a well-behaved one, and says whether that is fair.
 * `--seconds 30`, `--runs 3`, `--flood calls` for one of the floods, `--json`. Ends with 1 when it is not.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import {
  fairness,
  type FairnessRun,
  type FloodName,
  FLOODS,
  type Half,
  RATIO_MAX,
} from "../test/soak/fairness.ts";
import { loadAverage } from "../test/soak/ground.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "30" },
    runs: { type: "string", default: "3" },
    flood: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const floods = Object.keys(FLOODS).filter((name): name is FloodName =>
  values.flood === undefined || values.flood === name
);
if (floods.length === 0) throw new Error(`--flood is one of ${Object.keys(FLOODS).join(", ")}`);

if (!values.json) console.log(line("flood", ["p50", "p99", "p50", "p99", "ratio", "flood/s", "load"]));
const figures = await fairness({
  ms: Number(values.seconds) * 1_000,
  runs: Number(values.runs),
  callsPerSecond: 200,
  floods,
  onRun: (name, run) => values.json ? undefined : print(name, run),
});
const isFair = Object.keys(figures.wrong).length === 0 &&
  Object.values(figures.floods).every(({ ratio }) => ratio < RATIO_MAX);
if (values.json) console.log(JSON.stringify(figures, null, 2));
else {
  console.log(
    "\nmilliseconds, alone and then beside the flood; each from the making of a call, from when it was due",
  );
  for (const [name, { ratio }] of Object.entries(figures.floods)) {
    const verdict = ratio < RATIO_MAX ? "fair" : `NOT below ${RATIO_MAX}`;
    console.log(`${name.padEnd(10)}p99 moved by ${ratio.toFixed(2)} (median of ${values.runs}): ${verdict}`);
  }
  console.log(`calls of the well-behaved tenant that were not answered: ${JSON.stringify(figures.wrong)}`);
  console.log(isFair ? "fairness: met" : "fairness: MISSED");
}
process.exitCode = isFair ? 0 : 1;

function print(name: FloodName, { alone, beside, ratio, floodPerSecond }: FairnessRun): void {
  const both = (half: Half, field: "p50Ms" | "p99Ms"): string =>
    `${half.made[field].toFixed(1)}, ${half.due[field].toFixed(1)}`;
  console.log(line(name, [
    both(alone, "p50Ms"),
    both(alone, "p99Ms"),
    both(beside, "p50Ms"),
    both(beside, "p99Ms"),
    ratio.toFixed(2),
    floodPerSecond.toFixed(0),
    loadAverage().split(" ")[0]!,
  ]));
}

function line(name: string, cells: readonly string[]): string {
  return name.padEnd(10) + cells.map((cell) => cell.padStart(13)).join("");
}
