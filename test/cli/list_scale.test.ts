/** What a list of many plugins asks of the disk, seen from outside. How long it takes is measured by `npm run bench:list`. */
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { TRUST_LIMITS } from "../../src/trust/limits.ts";
import { temporary } from "../bundler/support.ts";
import { manyPlugins } from "./many_plugins.ts";
import { ROOT } from "./support.ts";

const PLUGINS = 40;
const strace = existsSync("/usr/bin/strace") ? "/usr/bin/strace" : null;

test.skipIf(strace === null)(
  "[T27] a cold list opens no file but manifests where no stat differs, and starts no worker (needs strace)",
  { timeout: 240_000 },
  async () => {
    const place = temporary();
    const home = join(place, "home");
    const paths = manyPlugins(home, PLUGINS);
    const manifests = paths.map(({ manifest }) => relative(home, manifest));
    const codes = paths.map(({ code }) => relative(home, code));
    await setTimeout(TRUST_LIMITS.settledMs + 200);
    // Nothing is known yet, so everything is hashed, from the lists of what was pinned.
    const first = traced(place, []);
    expect(first.plugins).toEqual([...manifests, ...codes].sort());
    expect(first.out.match(/ {2}active {2}/g)).toHaveLength(PLUGINS);
    const second = traced(place, []);
    expect(second.plugins).toEqual(manifests);
    expect(second.opened.filter((path) => path.startsWith("pins/"))).toEqual([]);
    expect(second.out.match(/ {2}active \(unverified\) {2}/g)).toHaveLength(PLUGINS);
    expect(second.started.filter((line) => line.includes("worker"))).toEqual([]);
    appendFileSync(join(home, codes[7]!), "// more\n");
    const third = traced(place, []);
    expect(third.plugins).toEqual([...manifests, codes[7]!].sort());
    expect(third.out.match(/ {2}changed {2}/g)).toHaveLength(1);
    expect(traced(place, ["--verify"]).plugins).toEqual([...manifests, ...codes].sort());
  },
);

/** Runs `list`, and tells which files below its home it opened and which programs it started. */
function traced(place: string, flags: readonly string[]) {
  const log = join(place, "trace");
  const home = join(place, "home");
  const { stdout, stderr, status } = spawnSync(strace!, [
    ...["-f", "-qq", "-s", "4096", "-e", "trace=open,openat,execve", "-o", log],
    process.execPath,
    join(ROOT, "bin/sallyport.js"),
    "list",
    ...flags,
  ], {
    cwd: place,
    env: { PATH: process.env.PATH, HOME: place, SALLYPORT_HOME: home },
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([0, ""]);
  const lines = readFileSync(log, "utf8").split("\n");
  const opened = lines.filter((line) => /\bopen(?:at)?\(/.test(line) && !line.includes("O_DIRECTORY"))
    .flatMap((line) => /"([^"]*)"/.exec(line)?.[1] ?? [])
    .filter((path) => path.startsWith(`${home}/`)).map((path) => relative(home, path));
  return {
    out: stdout,
    opened,
    plugins: [...new Set(opened.filter((path) => path.startsWith("plugins/")))].sort(),
    started: lines.filter((line) => line.includes("execve(") && !line.includes("ENOENT")).slice(1),
  };
}
