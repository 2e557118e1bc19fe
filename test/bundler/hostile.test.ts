import process from "node:process";
import { describe, expect, test } from "vitest";
import { HostError } from "../../permissions/mod.ts";
import { BUNDLE_LIMITS, type Bundler } from "../../src/bundler/mod.ts";
import { PluginSource } from "../../src/source.ts";
import { bundle, bundler, failure, plugin, run } from "./support.ts";

const shared = bundler();
const MINIMAL = {
  "main.ts": `import { a } from "./a.ts"; export const run = () => a;`,
  "a.ts": `export const a = 1;`,
};

/** The next build of the same bundler, and of another plugin, works: nobody pays for a hostile one but itself. */
async function expectAlive(by: Bundler): Promise<void> {
  expect(await run(await bundle(by, plugin(MINIMAL)))).toBe(1);
}

const deep = (open: string, close: string, count: number) => open.repeat(count) + close.repeat(count);

/** An enum whose last member is 2^count times as long as its first: folded by the bundler itself. */
function folding(count: number): string {
  const members = Array.from({ length: count }, (_, i) => `M${i + 1} = M${i} + M${i}`);
  return `enum E { M0 = "0123456789abcdef", ${members.join(", ")} }; export const run = () => E.M${count};`;
}

describe("[T05] hostile input ends with a BundleError within its bound, and the next build works", () => {
  test.each([
    ["brackets", "main.js", `export const run = ${deep("[", "]", 400_000)}`],
    ["brackets that never close", "main.js", "[".repeat(400_000)],
    ["brackets in JSON", "data.json", deep("[", "]", 400_000)],
    ["braces", "main.js", deep("{", "}", 400_000)],
    ["templates", "main.js", deep("`${", "}`", 400_000)],
    ["parentheses after a comment", "main.js", `/* " */ // '\n${deep("(", ")", 400_000)}`],
  ])("deep nesting of %s is refused before the bundler sees it", async (_, path, text) => {
    const directory = plugin({ "main.js": `export { default as run } from "./data.json";`, [path]: text });
    const error = await failure(bundle(shared, directory, "main.js"));
    expect(error.code).toBe("ERR_BUNDLE_FAILED");
    expect(error.message).toMatch(
      new RegExp(`^Cannot bundle "${path}": it nests brackets more than 1000 deep`),
    );
    await expectAlive(shared);
  });

  test("nesting just below the bound is bundled", async () => {
    const text = `export const run = () => ${deep("[", "]", BUNDLE_LIMITS.bundleNestingMax - 50)}.length`;
    expect(await run(await bundle(shared, plugin({ "main.js": text }), "main.js"))).toBe(1);
  });

  test("many brackets in strings, comments and regular expressions are no nesting", async () => {
    const noise = `"${"(".repeat(5_000)}"`;
    const text =
      `const a = ${noise}; // ${noise}\n/* ${noise} */ const b = /[(]\\(/; export const run = () => a.length;`;
    expect(await run(await bundle(shared, plugin({ "main.js": text }), "main.js"))).toBe(5_000);
  });

  test.each([
    ["prefixes", `export const run = ${"!".repeat(400_000)}1`],
    ["arrows", `export const run = ${"a=>".repeat(400_000)}1`],
    ["conditions", `export const run = ${"a?b:".repeat(400_000)}c`],
    ["regular expressions that hide brackets", `export const x = /[/*]/, run = ${deep("[", "]", 400_000)}`],
  ])("nesting that only a parser sees, by %s, ends its own process and no more", async (_, text) => {
    const by = bundler();
    await expectAlive(by);
    const error = await failure(bundle(by, plugin({ "main.js": text }), "main.js"));
    expect([error.code, error.message]).toEqual([
      "ERR_BUNDLE_FAILED",
      expect.stringMatching(/^Cannot bundle "main.js": /),
    ]);
    await expectAlive(by);
  });

  test("a source of 30 MB is not read, one of just under 4 MiB is", async () => {
    const large = plugin({ ...MINIMAL, "a.ts": `export const a = 1;//${"x".repeat(30_000_000)}` });
    const error = await failure(bundle(shared, large));
    expect(error.code).toBe("ERR_BUNDLE_FAILED");
    expect(error.message).toMatch(
      /Cannot import "\.\/a\.ts" in "main\.ts": "a\.ts" is larger than 4194304 bytes/,
    );
    await expectAlive(shared);
    const fitting = plugin({ ...MINIMAL, "a.ts": `export const a = 1;//${"x".repeat(4_190_000)}` });
    expect(await run(await bundle(shared, fitting))).toBe(1);
  });

  test("huge constant folding ends within its memory, and soon; a small one is folded", async () => {
    const by = bundler();
    const started = performance.now();
    const error = await failure(bundle(by, plugin({ "main.ts": folding(40) })));
    expect(error.code).toBe("ERR_BUNDLE_FAILED");
    expect(performance.now() - started).toBeLessThan(10_000);
    await expectAlive(by);
    expect(await run(await bundle(by, plugin({ "main.ts": folding(4) })))).toHaveLength(16 * 2 ** 4);
  });

  test("10,000 modules end at bundleModulesMax; 300 are bundled", async () => {
    const chain = (count: number) => ({
      ...Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}.ts`, `export const v = ${i};`])),
      "main.ts":
        Array.from({ length: count }, (_, i) => `import { v as v${i} } from "./m${i}.ts";`).join("\n") +
        `export const run = () => [${Array.from({ length: count }, (_, i) => `v${i}`).join()}].at(-1);`,
    });
    const error = await failure(bundle(shared, plugin(chain(10_000))));
    expect(error.code).toBe("ERR_BUNDLE_FAILED");
    expect(error.details).toMatchObject({ limit: "bundleModulesMax", max: 3_000 });
    await expectAlive(shared);
    expect(await run(await bundle(shared, plugin(chain(300))))).toBe(299);
  });

  test("one file under many names, too many bytes and too many imports are counted", async () => {
    const by = bundler({ limits: { bundleInputBytesMax: 500, bundleImportsMax: 20 } });
    const bytes = plugin({
      "main.ts": `import "./a.ts"; export const run = 1;`,
      "a.ts": `//${"x".repeat(600)}`,
    });
    expect((await failure(bundle(by, bytes))).details).toMatchObject({ limit: "bundleInputBytesMax" });
    const statements = Array.from({ length: 30 }, (_, i) => `try { require("x${i}") } catch {}`).join("\n");
    const imports = plugin({ "main.js": statements });
    const wide = bundler({ limits: { bundleImportsMax: 20 } });
    expect((await failure(bundle(wide, imports, "main.js"))).details).toMatchObject({
      limit: "bundleImportsMax",
    });
    await expectAlive(by);
  });

  test("resident memory is watched while a build runs", async () => {
    const by = bundler({ limits: { bundleMemoryMb: 96 } });
    const many = Array.from(
      { length: 60_000 },
      (_, i) => `export const v${i} = () => ({ a: [${i}, "${i}"] });`,
    );
    const files = Object.fromEntries([0, 1, 2, 3].map((i) => [`m${i}.ts`, many.join("\n")]));
    const main = `import * as all from "./all.ts"; export const run = () => all;`;
    const all = Object.keys(files).map((path, i) => `export * as m${i} from "./${path}";`).join("\n");
    const error = await failure(bundle(by, plugin({ ...files, "all.ts": all, "main.ts": main })));
    expect(error.details).toMatchObject({ limit: "bundleMemoryMb", max: 96 });
    await expectAlive(shared);
  });

  test("the host goes on with its own work while it answers many imports", async () => {
    const deep = Array.from({ length: 120 }, (_, i) => `d${i % 10}`).join("/");
    const statements = Array.from({ length: 3_000 }, (_, i) => `try { require("absent${i}") } catch {}`).join(
      "\n",
    );
    const directory = plugin({ [`${deep}/main.js`]: statements });
    const turns: number[] = [];
    let last = performance.now();
    const watch = setInterval(() => {
      turns.push(performance.now() - last);
      last = performance.now();
    }, 1);
    const made = await bundle(bundler(), directory, `${deep}/main.js`);
    clearInterval(watch);
    expect(made.resolution.length).toBe(3_000);
    expect(Math.max(...turns)).toBeLessThan(1_000);
    expect(turns.length).toBeGreaterThan(20);
  });

  test("a long chain of imports is told in short", async () => {
    const chain = Object.fromEntries(
      Array.from(
        { length: 300 },
        (_, i) => [`m${i}.ts`, i === 299 ? `import "fs";` : `import "./m${i + 1}.ts";`],
      ),
    );
    const error = await failure(
      bundle(shared, plugin({ ...chain, "main.ts": `import "./m0.ts"; export const run = 1;` })),
    );
    const told = error.details["chain"] as string[];
    expect([told[0], told.length, told.at(-1)]).toEqual(["main.ts", 21, "m299.ts"]);
    expect(error.message.length).toBeLessThan(1_000);
  });

  test("code that is too large when it comes out is not taken", async () => {
    const by = bundler({ limits: { bundleCodeBytesMax: 1_000 } });
    const error = await failure(
      bundle(by, plugin({ "main.ts": `export const run = "${"x".repeat(2_000)}";` })),
    );
    expect(error.details).toMatchObject({ limit: "bundleCodeBytesMax" });
    await expectAlive(by);
  });

  test("a build that takes too long ends at bundleWallMs", async () => {
    const by = bundler({ limits: { bundleWallMs: 1_500 } });
    await expectAlive(by);
    const nested = `export const run = 1; ${"class A{static{".repeat(450)}${"}}".repeat(450)}`;
    const slow = plugin({ "main.js": Array.from({ length: 40 }, () => `{${nested.slice(22)}}`).join("\n") });
    const started = performance.now();
    const error = await failure(bundle(by, slow, "main.js"));
    expect(error.details).toMatchObject({ limit: "bundleWallMs" });
    expect(performance.now() - started).toBeLessThan(6_000);
    await expectAlive(by);
  });

  test("package.json is bounded, and its globs cannot stall the host", async () => {
    const dep = { "node_modules/dep/index.js": "module.exports = 1;" };
    const main = { "main.ts": `import a from "dep"; export const run = () => a;` };
    const large = { "node_modules/dep/package.json": JSON.stringify({ x: "x".repeat(300_000) }) };
    const error = await failure(bundle(shared, plugin({ ...main, ...dep, ...large })));
    expect(error.message).toContain("bundlePackageBytesMax");
    const name = "a".repeat(200);
    const evil = plugin({
      "main.ts": `import a from "dep"; export const run = () => a;`,
      [`node_modules/dep/${name}.js`]: "module.exports = 2;",
      "node_modules/dep/package.json": JSON.stringify({
        main: `./${name}.js`,
        sideEffects: [
          ...Array.from({ length: 200 }, () => "**/*a*a*a*a*a*a*a*a*a*a*a*a*b"),
          `${"{a,".repeat(200)}`,
        ],
      }),
    });
    const started = performance.now();
    expect(await run(await bundle(shared, evil))).toBe(2);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  test("a deeply nested or senseless package.json is as good as none", async () => {
    for (
      const text of [
        deep("[", "]", 100_000),
        "null",
        "[1]",
        "{",
        "\ud800",
        `{"main": 5, "exports": 7, "browser": []}`,
      ]
    ) {
      const made = bundle(
        shared,
        plugin({
          "main.ts": `import a from "dep"; export const run = () => a;`,
          "node_modules/dep/index.js": "module.exports = 1;",
          "node_modules/dep/package.json": text,
        }),
      );
      const outcome = await made.then(run, (error) => error.name);
      expect([1, "BundleError"]).toContain(outcome);
    }
  });

  test("text that is no UTF-8 is refused as code and taken as bytes", async () => {
    const binary = new Uint8Array([0xff, 0xfe, 0x00]);
    const error = await failure(bundle(shared, plugin({ "main.js": binary }), "main.js"));
    expect(error.message).toBe(`Cannot bundle "main.js": it is not UTF-8`);
    const main = `import b from "./b.js" with { type: "bytes" }; export const run = () => b.length;`;
    expect(await run(await bundle(shared, plugin({ "main.js": main, "b.js": binary }), "main.js"))).toBe(3);
  });

  test("a syntax error names file, line and column, and no path of the host", async () => {
    const error = await failure(bundle(shared, plugin({ ...MINIMAL, "a.ts": "\n\nexport const a = ;" })));
    expect(error.message).toMatch(/^Cannot bundle "main\.ts": Unexpected ";" \(a\.ts:3:18\)$/);
    expect(JSON.stringify(error.details)).not.toMatch(/sallyport-test|\/p\//);
  });

  test("messages cannot move a terminal", async () => {
    const error = await failure(
      bundle(
        shared,
        plugin({
          "main.js": `import { "\\u001b[2J\\u202e" as x } from "./b.js"; run(x)`,
          "b.js": "export {}",
        }),
        "main.js",
      ),
    );
    // deno-lint-ignore no-control-regex -- that is what must not be there
    expect(error.message).not.toMatch(/[\x00-\x1f\u202e]/);
  });

  test("a plugin's names do not collide with those of the entry", async () => {
    const text =
      `const __sallyport_register__ = 1, m = 2, __sallyport_meta__ = 3; function __require() { return 4; }
      export const run = () => [__sallyport_register__, m, __sallyport_meta__, __require()].join();`;
    const made = await bundle(
      shared,
      plugin({ "main.ts": text.replace(", __sallyport_meta__ = 3", "").replace("__sallyport_meta__", "3") }),
    );
    expect(await run(made)).toBe("1,2,3,4");
  });
});

describe("processes", () => {
  test("nothing starts before the first build, and close ends everything", async () => {
    const by = bundler();
    expect(by.started).toBe(0);
    const source = PluginSource.open(plugin(MINIMAL));
    await bundle(by, source);
    await bundle(by, source);
    expect(by.started).toBe(1);
    await by.close();
    await by.close();
    await expect(bundle(by, source)).rejects.toMatchObject({ code: "ERR_HOST_CLOSED" });
  });

  test("[T05] a process serves one plugin: another one gets another process", async () => {
    const by = bundler();
    await bundle(by, plugin(MINIMAL));
    await bundle(by, plugin(MINIMAL));
    expect(by.started).toBe(2);
  });

  test("[T05] a process killed during a build fails that build alone; the others are done", async () => {
    const by = bundler();
    const count = 2_500;
    const big = Object.fromEntries(
      Array.from({ length: count }, (_, i) => [`m${i}.ts`, `export const v${i} = ${i};`]),
    );
    const main = Array.from({ length: count }, (_, i) => `export * from "./m${i}.ts";`).join("\n");
    const source = PluginSource.open(plugin({ ...big, "main.ts": `${main} export const run = 1;` }));
    const victim = failure(bundle(by, source));
    const waiting = [bundle(by, plugin(MINIMAL)), bundle(by, plugin(MINIMAL))];
    while (source.opened().size < 100) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(by.busyPids.length).toBe(1);
    process.kill(by.busyPids[0]!, "SIGKILL");
    const error = await victim;
    expect([error.code, error.details["file"]]).toEqual(["ERR_BUNDLE_FAILED", "main.ts"]);
    for (const made of await Promise.all(waiting)) expect(await run(made)).toBe(1);
    expect(by.started).toBe(3);
  });

  test("[T05] a process that dies idle costs nobody anything", async () => {
    const by = bundler();
    const source = PluginSource.open(plugin(MINIMAL));
    let pid = 0;
    const first = bundle(by, source);
    while (by.busyPids.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    pid = by.busyPids[0]!;
    await first;
    process.kill(pid, "SIGKILL");
    // Idle means that no build finds it dying: the next one begins when its end has been seen.
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await run(await bundle(by, source))).toBe(1);
    expect(by.started).toBe(2);
  });

  test("builds of one tenant run one at a time, those of two tenants side by side", async () => {
    const by = bundler();
    const most = { one: 0, two: 0 };
    const long = Array.from({ length: 30_000 }, (_, i) => `export const v${i} = () => ({ a: [${i}] });`);
    const files = { "main.ts": `${long.join("\n")} export const run = () => 1;` };
    const watch = (key: keyof typeof most) =>
      setInterval(() => most[key] = Math.max(most[key], by.busyPids.length), 2);
    const build = (tenant: string) =>
      by.bundle({
        source: PluginSource.open(plugin(files)),
        target: { path: "main.ts", export: "run" },
        tenant,
      });
    const one = watch("one");
    await Promise.all([build("a"), build("a"), build("a")]);
    clearInterval(one);
    const two = watch("two");
    await Promise.all([build("a"), build("b"), build("a"), build("b")]);
    clearInterval(two);
    expect(most).toEqual({ one: 1, two: 2 });
  });

  test("a signal cancels a build that waits and one that runs", async () => {
    const by = bundler();
    const source = PluginSource.open(plugin(MINIMAL));
    const request = { source, target: { path: "main.ts", export: "run" }, tenant: "t" };
    const cancel = new AbortController();
    const running = by.bundle({ ...request, signal: cancel.signal });
    const waiting = by.bundle({ ...request, signal: AbortSignal.abort(new Error("before")) });
    while (by.busyPids.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    cancel.abort(new Error("during"));
    await expect(running).rejects.toThrow("during");
    await expect(waiting).rejects.toThrow("before");
    await expectAlive(by);
  });

  test("a process that cannot start is told as such, not as the plugin's fault", async () => {
    const by = bundler({ poolLimits: { bundlerStartMs: 0 } });
    const error = await bundle(by, plugin(MINIMAL)).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(HostError);
    expect(by.started).toBe(2);
  });
});
