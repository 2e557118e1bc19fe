import assert from "node:assert/strict";
import { check, grantOf, type KindName, layerOf, UsageError } from "../../../permissions/mod.ts";
import { test } from "../door.ts";
import { decide, grants, PLACES } from "../support.ts";

function refusesEntries(kind: KindName, ...entries: readonly unknown[]): void {
  for (const entry of entries) {
    // Whatever a file holds, and types do not allow, is refused as well.
    assert.throws(
      () => layerOf("policy", { [kind]: [entry] }, PLACES),
      UsageError,
      `${kind}: ${JSON.stringify(entry)}`,
    );
  }
}

test("run: a name is looked up when granted and when asked for; what counts is the path", () => {
  assert.equal(grants("run", ["tool"], "tool"), true);
  assert.equal(grants("run", ["tool"], "/usr/bin/tool"), true);
  assert.equal(grants("run", ["tool"], "/tmp/tool"), false);
  assert.equal(grants("run", ["/usr/bin"], "/usr/bin/tool"), false);
  assert.equal(grants("run", ["absent"], "absent"), false);
  const grant = grantOf(layerOf("policy", { run: ["tool"] }, PLACES));
  const moved = { ...PLACES, which: () => "/tmp/tool" };
  assert.equal(check(grant, { kind: "run", value: "tool" }, moved).state, "denied");
});

test("run: a deny by name reaches it wherever it lies, a deny by path all below", () => {
  const deny = (entry: string, value: string) => !grants("run", { allow: true, deny: [entry] }, value);
  for (const value of ["tool", "/usr/bin/tool", "/tmp/Tool", "/tmp/tool.exe", "/tmp/tool.old.exe"]) {
    assert.equal(deny("tool", value), true, value);
  }
  for (const value of ["git", "/tmp/tools", "/tool/git", "/tmp/my.tool"]) {
    assert.equal(deny("tool", value), false, value);
  }
  assert.equal(deny("/usr/bin", "tool"), true);
  assert.equal(deny("/usr/bin", "/usr/binary"), false);
  assert.equal(grants("run", { allow: ["tool"], deny: ["tool"] }, "tool"), false);
});

test("sys: one of a list of words; username is another word for userInfo", () => {
  assert.equal(grants("sys", ["username"], "userInfo"), true);
  assert.equal(grants("sys", { allow: true, deny: ["userInfo"] }, "username"), false);
  assert.equal(grants("sys", ["umask"], "umask"), true);
  assert.equal(grants("sys", true, "Hostname"), false);
  refusesEntries("sys", "Hostname", "", "foo", 1);
});

test("storage: maxBytes bounds it, and asking for storage at all is asking for the whole kind", () => {
  assert.equal(grants("storage", { maxBytes: 10 }, null), true);
  assert.equal(grants("storage", { maxBytes: 10 }, "10"), true);
  assert.equal(grants("storage", { maxBytes: 10 }, "11"), false);
  assert.equal(grants("storage", { allow: true, maxBytes: 10 }, "11"), false);
  assert.equal(grants("storage", true, "11"), true);
  assert.equal(grants("storage", [], null), false);
  assert.equal(grants("storage", { maxBytes: 10, deny: true }, null), false);
  for (
    const request of [{ maxBytes: 0 }, { maxBytes: 1.5 }, { maxBytes: 1, allow: ["2"] }, {
      allow: true as const,
      deny: ["1"],
    }]
  ) {
    assert.throws(() => layerOf("policy", { storage: request }, PLACES), UsageError, JSON.stringify(request));
  }
  assert.equal(decide("storage", { maxBytes: 10 }, null).rule, "policy permissions.storage 10");
});

test("secrets: a name, where it goes, and how it is placed", () => {
  const entry = { name: "KEY", host: "api.example.com:443", header: "Authorization", format: "Bearer {}" };
  const asked = "KEY api.example.com:443 as authorization: Bearer {}";
  assert.equal(grants("secrets", [entry], asked), true);
  assert.equal(grants("secrets", [entry], asked.replace("Bearer", "Basic")), false);
  assert.equal(grants("secrets", [entry], "KEY api.example.com:443 as x-key"), false);
  assert.equal(grants("secrets", [entry], "KEY api.example.com:443"), false, "not placed as the entry says");
  assert.equal(
    grants("secrets", [{ name: "KEY", host: "api.example.com:443" }], "KEY api.example.com:443"),
    true,
  );
  assert.equal(
    grants("secrets", [{ name: "KEY", host: "api.example.com:443" }], "KEY evil.example:443"),
    false,
  );
  assert.equal(
    grants("secrets", [{ name: "KEY", host: "api.example.com:443" }], "OTHER api.example.com:443"),
    false,
  );
  assert.equal(grants("secrets", ["KEY"], "KEY api.example.com:443"), true);
  refusesEntries("secrets", { name: "KEY" }, { ...entry, name: "" }, { ...entry, host: "https://x" }, {
    ...entry,
    header: "a b",
  }, { ...entry, header: "a\r\nb" });
  refusesEntries(
    "secrets",
    { ...entry, format: "x" },
    { ...entry, format: "{}{}" },
    { ...entry, format: "{}\n" },
    { ...entry, to: "x" },
    { name: "A", host: "b", format: "{}" },
    "A B C",
    null,
    1,
    [],
  );
});

test("call: full ids, with one * at the end", () => {
  assert.equal(grants("call", ["plugin__fs__write_file"], "plugin__fs__write_file"), true);
  assert.equal(grants("call", ["plugin__fs__*"], "plugin__fs__read"), true);
  assert.equal(grants("call", ["plugin__fs__*"], "plugin__web__read"), false);
  refusesEntries("call", "", "a b", "a*b", "\0");
});

test("[T04] observe and intercept: a point, and whose traffic; nothing without a grant", () => {
  for (const kind of ["observe", "intercept"] as const) {
    assert.equal(grants(kind, ["tool.input web-notes"], "tool.input plugin__web-notes__add"), true);
    assert.equal(grants(kind, ["tool.input web-notes"], "tool.output plugin__web-notes__add"), false);
    assert.equal(grants(kind, ["tool.input web-notes"], "tool.input plugin__web__add"), false);
    assert.equal(grants(kind, ["tool.input plugin__*__add"], "tool.input plugin__web__add"), true);
    assert.equal(grants(kind, ["tool.input plugin__*__add"], "tool.input plugin__web__del"), false);
    assert.equal(grants(kind, ["prompt.submit"], "prompt.submit"), true);
    assert.equal(grants(kind, ["prompt.submit"], "prompt.submit a/b"), false);
    assert.equal(grants(kind, [], "prompt.submit"), false);
    refusesEntries(kind, "", "Tool", "tool.input a b", "tool.input a__b", "tool. x");
  }
});

test("dynamicCode and wasm: wholly or not at all", () => {
  for (const kind of ["dynamicCode", "wasm"] as const) {
    assert.equal(grants(kind, true, null), true);
    assert.equal(grants(kind, [], null), false);
    assert.equal(grants(kind, { allow: true, deny: true }, null), false);
    assert.equal(grants(kind, true, "x"), false);
    refusesEntries(kind, "x", "");
  }
});
