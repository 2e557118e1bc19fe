/** Makes ready what a run needs: the peers, the built package, the fixtures. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { buildFixtures } from "./bundles.ts";
import { BENCH, PACKAGE, ROOT, RUN, RUNS, WORK } from "./places.ts";

/** Installs, builds and generates; `tell` gets a line about each step that takes time. */
export async function setUp(tell: (line: string) => void): Promise<void> {
  if (!existsSync(join(BENCH, "node_modules/quickjs-emscripten"))) {
    tell("installing the peers (npm ci)");
    // Their binaries come inside their packages; nothing of theirs runs here.
    execFileSync("npm", [
      "ci",
      "--prefix",
      BENCH,
      "--ignore-scripts",
      "--silent",
    ], {
      stdio: ["ignore", 2, 2],
    });
  }
  removeAbandoned();
  mkdirSync(WORK, { recursive: true });
  if (process.env.SALLYPORT_BENCH_PACKAGE === undefined) {
    tell("building the package");
    execFileSync(process.execPath, [join(ROOT, "tools/build.ts")], {
      stdio: ["ignore", "ignore", 2],
    });
    mkdirSync(PACKAGE, { recursive: true });
    for (const name of ["bin", "dist", "package.json"]) {
      cpSync(join(ROOT, name), join(PACKAGE, name), { recursive: true });
    }
    symlinkSync(join(ROOT, "node_modules"), join(PACKAGE, "node_modules"));
  }
  tell("bundling the fixtures");
  await buildFixtures();
}

/** Removes what this run made. */
export function tidyUp(): void {
  rmSync(WORK, { recursive: true, force: true });
}

/** Removes what runs have left that were killed. */
function removeAbandoned(): void {
  for (const run of existsSync(RUNS) ? readdirSync(RUNS) : []) {
    if (run === RUN || !existsSync(`/proc/${run}`)) {
      rmSync(join(RUNS, run), { recursive: true, force: true });
    }
  }
}

/** Sizes of what is loaded at the start, bytes; those of files that are elsewhere by now are missing. */
export function startSizes(): Readonly<Record<string, number>> {
  const dist = join(PACKAGE, "dist");
  const code = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((
    path,
  ) => path.endsWith(".js"));
  const size = (paths: readonly string[]): number =>
    paths.reduce((sum, path) => sum + statSync(join(dist, path)).size, 0);
  const parts = Object.entries(START_FILES).filter(([, path]) => existsSync(join(dist, path)));
  return {
    ...Object.fromEntries(parts.map(([part, path]) => [part, size([path])])),
    "package": size(code),
  };
}

/** What is one file each of what is built. */
const START_FILES: Readonly<Record<string, string>> = {
  "guest platform": "runtime/platform.guest.min.js",
  "worker": "runtime/worker/main.cjs",
  "bundler's process": "src/bundler/child.js",
};
