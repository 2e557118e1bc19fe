import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { BundleTarget } from "../../src/bundler/mod.ts";
import { PluginSource } from "../../src/source.ts";
import { fingerprintOf, type Pins } from "../../src/trust/fingerprint.ts";
import { type CollectedPins, collectPins, departureFrom } from "../../src/trust/pins.ts";
import { bundler, plugin, write } from "../bundler/support.ts";

const shared = bundler();
const target: BundleTarget = { path: "tools/a.ts", export: "run" };
const FILES = {
  "tools/a.ts":
    `import { b } from "./b.js"; import dep from "dep"; export const run = () => b + dep; export const other = 1;`,
  "tools/b.ts": `export const b = "b";`,
  "node_modules/dep/package.json": `{"main": "./main.js"}`,
  "node_modules/dep/main.js": `module.exports = "dep";`,
  "node_modules/dep/unused.js": `module.exports = "unused";`,
  "prompts/brief.md": "# Brief",
  "data/one.json": "{}",
  "README.md": "not declared",
};

function collect(
  directory: string,
  more: Partial<Parameters<typeof collectPins>[0]> = {},
): Promise<CollectedPins> {
  return collectPins({
    source: PluginSource.open(directory),
    manifest: { name: "demo", version: "1" },
    declared: [{ path: "tools/a.ts" }, { path: "prompts/brief.md" }],
    targets: [target, { path: "tools/a.ts", export: "other" }],
    trees: ["./data"],
    bundler: shared,
    tenant: "test",
    ...more,
  });
}

const hashOf = async (directory: string) => fingerprintOf((await collect(directory)).pins).hash;

describe("fingerprint", () => {
  const edge = (importer: string, specifier: string) =>
    ({ importer, specifier, kind: "import-statement", path: "x.ts" }) as const;
  const pins: Pins = {
    manifest: { name: "a", nested: { x: 1, y: [1, 2] } },
    files: { "a.ts": "1", "b.ts": "2" },
    resolutions: { "a.ts": [edge("a.ts", "./b"), edge("a.ts", "./c")] },
    trees: { "./data": { "data/x": "3", "data/y": "4" } },
  };

  test("is sha256 of the canonical form, whatever the order of keys and edges", () => {
    const shuffled: Pins = {
      trees: { "./data": { "data/y": "4", "data/x": "3" } },
      resolutions: { "a.ts": pins.resolutions["a.ts"]!.toReversed() },
      files: { "b.ts": "2", "a.ts": "1" },
      manifest: { nested: { y: [1, 2], x: 1 }, name: "a" },
    };
    const { v, hash } = fingerprintOf(pins);
    expect(v).toBe(1);
    expect(hash).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(fingerprintOf(shuffled).hash).toBe(hash);
    // Known by hand: the form is part of what records on people's machines depend on.
    expect(fingerprintOf({ manifest: {}, files: {}, resolutions: {}, trees: {} }).hash)
      .toBe("sha256:0f934e9e1846bd6a6d5abc065142aa6870071e680f8d97d49074bf77d5d4906a");
  });

  test.each<[string, Partial<Pins>]>([
    ["the manifest", { manifest: { name: "a", nested: { x: 1, y: [2, 1] } } }],
    ["a file's hash", { files: { "a.ts": "1", "b.ts": "3" } }],
    ["one file more", { files: { ...pins.files, "c.ts": "3" } }],
    ["an edge", { resolutions: { "a.ts": [edge("a.ts", "./b"), { ...edge("a.ts", "./c"), path: "y.ts" }] } }],
    ["an edge to nothing", {
      resolutions: { "a.ts": [edge("a.ts", "./b"), { ...edge("a.ts", "./c"), path: null }] },
    }],
    ["a tree", { trees: {} }],
    ["a file named like a member of every object", { files: { ...pins.files, ["__proto__"]: "3" } }],
  ])("changes with %s", (_, change) => {
    expect(fingerprintOf({ ...pins, ...change }).hash).not.toBe(fingerprintOf(pins).hash);
  });
});

