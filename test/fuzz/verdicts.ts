/** What a command hook may leave: any exit code, any bytes. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { GuestError } from "../../permissions/mod.ts";
import { Redactor } from "../../runtime/mod.ts";
import { verdictOf } from "../../src/points/command_outcome.ts";
import { POINT_LIMITS } from "../../src/points/limits.ts";
import type { Verdict } from "../../src/points/verdict.ts";
import type { Fuzzer } from "./fuzzer.ts";

const verdicts = fc.record(
  {
    decision: fc.constantFrom("continue", "block", "replace", "allow", null),
    reason: fc.oneof(fc.string({ unit: "binary", size: "large" }), fc.jsonValue()),
    value: fc.jsonValue(),
    __proto__: fc.jsonValue(),
    more: fc.jsonValue(),
  },
  { requiredKeys: [] },
).map((value) => JSON.stringify(value));
const texts = fc.oneof(
  verdicts,
  fc.json(),
  fc.string({ unit: "binary" }),
  verdicts.map((text) => text.slice(0, -1)),
);
const bytes = fc.oneof(texts.map((text) => Buffer.from(text)), fc.uint8Array({ maxLength: 200 }));
const code = fc.oneof(fc.constantFrom(0, 0, 2), fc.nat(255));

/** The table. */
export const VERDICT_FUZZERS: readonly Fuzzer[] = [
  {
    name:
      "a hook's end is a verdict that can only narrow, or the hook's own failure; what it denies is never let pass",
    runs: 600,
    property: fc.property(code, bytes, bytes, (code, stdout, stderr) => {
      const outcome = { code, stdout: base64(stdout), stderr: base64(stderr) };
      let verdict: Verdict;
      try {
        verdict = verdictOf(outcome, { title: 'Hook "x"', id: "x" }, new Redactor());
      } catch (error) {
        assert.ok(error instanceof GuestError, String(error));
        assert.notEqual(code, 2);
        return;
      }
      if (code === 2) assert.equal(verdict.decision, "block");
      else assert.equal(code, 0);
      assert.ok(["continue", "block", "replace"].includes(verdict.decision));
      if (verdict.decision === "block") {
        assert.ok(Buffer.byteLength(verdict.reason) <= POINT_LIMITS.reasonBytesMax);
        assert.ok(verdict.reason.length > 0 || code === 0);
      }
      if (verdict.decision === "replace") assert.notEqual(JSON.stringify(verdict.value), undefined);
    }),
  },
];

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
