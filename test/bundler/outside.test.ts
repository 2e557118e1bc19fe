import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { PluginSource } from "../../src/source.ts";
import { bundle, bundler, failure, plugin, run, temporary, write } from "./support.ts";

const shared = bundler();

describe("[T06] imports that are refused, each with its twin that is not", () => {
  const files = {
    "main.ts": "",
    "sub/ok.ts": `export const a = "ok";`,
    "node_modules/dep/index.js": `module.exports = { a: "dep" };`,
  };
  const build = (statement: string, more: Record<string, string | { readonly link: string }> = {}) => {
    const directory = plugin({ ...files, ...more, "main.ts": `${statement}; export const run = () => a;` });
    write(directory, {
      "../secret.json": `{"a": "secret"}`,
      "../node_modules/parent/index.js": `exports.a = "secret";`,
    });
    return bundle(shared, directory);
  };

  test.each([
    ["an absolute path", `import { a } from "/etc/hostname"`, /is absolute/],
    ["a path that leaves", `import { a } from "../secret.json"`, /leaves the plugin/],
    ["a path that leaves and comes back", `import { a } from "../p/sub/ok.ts"`, /leaves the plugin/],
    ["a path that leaves in the middle", `import { a } from "./sub/../../secret.json"`, /leaves the plugin/],
    ["a file URL", `import { a } from "file:///etc/hostname"`, /relative to the importing file/],
    [
      "a data URL",
      `import { a } from "data:text/javascript,export const a = 1"`,
      /no file that could be pinned/,
    ],
    ["a remote file", `import { a } from "https://example.com/a.js"`, /remote imports are not fetched/],
    ["an npm specifier", `import { a } from "npm:dep"`, /install the package/],
    ["an unknown scheme", `import { a } from "blob:x"`, /the scheme "blob:"/],
    ["a backslash", `import { a } from ".\\\\sub\\\\ok.ts"`, /backslash/],
    ["a NUL", `import { a } from "./sub/ok.ts\\0"`, /control characters/],
    ["a line break", `import { a } from "./sub/ok.ts\\n"`, /control characters/],
    ["a query", `import { a } from "./sub/ok.ts?x"`, /query/],
    ["a built-in of Node", `import { a } from "node:fs"`, /built into Node/],
    ["a built-in of Node without its scheme", `import { readFileSync as a } from "fs"`, /built into Node/],
    [
      "a module of the bundler's own",
      `import { meta as a } from "sallyport:other"`,
      /the scheme "sallyport:"/,
    ],
    ["a computed import", "const a = await import(`./sub/${globalThis.x}.ts`)", /computed when it runs/],
    ["a computed require", "const a = require(`../${globalThis.x}.json`)", /computed when it runs/],
    ["a refused import inside try", `let a; try { a = require("/etc/hostname") } catch {}`, /is absolute/],
  ])("%s", async (_, statement, message) => {
    const error = await failure(build(statement));
    expect(error.code).toBe("ERR_IMPORT_REFUSED");
    expect(error.message).toMatch(message);
    expect(error.message).toContain(`"main.ts`);
    expect(error.details["chain"]).toEqual(["main.ts"]);
  });

  test.each([
    ["a relative path", `import { a } from "./sub/ok.ts"`],
    ["a path with dots inside", `import { a } from "./sub/../sub/ok.ts"`],
    ["a package", `import { a } from "dep"`],
    ["a literal dynamic import", `const { a } = await import("./sub/ok.ts")`],
  ])("twin: %s", async (_, statement) => {
    expect(await run(await build(statement))).toMatch(/^(ok|dep)$/);
  });

  test.each([
    ["a file that is not there", `import { a } from "./none.ts"`],
    ["a package of a parent directory", `import { a } from "parent"`],
    ["a path that tsconfig.json maps", `import { a } from "@app/ok"`],
  ])("not found: %s", async (_, statement) => {
    const tsconfig = { compilerOptions: { baseUrl: ".", paths: { "@app/*": ["./sub/*"] } } };
    const error = await failure(build(statement, { "tsconfig.json": JSON.stringify(tsconfig) }));
    expect(error.code).toBe("ERR_BUNDLE_FAILED");
    expect(error.message).toMatch(
      /^Cannot import ".*" in "main.ts": there is no such (file|package) in the plugin/,
    );
  });

  test("tsconfig.json has no say and is no pin", async () => {
    const files = {
      "tsconfig.json":
        `{"compilerOptions": {"jsx": "react-jsx", "jsxImportSource": "evil", "target": "es3"}}`,
      "main.tsx":
        `const h = (...all) => all.length; export const run = () => { /** @jsx h */ return <a/>; };`,
    };
    const made = await bundle(shared, plugin(files), "main.tsx");
    expect([made.inputs, made.packageFiles]).toEqual([["main.tsx"], []]);
  });

  test("a link that leaves the plugin is refused wherever it is met, its twin inside is followed", async () => {
    const inside = { "real/a.ts": `export const a = "inside";`, "real/package.json": `{"main": "a.ts"}` };
    const links: readonly [string, string, string][] = [
      ["x.ts", "../secret.ts", `import { a } from "./x.ts"`],
      ["x.ts", "/etc/hostname", `import { a } from "./x.js"`],
      ["node_modules/dep2", "../../outside", `import { a } from "dep2"`],
      ["node_modules", "../outside", `import { a } from "dep2"`],
      ["dir", "..", `import { a } from "./dir/secret.ts"`],
    ];
    for (const [path, link, statement] of links) {
      const directory = plugin({
        ...inside,
        [path]: { link },
        "main.ts": `${statement}; export const run = () => a;`,
      });
      write(directory, {
        "../secret.ts": `export const a = "secret";`,
        "../outside/dep2/index.js": `exports.a = "secret"`,
      });
      const error = await failure(bundle(shared, directory));
      expect([statement, error.code]).toEqual([statement, "ERR_IMPORT_REFUSED"]);
      expect(error.message).toMatch(/leaves the plugin/);
      expect(error.message).not.toContain("secret.ts is");
    }
    const twin = plugin({
      ...inside,
      "x.ts": { link: "real/a.ts" },
      "node_modules/dep2": { link: "../real" },
      "main.ts": `import { a } from "./x.ts"; import { a as b } from "dep2"; export const run = () => a + b;`,
    });
    expect(await run(await bundle(shared, twin))).toBe("insideinside");
  });

  test("a link that leaves is refused though something further up would answer", async () => {
    const directory = plugin({
      "sub/main.ts": `import { a } from "dep2"; export const run = () => a;`,
      "sub/node_modules/dep2": { link: "../../../outside" },
      "node_modules/dep2/index.js": `exports.a = "inside";`,
    });
    expect((await failure(bundle(shared, directory, "sub/main.ts"))).code).toBe("ERR_IMPORT_REFUSED");
    unlinkSync(join(directory, "sub/node_modules/dep2"));
    expect(await run(await bundle(shared, directory, "sub/main.ts"))).toBe("inside");
  });

  test("a package.json cannot lead outside, nor be outside", async () => {
    const fields = [
      { main: "../../../secret.json" },
      { exports: "./../../../secret.json" },
      { browser: "../../../secret.json" },
      { module: "/etc/hostname" },
      { main: "file:///etc/hostname" },
    ];
    for (const field of fields) {
      const directory = plugin({
        "main.ts": `import a from "dep2"; export const run = () => a;`,
        "node_modules/dep2/package.json": JSON.stringify(field),
      });
      write(directory, { "../secret.json": `{"a": "secret"}` });
      expect((await failure(bundle(shared, directory))).name).toBe("BundleError");
    }
    const linked = plugin({
      "main.ts": `import a from "dep2"; export const run = () => a;`,
      "node_modules/dep2/index.js": "module.exports = 1;",
      "node_modules/dep2/package.json": { link: "../../../package.json" },
    });
    write(linked, { "../package.json": "{}" });
    expect((await failure(bundle(shared, linked))).code).toBe("ERR_IMPORT_REFUSED");
  });

  test("the chain tells how the file was reached", async () => {
    const error = await failure(bundle(
      shared,
      plugin({
        "main.ts": `import "./a.ts"; export const run = 1;`,
        "a.ts": `import "dep";`,
        "node_modules/dep/index.js": `require("./inner");`,
        "node_modules/dep/inner.js": `require("child_process");`,
      }),
    ));
    expect(error.details).toMatchObject({
      importer: "node_modules/dep/inner.js",
      specifier: "child_process",
      chain: ["main.ts", "a.ts", "node_modules/dep/index.js", "node_modules/dep/inner.js"],
    });
    expect(error.message).toContain(`Cannot import "child_process" in "node_modules/dep/inner.js"`);
    expect(error.message).toContain(`"main.ts" → "a.ts"`);
  });
});

