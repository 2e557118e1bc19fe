import assert from "node:assert/strict";
import { check, grantOf, layerOf, selectEnvironment, UsageError } from "../../../permissions/mod.ts";
import { test } from "../door.ts";
import { grants, PLACES } from "../support.ts";

test("a name is exact, a * at its end makes it a prefix, a * elsewhere is a character", () => {
  assert.equal(grants("env", ["HOME"], "HOME"), true);
  assert.equal(grants("env", ["HOME"], "home"), false);
  assert.equal(grants("env", ["HOME"], "HOMES"), false);
  assert.equal(grants("env", ["A_*"], "A_"), true);
  assert.equal(grants("env", ["A_*"], "A"), false);
  assert.equal(grants("env", ["A*B"], "A*B"), true);
  assert.equal(grants("env", ["A*B"], "AXB"), false);
});

test("a single * is every name, and not the whole environment", () => {
  assert.equal(grants("env", ["*"], "ANY"), true);
  assert.equal(grants("env", ["*"], null), false);
  assert.equal(grants("env", true, null), true);
  assert.equal(grants("env", { allow: true, deny: ["TOKEN"] }, null), false);
});

test("an empty name, = and NUL are refused, in entries and in values", () => {
  for (const name of ["", "A=B", "A\0", "="]) {
    assert.throws(() => layerOf("policy", { env: [name] }, PLACES), UsageError);
    assert.throws(() => layerOf("policy", { env: { allow: true, deny: [name] } }, PLACES), UsageError);
    assert.equal(grants("env", true, name), false);
  }
});

test("[T09] an environment shows a plugin the granted names alone, now as ever", () => {
  const grant = grantOf(
    layerOf("manifest", { env: { allow: ["A_*", "B"], deny: ["A_SECRET"] } }, PLACES),
    layerOf("policy", { env: ["A_*"] }, PLACES),
  );
  const environment = { A_X: "1", A_SECRET: "2", B: "3", C: "4" };
  assert.deepEqual(selectEnvironment(grant, environment), { A_X: "1" });
  assert.deepEqual(selectEnvironment(grantOf(), { A_X: "1" }), {});
  assert.deepEqual(selectEnvironment(grantOf(layerOf("policy", { env: true }, PLACES)), { A: "1", B: "2" }), {
    A: "1",
    B: "2",
  });
  assert.equal(
    check(grant, { kind: "env", value: "A_SECRET" }, PLACES).rule,
    'manifest permissions.env.deny[0] "A_SECRET"',
  );
});
