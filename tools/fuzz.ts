/** Fuzzes for as long as `--minutes` says, each property in turn from ever new seeds. Ends with 1 at the first that fails. */
import process from "node:process";
import { parseArgs } from "node:util";
import fc from "fast-check";
import { FUZZERS } from "../test/fuzz/mod.ts";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "1" }, only: { type: "string" } },
});
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error("--minutes is a number above 0");
const chosen = Object.entries(FUZZERS).filter(([name]) => values.only === undefined || name === values.only)
  .flatMap(([name, fuzzers]) =>
    fuzzers.map((fuzzer) => ({ ...fuzzer, name: `${name}: ${fuzzer.name}`, tried: 0 }))
  );
if (chosen.length === 0) throw new Error(`--only is one of ${Object.keys(FUZZERS).join(", ")}`);

const end = performance.now() + minutes * 60_000;
let failed: string | undefined;
while (failed === undefined && performance.now() < end) {
  for (const fuzzer of chosen) {
    const seed = Math.floor(Math.random() * 0x7fff_ffff);
    const details = await fc.check(fuzzer.property as fc.IAsyncProperty<unknown>, {
      seed,
      numRuns: fuzzer.runs,
    });
    fuzzer.tried += details.numRuns;
    if (!details.failed) continue;
    failed = `${fuzzer.name}\nseed ${seed}, path ${details.counterexamplePath}\n${
      fc.stringify(details.counterexample)
    }\n${String(details.errorInstance)}`;
    break;
  }
}
for (const { name, tried } of chosen) console.log(`${String(tried).padStart(9)}  ${name}`);
console.log(failed === undefined ? "\nfuzz: passed" : `\nfuzz: FAILED\n${failed}`);
process.exitCode = failed === undefined ? 0 : 1;