describe("[T06] the resolution is part of what is pinned", () => {
  test("a new file that shadows another changes the resolution, though no byte of the old files did", async () => {
    const directory = plugin({
      "main.ts": `import { a } from "./x.js"; import b from "dep"; export const run = () => a + b;`,
      "x.js": `export const a = "js";`,
      "node_modules/dep/index.js": `module.exports = "far";`,
    });
    const before = await bundle(shared, directory);
    expect(await run(before)).toBe("jsfar");
    rmSync(join(directory, "x.js"));
    write(directory, {
      "x.ts": `export const a = "ts";`,
      "node_modules/dep/package.json": `{"main": "./near.js"}`,
    });
    write(directory, { "node_modules/dep/near.js": `module.exports = "near";` });
    const after = await bundle(shared, PluginSource.open(directory));
    expect(after.resolution).not.toEqual(before.resolution);
    expect(after.packageFiles).not.toEqual(before.packageFiles);
    expect(await run(after)).toBe("tsnear");
  });

  test("an absent optional import is an edge, and so is its appearing", async () => {
    const directory = plugin({
      "main.js": `let a; try { a = require("opt"); } catch { a = "none"; } exports.run = () => a;`,
    });
    const edge = { importer: "main.js", specifier: "opt", kind: "require-call" };
    expect((await bundle(shared, directory, "main.js")).resolution).toEqual([{ ...edge, path: null }]);
    write(directory, { "node_modules/opt/index.js": "module.exports = 1;" });
    expect((await bundle(shared, directory, "main.js")).resolution)
      .toEqual([{ ...edge, path: "node_modules/opt/index.js" }]);
  });
});

