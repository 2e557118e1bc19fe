import { join } from "node:path";
import { expect, test } from "vitest";
import type { PermissionRequest } from "../../src/mod.ts";
import { failureOf, type Files, hosted, temporary, write } from "./support.ts";

const host = await hosted();
let count = 0;

/** Runs `main.ts` of a folder with these files. */
function script(
  files: Files,
  permissions: PermissionRequest = {},
  more: { readonly fingerprint?: string; readonly at?: string } = {},
) {
  const place = more.at ?? temporary();
  write(place, files);
  const cwd = join(place, "here");
  const lines: string[] = [];
  const opened = host.script(`s${count++}`, join(cwd, "main.ts"), {
    permissions,
    cwd,
    environment: {},
    limits: {},
    onLine: ({ text }) => lines.push(text),
    ...(more.fingerprint === undefined ? {} : { fingerprint: more.fingerprint }),
  });
  return { ...opened, place, lines };
}

test("[T30] a script is itself, the code beside and below it, and the packages of its own folder", async () => {
  const { run, lines } = script({
    "here/main.ts": `
      import { a } from "./a.ts";
      import { b } from "./below/b.js";
      import { c } from "pack";
      console.log(await Promise.resolve(a + b + c));
      export default (input: { n: number }) => input.n + 1;`,
    "here/a.ts": "export const a: string = 'a';",
    "here/below/b.js": "export const b = 'b';",
    "here/node_modules/pack/package.json": '{"name":"pack","version":"1.0.0","main":"i.js"}',
    "here/node_modules/pack/i.js": "exports.c = 'c';",
  });
  expect(await run({ n: 1 })).toBe(2);
  expect(lines).toEqual(["abc"]);
});

test("[T30] a script without a default export gives null once nothing of it is left to do", async () => {
  const { run, lines } = script({
    "here/main.ts": "setTimeout(() => console.log('late'), 50); await 1; console.log('early');",
  });
  expect(await run({})).toBe(null);
  expect(lines).toEqual(["early", "late"]);
});

test.each([
  ["JSON", 'import value from "./data.json"; export default () => value.k;', "data.json", '{"k":"v"}', "v"],
  [
    "text",
    'import value from "./data.txt" with { type: "text" }; export default () => value;',
    "data.txt",
    "v",
    "v",
  ],
  [
    "bytes",
    'import value from "./data.bin" with { type: "bytes" }; export default () => value.length;',
    "data.bin",
    "v",
    1,
  ],
])("[T30] a %s import needs `read` of that path", async (_kind, code, name, content, result) => {
  const files = { "here/main.ts": code, [`here/${name}`]: content };
  const error = await failureOf(script(files).run({}));
  expect(error.name).toBe("BundleError");
  expect(error.message).toContain(name);
  expect(await script(files, { read: [`./${name}`] }).run({})).toBe(result);
  expect(await script(files, { read: ["./"] }).run({})).toBe(result);
  expect((await failureOf(script(files, { read: { allow: ["./"], deny: [`./${name}`] } }).run({}))).name)
    .toBe("BundleError");
});

test("[T30] names that begin with a dot are never part of it, whatever is granted", async () => {
  const files = {
    "here/main.ts": 'import value from "./.config/creds.json"; export default () => value.k;',
    "here/.config/creds.json": '{"k":"secret"}',
  };
  for (const permissions of [{}, { read: ["./"] }, { read: true as const }]) {
    expect((await failureOf(script(files, permissions).run({}))).name).toBe("BundleError");
  }
  const code = { "here/main.ts": 'import "./.hidden/x.ts";', "here/.hidden/x.ts": "export {};" };
  expect((await failureOf(script(code).run({}))).name).toBe("BundleError");
});

test.each([
  ["code above", 'import "../above.ts";'],
  ["JSON above", 'import "../secret.json";'],
  ["a package above", 'import "outer";'],
  ["an absolute path", 'import "/etc/hostname";'],
  ["a link that leads above", 'import "./link.ts";'],
  ["a file URL", 'import "file:///etc/hostname";'],
])("[T30] nothing above its folder: %s", async (_what, code) => {
  const { run } = script({
    "above.ts": "console.log('outside');",
    "secret.json": '{"k":"secret"}',
    "node_modules/outer/package.json": '{"name":"outer","version":"1.0.0","main":"i.js"}',
    "node_modules/outer/i.js": "console.log('outside');",
    "here/main.ts": code,
    "here/link.ts": { link: "../above.ts" },
  }, { read: true });
  expect((await failureOf(run({}))).name).toBe("BundleError");
});

