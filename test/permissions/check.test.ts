import assert from "node:assert/strict";
import {
  check,
  type Decision,
  denied,
  grantOf,
  KIND_NAMES,
  KINDS,
  layerOf,
  NotCapableError,
  type PermissionRequest,
} from "../../permissions/mod.ts";
import { test } from "./door.ts";
import { decide, PLACES } from "./support.ts";

function ask(
  value: string | null,
  ...layers: readonly (readonly [Parameters<typeof layerOf>[0], PermissionRequest])[]
): Decision {
  return check(grantOf(...layers.map(([source, request]) => layerOf(source, request, PLACES))), {
    kind: "read",
    value,
  }, PLACES);
}

test("no layers, no mention and an empty list are nothing; true is everything", () => {
  assert.equal(ask("x").state, "denied");
  for (const kind of KIND_NAMES) {
    const whole = (request: PermissionRequest) =>
      check(grantOf(layerOf("policy", request, PLACES)), { kind, value: null }, PLACES).state;
    assert.equal(whole({}), "denied", kind);
    assert.equal(whole({ [kind]: [] }), "denied", kind);
    assert.equal(whole({ [kind]: { deny: [] } }), "denied", kind);
    assert.equal(whole({ [kind]: true }), "granted", kind);
    assert.equal(whole({ [kind]: { allow: true, deny: true } }), "denied", kind);
  }
});

test("the whole kind needs the whole kind: no list is enough, and any deny is too much", () => {
  assert.equal(decide("read", true, null).state, "granted");
  assert.equal(decide("read", ["/"], null).state, "denied");
  assert.equal(decide("read", { allow: true, deny: ["/x"] }, null).state, "denied");
});

test("every layer must grant, and any layer may deny", () => {
  assert.equal(
    ask("data/x", ["manifest", { read: ["."] }], ["policy", { read: ["./data"] }]).state,
    "granted",
  );
  assert.equal(ask("x", ["manifest", { read: ["."] }], ["policy", { read: ["./data"] }]).state, "denied");
  assert.equal(
    ask("x", ["manifest", { read: true }], ["record", { read: { allow: true, deny: ["x"] } }], ["policy", {
      read: true,
    }]).state,
    "denied",
  );
});

test("what is no kind, or another language's property, is denied and said so", () => {
  const grant = grantOf(
    layerOf("policy", Object.fromEntries(KIND_NAMES.map((kind) => [kind, true])), PLACES),
  );
  for (const kind of ["reed", "", "toString", "__proto__", "constructor", "Read"]) {
    const decision = check(grant, { kind, value: "x" }, PLACES);
    assert.equal(decision.state, "denied");
    assert.equal(decision.rule, `"${kind}" is no kind`);
    assert.match(decision.remedy, /read, write, net/);
  }
});

test("a malformed value is denied and the rule says why, whatever is granted", () => {
  const { state, rule, value } = decide("net", true, "a b");
  assert.deepEqual({ state, rule, value }, {
    state: "denied",
    rule: '"a b" is malformed: "a b" is no host name',
    value: "a b",
  });
});

test("a decision names its rule and its layer", () => {
  const manifest = ["manifest", { read: { allow: ["./data"], deny: ["./data/secret"] } }] as const;
  const denial = ask("data/secret/x", manifest);
  assert.equal(denial.rule, 'manifest permissions.read.deny[0] "./data/secret"');
  assert.equal(denial.layer, "manifest");
  assert.equal(ask("data/x", manifest).rule, 'manifest permissions.read.allow[0] "./data"');
  assert.equal(
    ask("data/x", manifest, ["policy", { read: true }]).rule,
    'manifest permissions.read.allow[0] "./data"; policy permissions.read (everything)',
  );
  assert.equal(ask("x", manifest).rule, "no entry of manifest permissions.read covers it");
  assert.equal(ask("data/x", manifest, ["policy", {}]).rule, "policy does not mention read");
  assert.equal(ask("data/x", manifest, ["policy", {}]).layer, "policy");
  assert.equal(ask("x", ["flags", { read: ["./data"] }]).rule, "no --allow-read covers it");
  assert.equal(ask("x", ["flags", { read: { allow: true, deny: ["x"] } }]).rule, "flags --deny-read=x");
  assert.equal(
    ask("x", ["record", { read: { allow: true, deny: true } }]).rule,
    "record permissions.read.deny (everything)",
  );
});

