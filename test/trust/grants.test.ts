import { describe, expect, test } from "vitest";
import {
  grantOf,
  includes,
  type Layer,
  layerOf,
  narrow,
  type PermissionRequest,
} from "../../permissions/mod.ts";
import { grantsOf } from "../../src/trust/grants.ts";

const context = { cwd: "/p", bundle: "/p", data: "/d", home: "/h", project: "/j" };

const REQUEST: PermissionRequest = {
  read: { allow: ["./data", "$data", "/etc/hosts"], deny: ["./data/secret"], mutable: true, reason: "why" },
  write: ["$data/out"],
  net: { allow: ["a.example:443", "*.b.example:443", "GET https://c.example/v1/"], required: true },
  env: ["TOKEN_*"],
  sys: ["hostname"],
  run: ["git", "./hooks/x"],
  storage: { maxBytes: 1000, reason: "notes" },
  secrets: [{ name: "KEY", host: "a.example:443", header: "authorization", format: "Bearer {}" }],
  call: ["plugin__other__go"],
  dynamicCode: true,
  "x-note": "kept nowhere",
};

const record = (request: PermissionRequest) => layerOf("record", request, context);
const isSame = (a: Layer, b: Layer) => includes(grantOf(a), grantOf(b)) && includes(grantOf(b), grantOf(a));

describe("what a record grants", () => {
  test("is the request, without the author's words, when nothing narrows it", () => {
    const grants = grantsOf(REQUEST, undefined, context);
    expect(isSame(record(grants), layerOf("manifest", REQUEST, context))).toBe(true);
    expect(JSON.stringify(grants)).not.toMatch(/reason|required|x-note/);
    expect(isSame(record(grantsOf({}, undefined, context)), record({}))).toBe(true);
  });

  test.each<[string, PermissionRequest]>([
    ["a deny", { net: { deny: ["a.example:443"] } }],
    ["an allow", { net: { allow: ["x.b.example:443"] } }],
    ["an allow of a relative path, which starts where it was typed", { read: { allow: ["data"] } }],
    ["a deny of a relative path", { read: { deny: ["data"] }, write: { deny: ["."] } }],
    ["a deny of a whole kind", { run: { deny: true }, storage: { deny: true }, secrets: { deny: true } }],
    ["an allow of a whole kind, which narrows nothing", { net: { allow: true }, storage: { allow: true } }],
    ["a program by its name", { run: { deny: ["git"] } }],
    ["a secret as text", { secrets: { allow: ["KEY"] } }],
    ["less storage", { storage: { allow: ["10"] } }],
    ["what was not asked for, which adds nothing", { ffi: { allow: true }, net: { allow: ["z.example:1"] } }],
  ])("is cut by %s as the flags alone would cut it", (_, permissions) => {
    const manifest = layerOf("manifest", REQUEST, context);
    const cut = narrow(manifest, layerOf("flags", permissions, { ...context, cwd: "/p" }));
    const grants = record(grantsOf(REQUEST, { permissions, cwd: "/p" }, context));
    // The manifest's layer always stands beside the record's.
    const both = grantOf(manifest, grants);
    expect(includes(grantOf(cut), both)).toBe(true);
    expect(includes(both, grantOf(cut))).toBe(true);
  });

  test("keeps the place where a relative flag was typed", () => {
    const flags = { permissions: { read: { allow: ["notes", "$data"], deny: ["notes/a"] } }, cwd: "/work" };
    expect(grantsOf(REQUEST, flags, context).read).toEqual({
      allow: ["/work/notes", "/d"],
      deny: ["./data/secret", "/work/notes/a"],
    });
  });
});
