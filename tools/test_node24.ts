/** Runs the tests on the other line of Node that the engine has a binary for, installed in a folder of its own. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";

const VERSION = "24.21.0";
const ROOT = join(import.meta.dirname, "..");
const prefix = mkdtempSync(join(tmpdir(), "sallyport-node24-"));
chmodSync(prefix, 0o755); // a worker with a user of its own must be able to reach this Node

try {
  const name = "node";
  writeFileSync(
    join(prefix, "package.json"),
    JSON.stringify({ private: true, allowScripts: { [name]: true } }),
  );
  run(
    "npm",
    ["install", "--no-save", "--no-audit", "--no-fund", `node@${VERSION}`],
    prefix,
    process.env.PATH ?? "",
  );
  const bin = join(prefix, "node_modules/.bin");
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  run(
    join(bin, "node"),
    [vitest, "run", ...process.argv.slice(2)],
    ROOT,
    bin + delimiter + (process.env.PATH ?? ""),
  );
} finally {
  rmSync(prefix, { recursive: true, force: true });
}

function run(command: string, args: readonly string[], cwd: string, path: string): void {
  const { status } = spawnSync(command, args, { cwd, stdio: "inherit", env: { ...process.env, PATH: path } });
  if (status !== 0) process.exitCode = status ?? 1;
}
