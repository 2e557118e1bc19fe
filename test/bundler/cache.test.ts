import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Bundler } from "../../src/bundler/mod.ts";
import { PluginSource } from "../../src/source.ts";
import { memoryCache } from "../../src/stores/cache.ts";
import { bundle, bundler, failure, plugin, run, write } from "./support.ts";

const FILES = {
  "main.ts": `import { word } from "./word.js"; import text from "./note.txt" with { type: "text" };
    export const run = () => word + text; export const other = () => "other";`,
  "word.js": `export { word } from "words";`,
  "note.txt": "!",
  "node_modules/words/package.json": `{ "name": "words", "main": "index.js" }`,
  "node_modules/words/index.js": `export const word = "first";`,
};

/** Two bundlers, as of two hosts, that share a cache and nothing else. */
function pair(): [Bundler, Bundler] {
  const cache = memoryCache();
  return [bundler({ cache }), bundler({ cache })];
}

describe("a bundle that was made before", () => {
  test("is the same to the last byte and edge, needs no process, and serves a copy of the plugin elsewhere", async () => {
    const [first, second] = pair();
    const made = await bundle(first, plugin(FILES));
    expect([first.started, await run(made)]).toEqual([1, "first!"]);
    expect(await bundle(second, plugin(FILES))).toEqual(made);
    expect(second.started).toBe(0);
  });

  test.each<[string, (directory: string) => void, unknown]>([
    ["the target", (at) => write(at, { "main.ts": `export const run = () => "changed";` }), "changed"],
    ["an imported file", (at) => write(at, { "word.js": `export const word = "changed";` }), "changed!"],
    ["a text file", (at) => write(at, { "note.txt": "?" }), "first?"],
    [
      "a file of a package",
      (at) => write(at, { "node_modules/words/index.js": `export const word = "changed";` }),
      "changed!",
    ],
    ["a package.json", (at) =>
      write(at, {
        "node_modules/words/package.json": `{ "name": "words", "main": "second.js" }`,
        "node_modules/words/second.js": `export const word = "changed";`,
      }), "changed!"],
    ["a new file that is found sooner", (at) =>
      write(at, {
        "node_modules/words/package.json": `{ "name": "words", "main": "index" }`,
        "node_modules/words/index.ts": `export const word: string = "changed";`,
      }), "changed!"],
    ["a link in the place of a file", (at) => {
      renameSync(join(at, "word.js"), join(at, "moved.js"));
      write(at, { "word.js": { link: "again.js" }, "again.js": `export const word = "changed";` });
    }, "changed!"],
  ])("[T06] is not used once %s differs", async (_, change, expected) => {
    const [first, second] = pair();
    const directory = plugin(FILES);
    await bundle(first, directory);
    change(directory);
    expect(await run(await bundle(second, directory))).toBe(expected);
    expect(second.started).toBe(1);
  });

  test("[T06] a new file that shadows a pinned one, without changing a byte of it, is seen", async () => {
    const [first, second] = pair();
    const directory = plugin({
      "main.ts": `export { run } from "./word";`,
      "word.js": `export const run = () => "js";`,
    });
    await bundle(first, directory);
    writeFileSync(join(directory, "word.ts"), `export const run = () => "ts";`);
    const now = await bundle(second, directory);
    expect(now.inputs).toContain("word.ts");
    rmSync(join(directory, "word.ts"));
    expect((await bundle(second, directory)).inputs).toContain("word.js");
    expect(second.started).toBe(1); // the first one is remembered beside the second one
  });

  test("another export of the same file is another bundle", async () => {
    const [first, second] = pair();
    const directory = plugin(FILES);
    await bundle(first, directory);
    expect(await run(await bundle(second, directory, "main.ts", "other"))).toBe("other");
  });

  test("is not used by a build whose bounds differ, which may refuse what was bundled", async () => {
    const cache = memoryCache();
    await bundle(bundler({ cache }), plugin(FILES));
    const strict = bundler({ cache, limits: { bundleModulesMax: 1 } });
    expect((await failure(bundle(strict, plugin(FILES)))).code).toBe("ERR_BUNDLE_FAILED");
  });

  test("[T30] is not given to a script that may not read what is in it", async () => {
    const cache = memoryCache();
    const directory = plugin(FILES);
    const open = (mayRead: boolean) =>
      PluginSource.openScript(join(directory, "main.ts"), { mayRead: () => mayRead });
    expect((await bundle(bundler({ cache }), open(true))).inputs).toContain("note.txt");
    const refused = await failure(bundle(bundler({ cache }), open(false)));
    expect(refused.message).toContain("may not read it");
    const again = bundler({ cache });
    await bundle(again, open(true));
    expect(again.started).toBe(0);
  });

  test("a build that failed is not remembered", async () => {
    const [first, second] = pair();
    const directory = plugin({ "main.ts": `import "./missing.ts"; export const run = 1;` });
    await failure(bundle(first, directory));
    await failure(bundle(second, directory));
    expect(second.started).toBe(1);
  });

  test("a store that gives back what is cut short is passed over", async () => {
    const kept = memoryCache();
    const cut = {
      get: (key: string) => kept.get(key)?.subarray(0, 20) ?? null,
      put: (key: string, bytes: Uint8Array) => kept.put(key, bytes),
    };
    await bundle(bundler({ cache: cut }), plugin(FILES));
    expect(await run(await bundle(bundler({ cache: cut }), plugin(FILES)))).toBe("first!");
  });
});
