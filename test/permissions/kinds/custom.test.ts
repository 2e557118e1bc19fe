/** Kinds that an embedder defines: the same rules, the same words, the same laws, and no trace where they were not passed. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  check,
  definePermission,
  denied,
  describeRequest,
  diff,
  grantOf,
  graveOf,
  includes,
  intersect,
  isGrave,
  type Kind,
  KINDS,
  kindTable,
  type Layer,
  layerOf,
  narrow,
  type PathContext,
  patternKind,
  permissionRequestSchema,
  permissionRequestSchemaFor,
  relocate,
  splitFlag,
  UsageError,
  wordKind,
} from "../../../permissions/mod.ts";
import { test } from "../door.ts";
import { PLACES } from "../support.ts";

const toy = patternKind({
  name: "toyBox",
  doc: "Playing with the named toys; a name may end in one *.",
  noun: "the name of a toy",
  form: /[a-z]+(\.[a-z]+)*/,
  isGrave: (entry) => entry === true || entry.endsWith("*"),
});
const colour = wordKind({ name: "colour", doc: "Painting in the named colours." });
const TABLE = kindTable([toy, colour]);
const HERE: PathContext = { ...PLACES, kinds: TABLE };

const policy = (request: Readonly<Record<string, unknown>>, context = HERE): Layer =>
  layerOf("policy", request, context);

const state = (value: string | null, kind: string, ...layers: readonly Layer[]): string =>
  check(grantOf(...layers), { kind, value }, HERE).state;

test("a toy kind of a few lines grants, refuses with rule and remedy, and a deny beats every allow", () => {
  const layer = policy({ toyBox: { allow: ["car.*", "ball"], deny: ["car.red"] } });
  assert.equal(state("ball", "toyBox", layer), "granted");
  assert.equal(state("car.blue", "toyBox", layer), "granted");
  assert.equal(state("ball.big", "toyBox", layer), "denied");
  assert.equal(state("car.red", "toyBox", policy({ toyBox: true }), layer), "denied");
  const decision = check(grantOf(layer), { kind: "toyBox", value: "car.red" }, HERE);
  assert.equal(decision.rule, 'policy permissions.toyBox.deny[0] "car.red"');
  const flags = layerOf("flags", { toyBox: ["ball"] }, HERE);
  const lacking = check(grantOf(flags), { kind: "toyBox", value: "car.red" }, HERE);
  assert.equal(lacking.remedy, "Run again with --allow-toy-box=car.red.");
  assert.equal(
    denied(lacking, "x").message,
    'Plugin "x" may not use toyBox "car.red": no --allow-toy-box covers it. Run again with --allow-toy-box=car.red.',
  );
});

test("the remedy of a refusal, given back, grants", () => {
  const { remedy } = check(grantOf(policy({})), { kind: "colour", value: "red" }, HERE);
  const [, entry] = /adds colour: \["(.*)"\] to it/.exec(remedy) ?? [];
  assert.equal(state("red", "colour", policy({ colour: [entry] })), "granted");
});

test("a whole word has the form, in entries and in values; a beginning has none", () => {
  for (const entry of ["", "UPPER", "a.", "a\nB", "a\0*"]) {
    assert.throws(() => policy({ toyBox: [entry] }), UsageError, entry);
  }
  for (const entry of ["a", "a.b", "a.*", "*"]) policy({ toyBox: [entry] });
  assert.equal(state("UPPER", "toyBox", policy({ toyBox: true })), "denied");
  assert.equal(state("a", "toyBox", policy({ toyBox: true })), "granted");
  // A form that keeps its place between two questions would answer every other one.
  const sticky = kindTable([wordKind({ name: "sticky", doc: "Sticking.", form: /^a$|^b$/gm })]);
  for (let turn = 0; turn < 4; turn++) policy({ sticky: ["a"] }, { ...HERE, kinds: sticky });
  assert.throws(() => policy({ sticky: ["a\nx"] }, { ...HERE, kinds: sticky }), UsageError);
});

test("the schema of a table accepts its kinds, with the path of each fault, and the built-in one does not", () => {
  const schema = permissionRequestSchemaFor(TABLE);
  assert.equal(
    schema.safeParse({ toyBox: ["ball"], colour: { allow: ["red"], reason: "why" } }).success,
    true,
  );
  assert.equal(schema.safeParse({ read: ["./a"], "x-note": 1 }).success, true);
  const { error } = schema.safeParse({ toyBox: { deny: ["ball", "BALL"] }, color: true });
  assert.deepEqual(error?.issues.map(({ path }) => path), [["color"], ["toyBox", "deny", 1]]);
  const builtIn = permissionRequestSchema.safeParse({ toyBox: ["ball"] });
  assert.match(builtIn.error?.issues[0]?.message ?? "", /^"toyBox" is no kind of permission/);
});

test("[T17] a kind is grave unless it says otherwise", () => {
  assert.equal(isGrave("colour", "red", HERE), true);
  assert.equal(isGrave("toyBox", "ball", HERE), false);
  assert.equal(isGrave("toyBox", "car.*", HERE), true);
  assert.equal(isGrave("toyBox", true, HERE), true);
  assert.equal(isGrave("toyBox", "ball", PLACES), true, "what is not known is grave");
  const request = { toyBox: ["ball", "car.*"], colour: true as const };
  assert.deepEqual(graveOf(request, HERE), [
    { kind: "toyBox", entry: "car.*" },
    { kind: "colour", entry: true },
  ]);
  assert.deepEqual(describeRequest(request, TABLE).map(({ kind, display }) => `${kind} ${display}`), [
    "toyBox ball",
    "toyBox car.*",
    "colour everything",
  ]);
});

