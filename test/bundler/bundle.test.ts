import { describe, expect, test } from "vitest";
import { PluginSource } from "../../src/source.ts";
import { bundle, bundler, evaluate, failure, install, plugin, run } from "./support.ts";

const shared = bundler();

describe("what comes out", () => {
  test("a target with imports runs, and its graph is told by relative paths", async () => {
    const made = await bundle(
      shared,
      plugin({
        "tools/a.ts": `import { b } from "./b.js"; export const run = (n: number): string => b + n;`,
        "tools/b.ts": `import c from "../c.json"; export const b = "b" + c.value;`,
        "c.json": `{"value": "c"}`,
        "unused.ts": "",
      }),
      "tools/a.ts",
    );
    expect(await run(made, 1)).toBe("bc1");
    expect(made.inputs).toEqual(["c.json", "tools/a.ts", "tools/b.ts"]);
    expect(made.resolution).toEqual([
      { importer: "tools/a.ts", specifier: "./b.js", kind: "import-statement", path: "tools/b.ts" },
      { importer: "tools/b.ts", specifier: "../c.json", kind: "import-statement", path: "c.json" },
    ]);
    expect(made.map.sources.filter((source) => source !== "").toSorted()).toEqual(made.inputs);
    expect(JSON.stringify(made)).not.toContain("sallyport-test");
    expect(Object.keys(made.map)).not.toContain("sourcesContent");
  });

  test("[T06] the same plugin gives the same bundle, byte for byte", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [`m${i}.ts`, `export const v${i} = ${i};`]),
    );
    const main = Array.from({ length: 40 }, (_, i) => `export * from "./m${i}.ts";`).join("\n");
    const all = { ...files, "main.ts": `${main}\nexport const run = () => 1;` };
    const [first, second] = [await bundle(shared, plugin(all)), await bundle(bundler(), plugin(all))];
    expect(second).toEqual(first);
  });

  test("top-level await works in the target and in a dependency", async () => {
    const made = await bundle(
      shared,
      plugin({
        "main.ts":
          `import { slow } from "./slow.ts"; const own = await Promise.resolve(1); export const run = () => slow + own;`,
        "slow.ts": `export const slow = await new Promise<number>((done) => done(41));`,
      }),
    );
    expect(await run(made)).toBe(42);
  });

  test("an export that is not there registers undefined and is told", async () => {
    const directory = plugin({ "main.ts": `export const run = 1; export default 2;` });
    const missing = await bundle(shared, directory, "main.ts", "other");
    expect(missing.isExportMissing).toBe(true);
    expect(await evaluate(missing)).toBeUndefined();
    const there = await bundle(shared, directory, "main.ts", "run");
    expect(there.isExportMissing).toBe(false);
    expect(await evaluate(there)).toBe(1);
    expect(await evaluate(await bundle(shared, directory, "main.ts", "default"))).toBe(2);
  });

  test("a CommonJS target registers what it exports", async () => {
    const directory = plugin({
      "main.cjs": `module.exports = { run: () => require("./b.cjs") };`,
      "b.cjs": "module.exports = 7;",
    });
    expect(await run(await bundle(shared, directory, "main.cjs"))).toBe(7);
    expect(await evaluate(await bundle(shared, directory, "main.cjs", "none"))).toBeUndefined();
  });

  test("a module is evaluated though its package says that it has no effects", async () => {
    const directory = plugin({
      "package.json": `{"sideEffects": false}`,
      "script.ts": `import "./dropped.ts"; globalThis.ran = true;`,
      "dropped.ts": `globalThis.dropped = true;`,
    });
    const globals: Record<string, unknown> = {};
    await evaluate(await bundle(shared, directory, "script.ts", null), globals);
    expect(globals).toMatchObject({ ran: true });
    expect(globals).not.toHaveProperty("dropped");
  });

  test("nothing remains that only a module may hold", async () => {
    const made = await bundle(
      shared,
      plugin({
        "deep/main.ts": `export const run = () => [import.meta.url, import.meta.dirname, import.meta];`,
      }),
      "deep/main.ts",
    );
    const [url, dirname, meta] = await run(made) as unknown[];
    expect([url, dirname]).toEqual(["plugin:deep/main.ts", undefined]);
    expect(meta).toEqual({ url: "plugin:deep/main.ts" });
    const common = await bundle(
      shared,
      plugin({ "main.cjs": `exports.run = () => "import.meta.url";` }),
      "main.cjs",
    );
    expect(await run(common)).toBe("import.meta.url");
  });

  test("a path that is computed at run time throws in the guest, and reads nothing", async () => {
    const made = await bundle(
      shared,
      plugin({
        "main.ts": `
          export const run = async () => {
            const names = ["fs", "/etc/passwd", "./other.ts"];
            const caught = [];
            for (const name of names) {
              try { require(name); caught.push("required"); } catch (error) { caught.push(error.constructor === Error); }
              await import(name).then(() => caught.push("imported"), (error) => caught.push(error.constructor === Error));
            }
            return caught.join();
          };`,
      }),
    );
    expect(await run(made)).toBe("true,true,true,true,true,true");
  });

  test("a literal dynamic import is bundled and loads late", async () => {
    const made = await bundle(
      shared,
      plugin({
        "main.ts":
          `export const run = async () => { const before = globalThis.late; const m = await import("./late.ts"); return [before, m.value].join(); };`,
        "late.ts": `globalThis.late = "loaded"; export const value = 5;`,
      }),
    );
    expect(await run(made)).toBe(",5");
  });

  test("JSON, text and bytes come in by import attribute; unknown attributes are refused", async () => {
    const files = {
      "a.json": `{"a": 1}`,
      "a.txt": "text ☃",
      "a.bin": new Uint8Array([0, 255, 10]),
      "code.ts": "const x: number = 1;",
    };
    const made = await bundle(
      shared,
      plugin({
        ...files,
        "main.ts": `
          import json from "./a.json" with { type: "json" };
          import text from "./a.txt" with { type: "text" };
          import bytes from "./a.bin" with { type: "bytes" };
          import code from "./code.ts" with { type: "text" };
          export const run = () => JSON.stringify([json, text, [...bytes], code]);`,
      }),
    );
    expect(JSON.parse(await run(made) as string)).toEqual([
      { a: 1 },
      "text ☃",
      [0, 255, 10],
      files["code.ts"],
    ]);
    expect(made.inputs).toEqual(["a.bin", "a.json", "a.txt", "code.ts", "main.ts"]);
    for (
      const statement of [
        `import a from "./a.txt"`,
        `import a from "./a.txt" with { type: "css" }`,
        `import a from "./a.txt" with { type: "json" }`,
        `import a from "./a.json" with { kind: "json" }`,
        `import a from "./a.txt" with { type: "__proto__" }`,
      ]
    ) {
      const error = await failure(
        bundle(shared, plugin({ ...files, "main.ts": `${statement}; export const run = a;` })),
      );
      expect([statement, error.code]).toEqual([statement, "ERR_IMPORT_REFUSED"]);
      expect(error.message).toContain(`in "main.ts"`);
    }
  });
});

