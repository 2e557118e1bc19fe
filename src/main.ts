/** The bin: argv → command → exit code. The only file of the host that ends the process. */
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { config } from "zod/v4/core";
import { startEarly } from "../runtime/mod.ts";
import { willRun } from "./cli/will_run.ts";

// What a command parses it parses once: to compile its schemas first would take longer than it saves.
config({ jitless: true });
const argv = process.argv.slice(2);
const cwd = realpathSync(process.cwd());
const environment = { ...process.env } as Record<string, string>; // what is set has a text
const userHome = homedir();
// The worker's start is the longest part of a run, so all the rest, even the loading of the rest, goes on beside it.
const early = willRun(argv, { cwd, environment, userHome }) ? startEarly("best") : undefined;
const { processTerminal, runCli } = await import("./cli/mod.ts");
if (early !== undefined) await setImmediate(); // what was started tells so in a turn of its own

const exitCode = await runCli(argv, {
  terminal: processTerminal(),
  cwd,
  environment,
  userHome,
  ...(early === undefined ? {} : { early }),
});
// Output may still be on its way into a pipe; what keeps the process alive beyond that is not worth waiting for.
await Promise.all(
  [process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write("", done))),
);
process.exit(exitCode);
