#!/usr/bin/env node
// Finds a Node that the isolate engine has a binary for, and runs the command line with it. Plain JavaScript without
// dependencies, because it also has to work on the Nodes that cannot run the rest.
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const SUPPORTED_MAJORS = new Set(["24", "26"]);
const FORWARDED_SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"];
const ROOT = dirname(dirname(realpathSync(fileURLToPath(import.meta.url))));

if (SUPPORTED_MAJORS.has(process.versions.node.split(".")[0])) {
  await import(
    existsSync(join(ROOT, "src/main.ts")) ? "../src/main.ts" : `file://${join(ROOT, "dist/cli/main.js")}`
  );
} else {
  const { spawn, spawnSync } = await import("node:child_process"); // costs a start, which the usual case does not pay
  const node = findNode(ROOT, spawnSync);
  if (node === null) {
    console.error(
      `sallyport: Node ${process.versions.node} cannot run the isolate engine and no Node 26 is installed beside Sallyport. ` +
        "Install Node 24 or 26, or reinstall without --omit=optional and --ignore-scripts",
    );
    process.exit(6);
  }
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  // Whoever ends the launcher means the run: it must not outlive it.
  const forward = (signal) => child.kill(signal);
  for (const signal of FORWARDED_SIGNALS) process.on(signal, forward);
  child.once("error", () => process.exit(6));
  child.once("exit", (status, signal) => {
    for (const each of FORWARDED_SIGNALS) process.off(each, forward);
    if (signal === null) process.exit(status ?? 6);
    process.kill(process.pid, signal);
  });
}

/** The Node that was installed with Sallyport: in its own node_modules, or in the one that it stands in. */
function findNode(from, spawnSync) {
  for (let folder = from;; folder = dirname(folder)) {
    for (
      const name of ["node_modules/.bin/node", "node_modules/node/bin/node", "node_modules/node/bin/node.exe"]
    ) {
      const path = join(folder, name);
      if (existsSync(path) && runs(path, spawnSync)) return path;
    }
    if (folder === dirname(folder)) return null;
  }
}

/** A Node whose install script did not run is a stub that only says so. */
function runs(path, spawnSync) {
  const { status, stdout } = spawnSync(path, ["--version"], { encoding: "utf8" });
  return status === 0 && SUPPORTED_MAJORS.has(String(stdout).slice(1).split(".")[0]);
}