test("flags split at commas as those of built-in kinds do", () => {
  assert.deepEqual(splitFlag("toyBox", "ball,car.*", TABLE), ["ball", "car.*"]);
  assert.throws(() => splitFlag("toyBox", "ball,", TABLE), /--allow-toy-box or --deny-toy-box/);
});

test("a definition takes no other kind's name, and no name that is none", () => {
  const named = (name: string) => wordKind({ name, doc: "A kind." });
  for (
    const name of [
      "",
      "Toy",
      "toy-box",
      "x-toy",
      "1toy",
      "constructor",
      "valueOf",
      "json",
      "allowRead",
      "a".repeat(33),
      "toy\n",
    ]
  ) {
    assert.throws(() => named(name), UsageError, name);
  }
  assert.throws(
    () => kindTable([named("read")]),
    /Cannot add the permission "read": a built-in one has that name/,
  );
  assert.throws(() => kindTable([named("a"), named("a")]), /another one has that name/);
  assert.throws(() => wordKind({ name: "toy", doc: "" }), /lacks doc/);
  const { meet: _meet, ...rest } = named("toy");
  assert.throws(() => definePermission(rest as Kind), /Cannot define the permission "toy": it lacks meet/);
  assert.throws(() => kindTable([rest as Kind]), /it lacks meet/);
  // What stands on a prototype is not copied, so it is not there.
  assert.throws(() => definePermission(Object.create(named("toy")) as Kind), UsageError);
  // Whoever builds a kind by hand and passes it by is held to the same.
  assert.throws(() => kindTable([{ ...named("toy"), name: "__proto__" }]), UsageError);
  assert.equal(Object.keys(kindTable([named("toy")])).length, Object.keys(KINDS).length + 1);
});

test("layers that were read with other kinds never grant by one another's words", () => {
  const twin = patternKind({ name: "toyBox", doc: "Something else of the same name." });
  const elsewhere: PathContext = { ...PLACES, kinds: kindTable([twin]) };
  const other = policy({ toyBox: true, env: ["A"] }, elsewhere);
  const own = policy({ toyBox: true, env: ["A"] });
  assert.equal(state("ball", "toyBox", own), "granted");
  assert.equal(state("ball", "toyBox", own, other), "denied");
  assert.equal(state("ball", "toyBox", own, policy({ env: ["A"] }, PLACES)), "denied");
  assert.equal(state("A", "env", own, other), "granted", "what both mean alike still counts");
  assert.equal(
    check(grantOf(policy({}, PLACES)), { kind: "toyBox", value: "ball" }, HERE).rule,
    '"toyBox" is no kind',
  );
  assert.equal(includes(grantOf(other), grantOf(own)), false);
  assert.deepEqual(diff(grantOf(policy({}, PLACES)), grantOf(policy({ toyBox: ["ball"] }))), [
    { kind: "toyBox", entry: "ball", effect: "allow", change: "gained" },
  ]);
  assert.equal(intersect(own, other).kinds["toyBox"], undefined);
  assert.equal(narrow(own, other).kinds["toyBox"], undefined);
  assert.equal(state("ball", "toyBox", relocate(own, (path) => path)), "granted");
});

// --- the algebra's laws, on entries that overlap ---------------------------------------------------------------------

const ENTRIES = {
  toyBox: ["*", "c*", "car.*", "car.red", "car.r*", "ball", "b*", "a.*"],
  colour: ["red", "blue", "green"],
} as const;
const VALUES = {
  toyBox: ["car", "car.red", "car.blue", "ball", "a.b", "z"],
  colour: ["red", "blue", "green", "x"],
};
type Toy = keyof typeof ENTRIES;

function layers(kind: Toy): fc.Arbitrary<Layer> {
  const side = fc.oneof(
    { weight: 1, arbitrary: fc.constant(true as const) },
    { weight: 5, arbitrary: fc.array(fc.constantFrom(...ENTRIES[kind]), { maxLength: 4 }) },
  );
  return fc.record({ allow: side, deny: fc.array(fc.constantFrom(...ENTRIES[kind]), { maxLength: 2 }) })
    .map((request) => policy({ [kind]: request }));
}

function answers(kind: Toy, ...of: readonly Layer[]): readonly boolean[] {
  return [null, ...VALUES[kind]].map((value) => state(value, kind, ...of) === "granted");
}

function holds(law: (kind: Toy, a: Layer, b: Layer) => void): void {
  for (const kind of ["toyBox", "colour"] as const) {
    fc.assert(fc.property(layers(kind), layers(kind), (a, b) => law(kind, a, b)), { numRuns: 300 });
  }
}

test("intersect answers as both layers together, whichever comes first, and twice is once", () => {
  holds((kind, a, b) => {
    assert.deepEqual(answers(kind, intersect(a, b)), answers(kind, a, b));
    assert.deepEqual(answers(kind, intersect(b, a)), answers(kind, a, b));
    assert.deepEqual(answers(kind, intersect(a, a)), answers(kind, a));
  });
});

test("narrow never widens", () => {
  holds((kind, a, b) => {
    const before = answers(kind, a);
    answers(kind, narrow(a, b)).forEach((granted, place) => assert.ok(!granted || before[place]));
    assert.equal(includes(grantOf(a), grantOf(narrow(a, b))), true);
  });
});

test("diff is empty exactly when each covers the other, and includes never promises what check refuses", () => {
  holds((kind, a, b) => {
    const [first, second] = [grantOf(a), grantOf(b)];
    assert.equal(diff(first, second).length === 0, includes(first, second) && includes(second, first));
    if (!includes(first, second)) return;
    const larger = answers(kind, a);
    answers(kind, b).forEach((granted, place) => assert.ok(!granted || larger[place]));
  });
});
