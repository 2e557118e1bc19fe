/** The algebra's laws, for every kind of the table, on entries that are chosen to overlap. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  check,
  diff,
  type Grant,
  grantOf,
  includes,
  intersect,
  KIND_NAMES,
  type KindName,
  type KindRequest,
  KINDS,
  type Layer,
  layerOf,
  narrow,
} from "../../permissions/mod.ts";
import { test } from "./door.ts";
import { PLACES } from "./support.ts";

interface Samples {
  readonly entries: readonly string[];
  /** Where a deny is read otherwise than an allow. */
  readonly denies?: readonly string[];
  readonly values: readonly string[];
}

const PATHS: Samples = {
  entries: ["/", "/a", "/a/b", "/a/b/c", "/ab", "/dev", "/dev/null", "./x", ".", "$data", "$data/k"],
  values: [
    "/",
    "/a",
    "/a/b",
    "/a/b/c/d",
    "/ab",
    "/abc",
    "/dev/null",
    "/dev/tty",
    "x",
    "x/y",
    ".",
    "$data/k/l",
    "\0",
  ],
};

const HOSTS = [
  "localhost",
  "example.com",
  "*.example.com",
  "a.example.com",
  "*.localhost",
  "10.0.0.0/8",
  "10.1.0.0/16",
  "10.1.2.3",
  "8.8.8.0/24",
  "8.8.8.8",
  "0.0.0.0/0",
  "[::]/0",
  "[2600::]/12",
  "[2606:4700::1111]",
];

const PEERS = [
  "localhost",
  "a.localhost",
  "example.com",
  "a.example.com",
  "b.a.example.com",
  "10.1.2.3",
  "10.9.9.9",
  "8.8.8.8",
  "8.8.4.4",
  "[::1]",
  "[2606:4700::1111]",
];

const PORTS = ["", ":80", ":443"];

const REQUESTS = [
  "GET https://example.com/v1",
  "GET https://a.example.com/v1/x",
  "POST https://example.com/v1/x",
];

const NET: Samples = {
  entries: [
    ...HOSTS.flatMap((host) => PORTS.map((port) => host + port)),
    "*:80",
    "*:443",
    "unix:/a",
    "vsock:-1:80",
    "vsock:3:80",
    ...REQUESTS,
    "GET https://example.com/",
    "GET https://*:443/v1/",
    "GET http://example.com/v1/",
  ],
  values: [
    ...PEERS.flatMap((host) => PORTS.map((port) => host + port)),
    "unix:/a",
    "vsock:3:80",
    ...REQUESTS,
    "GET https://example.com/v1/%2e%2e/x",
    "GET http://example.com/v1/",
  ],
};

const TRAFFIC: Samples = {
  entries: [
    "tool.input",
    "tool.input a",
    "tool.input *",
    "tool.input plugin__a__b",
    "tool.input plugin__*__b",
    "tool.input a/b",
    "tool.output a",
  ],
  values: [
    "tool.input",
    "tool.input plugin__a__b",
    "tool.input plugin__a__c",
    "tool.input plugin__c__b",
    "tool.input a/b",
    "tool.output plugin__a__b",
  ],
};

const SAMPLES: Readonly<Record<KindName, Samples>> = {
  read: PATHS,
  write: PATHS,
  ffi: PATHS,
  net: NET,
  import: {
    entries: NET.entries.filter((entry) => !entry.includes(" ")),
    values: NET.values.filter((value) => !value.includes(" ")),
  },
  env: { entries: ["*", "A", "A*", "A_*", "A_B", "B"], values: ["A", "A_", "A_B", "A_BC", "B", "A="] },
  sys: { entries: ["hostname", "userInfo", "cpus"], values: ["hostname", "username", "cpus", "none"] },
  run: {
    entries: ["tool", "/usr/bin/tool", "/usr/bin/git", "git", "absent", "./x", "/usr/bin"],
    denies: ["tool", "TOOL", "/usr/bin", "/usr/bin/git", "git", "absent", "."],
    values: ["tool", "git", "/usr/bin/tool", "/usr/bin/git", "/usr/bin/tool.old", "absent", "./x", "x"],
  },
  storage: { entries: ["1", "10", "100"], denies: [], values: ["0", "5", "10", "11", "1000"] },
  secrets: {
    entries: [
      "A",
      "A example.com:443",
      "A *.example.com",
      "A example.com as x: {}",
      "A example.com as y",
      "B",
      "B 8.8.8.8",
    ],
    values: [
      "A",
      "A example.com:443",
      "A a.example.com:1",
      "A example.com as x: {}",
      "A example.com as y: k {}",
      "B",
      "B 8.8.8.8:1",
    ],
  },
  call: {
    entries: ["plugin__a__*", "plugin__a__b", "a/b", "a/*", "*"],
    values: ["plugin__a__b", "plugin__a__c", "a/b", "c/d"],
  },
  observe: TRAFFIC,
  intercept: TRAFFIC,
  dynamicCode: { entries: [], values: [] },
  wasm: { entries: [], values: [] },
};

