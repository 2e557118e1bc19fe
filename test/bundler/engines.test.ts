import fastCheck from "fast-check";
import { describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { planConfinement } from "../../runtime/mod.ts";
import { decodePacket, encodePacket, PacketReader, type PacketValue } from "../../src/bundler/packets.ts";
import { bundle, bundler, failure, type Files, install, plugin, run } from "./support.ts";

const best = planConfinement("best");
const isNative = best.bubblewrap !== undefined;
const native = bundler({ plan: best });
const wasm = bundler({ plan: planConfinement("best", ["bubblewrap"]) });

const PLUGINS: Readonly<Record<string, Files>> = {
  "TypeScript, JSON, text and bytes": {
    "main.ts":
      `import data from "./data.json" with { type: "json" }; import text from "./a.txt" with { type: "text" };
      import bytes from "./b.bin" with { type: "bytes" }; enum E { A = 1 } const where = import.meta.url;
      export const run = (): unknown => [data, text, [...bytes], E.A, where, process.env.NODE_ENV];`,
    "data.json": `{ "ä": 1 }`,
    "a.txt": "text «»",
    "b.bin": Uint8Array.of(0, 255, 128),
  },
  "both kinds of modules, an optional import, one that is disabled, and what has no effects": {
    "main.js": `import pkg, { named } from "pkg"; import * as pure from "pure"; let optional = "none";
      try { optional = require("absent"); } catch {} export const run = () => [named, pkg, optional];`,
    "node_modules/pkg/package.json":
      `{ "name": "pkg", "type": "module", "exports": { "import": "./i.js" }, "browser": { "./no.js": false } }`,
    "node_modules/pkg/i.js":
      `import no from "./no.js"; export const named = 1; export default Object.keys(no);`,
    "node_modules/pkg/no.js": `export default { secret: 1 };`,
    "node_modules/pure/package.json": `{ "name": "pure", "sideEffects": false }`,
    "node_modules/pure/index.js": `globalThis.touched = true;`,
  },
  "top-level await and an import at run time": {
    "main.mjs":
      `const { later } = await import("./later.mts"); export const run = async () => [await later(), import.meta.url];`,
    "later.mts": `export const later = async (): Promise<number> => 2;`,
  },
};

describe.skipIf(!isNative)("both engines (the native one needs bubblewrap)", () => {
  test.each(Object.entries(PLUGINS))("make the same of %s, to the last byte", async (_, files) => {
    const directory = plugin(files);
    const [path] = Object.keys(files) as [string];
    const made = await bundle(native, directory, path);
    expect(made).toEqual(await bundle(wasm, directory, path));
    expect(await run(made)).toBeDefined();
  });

  test("make the same of a package of many files", async () => {
    const directory = plugin({
      "main.ts": `import { parse } from "yaml"; export const run = () => parse("a: 1");`,
    });
    install(directory, "yaml");
    const made = await bundle(native, directory);
    expect(made).toEqual(await bundle(wasm, directory));
    expect(await run(made)).toEqual({ a: 1 });
  });

  test.each<[string, Files]>([
    ["a computed import", { "main.js": "export const run = (x) => import(`./secret/${x}.json`);" }],
    ["a computed import of its own directory", { "main.js": "export const run = (x) => import(`./${x}`);" }],
    ["a computed require above", { "main.js": "exports.run = (x) => require(`../../${x}.js`);" }],
    ["a computed require of the bundler itself", {
      "main.js": "exports.run = (x) => require(`./sallyport/${x}`);",
    }],
    ["what is absent", { "main.js": `import "./absent.js"; export const run = 1;` }],
    ["what leaves the plugin", { "main.js": `import "../out.js"; export const run = 1;` }],
    ["a built-in module", { "main.js": `import "node:fs"; export const run = 1;` }],
    ["a syntax error", { "main.js": `export const run = (;` }],
  ])("[T06] refuse %s alike, with its file named", async (_, files) => {
    const directory = plugin(files);
    const [one, other] = [
      await failure(bundle(native, directory, "main.js")),
      await failure(bundle(wasm, directory, "main.js")),
    ];
    expect(one.code).toBe(other.code);
    expect(one.message).toContain("main.js");
    expect(one.message).not.toContain("/sallyport/program");
  });
});

test("the engines are of one version, fixed in package.json", () => {
  const { dependencies, devDependencies, optionalDependencies } = packageJson;
  const versions = [
    dependencies["esbuild-wasm"],
    devDependencies.esbuild,
    optionalDependencies["@esbuild/linux-x64"],
    optionalDependencies["@esbuild/linux-arm64"],
  ];
  expect(new Set(versions).size).toBe(1);
  expect(versions[0]).toMatch(/^\d+\.\d+\.\d+$/);
});

const value = fastCheck.letrec<{ value: PacketValue }>((tie) => ({
  value: fastCheck.oneof(
    { maxDepth: 4 },
    fastCheck.constant(null),
    fastCheck.boolean(),
    fastCheck.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    fastCheck.string({ unit: "grapheme" }),
    fastCheck.uint8Array(),
    fastCheck.array(tie("value"), { maxLength: 5 }),
    fastCheck.dictionary(fastCheck.string(), tie("value"), { maxKeys: 5 }),
  ),
})).value;

describe("packets", () => {
  test("come out as they went in, however they are cut", () => {
    fastCheck.assert(
      fastCheck.property(
        fastCheck.array(value, { maxLength: 4 }),
        fastCheck.integer({ min: 1, max: 9 }),
        (values, step) => {
          const sent = values.map((each, id) => ({ id, isRequest: id % 2 === 0, value: each }));
          const bytes = Buffer.concat(sent.map(encodePacket));
          const reader = new PacketReader(1_000_000);
          const got = [];
          for (let at = 0; at < bytes.byteLength; at += step) {
            got.push(...reader.push(bytes.subarray(at, at + step)).map(decodePacket));
          }
          expect(plain(got)).toEqual(plain(sent));
        },
      ),
    );
  });

  test("that no honest engine sends are refused with a RangeError and nothing else", () => {
    fastCheck.assert(
      fastCheck.property(
        fastCheck.uint8Array({ maxLength: 64 }),
        value,
        fastCheck.nat(),
        (noise, each, place) => {
          const honest = Buffer.from(encodePacket({ id: 1, isRequest: true, value: each })).subarray(4);
          const bent = Buffer.from(honest);
          bent[place % bent.byteLength]! ^= 0x81;
          for (const bytes of [Buffer.from(noise), honest.subarray(0, -1), bent]) {
            try {
              decodePacket(bytes);
            } catch (error) {
              expect(error).toBeInstanceOf(RangeError);
            }
          }
        },
      ),
    );
  });

  test.each([
    ["a list that says that it is longer than all that came", [0, 0, 0, 0, 5, 255, 255, 255, 127]],
    ["a text of negative length", [0, 0, 0, 0, 3, 255, 255, 255, 255]],
    ["values inside values", [0, 0, 0, 0, ...Array.from({ length: 40 }, () => [5, 1, 0, 0, 0]).flat(), 0]],
    ["bytes behind the end", [0, 0, 0, 0, 0, 0]],
  ])("are refused: %s", (_, bytes) => {
    expect(() => decodePacket(Buffer.from(bytes))).toThrow(RangeError);
  });

  test("[T39] larger than their bound are refused before they have arrived; one at the bound is taken", () => {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(101);
    expect(() => new PacketReader(100).push(head)).toThrow(RangeError);
    head.writeUInt32LE(100);
    expect(new PacketReader(100).push(Buffer.concat([head, Buffer.alloc(100)]))).toHaveLength(1);
  });
});

/** Buffers as arrays, records without a prototype as records. */
function plain(each: unknown): unknown {
  if (each instanceof Uint8Array) return { bytes: [...each] };
  if (Array.isArray(each)) return each.map(plain);
  if (typeof each !== "object" || each === null) return each;
  return Object.entries(each).map(([key, item]) => [key, plain(item)]);
}
