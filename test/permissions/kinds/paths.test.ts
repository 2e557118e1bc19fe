import assert from "node:assert/strict";
import { check, grantOf, layerOf, permissionRequestSchema, UsageError } from "../../../permissions/mod.ts";
import { test } from "../door.ts";
import { decide, grants, PLACES } from "../support.ts";

const PATH_KINDS = ["read", "write", "ffi"] as const;

test("a path covers itself and what lies below, by whole components and by case", () => {
  for (const kind of PATH_KINDS) {
    for (const value of ["/a/b", "/a/b/", "//a//b", "/a/./b", "/a/x/../b", "/a/b/c", "/a/b/../b/c"]) {
      assert.equal(grants(kind, ["/a/b"], value), true, value);
    }
    for (const value of ["/a", "/a/bc", "/a/b.txt", "/A/b", "/a/b/../c", "/", "/a/b/../../b"]) {
      assert.equal(grants(kind, ["/a/b"], value), false, value);
    }
  }
});

test("there are no globs, no ~ and no variables in upper case: these are files of that name", () => {
  assert.equal(grants("read", ["/a/*"], "/a/*"), true);
  assert.equal(grants("read", ["/a/*"], "/a/b"), false);
  assert.equal(grants("read", ["~/x"], "/plugins/notes/~/x"), true);
  assert.equal(grants("read", ["$HOME"], "/home/u"), false);
});

test("a decision shows the one spelling of a path beside the one that was asked for", () => {
  const { value, asked } = decide("read", ["."], "./data/../x/");
  assert.deepEqual({ value, asked }, { value: "/plugins/notes/x", asked: "./data/../x/" });
});

test("a NUL or an empty path is refused, in entries and in values, even where everything is granted", () => {
  for (const kind of PATH_KINDS) {
    for (const path of ["", "\0", "/a\0b"]) {
      assert.throws(() => layerOf("policy", { [kind]: [path] }, PLACES), UsageError);
      assert.equal(grants(kind, true, path), false);
      assert.match(decide(kind, true, path).rule, /is malformed/);
    }
    assert.equal(grants(kind, true, "/ab"), true);
  }
});

test("$data, $project and $home stand for mapped folders, and nothing climbs out of them", () => {
  assert.equal(grants("write", ["$data"], "$data/x"), true);
  assert.equal(grants("write", ["$data"], `${PLACES.data}/x`), true);
  assert.equal(grants("read", ["$project/src", "$home/.config"], "/work/p/src/a.ts"), true);
  assert.equal(grants("read", ["$project/src"], "/work/p/lib"), false);
  assert.equal(grants("read", ["$data/a/../b"], "$data/b"), true);
  for (const entry of ["$data/..", "$data/../..", "$home/../root", "$nothing/x"]) {
    assert.throws(() => layerOf("policy", { read: [entry] }, PLACES), UsageError, entry);
    assert.equal(grants("read", true, entry), false, entry);
  }
});

test("[T09] a folder that nobody mapped is an error of the entry, and no value", () => {
  const context = { cwd: "/srv" };
  for (const root of ["$data", "$project/x", "$home"]) {
    assert.throws(() => layerOf("manifest", { read: [root] }, context), /is not mapped here/);
    const everything = grantOf(layerOf("policy", { read: true }, context));
    assert.equal(check(everything, { kind: "read", value: root }, context).state, "denied");
  }
  assert.doesNotThrow(() => layerOf("manifest", { read: ["./$data"] }, context));
});

test("/dev, /proc and /sys come with no entry, harmless devices apart", () => {
  const special = [
    "/dev/tty",
    "/dev",
    "/dev/fd/3",
    "/dev/shm/x",
    "/proc/self/environ",
    "/proc",
    "/sys/x",
    "/etc/../proc/1/mem",
  ];
  for (const kind of ["read", "write"] as const) {
    for (const request of [true, ["/"], special] as const) {
      for (const value of special) assert.equal(grants(kind, request, value), false, value);
      assert.match(decide(kind, request, "/dev/tty").rule, /special files/);
    }
    for (const value of ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/devices", "/processes"]) {
      assert.equal(grants(kind, true, value), true, value);
      assert.equal(grants(kind, ["/"], value), true, value);
      assert.equal(grants(kind, ["/etc"], value), false, value);
    }
  }
});

test("a resolved path must be absolute, and is checked as it is", () => {
  assert.equal(decide("read", ["."], "/plugins/notes/x", { absolute: true }).state, "granted");
  assert.equal(decide("read", ["."], "x", { absolute: true }).state, "denied");
  assert.equal(decide("read", true, "$home/x", { absolute: true }).state, "denied");
});

test("an act on a whole tree is refused by a deny below it, an act on the folder alone is not", () => {
  const request = { allow: true, deny: ["/a/b/c"] } as const;
  assert.equal(decide("write", request, "/a").state, "granted");
  assert.equal(decide("write", request, "/a", { recursive: true }).state, "denied");
  assert.equal(decide("write", request, "/ab", { recursive: true }).state, "granted");
});

test("[T03] a plugin-relative write is a manifest error that names $data; flags mean the working directory", () => {
  for (const entry of ["./out", "out", ".", "../x", "./$data"]) {
    const { error } = permissionRequestSchema.safeParse({ write: { allow: ["$data", entry] } });
    assert.deepEqual(error?.issues.map(({ path }) => path), [["write", "allow", 1]], entry);
    assert.match(error?.issues[0]?.message ?? "", /\$data/);
    assert.throws(() => layerOf("manifest", { write: [entry] }, PLACES), /\$data/);
    assert.throws(() => layerOf("capability", { write: [entry] }, PLACES), /\$data/);
  }
  assert.equal(
    permissionRequestSchema.safeParse({ write: ["$data", "$project/out", "/tmp/x"], read: ["./x"] }).success,
    true,
  );
  const flags = grantOf(layerOf("flags", { write: ["./out"] }, { cwd: "/work" }));
  assert.equal(check(flags, { kind: "write", value: "out/x" }, { cwd: "/work" }).state, "granted");
});
