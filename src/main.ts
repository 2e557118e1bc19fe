/** The bin: argv → command → exit code. The only file of the host that ends the process. */
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import process from "node:process";
import { processTerminal, runCli } from "./cli/mod.ts";

const exitCode = await runCli(process.argv.slice(2), {
  terminal: processTerminal(),
  cwd: realpathSync(process.cwd()),
  environment: { ...process.env } as Record<string, string>, // what is set has a text
  userHome: homedir(),
});
// Output may still be on its way into a pipe; what keeps the process alive beyond that is not worth waiting for.
await Promise.all(
  [process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write("", done))),
);
process.exit(exitCode);
