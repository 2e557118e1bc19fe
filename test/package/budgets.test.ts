/** What must stay small stays small; each raise of a budget names its cause here. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

/** Bytes, with the cause of each raise, the newest last. */
const BUDGETS = {
  /** All source that the package ships, as it stands in the repository. */
  sourceBytes: [
    { bytes: 1_700_000, cause: "tools, permissions, worker, bundler, trust and command line" },
    {
      bytes: 2_100_000,
      cause: "all other surfaces: documents, points, streams, panels, commands; author's side",
    },
  ],
  /** A copy of the files that every start of the command line reads before it knows its verb. */
  launcherBytes: [{ bytes: 16_384, cause: "finds a Node that the engine has a binary for" }],
} as const;

test("[R49] the package and what starts it keep to their budgets, and each raise has its cause", () => {
  const source = ["permissions", "runtime", "src"].reduce(
    (sum, folder) => sum + bytesBelow(join(ROOT, folder)),
    0,
  );
  expect(source).toBeLessThan(BUDGETS.sourceBytes.at(-1)!.bytes);
  expect(bytesBelow(join(ROOT, "bin"))).toBeLessThan(BUDGETS.launcherBytes.at(-1)!.bytes);
  for (const budget of Object.values(BUDGETS)) for (const { cause } of budget) expect(cause).not.toBe("");
});

test("[R48] the types for authors import nothing, and nothing of them is left in a bundle", () => {
  const text = readFileSync(join(ROOT, "src/plugin_types.ts"), "utf8");
  expect(text).not.toMatch(/^\s*(?:import|export \*|export \{[^}]*\} from)/m);
  const place = mkdtempSync(join(tmpdir(), "sallyport-types-"));
  try {
    execFileSync(join(ROOT, "node_modules/.bin/esbuild"), [
      join(ROOT, "src/plugin_types.ts"),
      "--bundle",
      "--format=esm",
      "--minify",
      `--outfile=${join(place, "types.js")}`,
    ], { stdio: "ignore" });
    expect(statSync(join(place, "types.js")).size).toBeLessThan(200);
  } finally {
    rmSync(place, { recursive: true });
  }
});

function bytesBelow(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
