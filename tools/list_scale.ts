/**
 * Lists a root of many trusted plugins from a cold process, and compares it with a process that only reads, parses and stats the
 * same files. `--plugins 1000`, `--rounds 7`, `--json`. Ends with 1 when a list takes more than three times as long.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { TRUST_LIMITS } from "../src/trust/limits.ts";
import { manyPlugins } from "../test/cli/many_plugins.ts";
import { buildCli } from "./build_cli.ts";

const RATIO_MAX = 3;
const ROOT = join(import.meta.dirname, "..");

const { values } = parseArgs({
  options: {
    plugins: { type: "string", default: "1000" },
    rounds: { type: "string", default: "7" },
    json: { type: "boolean", default: false },
  },
});
const [plugins, rounds] = [Number(values.plugins), Number(values.rounds)];
if (!(plugins > 0 && rounds > 0)) throw new Error("--plugins and --rounds are numbers above 0");

// Beside node_modules, where what is not built in is found.
const built = mkdtempSync(join(ROOT, "node_modules/.list-scale-"));
const place = realpathSync(mkdtempSync(join(tmpdir(), "sallyport-list-scale-")));
try {
  await buildCli(ROOT, built);
  const home = join(place, "home");
  const paths = manyPlugins(home, plugins);
  const baseline = join(built, "baseline.mjs");
  writeFileSync(baseline, BASELINE());
  writeFileSync(join(place, "paths.json"), JSON.stringify({ settings: join(home, "settings.yaml"), paths }));
  // What was written this instant is hashed again, since a later write could look the same.
  await setTimeout(TRUST_LIMITS.settledMs + 100);
  const list = [join(built, "main.js"), "list"];
  const first = timed(list);
  const times = { list: [] as number[], verify: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    times.baseline.push(timed([baseline, join(place, "paths.json")]));
    times.list.push(timed(list));
    times.verify.push(timed([...list, "--verify"]));
  }
  const [ms, verifyMs, baselineMs] = [times.list, times.verify, times.baseline].map(median) as [
    number,
    number,
    number,
  ];
  const ratio = ms / baselineMs;
  const figures = {
    plugins,
    rounds,
    baselineMs,
    listMs: ms,
    listVerifyMs: verifyMs,
    firstListMs: first,
    ratio,
  };
  console.log(
    values.json ? JSON.stringify(figures, null, 2) : [
      `plugins                            ${plugins}, each with a record, median of ${rounds} cold processes`,
      `reads, parses and stats the same   ${baselineMs.toFixed(0)} ms`,
      `list                               ${ms.toFixed(0)} ms, ${ratio.toFixed(2)} times as long`,
      `list --verify                      ${verifyMs.toFixed(0)} ms`,
      `list, nothing known before         ${first.toFixed(0)} ms`,
    ].join("\n"),
  );
  process.exitCode = ratio <= RATIO_MAX ? 0 : 1;
} finally {
  rmSync(built, { recursive: true, force: true });
  rmSync(place, { recursive: true, force: true });
}

function timed(args: readonly string[]): number {
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [...args], {
    cwd: place,
    env: { ...process.env, HOME: place, SALLYPORT_HOME: join(place, "home") },
    encoding: "utf8",
    maxBuffer: 64 * 1_048_576,
  });
  if (status !== 0) throw new Error(stderr);
  return performance.now() - start;
}

function median(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;
}

/** The least that a list has to do: it finds the folders, and of each reads the manifest and looks at what is pinned. */
function BASELINE(): string {
  return `
import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { parse } from "yaml";
const { settings, paths } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const found = [parse(readFileSync(settings, "utf8"))];
readdirSync(dirname(dirname(paths[0].manifest)), { withFileTypes: true });
for (const { manifest, code } of paths) {
  if (!existsSync(manifest)) continue;
  found.push(parse(readFileSync(manifest, "utf8")));
  lstatSync(manifest, { bigint: true });
  lstatSync(dirname(code), { bigint: true });
  lstatSync(code, { bigint: true });
}
console.log(found.length);
`;
}
