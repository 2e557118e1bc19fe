/** The manifest parser, and the YAML reader under it. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { ManifestError } from "../../permissions/mod.ts";
import { type ManifestIssue, parseManifest } from "../../src/mod.ts";
import { isPlainText } from "../../src/display.ts";
import type { Fuzzer } from "./fuzzer.ts";

const CASES = new URL("../cases/manifests/", import.meta.url);
const samples = readdirSync(CASES).filter((name) => name.endsWith(".yaml")).map((name) =>
  readFileSync(new URL(name, CASES))
);
/** Far above what any of them takes, so that only a reader that hangs meets it. */
const READ_MS_MAX = 5_000;

const WORDS = (
  "name version description permissions capabilities tools hooks limits lifecycle target input type object allow deny read net env " +
  "storage secrets __proto__ constructor x-y null ~ yes 0x1 1e9 .inf 0o7 2020-01-01 a.ts:b $data ./data *:443"
).split(" ");
const SIGNS = [
  ..."\n \t:-?[]{},#&*!|>'\"%@`\\\r\0\u0085\u2028\u202e\ufeff",
  "\n  ",
  "\n    - ",
  ": ",
  "- ",
  "? ",
  "&a ",
  "*a",
  "!!map ",
  "!!js/function ",
  "<<: ",
  "---\n",
  "...\n",
  "%YAML 1.1\n",
  "\\u202e",
  "|2-\n",
];
const near = fc.array(fc.oneof(fc.constantFrom(...WORDS), fc.constantFrom(...SIGNS)), { maxLength: 80 })
  .map((all) => Buffer.from(all.join("")));
const bomb = fc.tuple(fc.constantFrom("[", "{", "- ", "? ", "{a: ", "!a ", "&a ", "'", "a: "), fc.nat(5_000))
  .map(([sign, count]) => Buffer.from(`name: ${sign.repeat(count)}`));
const spoiled = fc.tuple(
  fc.constantFrom(...samples),
  fc.array(fc.tuple(fc.nat(10_000), fc.oneof(fc.constantFrom(...SIGNS, ...WORDS), fc.string())), {
    maxLength: 4,
  }),
).map(([sample, changes]) => {
  let text = sample.toString("latin1");
  for (const [place, what] of changes) {
    const at = place % (text.length + 1);
    text = text.slice(0, at) + Buffer.from(what).toString("latin1") + text.slice(at + (place % 3));
  }
  return Buffer.from(text, "latin1");
});
const noise = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));

/** The table. */
export const MANIFEST_FUZZERS: readonly Fuzzer[] = [
  {
    name: "any bytes are a frozen manifest or one ManifestError whose issues are safe to print",
    runs: 200,
    property: fc.property(
      fc.oneof({ weight: 6, arbitrary: near }, { weight: 6, arbitrary: spoiled }, {
        weight: 3,
        arbitrary: noise,
      }, { weight: 1, arbitrary: bomb }),
      (bytes) => {
        const begin = performance.now();
        const before = Reflect.ownKeys(Object.prototype).length;
        try {
          const manifest = parseManifest(bytes, { file: "plugin.yaml" });
          assert.ok(isDeeplyFrozen(manifest));
          assert.equal(typeof manifest.name, "string");
        } catch (error) {
          if (!(error instanceof ManifestError)) throw error;
          assert.ok(error.message.split("\n").every(isPlainText), JSON.stringify(error.message));
          const issues = error.details.issues as readonly ManifestIssue[];
          assert.ok(issues.length > 0);
          for (const { line, column, path, message, hint = "" } of issues) {
            assert.ok(line >= 1 && column >= 1);
            assert.ok([path, message, hint].every(isPlainText), JSON.stringify([path, message, hint]));
          }
        }
        assert.equal(Reflect.ownKeys(Object.prototype).length, before);
        assert.ok(performance.now() - begin < READ_MS_MAX, "it took too long");
      },
    ),
  },
];

function isDeeplyFrozen(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen);
}
