/**
 * Loads, unloads and calls plugins many times in a process of its own, and prints what is left of it: memory, handles,
 * processes, and whether the process ends by itself. `--cycles 2000`, `--calls 100000`, `--json`. Ends with 1 when
 * anything is left.
 */
import { spawn } from "node:child_process";
import process from "node:process";
import { parseArgs } from "node:util";
import { loadAverage } from "../test/soak/ground.ts";
import { type LeakFigures, leakProblems, leaks, type MemoryNow } from "../test/soak/leaks.ts";

/** From the last figure to the end of a process that has nothing left to do. */
const END_MS_MAX = 10_000;
const IN_FLIGHT = 16;
const MEGABYTE = 1_048_576;

const { values } = parseArgs({
  options: {
    cycles: { type: "string", default: "2000" },
    calls: { type: "string", default: "100000" },
    json: { type: "boolean", default: false },
    inside: { type: "boolean", default: false },
  },
});
if (values.inside) await inside();
else await outside();

/** Nothing here ends the process: that it ends is what is looked at. */
async function inside(): Promise<void> {
  const collect = (globalThis as { gc?: () => void }).gc;
  if (collect === undefined) throw new Error("--inside needs --expose-gc");
  const [cycles, calls] = [Number(values.cycles), Number(values.calls)];
  console.log(JSON.stringify(await leaks({ cycles, calls, inFlight: IN_FLIGHT, collect })));
}

async function outside(): Promise<void> {
  const args = ["--expose-gc", import.meta.filename, "--inside"];
  const child = spawn(process.execPath, [
    ...args,
    "--cycles",
    values.cycles,
    "--calls",
    values.calls,
  ], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  let toldAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
    toldAt = performance.now();
    timer ??= setTimeout(() => child.kill("SIGKILL"), END_MS_MAX);
  });
  const exit = await new Promise<string>((resolve) =>
    child.once("exit", (code, signal) => resolve(signal ?? String(code)))
  );
  clearTimeout(timer);
  const endMs = performance.now() - toldAt;
  if (text === "") throw new Error(`nothing was told, and the process ended with ${exit}`);
  const figures = JSON.parse(text) as LeakFigures; // printed by `inside`
  const problems = [
    ...leakProblems(figures),
    ...(exit === "0" ? [] : [`the process did not end by itself, but with ${exit}`]),
  ];
  if (values.json) console.log(JSON.stringify({ ...figures, exit, endMs, problems }));
  else print(figures, endMs, problems);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

function print(figures: LeakFigures, endMs: number, problems: readonly string[]): void {
  const { cycles, calls, warm, afterCycles, afterCalls } = figures;
  const row = (name: string, { hostHeapBytes, hostResidentBytes, workerResidentBytes }: MemoryNow): string =>
    [hostHeapBytes, hostResidentBytes, workerResidentBytes]
      .reduce((line, bytes) => line + (bytes / MEGABYTE).toFixed(1).padStart(14), name.padEnd(30));
  const perCycle = (afterCycles.workerResidentBytes - warm.workerResidentBytes) / 1_024 / cycles;
  const perCall = (afterCalls.workerResidentBytes - afterCycles.workerResidentBytes) / calls;
  console.log([
    `${"MiB".padEnd(30)}${"host's heap".padStart(14)}${"host".padStart(14)}${"worker".padStart(14)}`,
    row("warm", warm),
    row(`after ${cycles} loads and unloads`, afterCycles),
    row(`after ${calls} calls`, afterCalls),
    `worker, each cycle    ${perCycle.toFixed(1)} KiB`,
    `worker, each call     ${perCall.toFixed(0)} bytes`,
    `calls not as expected ${JSON.stringify(figures.wrong)}`,
    `handles left          ${figures.resourcesLeft.join(", ") || "none"}`,
    `processes left        ${figures.processesLeft}`,
    `ended by itself       ${endMs.toFixed(0)} ms after the last word`,
    `load average          ${loadAverage()}`,
    ...problems.map((problem) => `LEAK: ${problem}`),
    problems.length === 0 ? "leaks: none" : "leaks: FAILED",
  ].join("\n"));
}
