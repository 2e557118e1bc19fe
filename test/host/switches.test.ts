import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { directoryLoader, memoryAudit, settingsTrustStore, type TenantOptions } from "../../src/mod.ts";
import { approve, approved, failureOf, hosted, pluginOf, temporary, write } from "./support.ts";

const GO = { go: "export const go = () => 'went';" };
const SLOW = { go: "export const go = () => new Promise((done) => setTimeout(done, 60_000));" };
const host = await hosted();
let count = 0;

/** A tenant with a store of its own, and the way to open it again as a later process would. */
async function kept(options: Omit<TenantOptions, "store">) {
  const store = settingsTrustStore(join(temporary(), "settings"));
  const tenant = await approved(host, `t${count++}`, { ...options, store });
  const later = async () => {
    const again = await hosted();
    return again.tenant(tenant.id, { ...options, store });
  };
  return { tenant, store, later };
}

function treeHash(directory: string): string {
  const hash = createHash("sha256");
  for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" }).sort()) {
    hash.update(name);
    try {
      hash.update(readFileSync(join(directory, name)));
    } catch {
      // a folder
    }
  }
  return hash.digest("hex");
}

test("[L41] [A26] a plugin that is switched off keeps its files, its approval and what it exposes, and runs no more", async () => {
  const directory = pluginOf("switched", GO);
  const before = treeHash(directory);
  const { tenant, later } = await kept({ plugins: [directory] });
  await tenant.disable("switched");
  expect((await failureOf(tenant.call("plugin__switched__go", {}))).code).toBe("ERR_TRUST_DISABLED");
  const next = await later();
  expect(await next.list()).toMatchObject([{ state: "disabled", capabilities: [{ exposed: true }] }]);
  expect((await failureOf(next.call("plugin__switched__go", {}))).code).toBe("ERR_TRUST_DISABLED");
  expect(await next.enable("switched")).toEqual({ wasDisabled: true, wasQuarantined: false });
  expect(await next.call("plugin__switched__go", {})).toBe("went");
  expect(treeHash(directory)).toBe(before);
  expect((await failureOf(tenant.disable("none"))).code).toBe("ERR_CAPABILITY_UNKNOWN");
});

test("[A09] enabled is what the switch says, not what the plugin declares", async () => {
  const { tenant } = await kept({ plugins: [pluginOf("gated", GO)] });
  const states = async () => (await tenant.list()).map(({ state }) => state);
  expect(await states()).toEqual(["active"]);
  await tenant.disable("gated");
  expect(await states()).toEqual(["disabled"]);
  expect(await tenant.manifest("gated")).toMatchObject({ name: "gated" });
});

test("switching a plugin off ends what runs of it, and nothing of its neighbour", async () => {
  const { tenant } = await kept({ plugins: [pluginOf("slow", SLOW), pluginOf("other", GO)] });
  const running = failureOf(tenant.call("plugin__slow__go", {}));
  expect(await tenant.call("plugin__other__go", {})).toBe("went");
  await tenant.disable("slow");
  expect((await running).code).toBe("ERR_TRUST_DISABLED");
  expect(await tenant.call("plugin__other__go", {})).toBe("went");
});

test("what is exposed and hidden is kept with the approval, and a hidden one is refused", async () => {
  const tools = { one: "export const one = () => 1;", two: "export const two = () => 2;" };
  const { tenant, later } = await kept({ plugins: [pluginOf("pair", tools)] });
  await tenant.hide(["two"]);
  expect((await failureOf(tenant.call("plugin__pair__two", {}))).code).toBe("ERR_CAPABILITY_NOT_EXPOSED");
  expect(await tenant.call("plugin__pair__one", {})).toBe(1);
  const next = await later();
  expect((await next.list())[0]!.capabilities.map(({ exposed }) => exposed)).toEqual([true, false]);
  await next.expose(["plugin__pair__two"]);
  expect(await (await later()).call("plugin__pair__two", {})).toBe(2);
});