test("a refusal says what would allow it, to whom that is up", () => {
  assert.equal(ask("./a", ["flags", {}]).remedy, "Run again with --allow-read=./a.");
  assert.equal(ask("./a b", ["flags", {}]).remedy, "Run again with --allow-read='./a b'.");
  assert.equal(ask(null, ["flags", {}]).remedy, "Run again with --allow-read.");
  assert.match(ask("./a", ["manifest", {}]).remedy, /line read: \["\.\/a"\] under permissions/);
  assert.match(ask("./a", ["policy", {}]).remedy, /keeps the tenant's policy/);
  assert.match(ask("./a", ["record", {}]).remedy, /trusted the plugin/);
  assert.match(ask("./a", ["capability", {}]).remedy, /capability's own permissions/);
  // Every layer that lacks it is named, so that one round is enough.
  assert.match(ask("./a", ["manifest", {}], ["policy", {}]).remedy, /plugin\.yaml.*policy/);
  assert.equal(
    ask("x", ["flags", { read: { allow: true, deny: ["x"] } }]).remedy,
    "A deny decided, and no allow lifts one: leave --deny-read=x out.",
  );
  assert.equal(
    ask("x", ["manifest", { read: { allow: true, deny: ["x"] } }]).remedy,
    'A deny decided, and no allow lifts one: remove manifest permissions.read.deny[0] "x".',
  );
  const write = check(grantOf(layerOf("manifest", {}, PLACES)), { kind: "write", value: "./out" }, PLACES);
  assert.match(write.remedy, /write: \["\$data"\]/);
});

test("what a flag's remedy suggests is what allows it", () => {
  const cases = [
    ["read", "./a b"],
    ["net", "a.example:443"],
    ["env", "A"],
    ["sys", "hostname"],
    ["run", "tool"],
    ["secrets", "A a.example:1"],
    ["observe", "tool.input a/b"],
    ["call", "a/b"],
  ] as const;
  for (const [kind, value] of cases) {
    const { remedy } = check(grantOf(layerOf("flags", {}, PLACES)), { kind, value }, PLACES);
    const entry = /--allow-\w+='?([^']*?)'?\.$/.exec(remedy)?.[1] ?? "";
    assert.equal(
      check(grantOf(layerOf("flags", { [kind]: [entry] }, PLACES)), { kind, value }, PLACES).state,
      "granted",
      remedy,
    );
  }
});

test("the error of a refusal says who, what, why and the cure", () => {
  const decision = ask("./a", ["flags", { read: ["./b"] }]);
  const error = denied(decision, "notes");
  assert.ok(error instanceof NotCapableError);
  assert.equal(error.code, "ERR_NOT_CAPABLE");
  assert.equal(
    error.message,
    'Plugin "notes" may not read "./a": no --allow-read covers it. Run again with --allow-read=./a.',
  );
  assert.deepEqual(error.details, {
    kind: "read",
    value: "/plugins/notes/a",
    reason: decision.reason,
    rule: decision.rule,
    remedy: decision.remedy,
  });
  assert.match(denied(decision, 'Script "a.ts"').message, /^Script "a\.ts" may not/);
  assert.match(
    denied(check(grantOf(), { kind: "foo", value: null }, PLACES), "x").message,
    /may not use "foo"/,
  );
});

test("every kind has its words, and is called by its name in the table", () => {
  for (const kind of KIND_NAMES) {
    assert.equal(KINDS[kind].name, kind);
    assert.match(KINDS[kind].doc, /^[A-Z].*\.$/);
    for (const value of [null, "x"]) {
      assert.match(
        denied(check(grantOf(), { kind, value }, PLACES), "p").message,
        /^Plugin "p" may not [a-z]/,
      );
    }
  }
});