function sides(entries: readonly string[]): fc.Arbitrary<true | string[]> {
  const lists: fc.Arbitrary<true | string[]> = fc.subarray([...entries], {
    maxLength: Math.min(4, entries.length),
  });
  return fc.oneof({ weight: 1, arbitrary: fc.constant<true>(true) }, { weight: 5, arbitrary: lists });
}

function layers(kind: KindName): fc.Arbitrary<Layer> {
  const { entries, denies = entries } = SAMPLES[kind];
  const requests: fc.Arbitrary<KindRequest> = fc.oneof(
    fc.record({ allow: sides(entries), deny: fc.oneof(fc.constant([]), sides(denies)) }),
    fc.record({ deny: sides(denies) }),
  );
  return fc.option(requests, { freq: 8 }).map((request) =>
    layerOf("policy", request === null ? {} : { [kind]: request }, PLACES)
  );
}

/** All that a grant answers to: every value, the whole kind, and whole trees. */
function answers(kind: KindName, grant: Grant): readonly boolean[] {
  return [null, ...SAMPLES[kind].values].flatMap((value) =>
    [false, true].map((recursive) => check(grant, { kind, value, recursive }, PLACES).state === "granted")
  );
}

function implies(a: readonly boolean[], b: readonly boolean[]): boolean {
  return a.every((answer, index) => !answer || b[index] === true);
}

function holds(law: (kind: KindName, a: Layer, b: Layer, c: Layer) => boolean): void {
  for (const kind of KIND_NAMES) {
    const three = fc.tuple(layers(kind), layers(kind), layers(kind));
    fc.assert(fc.property(three, ([a, b, c]) => law(kind, a, b, c)), { numRuns: 120 });
  }
}

test("every kind has samples, and granted as well as denied answers among them", () => {
  for (const kind of KIND_NAMES) {
    const found = new Set<boolean>();
    for (const layer of fc.sample(layers(kind), { numRuns: 50, seed: 1 })) {
      for (const answer of answers(kind, grantOf(layer))) found.add(answer);
    }
    assert.equal(found.size, 2, kind);
  }
});

test("intersect is what both grant, exactly, in either order", () => {
  holds((kind, a, b) => {
    const [both, reversed] = [grantOf(intersect(a, b)), grantOf(intersect(b, a))];
    assert.deepEqual(answers(kind, both), answers(kind, grantOf(a, b)));
    assert.deepEqual(diff(both, reversed), []);
    return implies(answers(kind, both), answers(kind, grantOf(a)));
  });
});

test("intersect with itself changes nothing", () => {
  holds((_kind, a) => diff(grantOf(a), grantOf(intersect(a, a))).length === 0);
});

test("intersect is associative in what it grants", () => {
  holds((kind, a, b, c) => {
    const left = answers(kind, grantOf(intersect(intersect(a, b), c)));
    assert.deepEqual(left, answers(kind, grantOf(intersect(a, intersect(b, c)))));
    return true;
  });
});

test("narrow never widens, whatever it is given, and cuts to what is stated", () => {
  holds((kind, layer, by) => {
    const narrowed = answers(kind, grantOf(narrow(layer, by)));
    const stated = by.kinds[kind]?.allow === undefined ? narrowed : answers(kind, grantOf(by));
    return implies(narrowed, answers(kind, grantOf(layer))) && implies(narrowed, stated) &&
      includes(grantOf(layer), grantOf(narrow(layer, by)));
  });
});