describe("packages", () => {
  test("real packages of npm bundle and run: zod and yaml", async () => {
    const directory = plugin({
      "main.ts": `
        import { z } from "zod";
        import { parse } from "yaml";
        export const run = (text: string) => JSON.stringify(z.object({ a: z.array(z.number()) }).parse(parse(text)));`,
    });
    install(directory, "zod");
    install(directory, "yaml");
    const made = await bundle(shared, directory);
    expect(await run(made, "a: [1, 2]")).toBe(`{"a":[1,2]}`);
    await expect(run(made, "a: [x]")).rejects.toThrow();
    expect(made.packageFiles).toEqual(
      expect.arrayContaining(["node_modules/yaml/package.json", "node_modules/zod/package.json"]),
    );
    expect(made.inputs.every((path) => path === "main.ts" || path.startsWith("node_modules/"))).toBe(true);
  });

  test("a package's type decides how CommonJS is imported from it", async () => {
    const common = `exports.__esModule = true; exports.default = "inner";`;
    const importer =
      `import value from "dep"; export const run = () => typeof value === "string" ? value : value.default;
      export const shape = typeof value;`;
    const dep = { "node_modules/dep/index.js": common };
    const asModule = plugin({ ...dep, "package.json": `{"type": "module"}`, "main.js": importer });
    const asScript = plugin({ ...dep, "package.json": `{}`, "main.js": importer });
    expect(await evaluate(await bundle(shared, asModule, "main.js", "shape"))).toBe("object");
    expect(await evaluate(await bundle(shared, asScript, "main.js", "shape"))).toBe("string");
    const made = await bundle(shared, asModule, "main.js", "shape");
    expect(made.packageFiles).toEqual(["package.json"]);
    expect(made.map.sources).toContain("main.js");
  });

  test("a file named like the bundler's stand-in for another is another module", async () => {
    const made = await bundle(
      shared,
      plugin({
        "package.json": `{"type": "module"}`,
        "main.js": `import a from "./a.js"; import b from "./a.js.mjs"; export const run = () => a + b;`,
        "a.js": `export default "first";`,
        "a.js.mjs": `export default "second";`,
      }),
      "main.js",
    );
    expect(await run(made)).toBe("firstsecond");
    expect(made.map.sources).toEqual(expect.arrayContaining(["a.js", "a.js.mjs", "main.js"]));
  });

  test("exports, imports and browser fields of pinned package.json files are honoured", async () => {
    const made = await bundle(
      shared,
      plugin({
        "package.json": `{"imports": {"#own": "./own.ts"}}`,
        "own.ts": `export const own = "own";`,
        "main.ts": `
          import { own } from "#own"; import e from "dep"; import sub from "dep/sub"; import nothing from "dep/gone";
          export const run = () => [own, e, sub, JSON.stringify(nothing)].join();`,
        "node_modules/dep/package.json": JSON.stringify({
          exports: {
            ".": { node: "./node.js", browser: "./web.js" },
            "./sub": "./s.js",
            "./gone": "./gone.js",
          },
          browser: { "./gone.js": false },
        }),
        "node_modules/dep/node.js": `throw new Error("node");`,
        "node_modules/dep/web.js": `export default "web";`,
        "node_modules/dep/s.js": `export default "sub";`,
        "node_modules/dep/gone.js": `throw new Error("gone");`,
      }),
    );
    expect(await run(made)).toBe("own,web,sub,{}");
  });

  test("an optional dependency that is absent, a built-in included, is left to the code's own try", async () => {
    const made = await bundle(
      shared,
      plugin({
        "main.js": `
          let fs; try { fs = require("fs"); } catch { fs = "none"; }
          let dep; try { dep = require("absent"); } catch { dep = "none"; }
          exports.run = () => [fs, dep].join();`,
      }),
      "main.js",
    );
    expect(await run(made)).toBe("none,none");
    expect(made.resolution.map(({ specifier, path }) => [specifier, path])).toEqual([["absent", null], [
      "fs",
      null,
    ]]);
  });

  test("a package linked inside the plugin is one module with its target", async () => {
    const directory = plugin({
      "main.ts":
        `import a from "dep"; import b from "./vendor/dep/index.js"; export const run = () => a === b;`,
      "vendor/dep/package.json": `{"main": "index.js"}`,
      "vendor/dep/index.js": `export default {};`,
      "node_modules/dep": { link: "../vendor/dep" },
    });
    const made = await bundle(shared, directory);
    expect(await run(made)).toBe(true);
    expect(made.inputs).toEqual(["main.ts", "vendor/dep/index.js"]);
    expect(made.packageFiles).toEqual(["vendor/dep/package.json"]);
  });
});