describe("[T40]", () => {
  test("revoking all ends what runs, and every plugin must be trusted anew", async () => {
    const { tenant, later } = await kept({ plugins: [pluginOf("one", SLOW), pluginOf("two", GO)] });
    const running = failureOf(tenant.call("plugin__one__go", {}));
    expect(await tenant.call("plugin__two__go", {})).toBe("went");
    expect((await tenant.revoke({ all: true })).map(({ name }) => name).sort()).toEqual(["one", "two"]);
    expect((await running).code).toBe("ERR_TRUST_UNKNOWN");
    for (const each of [tenant, await later()]) {
      expect((await failureOf(each.call("plugin__two__go", {}))).code).toBe("ERR_TRUST_UNKNOWN");
    }
  });

  test("a blocked fingerprint runs nowhere, whoever trusts it, and is refused when it is trusted again", async () => {
    const { tenant, later } = await kept({ plugins: [pluginOf("bad", GO), pluginOf("good", GO)] });
    const { hash } = await tenant.fingerprint("bad");
    await tenant.revoke({ fingerprint: hash });
    for (const each of [tenant, await later()]) {
      expect((await failureOf(each.call("plugin__bad__go", {}))).code).toBe("ERR_TRUST_DISABLED");
      expect((await failureOf(each.trust("bad", { fingerprint: hash, approver: "x" }))).code).toBe(
        "ERR_TRUST_DISABLED",
      );
      expect(await each.call("plugin__good__go", {})).toBe("went");
    }
    expect((await failureOf(tenant.revoke({ fingerprint: "sha256:none" }))).code).toBe("ERR_USAGE");
  });

  test("a fingerprint that the policy blocks is stopped as well", async () => {
    const directory = pluginOf("bad", GO);
    const { hash } = await host.tenant(`t${count++}`, { plugins: [directory] }).fingerprint("bad");
    const stopped = host.tenant(`t${count++}`, { plugins: [directory], policy: { blocked: [hash] } });
    expect((await failureOf(stopped.trust("bad", { fingerprint: hash, approver: "x" }))).code).toBe(
      "ERR_TRUST_DISABLED",
    );
  });

  test("an approval counts only where the host's own check agrees, at its making and at every use", async () => {
    const directory = pluginOf("signed", GO);
    const store = settingsTrustStore(join(temporary(), "settings"));
    const signers = new Set(["ada"]);
    const options = {
      plugins: [directory],
      store,
      verifyApproval: ({ approver }: { readonly approver: string }) => signers.has(approver),
    };
    const tenant = host.tenant(`t${count++}`, options);
    const { hash } = await tenant.fingerprint("signed");
    const by = (approver: string) =>
      tenant.trust("signed", { fingerprint: hash, approver, expose: ["plugin__signed__go"] });
    expect((await failureOf(by("mallory"))).code).toBe("ERR_TRUST_UNKNOWN");
    await by("ada");
    expect(await tenant.call("plugin__signed__go", {})).toBe("went");
    signers.clear();
    const later = (await hosted()).tenant(tenant.id, options);
    expect(await later.list()).toMatchObject([{
      state: "untrusted",
      reason: expect.stringContaining("check"),
    }]);
  });
});

test("every switch is written down", async () => {
  const audit = memoryAudit();
  const own = await hosted({ audit: () => audit });
  const tenant = await approved(own, "written", { plugins: [pluginOf("told", GO)] });
  await tenant.hide(["go"]);
  await tenant.expose(["plugin__told__go"]);
  await tenant.disable("told");
  await tenant.enable("told");
  await tenant.revoke({ all: true });
  const told = audit.events.slice(-5).map((
    { type, plugin, details },
  ) => [type, plugin, Object.keys(details!)[0]]);
  expect(told).toEqual([
    ["expose", "told", "hidden"],
    ["expose", "told", "exposed"],
    ["revoke", "told", "disabled"],
    ["trust", "told", "enabled"],
    ["revoke", "told", "directory"],
  ]);
});