const strace = existsSync("/usr/bin/strace") ? "/usr/bin/strace" : null;

describe("[T06] under strace", () => {
  test.skipIf(strace === null)(
    "neither host nor bundler opens anything outside the plugin that a harmless build does not (needs strace)",
    async () => {
      const around = temporary();
      const hostile = join(around, "plugin");
      write(around, {
        "secret.json": `{"token": "secret"}`,
        "cwd/secret.json": `{"token": "secret"}`,
        "cwd/secrets/a.json": `{"token": "secret"}`,
        "node_modules/parent/index.js": "exports.a = 'secret';",
        "package.json": `{"type": "module"}`,
        "tsconfig.json": "{}",
      });
      const modules = {
        "computed.js":
          "exports.run = () => [require(`./secret${globalThis.x}.json`), require(`../../../../${globalThis.x}`)];",
        "dynamic.js": "export const run = () => import(`./secrets/${globalThis.x}.json`);",
        "map.js": "export const run = 1;\n//# sourceMappingURL=../../../../etc/passwd",
        "map_absolute.js": "export const run = 1;\n//# sourceMappingURL=/etc/passwd",
        "parent.js": `export { a as run } from "parent";`,
        "absolute.js": `export * from "/etc/passwd";`,
        "link.js": `export * from "./out.js";`,
        "link_dir.js": `export * from "outside";`,
        "quiet.js": `try { require("../secret.json"); } catch {} exports.run = 1;`,
      };
      write(hostile, {
        ...modules,
        "out.js": { link: "/etc/passwd" },
        "node_modules/outside": { link: "../.." },
      });
      const harmless = join(around, "harmless");
      write(harmless, { "a.js": "export const run = 1;", "bad.js": "(" });

      const calm = await traced(["a.js", "bad.js"], harmless, join(around, "cwd"));
      const wild = await traced(Object.keys(modules), hostile, join(around, "cwd"));
      expect(wild.output.length).toBe(Object.keys(modules).length);
      expect(wild.output.filter(({ inputs }) => inputs !== undefined).map(({ path }) => path))
        .toEqual(["map.js", "map_absolute.js"]);
      expect(JSON.stringify(wild.output)).not.toContain("token");
      const own = [...wild.paths].filter((path) => path.startsWith(`${hostile}/`));
      expect(own.length).toBeGreaterThan(5); // the trace does see what is read
      // The host's look at the child's memory, which a short build may not see.
      const allowed = new Set([...calm.paths, hostile, "/proc/N/statm", "/proc/N/task/N/children"]);
      const strange = [...wild.paths].filter((path) => !path.startsWith(`${hostile}/`) && !allowed.has(path));
      expect(strange).toEqual([]);
      // Where the bundler has a file system at all, there is nothing in it but itself, and itself it does not read.
      const inJail = wild.opened.filter((path) => !["/", "/sallyport"].includes(path));
      expect(inJail).toEqual([]);
      expect(
        [...wild.paths].filter((path) =>
          /secret|passwd|hostname/.test(path) && !path.startsWith(`${hostile}/`)
        ),
      )
        .toEqual([...calm.paths].filter((path) => /secret|passwd|hostname/.test(path)));
    },
    60_000,
  );

  test("a secret beside the working directory does not get into a bundle, in this process either", async () => {
    const around = temporary();
    write(around, { "secretcreds.json": `{"token": "secret"}` });
    const directory = plugin({ "main.js": "exports.run = () => require(`./secret${globalThis.x}.json`);" });
    const before = process.cwd();
    process.chdir(around);
    try {
      expect((await failure(bundle(shared, directory, "main.js"))).code).toBe("ERR_IMPORT_REFUSED");
    } finally {
      process.chdir(before);
    }
  });
});