describe("[T29] source maps", () => {
  const data = (map: unknown) =>
    `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString("base64")}`;
  const forged = data({
    version: 3,
    sources: ["../../host/src/broker.ts", "tools/innocent.ts"],
    sourcesContent: ["evil", "evil"],
    names: ["forged"],
    mappings: "AAAA,CCAA",
  });

  test.each([
    ["a line comment", `//# sourceMappingURL=${forged}`],
    ["an old line comment", `//@ sourceMappingURL=${forged}`],
    ["a block comment", `/*# sourceMappingURL=${forged} */`],
    ["a block comment over lines", `/*\n# sourceMappingURL=${forged}\n*/`],
    ["a comment inside another", `// see # sourceMappingURL=${forged}`],
    ["two", `//# sourceMappingURL=${forged}\n//# sourceMappingURL=${forged}`],
    ["one at the start", `/*# sourceMappingURL=${forged} */ export const early = 1;`],
    ["one after a misleading literal", "const q = /[`/*]/; `${1}`\n//# sourceMappingURL=" + forged],
    ["one with a path", "//# sourceMappingURL=../../../../etc/passwd"],
  ])("a forged map in %s changes nothing", async (_, comment) => {
    const made = await bundle(
      shared,
      plugin({ "main.ts": `export const run = () => 1;\n${comment}\n`, "tools/innocent.ts": "" }),
    );
    expect(made.map.sources).toEqual(["main.ts", ""]);
    expect(JSON.stringify(made.map)).not.toMatch(/broker|innocent|evil|forged/);
    expect(made.inputs).toEqual(["main.ts"]);
    expect(await run(made)).toBe(1);
  });

  test("the code that comes out cannot name itself", async () => {
    const made = await bundle(
      shared,
      plugin({
        "main.ts": [
          `//! //# sourceURL=evil.js`,
          `export const run = () => new Error("x").stack;`,
          `export const later = (name) => import(`,
          `//# sourceURL=evil.js`,
          `name);`,
          `run(//@ sourceURL=evil.js`,
          `1); run(//#\tsourceURL=evil.js`,
          `2); run(/*# sourceMappingURL=evil.js */3);`,
        ].join("\n"),
      }),
    );
    expect(made.code).not.toMatch(/\/\/[#@]\s*source/);
    expect(await run(made)).not.toContain("evil");
  });

  test("a frame maps to its own line", async () => {
    const { SourceMap } = await import("node:module");
    const made = await bundle(
      shared,
      plugin({ "lib/a.ts": `\n\n  export const run = (): never => {\n    throw new Error("here");\n  };` }),
      "lib/a.ts",
    );
    const line = made.code.split("\n").findIndex((text) => text.includes(`new Error("here")`));
    const column = made.code.split("\n")[line]!.indexOf("new Error");
    const map = new SourceMap({ ...made.map, file: "", sourceRoot: "", sourcesContent: [] } as never);
    expect(map.findEntry(line, column)).toMatchObject({
      originalSource: "lib/a.ts",
      originalLine: 3,
      originalColumn: 10,
    });
  });
});

describe("[T30] a script", () => {
  const files = {
    "script.ts": `import { a } from "./lib/a.ts"; import dep from "dep"; export default () => a + dep;`,
    "lib/a.ts": `export const a = "a";`,
    "node_modules/dep/index.js": `module.exports = "dep";`,
    ".config/creds.json": `{"token": "secret"}`,
    "data.json": `{"value": 1}`,
    "notes.txt": "notes",
  };
  const open = (directory: string, mayRead?: (path: string) => boolean) =>
    PluginSource.openScript(`${directory}/script.ts`, mayRead === undefined ? {} : { mayRead });

  test("imports code and packages below its directory; a default export is registered", async () => {
    const made = await bundle(shared, open(plugin(files)), "script.ts", null);
    expect(await run(made)).toBe("adep");
    const plain = plugin({ "script.ts": "globalThis.ran = await 1;" });
    const globals: Record<string, unknown> = {};
    expect(await evaluate(await bundle(shared, open(plain), "script.ts", null), globals)).toBeUndefined();
    expect(globals).toEqual({ ran: 1 });
  });

  test.each([
    ["a JSON file in a dot-directory", `import a from "./.config/creds.json"`],
    ["a JSON file", `import a from "./data.json"`],
    ["text", `import a from "./notes.txt" with { type: "text" }`],
    ["bytes", `import a from "./notes.txt" with { type: "bytes" }`],
    ["its own text", `import a from "./script.ts" with { type: "text" }`],
    ["a file above", `import a from "../above.ts"`],
    ["a required JSON file", `const a = require("./data.json")`],
    ["a required JSON file inside try", `let a; try { a = require("./data.json") } catch {}`],
  ])("does not get %s", async (_, statement) => {
    const directory = plugin({ ...files, "script.ts": `${statement}; export default () => a;` });
    const error = await failure(bundle(shared, open(directory), "script.ts", null));
    expect(error.code).toBe("ERR_IMPORT_REFUSED");
    expect(error.message).not.toContain("secret");
  });

  test("gets JSON and text that it may read, but nothing behind a dot", async () => {
    const directory = plugin({
      ...files,
      "script.ts": `import a from "./data.json"; export default () => a.value;`,
    });
    const all = () => true;
    expect(await run(await bundle(shared, open(directory, all), "script.ts", null))).toBe(1);
    const hidden = plugin({
      ...files,
      "script.ts": `import a from "./.config/creds.json"; export default () => a;`,
    });
    expect((await failure(bundle(shared, open(hidden, all), "script.ts", null))).message).toContain(
      "begins with a dot",
    );
  });
});
