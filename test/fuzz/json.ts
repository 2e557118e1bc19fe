/** The scanners that look at a guest's JSON before it is built, and the reader of its answers. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { LimitError, NotCapableError, SallyportError } from "../../permissions/mod.ts";
import { failureToError, readAnswer } from "../../runtime/guest_answer.ts";
import { hasMoreNodes, isDeeper } from "../../runtime/json_depth.ts";
import type { Fuzzer } from "./fuzzer.ts";

/** Text that is almost JSON. */
const nearly = fc.array(
  fc.constantFrom(...'[]{}",:\\ \n\u2028', '"\\""', '\\"', "1", "null", '"a":', "[[", "]]", '{"', "\ud800"),
  { maxLength: 60 },
).map((all) => all.join(""));
const valid = fc.tuple(fc.jsonValue({ maxDepth: 8 }), fc.constantFrom(0, 1, "\t")).map(([value, space]) =>
  JSON.stringify(value, null, space)
);
const answers = fc.oneof(
  nearly,
  fc.string({ unit: "binary" }),
  fc.jsonValue().map((value) => `{"ok":true,"value":${JSON.stringify(value)}}`),
  fc.jsonValue().map((error) => JSON.stringify({ ok: false, error })),
  fc.record(
    {
      name: fc.oneof(fc.string(), fc.jsonValue()),
      message: fc.oneof(fc.string({ size: "large" }), fc.jsonValue()),
      stack: fc.oneof(fc.string(), fc.jsonValue()),
      code: fc.constantFrom("ERR_NOT_CAPABLE", "ERR_LIMIT_WALL", "ERR_LIMIT_RATE", 7),
      denial: fc.constantFrom("d-1", "__proto__", 1, null),
      invalid: fc.constantFrom(true, false, "yes"),
      tooLarge: fc.constantFrom(1, -1, 1e300, "9", null),
    },
    { requiredKeys: [] },
  ).map((error) => JSON.stringify({ ok: false, error })),
);

/** The table. */
export const JSON_FUZZERS: readonly Fuzzer[] = [
  {
    name: "a depth is found exactly where the text is JSON, and nothing throws where it is not",
    runs: 500,
    property: fc.property(fc.oneof(nearly, valid), fc.nat(10), (text, depthMax) => {
      const found = isDeeper(text, depthMax);
      const value = parsed(text);
      if (value !== undefined) assert.equal(found, depthOf(value) > depthMax, text);
    }),
  },
  {
    name: "values are never counted as fewer than there are",
    runs: 500,
    property: fc.property(fc.oneof(nearly, valid), fc.integer({ min: 1, max: 40 }), (text, nodesMax) => {
      const found = hasMoreNodes(text, nodesMax);
      const value = parsed(text);
      if (value !== undefined && countOf(value) > nodesMax) assert.equal(found, true, text);
      if (value !== undefined && 2 * countOf(value) <= nodesMax) assert.equal(found, false, text);
    }),
  },
  {
    name:
      "an answer of a guest becomes text or an error of its own; never a limit that the host did not see, nor a refusal",
    runs: 400,
    property: fc.property(answers, (text) => {
      const answer = readAnswer(text);
      if (answer.ok) return assert.ok(text.includes(answer.text));
      const { error } = answer;
      for (const part of [error.name, error.message]) assert.ok(part.length <= 1_025, "it was not cut");
      const made = failureToError(error, [], { title: 'Plugin "p"', plugin: "p", stack: "" });
      assert.ok(made instanceof SallyportError);
      assert.ok(!(made instanceof NotCapableError));
      assert.ok(!(made instanceof LimitError) || made.code === "ERR_LIMIT_SIZE");
    }),
  },
];

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function countOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, inner) => sum + countOf(inner), 1);
}
