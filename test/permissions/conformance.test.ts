/** Every case of Deno's grammar, in whichever runner. */
import assert from "node:assert/strict";
import { test } from "./door.ts";
import { faultOf, has, isDifferent, liesInDeny, ROWS } from "./rows.ts";

test("every case of Deno's grammar gets Deno's answer, or the one that a named difference gives", () => {
  assert.deepEqual(ROWS.map(faultOf).filter((fault) => fault !== undefined), []);
});

test("no case is left out, and few are answered otherwise", () => {
  assert.equal(ROWS.length >= 318, true);
  assert.equal(new Set(ROWS.map((row) => row.id)).size, ROWS.length);
  const different = ROWS.filter(isDifferent);
  const untagged = different.filter((row) => !has(row, "specific-allow") && !has(row, "special-file"));
  assert.deepEqual(untagged.filter((row) => row.expect === "granted" && !liesInDeny(row)), []);
  assert.equal(different.length < ROWS.length / 10, true);
});