test("narrow by nothing changes nothing", () => {
  holds((_kind, layer) =>
    diff(grantOf(layer), grantOf(narrow(layer, { source: "flags", kinds: {} }))).length === 0
  );
});

test("what a larger grant includes, it grants", () => {
  holds((kind, a, b) =>
    !includes(grantOf(a), grantOf(b)) || implies(answers(kind, grantOf(b)), answers(kind, grantOf(a)))
  );
});

test("a grant includes itself, and every intersection of it", () => {
  holds((_kind, a, b) =>
    includes(grantOf(a), grantOf(a)) && includes(grantOf(a), grantOf(intersect(a, b))) &&
    includes(grantOf(a), grantOf(intersect(b, a))) && includes(grantOf(a), grantOf(a, b))
  );
});

test("includes is transitive", () => {
  holds((_kind, a, b, c) => {
    const [x, y, z] = [grantOf(a), grantOf(b), grantOf(c)];
    return !includes(x, y) || !includes(y, z) || includes(x, z);
  });
});

test("diff is empty exactly when each includes the other", () => {
  holds((_kind, a, b) => {
    const [x, y] = [grantOf(a), grantOf(b)];
    return (diff(x, y).length === 0) === (includes(x, y) && includes(y, x));
  });
});

test("deny beats allow: what one layer denies, no allow of any layer grants", () => {
  for (const kind of KIND_NAMES) {
    const { entries, denies = entries, values } = SAMPLES[kind];
    for (const entry of denies) {
      const denying = layerOf("policy", { [kind]: { allow: true, deny: [entry] } }, PLACES);
      const parsed = KINDS[kind].parseEntry(entry, PLACES, "deny");
      for (const value of values) {
        const decision = check(grantOf(denying), { kind, value }, PLACES);
        // Reached by the entry's own word, not by the checker's.
        const isReached = decision.rule.includes(" is malformed: ") ||
          (KINDS[kind].covers as (entry: unknown, value: unknown) => boolean)(
            parsed,
            KINDS[kind].parseValue(value, PLACES),
          );
        if (isReached) assert.equal(decision.state, "denied", `${kind} ${entry} ${value}`);
      }
    }
    const whole = layerOf("policy", { [kind]: { allow: true, deny: true } }, PLACES);
    assert.equal(answers(kind, grantOf(whole)).includes(true), false, kind);
  }
  holds((kind, a, b) => {
    const denying: Layer = {
      source: "policy",
      kinds: { [kind]: { allow: true, deny: b.kinds[kind]?.deny ?? [], isRequired: false } },
    };
    const merged: Layer = {
      source: "policy",
      kinds: {
        [kind]: { allow: a.kinds[kind]?.allow ?? [], deny: b.kinds[kind]?.deny ?? [], isRequired: false },
      },
    };
    return implies(answers(kind, grantOf(merged)), answers(kind, grantOf(denying)));
  });
});

test("meet and includes of entries mean intersection and inclusion of their values", () => {
  for (const kind of KIND_NAMES) {
    const single = SAMPLES[kind].entries.map((entry) => {
      const layer = layerOf("policy", { [kind]: [entry] }, PLACES);
      return { entry, layer, granted: answers(kind, grantOf(layer)) };
    });
    for (const a of single) {
      for (const b of single) {
        const both = a.granted.map((answer, index) => answer && b.granted[index] === true);
        assert.deepEqual(
          answers(kind, grantOf(intersect(a.layer, b.layer))),
          both,
          `${kind}: ${a.entry} and ${b.entry}`,
        );
        const isIncluded = includes(grantOf(a.layer), grantOf(b.layer));
        if (isIncluded) assert.ok(implies(b.granted, a.granted), `${kind}: ${a.entry} includes ${b.entry}`);
      }
    }
  }
});

test("a displayed entry reads as the same entry", () => {
  for (const kind of KIND_NAMES) {
    for (const text of SAMPLES[kind].entries) {
      const of = KINDS[kind] as {
        parseEntry(given: unknown, context: typeof PLACES, effect: "allow"): unknown;
        displayEntry(entry: unknown): string;
      };
      const entry = of.parseEntry(text, PLACES, "allow");
      assert.deepEqual(of.parseEntry(of.displayEntry(entry), PLACES, "allow"), entry, `${kind}: ${text}`);
    }
  }
});
