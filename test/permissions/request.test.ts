import assert from "node:assert/strict";
import {
  describeRequest,
  graveOf,
  isGrave,
  KIND_NAMES,
  type KindName,
  layerOf,
  permissionRequestSchema,
  splitFlag,
  UsageError,
} from "../../permissions/mod.ts";
import { test } from "./door.ts";
import { PLACES } from "./support.ts";

function issues(request: unknown): readonly (readonly [string, string])[] {
  return (permissionRequestSchema.safeParse(request).error?.issues ?? []).map((
    { path, message },
  ) => [path.join("."), message]);
}

function paths(request: unknown): readonly string[] {
  return issues(request).map(([path]) => path);
}

test("the schema knows every kind, in its short and long forms, and x- keys at any level", () => {
  for (const kind of KIND_NAMES) {
    for (
      const request of [true, [], { allow: true, deny: [], required: true, reason: "why" }, {
        allow: true,
        "x-note": 1,
      }]
    ) {
      assert.deepEqual(issues({ [kind]: request, "x-note": { any: "thing" } }), [], kind);
    }
  }
  assert.deepEqual(issues({}), []);
  assert.deepEqual(
    issues({
      read: { allow: ["./a"], mutable: true },
      storage: { maxBytes: 1 },
      secrets: [{ name: "A", host: "b:1", "x-a": 1 }],
    }),
    [],
  );
});

test("every fault has the path of its entry, all at once", () => {
  const request = {
    reed: true,
    read: ["ok", "\0", 7, ""],
    net: { allow: ["::1"], deny: ["a b"], foo: 1, required: "yes" },
    env: "HOME",
    sys: null,
    run: false,
    storage: { maxBytes: "1" },
    call: { reason: "none" },
    wasm: ["x"],
  };
  const found = paths(request);
  for (
    const path of [
      "reed",
      "read.1",
      "read.2",
      "read.3",
      "net.foo",
      "net.required",
      "env",
      "sys",
      "run",
      "storage.maxBytes",
      "call",
      "wasm.0",
    ]
  ) {
    assert.ok(found.includes(path), path);
  }
  assert.deepEqual(paths({ net: { allow: ["::1"], deny: ["ok", "a b"] } }), ["net.allow.0", "net.deny.1"]);
});

test("own keys are for their own kind alone", () => {
  assert.deepEqual(paths({ write: { allow: true, mutable: true } }), ["write.mutable"]);
  assert.deepEqual(paths({ read: { allow: true, maxBytes: 1 } }), ["read.maxBytes"]);
  assert.deepEqual(paths({ read: { allow: ["x"], mutable: "yes" } }), ["read.mutable"]);
});

test("what is no mapping, or a trap for a mapping, is refused", () => {
  for (const request of [null, [], "read", 1, true]) assert.deepEqual(paths(request), [""]);
  assert.deepEqual(paths(JSON.parse('{"__proto__": true, "constructor": true}')).toSorted(), [
    "__proto__",
    "constructor",
  ]);
  assert.deepEqual(paths(JSON.parse('{"read": {"__proto__": [], "allow": []}}')), ["read.__proto__"]);
});

test("lists and texts have bounds", () => {
  assert.deepEqual(paths({ env: Array(1000).fill("A") }), []);
  assert.deepEqual(paths({ env: Array(1001).fill("A") }), ["env"]);
  assert.deepEqual(paths({ env: ["A".repeat(4096)] }), []);
  assert.deepEqual(paths({ env: ["A".repeat(4097)] }), ["env.0"]);
  assert.deepEqual(paths({ env: { allow: [], reason: "a".repeat(1025) } }), ["env.reason"]);
});

test("layerOf refuses the first fault and names kind and entry", () => {
  assert.throws(() => layerOf("flags", { net: ["a.example", "::1"] }, PLACES), (error) => {
    assert.ok(error instanceof UsageError);
    assert.match(error.message, /"::1" of net in the flags: IPv6 addresses are written in brackets/);
    assert.deepEqual(error.details, { source: "flags", kind: "net", entry: "::1", path: ["net", 1] });
    return true;
  });
  const unknown = { reed: true };
  assert.throws(
    () => layerOf("policy", unknown, PLACES),
    /permissions\.reed of the policy: "reed" is no kind/,
  );
});

