import assert from "node:assert/strict";
import {
  check,
  diff,
  grantOf,
  includes,
  intersect,
  layerOf,
  narrow,
  type PermissionRequest,
  relocate,
} from "../../permissions/mod.ts";
import { test } from "./door.ts";
import { PLACES } from "./support.ts";

function grant(request: PermissionRequest): ReturnType<typeof grantOf> {
  return grantOf(layerOf("policy", request, PLACES));
}

test("subset is set inclusion, not matching of text", () => {
  assert.equal(includes(grant({ read: ["/a"] }), grant({ read: ["/a/b", "/a/c"] })), true);
  assert.equal(includes(grant({ read: ["/a"] }), grant({ read: ["/ab"] })), false);
  assert.equal(includes(grant({ read: { allow: ["/a"], deny: ["/a/x"] } }), grant({ read: ["/a"] })), false);
  assert.equal(
    includes(
      grant({ read: { allow: ["/a"], deny: ["/a/x"] } }),
      grant({ read: { allow: ["/a"], deny: ["/a/x/y"] } }),
    ),
    false,
  );
  assert.equal(
    includes(
      grant({ read: { allow: ["/a"], deny: ["/a/x"] } }),
      grant({ read: { allow: ["/a"], deny: ["/a/x", "/a/z"] } }),
    ),
    true,
  );
  assert.equal(includes(grant({ read: { allow: ["/a"], deny: ["/b"] } }), grant({ read: ["/a"] })), true);
  assert.equal(
    includes(grant({ read: ["/"] }), grant({ read: true })),
    false,
    "the list does not answer for the whole kind",
  );
  assert.equal(includes(grant({ net: ["*.example.com"] }), grant({ net: ["a.example.com:443"] })), true);
  assert.equal(includes(grant({ net: ["a.example.com:443"] }), grant({ net: ["a.example.com"] })), false);
  assert.equal(includes(grant({ net: ["*:443"] }), grant({ net: ["10.0.0.1:443"] })), false);
  assert.equal(includes(grant({ storage: { maxBytes: 10 } }), grant({ storage: { maxBytes: 11 } })), false);
  assert.equal(includes(grantOf(), grantOf()), true);
  assert.equal(
    includes(grantOf(), grant({ read: { allow: ["/a/b"], deny: ["/a"] } })),
    true,
    "nothing is left of it",
  );
  assert.equal(includes(grantOf(), grant({ env: ["A"] })), false);
});

test("diff names what is gained and what is lost, lifted denies among it", () => {
  const before = grant({ read: { allow: ["/a"], deny: ["/a/x"] }, env: ["A"] });
  const after = grant({ read: ["/a"], net: true });
  assert.deepEqual(diff(before, after), [
    { kind: "read", entry: "/a/x", effect: "deny", change: "gained" },
    { kind: "net", entry: true, effect: "allow", change: "gained" },
    { kind: "env", entry: "A", effect: "allow", change: "lost" },
  ]);
  assert.deepEqual(diff(before, before), []);
  assert.equal(diff(grantOf(), grant({ env: ["A", "A"] })).length, 1);
  assert.deepEqual(diff(grant({ read: ["/a/"] }), grant({ read: ["/a", "/a/b"] })), []);
});

test("flags narrow what they mention and leave the rest", () => {
  const request = layerOf("manifest", { read: ["/a"], net: ["*.example.com"], env: ["A"] }, PLACES);
  const by = layerOf(
    "flags",
    { read: { deny: ["/a/x"] }, net: ["a.example.com:443", "evil.example"] },
    PLACES,
  );
  const narrowed = grantOf(narrow(request, by));
  const state = (kind: string, value: string) => check(narrowed, { kind, value }, PLACES).state;
  assert.equal(state("read", "/a/y"), "granted");
  assert.equal(state("read", "/a/x"), "denied");
  assert.equal(state("net", "a.example.com:443"), "granted");
  assert.equal(state("net", "b.example.com:443"), "denied");
  assert.equal(state("net", "evil.example:443"), "denied");
  assert.equal(state("env", "A"), "granted");
});

test("a merged layer still names the entries that decide", () => {
  const manifest = layerOf(
    "manifest",
    { read: { allow: ["/a"], deny: ["/a/x"] }, net: ["*.example.com"] },
    PLACES,
  );
  const both = intersect(
    manifest,
    layerOf("policy", { read: ["/a/b", "/a/x"], net: ["a.example.com:1", "*:443"] }, PLACES),
  );
  const rule = (kind: string, value: string) => check(grantOf(both), { kind, value }, PLACES).rule;
  assert.equal(rule("read", "/a/b/c"), 'policy permissions.read[0] "/a/b"');
  assert.equal(rule("read", "/a/x/c"), 'manifest permissions.read.deny[0] "/a/x"');
  assert.equal(
    rule("net", "b.example.com:443"),
    'manifest permissions.net[0] "*.example.com" and policy permissions.net[1] "*:443"',
  );
});

test("what two layers share of a range and any public host is its public part", () => {
  const both = intersect(
    layerOf("manifest", { net: ["0.0.0.0/0"] }, PLACES),
    layerOf("policy", { net: ["*:80"] }, PLACES),
  );
  const state = (value: string) => check(grantOf(both), { kind: "net", value }, PLACES).state;
  assert.deepEqual(["8.8.8.8:80", "10.0.0.1:80", "8.8.8.8:81", "a.example:80"].map(state), [
    "granted",
    "denied",
    "denied",
    "denied",
  ]);
});

test("an absolute allow also means the place that it leads to, a relative one does not, a deny always does", () => {
  const real = (path: string) =>
    path.replace(/^\/tmp(?=\/|$)/, "/private/tmp").replace("/plugins/notes/link", "/etc");
  const request = {
    read: { allow: ["/tmp/x", "./link"], deny: ["/tmp/x/no"] },
    write: { allow: true, deny: ["./link"] },
  } as const;
  const layer = relocate(layerOf("policy", request, PLACES), real);
  const state = (kind: string, value: string) => check(grantOf(layer), { kind, value }, PLACES).state;
  for (const value of ["/tmp/x/a", "/private/tmp/x/a", "link/a"]) {
    assert.equal(state("read", value), "granted", value);
  }
  for (const value of ["/private/tmp/y", "/private/tmp/x/no", "/etc/a"]) {
    assert.equal(state("read", value), "denied", value);
  }
  assert.equal(state("write", "/etc/a"), "denied");
  assert.equal(state("write", "/etcetera"), "granted");
  assert.deepEqual(relocate(layer, (path) => path), layer);
});

test("a hostile pair of lists is merged in bounded time", () => {
  const list = (entry: (index: number) => string) => Array.from({ length: 256 }, (_, index) => entry(index));
  const hosts = layerOf("manifest", { net: list((index) => `h${index}.example`) }, PLACES);
  const ports = layerOf("policy", { net: list((index) => `*:${index + 1}`) }, PLACES);
  const start = performance.now();
  assert.equal(includes(grantOf(hosts), grantOf(hosts, ports)), true);
  assert.ok(performance.now() - start < 5000);
});