test("[T30] a path that is computed when it runs leads nowhere", async () => {
  for (const folder of ["..", "."]) {
    const { run, lines } = script({
      "above.ts": "console.log('outside');",
      "here/above.ts": "console.log('outside');",
      "here/main.ts": `const where = ["${folder}", "above.ts"].join("/"); await import(where);`,
    }, { read: true });
    expect((await failureOf(run({}))).code).toBe("ERR_GUEST_THREW");
    expect(lines).toEqual([]);
  }
});

test("[T30] `--lock` prints what `--fingerprint` accepts; one byte more in an import is refused", async () => {
  const files = {
    "here/main.ts": 'import { a } from "./a.ts"; export default () => a;',
    "here/a.ts": "export const a = 1;",
  };
  const first = script(files);
  const { hash } = await first.fingerprint();
  expect(hash).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect((await script(files).fingerprint()).hash).toBe(hash);
  expect(await script(files, {}, { fingerprint: hash }).run({})).toBe(1);
  const error = await failureOf(
    script({ ...files, "here/a.ts": "export const a = 2;" }, {}, { fingerprint: hash }).run({}),
  );
  expect(error.code).toBe("ERR_TRUST_CHANGED");
  expect(error.message).toContain(hash);
});

test("[T30] what runs is what was fingerprinted, even if the file changes in between", async () => {
  const first = script({ "here/main.ts": "export default () => 'before';" });
  await first.fingerprint();
  write(first.place, { "here/main.ts": "export default () => 'after';" });
  expect(await first.run({})).toBe("before");
});

test("a script may do what its flags say, from the working directory, and no more", async () => {
  const files = {
    "here/main.ts": "export default ({ path }) => Deno.readTextFile(path);",
    "here/data/a.txt": "a",
    "here/b.txt": "b",
    "here/data/out": { link: "../b.txt" },
    "here/data/in": { link: "a.txt" },
  };
  const granted = { read: ["./data"] };
  expect(await script(files, granted).run({ path: "data/a.txt" })).toBe("a");
  expect(await script(files, granted).run({ path: "./data/in" })).toBe("a");
  for (const path of ["b.txt", "data/../b.txt", "data/out", "/etc/hostname"]) {
    const error = await failureOf(script(files, granted).run({ path }));
    expect([path, error.code]).toEqual([path, "ERR_NOT_CAPABLE"]);
    expect(error.details.remedy).toContain("--allow-read");
  }
});

test("a script that is not there, or no file, is a usage error", () => {
  const place = temporary();
  for (const file of [join(place, "none.ts"), place]) {
    expect(() =>
      host.script(`s${count++}`, file, { permissions: {}, cwd: place, environment: {}, limits: {} })
    ).toThrow(expect.objectContaining({ code: "ERR_USAGE" }));
  }
});

test("[R44] a script gives what it gives piece by piece, and ends when nothing of it is left", async () => {
  const { stream, run, lines } = script({
    "here/main.ts": `
      setTimeout(() => console.log("later"), 20);
      export default async function* ({ n }: { n: number }) {
        for (let i = 0; i < n; i++) yield i;
        yield "end";
      }`,
  });
  const read = stream({ n: 3 });
  expect(await Array.fromAsync(read)).toEqual([0, 1, 2, "end"]);
  expect(read.summary).toMatchObject({ chunks: 4 });
  expect(lines).toEqual(["later"]);
  expect(await failureOf(run({ n: 1 }))).toMatchObject({ code: "ERR_RESULT_INVALID" });
  const left = script({ "here/main.ts": "export default function* () { for (let i = 0;; i++) yield i; }" })
    .stream({});
  for await (const value of left) if (value === 5) break;
  const { stream: plain } = script({
    "here/main.ts": "console.log('only'); export default () => ({ a: 1 });",
  });
  expect(await Array.fromAsync(plain({}))).toEqual([{ a: 1 }]);
});