describe("[T06] pins", () => {
  test("hold declared and imported files, consulted package.json files, the resolution and the trees; nothing else", async () => {
    const { pins, missing } = await collect(plugin(FILES));
    expect(missing).toEqual([]);
    expect(Object.keys(pins.files).toSorted()).toEqual([
      "node_modules/dep/main.js",
      "node_modules/dep/package.json",
      "prompts/brief.md",
      "tools/a.ts",
      "tools/b.ts",
    ]);
    expect(pins.resolutions).toEqual({
      "tools/a.ts": [
        { importer: "tools/a.ts", specifier: "./b.js", kind: "import-statement", path: "tools/b.ts" },
        {
          importer: "tools/a.ts",
          specifier: "dep",
          kind: "import-statement",
          path: "node_modules/dep/main.js",
        },
      ],
    });
    expect(Object.keys(pins.trees["./data"]!)).toEqual(["data/one.json"]);
  });

  test("the same bytes elsewhere have the same fingerprint", async () => {
    expect(await hashOf(plugin(FILES))).toBe(await hashOf(plugin(FILES)));
  });

  test.each([
    ["a target", "tools/a.ts"],
    ["an imported file", "tools/b.ts"],
    ["a file of a package", "node_modules/dep/main.js"],
    ["a consulted package.json", "node_modules/dep/package.json"],
    ["a document", "prompts/brief.md"],
    ["a file of a pinned tree", "data/one.json"],
  ])("[L29] one byte more in %s changes the fingerprint", async (_, path) => {
    const directory = plugin(FILES);
    const before = await hashOf(directory);
    writeFileSync(join(directory, path), readFileSync(join(directory, path), "utf8") + "\n");
    expect(await hashOf(directory)).not.toBe(before);
  });

  test("a file that is neither declared, imported nor readable does not count", async () => {
    const directory = plugin(FILES);
    const before = await hashOf(directory);
    write(directory, { "README.md": "other", "node_modules/dep/unused.js": "other", "new.txt": "new" });
    expect(await hashOf(directory)).toBe(before);
  });

  test("a new file that shadows a pinned one changes the fingerprint, though no pinned byte did", async () => {
    const directory = plugin(FILES);
    const before = await hashOf(directory);
    write(directory, { "tools/b.js": `export const b = "shadow";` });
    const shadowed = await hashOf(directory);
    expect(shadowed).not.toBe(before);
    rmSync(join(directory, "tools/b.js"));
    write(directory, { "tools/node_modules/dep/index.js": `module.exports = "nearer";` });
    expect(await hashOf(directory)).not.toBe(before);
    rmSync(join(directory, "tools/node_modules"), { recursive: true });
    expect(await hashOf(directory)).toBe(before);
  });

  test("[D21] declared files that are missing are listed, all at once", async () => {
    const directory = plugin(FILES);
    renameSync(join(directory, "prompts/brief.md"), join(directory, "prompts/other.md"));
    rmSync(join(directory, "tools/a.ts"));
    const { missing } = await collect(directory, { trees: ["./data", "./none"] });
    expect(missing).toEqual(["./none", "prompts/brief.md", "tools/a.ts"]);
  });

  test("[T30] a single script has pins as well, of its code and packages", async () => {
    const directory = plugin({ ...FILES, "package.json": `{"type": "module"}` });
    const source = PluginSource.openScript(join(directory, "tools/a.ts"));
    const script = {
      source,
      declared: [{ path: "a.ts" }],
      targets: [{ path: "a.ts", export: null }],
      trees: [],
    };
    await expect(collect(directory, script)).rejects.toMatchObject({ details: { specifier: "dep" } });
    write(directory, { "tools/node_modules/dep/index.js": "module.exports = 1;" });
    const again = PluginSource.openScript(join(directory, "tools/a.ts"));
    const { pins, missing } = await collect(directory, { ...script, source: again });
    expect(missing).toEqual([]);
    expect(Object.keys(pins.files).toSorted()).toEqual(["a.ts", "b.ts", "node_modules/dep/index.js"]);
  });

  test("a bundle that is not made of what was pinned is told apart", async () => {
    const directory = plugin(FILES);
    const { pins } = await collect(directory);
    const departure = async () => {
      const source = PluginSource.open(directory);
      return departureFrom(pins, source, target, await shared.bundle({ source, target, tenant: "test" }));
    };
    expect(await departure()).toBeNull();
    write(directory, { "tools/b.ts": `export const b = "changed";` });
    expect(await departure()).toBe(`"tools/b.ts" is not as it was pinned`);
    write(directory, { "tools/b.ts": FILES["tools/b.ts"], "tools/b.js": FILES["tools/b.ts"] });
    expect(await departure()).toBe(`"tools/b.js" is not as it was pinned`);
    rmSync(join(directory, "tools/b.js"));
    write(directory, { "node_modules/dep/package.json": `{"main": "./main.js", "sideEffects": false}` });
    expect(await departure()).toBe(`"node_modules/dep/package.json" is not as it was pinned`);
    write(directory, { "node_modules/dep/package.json": FILES["node_modules/dep/package.json"] });
    expect(await departure()).toBeNull();
    const fewer = { ...pins, resolutions: { "tools/a.ts": pins.resolutions["tools/a.ts"]!.slice(1) } };
    const source = PluginSource.open(directory);
    const made = await shared.bundle({ source, target, tenant: "test" });
    expect(departureFrom(fewer, source, target, made)).toBe(
      `"./b.js" in "tools/a.ts" leads elsewhere than when it was pinned`,
    );
    const more = {
      ...pins,
      resolutions: {
        "tools/a.ts": [...pins.resolutions["tools/a.ts"]!, { ...made.resolution[0]!, specifier: "gone" }],
      },
    };
    expect(departureFrom(more, source, target, made)).toBe(
      `"gone" in "tools/a.ts" leads elsewhere than when it was pinned`,
    );
  });
});