describe("records of plugins whose directory is gone", () => {
  test("[L42] [L43] are forgotten once, and the same bytes that come back must be trusted again", async () => {
    const root = temporary();
    const directory = pluginOf("gone", GO, { under: root });
    const plugins = directoryLoader([{ directory: root, origin: "user" }]);
    const { tenant, later } = await kept({ plugins });
    cpSync(directory, `${root}-copy`, { recursive: true });
    rmSync(directory, { recursive: true });
    expect((await tenant.prune()).map(({ name }) => name)).toEqual(["gone"]);
    expect(await tenant.prune()).toEqual([]);
    cpSync(`${root}-copy`, directory, { recursive: true });
    expect(await (await later()).list()).toMatchObject([{ name: "gone", state: "untrusted" }]);
  });

  test("[L44] are kept while the directory is there with a manifest that cannot be read, or its parent cannot be", async () => {
    const root = join(temporary(), "mounted");
    mkdirSync(root);
    const directory = pluginOf("broken", GO, { under: root });
    const { tenant } = await kept({ plugins: directoryLoader([{ directory: root, origin: "user" }]) });
    const manifest = readFileSync(join(directory, "plugin.yaml"), "utf8");
    write(directory, { "plugin.yaml": "name: [" });
    expect(await tenant.prune()).toEqual([]);
    write(directory, { "plugin.yaml": manifest });
    renameSync(root, `${root}-away`);
    expect(await tenant.prune()).toEqual([]);
    renameSync(`${root}-away`, root);
    expect(await (await hosted()).tenant("x", { plugins: [directory] }).list()).toMatchObject([{
      name: "broken",
    }]);
    expect((await tenant.record("broken"))?.name).toBe("broken");
  });
});

test("[L34] there is a plugin in each state", async () => {
  const store = settingsTrustStore(join(temporary(), "settings"));
  const names = ["active", "disabled", "untrusted", "changed", "incompatible", "twin"];
  const plugins = names.map((name) =>
    pluginOf(name, GO, name === "incompatible" ? { head: 'sallyport: ">=99"\n' } : {})
  );
  const invalid = temporary();
  write(invalid, { "plugin.yaml": "name: invalid" });
  const twin = pluginOf("twin", GO);
  const tenant = host.tenant("states", { plugins: [...plugins, twin, invalid], store });
  for (const name of ["active", "disabled", "changed"]) await approve(tenant, name);
  for (const directory of [plugins.at(-1)!, twin]) {
    await approve(host.tenant(`states-${count++}`, { plugins: [directory] }), "twin");
  }
  await tenant.disable("disabled");
  write(plugins[3]!, { "tools/go.ts": "export const go = () => 'edited';" });
  const rows = await tenant.list();
  const states = Object.fromEntries(rows.map(({ directory, state }) => [directory, state]));
  expect(plugins.slice(0, 5).map((directory) => states[directory])).toEqual([
    "active",
    "disabled",
    "untrusted",
    "changed",
    "incompatible",
  ]);
  expect(states[invalid]).toBe("invalid");
});

test("[T40] [T09] deleting a tenant leaves nothing of it but its log, and nothing of its neighbour changes", async () => {
  const home = join(temporary(), "home");
  const own = await hosted({ home });
  const keep = {
    go:
      "export const go = async (i, { storage }) => { await storage.set('k', 1); return storage.get('k'); };",
  };
  const head = "permissions: { storage: true }\n";
  const policy = { permissions: { storage: true } } as const;
  const store = settingsTrustStore(join(home));
  const open = (id: string) => own.tenant(id, { plugins: [directory], policy, store });
  const directory = pluginOf("keeper", keep, { head });
  const [acme, other] = [open("acme"), open("other")];
  for (const tenant of [acme, other]) {
    await approve(tenant, "keeper");
    expect(await tenant.call("go", {})).toBe(1);
  }
  await acme.secrets.set("KEY", "a secret value", { hosts: ["example.com:443"], plugins: ["keeper"] });
  await acme.delete();
  expect(readdirSync(join(home, "storage")).filter((name) => name.startsWith("acme"))).toEqual([]);
  expect(await store.list("acme")).toEqual([]);
  expect((await store.list("other")).length).toBe(1);
  const [segment] = readdirSync(join(home, "audit/acme")).filter((name) => name.endsWith(".jsonl"));
  expect(readFileSync(join(home, "audit/acme", segment!), "utf8").trimEnd().split("\n").at(-1)).toContain(
    '"deleted"',
  );
  expect(await other.call("go", {})).toBe(1);
  const again = open("acme");
  expect(await again.list()).toMatchObject([{ state: "untrusted" }]);
  expect(await again.secrets.list()).toEqual([]);
});
