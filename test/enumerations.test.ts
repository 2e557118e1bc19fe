/** Public words are only added, each at the end; and whoever knows only the former ones is not harmed by a new one (R50). */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ERRORS } from "../permissions/mod.ts";
import { headsDirectory } from "../src/audit/jsonl.ts";
import { verifyAudit } from "../src/audit/verify.ts";
import { type AuditEvent, jsonlAudit } from "../src/mod.ts";
import { readKey } from "../src/stores/key_file.ts";
import { breaches, COMMITTED, type Enumerations, enumerations } from "../tools/enumerations.ts";
import { approve, failureOf, hosted, pluginOf, temporary } from "./host/support.ts";

const committed = JSON.parse(readFileSync(COMMITTED, "utf8")) as Enumerations;

test("[R50] every public enumeration has what it had, in its places; what is new is at the end", () => {
  const now = enumerations();
  expect(breaches(committed, now)).toEqual([]);
  // So that the next change is compared with it.
  expect(now, "run `npm run docs:api`").toEqual(committed);
  const known = [
    "AuditEvent.type",
    "ERRORS",
    "KINDS",
    "SURFACES",
    "PluginState",
    "HOOK_EVENTS",
    "GUARDED_POINTS",
    "Verdict.decision",
  ];
  expect(Object.keys(now)).toEqual(expect.arrayContaining(known));
});

test("a word that is gone, renamed, moved or put between others is a breach, and so is a code with another exit", () => {
  const before = { state: ["active", "disabled"], codes: ["ERR_A UsageError 2"] };
  expect(breaches(before, { ...before, state: ["active", "disabled", "new"], more: ["a", "b"] })).toEqual([]);
  for (
    const after of [
      { ...before, state: ["active"] },
      { ...before, state: ["active", "off"] },
      { ...before, state: ["disabled", "active"] },
      { ...before, state: ["active", "new", "disabled"] },
      { ...before, codes: ["ERR_A UsageError 3"] },
      { codes: before.codes },
    ]
  ) expect(breaches(before, after)).not.toEqual([]);
});

test("[R50] a program that knows the first states only takes the rest for what is not to be called, and is right", async () => {
  const under = temporary();
  const GO = { go: "export const go = () => 1;" };
  const directories = ["one", "off", "new", "old", "bad", "edited"].map((name) =>
    pluginOf(name, GO, { under, ...(name === "old" ? { head: 'sallyport: ">=99"\n' } : {}) })
  );
  writeFileSync(join(under, "bad/plugin.yaml"), "name: bad\n");
  const tenant = (await hosted()).tenant("t", { plugins: directories });
  for (const name of ["one", "off", "edited"]) await approve(tenant, name);
  await tenant.disable("off");
  writeFileSync(join(under, "edited/tools/go.ts"), "export const go = () => 2;");
  // As it was written when there were no further ones.
  const wordsOf: Readonly<Record<string, string>> = { active: "ready", disabled: "off", untrusted: "new" };
  const rows = await tenant.list();
  const told = rows.map(({ name, state, reason }) => [name, wordsOf[state] ?? "unusable", reason !== null]);
  expect(told).toEqual([
    ["one", "ready", false],
    ["off", "off", true],
    ["new", "new", false],
    ["old", "unusable", true],
    ["edited", "unusable", true],
    ["bad", "unusable", true],
  ]);
  for (const { name, state } of rows) {
    if (state === "active") expect(await tenant.call(`plugin__${name}__go`, {})).toBe(1);
    else {
      // Whatever the code is called, its class of exit is one that was always there.
      const { code } = await failureOf(tenant.call(`plugin__${name}__go`, {}));
      expect([2, 3]).toContain(ERRORS[code].exit);
    }
  }
});

test("[R50] an audit event of a type of a later version is verified as any other", () => {
  const home = temporary();
  const keyFile = join(home, "audit.key");
  const sink = jsonlAudit({ directory: join(home, "audit"), tenant: "t", keyFile, now: () => Date.now() });
  const facts = { tenant: "t", plugin: null, fingerprint: null, call: null, confinement: "strong" };
  sink.write({ ...facts, type: "hibernate" } as unknown as AuditEvent); // of a later version
  sink.write({ ...facts, type: "trust" });
  sink.close();
  const places = {
    segments: join(home, "audit/t"),
    heads: headsDirectory(keyFile, "t"),
    key: readKey(keyFile),
  };
  expect(verifyAudit(places)).toMatchObject({ segments: 1, problems: [] });
});
