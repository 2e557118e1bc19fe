import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporary } from "../bundler/support.ts";
import { ROOT } from "../cli/support.ts";

// The plugin is written against Deno's types, so it is taken by a path that the compiler does not follow.
const path = join(ROOT, "tools/lint/layers.ts");
const { problemOf } = await import(path) as { problemOf: (file: string, specifier: string) => string | null };

test.each([
  ["permissions/check.ts", "../runtime/mod.ts", "may not import"],
  ["permissions/kinds/env.ts", "../../src/mod.ts", "may not import"],
  ["runtime/broker.ts", "../src/mod.ts", "may not import"],
  ["runtime/powers/files.ts", "../../src/host.ts", "may not import"],
  ["src/tenant.ts", "../runtime/broker.ts", "only through runtime/mod.ts"],
  ["src/cli/run.ts", "../../permissions/check.ts", "only through permissions/mod.ts"],
  ["runtime/broker.ts", "../permissions/check.ts", "only through permissions/mod.ts"],
  ["permissions/check.ts", "node:fs", "no Node built-ins"],
  ["permissions/kinds/read.ts", "node:path", "no Node built-ins"],
  ["src/runner.ts", "isolated-vm", "belongs to runtime/worker/isolate.ts"],
  ["runtime/worker/main.ts", "isolated-vm", "belongs to runtime/worker/isolate.ts"],
  ["src/tenant.ts", "esbuild-wasm", "belongs to src/bundler/"],
  ["src/manifest/parse.ts", "yaml", "belongs to src/yaml.ts"],
  ["src/bundler/process.ts", "../../runtime/wire.ts", "only through runtime/mod.ts"],
])("[R01] %s may not import %s", (file, specifier, why) => {
  expect(problemOf(file, specifier)).toContain(why);
});

test.each([
  ["src/tenant.ts", "../runtime/mod.ts"],
  ["src/cli/run.ts", "../../permissions/mod.ts"],
  ["runtime/broker.ts", "../permissions/mod.ts"],
  ["runtime/broker.ts", "./op.ts"],
  ["permissions/kinds/env.ts", "../kind.ts"],
  ["permissions/request.ts", "zod"],
  ["runtime/broker.ts", "node:crypto"],
  ["runtime/worker/isolate.ts", "isolated-vm"],
  ["src/bundler/child.ts", "../../runtime/wire.ts"],
])("[R01] %s may import %s", (file, specifier) => {
  expect(problemOf(file, specifier)).toBe(null);
});

/** A copy of the lint set-up with files planted in it, and what `deno lint` says of them. */
function lint(
  planted: Readonly<Record<string, string>>,
): { readonly exit: number | null; readonly text: string } {
  const place = temporary();
  cpSync(join(ROOT, "tools/lint"), join(place, "tools/lint"), { recursive: true });
  cpSync(join(ROOT, "deno.json"), join(place, "deno.json"));
  for (const [file, text] of Object.entries(planted)) {
    mkdirSync(dirname(join(place, file)), { recursive: true });
    writeFileSync(join(place, file), text);
  }
  const deno = join(ROOT, "node_modules/.bin/deno");
  const { status, stdout, stderr } = spawnSync(deno, ["lint", ...Object.keys(planted)], {
    cwd: place,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" },
  });
  return { exit: status, text: stdout + stderr };
}

test("[R01] `deno lint` fails on a planted upward import, however it is written, and passes without it", () => {
  const clean = lint({ "runtime/planted.ts": 'import "../permissions/mod.ts";\nexport const ok = 1;\n' });
  expect(clean).toMatchObject({ exit: 0 });
  for (
    const line of [
      'import "../src/mod.ts";',
      'import type { Host } from "../src/mod.ts";\nexport type X = Host;',
      'export { createHost } from "../src/mod.ts";',
      'export * from "../src/mod.ts";',
      'export const later = () => import("../src/mod.ts");',
    ]
  ) {
    const { exit, text } = lint({ "runtime/planted.ts": `${line}\nexport const ok = 1;\n` });
    expect([line, exit]).toEqual([line, 1]);
    expect(text).toContain("sallyport/layers");
    expect(text).toContain('"runtime" may not import "src"');
  }
});

test("[R01] `deno lint` fails on a bypass of mod.ts, a built-in in permissions/, a terminal elsewhere, an exit elsewhere", () => {
  const { exit, text } = lint({
    "src/planted.ts": 'import { Broker } from "../runtime/broker.ts";\nexport const b = Broker;\n',
    "permissions/planted.ts": 'import { readFileSync } from "node:fs";\nexport const r = readFileSync;\n',
    "src/talks.ts": 'console.log("hello");\nprocess.stdout.write("x");\n',
    "src/leaves.ts": "process.exit(1);\n",
  });
  expect(exit).toBe(1);
  for (
    const [rule, place] of [
      ["sallyport/layers", "src/planted.ts"],
      ["sallyport/layers", "permissions/planted.ts"],
      ["sallyport/one-terminal", "src/talks.ts"],
      ["sallyport/exit-in-main", "src/leaves.ts"],
    ]
  ) {
    expect(text).toMatch(new RegExp(`${rule}[^]*?${place!.replaceAll(".", "\\.")}`));
  }
});

test("[R01] nothing in the tree breaks the rule", () => {
  const problems = ["permissions", "runtime", "src"].flatMap((floor) =>
    readdirSync(join(ROOT, floor), { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".ts")
    )
      .flatMap((name) => {
        const file = `${floor}/${name}`;
        const specifiers = readFileSync(join(ROOT, file), "utf8").matchAll(
          /^(?:import|export)\b[^;]*?from "([^"]+)";|^import "([^"]+)";/gm,
        );
        return [...specifiers].flatMap(([, from, bare]) => problemOf(file, (from ?? bare)!) ?? [])
          .map((problem) => `${file}: ${problem}`);
      })
  );
  expect(problems).toEqual([]);
});