interface Trace {
  readonly output: readonly { readonly path: string; readonly inputs?: readonly string[] }[];
  readonly paths: ReadonlySet<string>;
  /** What a program in an empty jail could open, as it sees it. */
  readonly opened: readonly string[];
}

/** A line about the program that bubblewrap starts in an empty jail. */
const IN_JAIL = /^\d+<program>/;

async function traced(targets: readonly string[], directory: string, cwd: string): Promise<Trace> {
  const log = join(dirname(cwd), `trace-${targets.length}`);
  const driver = join(import.meta.dirname, "strace_driver.ts");
  // Opening and listing; a look at the parents of the plugin's own directory is how its real name is found.
  const calls = "trace=open,openat,openat2,getdents64,creat,execve";
  const args = [
    "-f",
    "-qq",
    "-y",
    "-Y",
    "-s",
    "4096",
    "-e",
    calls,
    "-o",
    log,
    process.execPath,
    driver,
    directory,
    ...targets,
  ];
  const { stdout, stderr, status } = spawnSync(strace!, args, { cwd, encoding: "utf8", timeout: 50_000 });
  if (status !== 0) throw new Error(`the traced build ended with ${status}: ${stderr.slice(-2_000)}`);
  const paths = new Set<string>();
  const opened: string[] = [];
  for (const line of readFileSync(log, "utf8").split("\n")) {
    if (IN_JAIL.test(line)) {
      const place = /^[^ ]+ +open(?:at2?)?\(.*= \d+<([^>]*)>$/.exec(line)?.[1];
      if (place !== undefined) opened.push(place);
      continue;
    }
    const path = /^[^ ]+ +(?:open(?:at2?)?|creat|execve)\((?:[^"]*)"([^"]*)"/.exec(line)?.[1] ??
      /^[^ ]+ +getdents64\(\d+<([^>]*)>/.exec(line)?.[1];
    if (path !== undefined) {
      paths.add(/^(\/proc\/|\d)/.test(path) ? path.replaceAll(/\d+/g, "N") : path);
    }
  }
  return { output: stdout.trim().split("\n").map((line) => JSON.parse(line)), paths, opened };
}