test("flags split at commas and spell :PORT out; the one parser knows neither", () => {
  assert.deepEqual(splitFlag("read", "./a,./b"), ["./a", "./b"]);
  assert.deepEqual(splitFlag("net", ":80,a:1"), ["0.0.0.0:80", "127.0.0.1:80", "localhost:80", "a:1"]);
  assert.deepEqual(splitFlag("import", ":80"), [":80"]);
  assert.deepEqual(splitFlag("read", ":80"), [":80"]);
  for (const text of ["", "a,", ",a", "a,,b"]) assert.throws(() => splitFlag("env", text), UsageError, text);
});

test("[T38] a display has every entry and every deny, with reasons and remarks", () => {
  const lines = describeRequest({
    read: { allow: ["./a", "$home/b"], deny: ["./a/c"], reason: "notes", required: true, mutable: true },
    net: true,
    secrets: [{ name: "KEY", host: "a.example:443", header: "authorization", format: "Bearer {}" }],
    storage: { maxBytes: 10 },
  });
  const common = { kind: "read", isRequired: true, reason: "notes" };
  assert.deepEqual(lines, [
    { ...common, effect: "allow", entry: "./a", display: "./a (mutable: not pinned)" },
    { ...common, effect: "allow", entry: "$home/b", display: "$home/b (mutable: not pinned)" },
    { ...common, effect: "deny", entry: "./a/c", display: "./a/c (mutable: not pinned)" },
    { kind: "net", effect: "allow", entry: true, display: "everything", isRequired: false },
    { kind: "storage", effect: "allow", entry: "10 bytes", display: "10 bytes", isRequired: false },
    {
      kind: "secrets",
      effect: "allow",
      entry: "KEY a.example:443 as authorization: Bearer {}",
      display: "KEY a.example:443 as authorization: Bearer {}",
      isRequired: false,
    },
  ]);
});

const GRAVE: Readonly<
  Record<KindName, { readonly grave: readonly (string | true)[]; readonly light: readonly (string | true)[] }>
> = {
  read: {
    grave: [true, "/", "..", "/etc", "$home", "$project/x", "../notes2", "\0"],
    light: [".", "./data", "$data", "$data/x", "/plugins/notes/x"],
  },
  write: { grave: [true, "/", "$home", "/tmp"], light: ["$data", "$data/x"] },
  net: {
    grave: [
      true,
      "*:443",
      "localhost:80",
      "x.localhost",
      "127.0.0.1",
      "10.0.0.0/8",
      "0.0.0.0/0",
      "[::1]:80",
      "[fd00::]/8",
      "[::]/0",
      "*.com",
      "unix:/run/x",
      "vsock:-1:1",
      "GET https://localhost/",
      "::1",
    ],
    light: [
      "a.example:443",
      "*.a.example",
      "8.8.8.8",
      "8.8.8.0/24",
      "[2606:4700::]/32",
      "GET https://a.example/v1/",
    ],
  },
  env: { grave: [true, "HOME", "A_*"], light: [] },
  sys: { grave: [], light: [true, "hostname"] },
  run: { grave: [true, "tool", "absent"], light: [] },
  import: { grave: [true, "*:443"], light: ["a.example:443"] },
  ffi: { grave: [true, "./x.so"], light: [] },
  storage: { grave: [], light: [true, "10"] },
  secrets: { grave: [true, "KEY"], light: [] },
  call: { grave: [true, "a/b"], light: [] },
  observe: { grave: [true, "tool.input a"], light: [] },
  intercept: { grave: [true, "tool.input a"], light: [] },
  dynamicCode: { grave: [true], light: [] },
  wasm: { grave: [true], light: [] },
};

test("[T17] what is grave: all outside bundle and $data, and every kind that leaves the plugin's own world", () => {
  for (const kind of KIND_NAMES) {
    for (const entry of GRAVE[kind].grave) {
      assert.equal(isGrave(kind, entry, PLACES), true, `${kind} ${entry}`);
    }
    for (const entry of GRAVE[kind].light) {
      assert.equal(isGrave(kind, entry, PLACES), false, `${kind} ${entry}`);
    }
  }
  // A script has no bundle, so whatever it reads is outside.
  assert.equal(isGrave("read", "./data", { cwd: "/plugins/notes" }), true);
});

test("[T17] the grave parts of a request, denies and light parts left out", () => {
  assert.deepEqual(
    graveOf({
      read: { allow: ["./a", "/etc"], deny: ["/etc/x"] },
      net: true,
      storage: { maxBytes: 1 },
      secrets: [{ name: "A", host: "b.example:1" }],
      env: [],
    }, PLACES),
    [{ kind: "read", entry: "/etc" }, { kind: "net", entry: true }, {
      kind: "secrets",
      entry: "A b.example:1",
    }],
  );
});
