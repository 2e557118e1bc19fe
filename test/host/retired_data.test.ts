/** What a plugin kept whose trust was forgotten: out of everybody's reach at once, removed after a month (T13). */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { type Host, memoryAudit, settingsTrustStore, type Tenant } from "../../src/mod.ts";
import { openOwnSpaces } from "../../src/own_spaces.ts";
import { expiryOf, fileRetiredStore } from "../../src/retired_data.ts";
import { approve, hosted, pluginOf, temporary } from "./support.ts";

const NOTES = {
  note: `export async function note({ set }, { storage }) {
    if (set === undefined) {
      return [await storage.get("note") ?? null, await Deno.readTextFile("$data/note.txt").catch((e) => e.name)];
    }
    await storage.set("note", set);
    await Deno.writeTextFile("$data/note.txt", set);
  }`,
};
const HEAD = `permissions: { storage: { maxBytes: 4096 }, read: ["$data"], write: ["$data"] }\n`;
const POLICY = { permissions: { storage: true, read: ["$data"], write: ["$data"] } } as const;
const DAY_MS = 86_400_000;

afterEach(() => void vi.useRealTimers());

/** A tenant whose records last, with a plugin that has kept something, and the way to bring the plugin back. */
async function kept(): Promise<
  {
    tenant: Tenant;
    host: Host;
    home: string;
    directory: string;
    restore: () => void;
    events: readonly object[];
  }
> {
  const home = join(temporary(), "home");
  const audit = memoryAudit();
  const host = await hosted({ home, audit: () => audit });
  const directory = pluginOf("notes", NOTES, { head: HEAD });
  const copy = join(temporary(), "copy");
  cpSync(directory, copy, { recursive: true });
  const store = settingsTrustStore(home);
  const tenant = host.tenant("acme", { plugins: [directory], store, policy: POLICY });
  await approve(tenant, "notes");
  await tenant.call("note", { set: "mine" });
  const restore = (): void => cpSync(copy, directory, { recursive: true });
  return { tenant, host, home, directory, restore, events: audit.events };
}

function folders(home: string): readonly string[] {
  return existsSync(join(home, "data/acme")) ? readdirSync(join(home, "data/acme")) : [];
}

/** Days from now, for whoever asks for the date; timers go on. */
function inDays(days: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + days * DAY_MS });
}

test("[T13] after a prune a plugin that is trusted again starts empty, and what it had kept is removed after 30 days", async () => {
  const { tenant, home, directory, restore, events } = await kept();
  const [lineage] = folders(home);
  expect(await tenant.call("note", {})).toEqual(["mine", "mine"]);
  rmSync(directory, { recursive: true });
  const removed: string[] = [];
  const onRemoved = ({ name }: { readonly name: string }): void => void removed.push(name);
  expect(await tenant.prune({ onRemoved })).toMatchObject([{ name: "notes", directory }]);
  expect(fileRetiredStore(home).list("acme")).toMatchObject([{ lineage, name: "notes", directory }]);
  restore();
  await approve(tenant, "notes");
  expect(await tenant.call("note", {})).toEqual([null, "NotFound"]);
  await tenant.call("note", { set: "new" });
  expect(folders(home)).toHaveLength(2);
  inDays(29);
  expect([await tenant.prune({ onRemoved }), removed, folders(home).length]).toEqual([[], [], 2]);
  inDays(2);
  expect([await tenant.prune({ onRemoved }), removed]).toEqual([[], ["notes"]]);
  expect(folders(home)).toHaveLength(1);
  expect(folders(home)).not.toContain(lineage);
  expect(fileRetiredStore(home).list("acme")).toEqual([]);
  expect(events).toContainEqual(
    expect.objectContaining({
      type: "revoke",
      details: expect.objectContaining({ dataRemoved: true, directory }),
    }),
  );
  expect(await tenant.call("note", {})).toEqual(["new", "new"]); // nobody else's is touched
});

test("[T13] so it is with what is untrusted; rows go as well, and what is in use again, or may be, stays", async () => {
  const { tenant, host, home, directory } = await kept();
  const { lineage } = (await tenant.record("notes"))!;
  await tenant.untrust("notes");
  expect(folders(home)).toEqual([lineage]);
  // An embedder that names the lineage gives it back.
  const { hash } = await tenant.fingerprint("notes");
  await tenant.trust("notes", { fingerprint: hash, approver: "test", lineage, expose: ["note"] });
  inDays(31);
  await tenant.prune();
  expect(await tenant.call("note", {})).toEqual(["mine", "mine"]);
  expect(fileRetiredStore(home).list("acme")).toEqual([]);
  await tenant.untrust(directory);
  inDays(31);
  // A record that cannot be read may name any lineage, so nothing is removed while there is one.
  const settings = join(home, "settings.yaml");
  const broken =
    `trusted_plugins:\n  - { tenant: acme, directory: ${temporary()}, name: other, lineage: ${lineage} }\n`;
  writeFileSync(settings, broken, { mode: 0o600 });
  await tenant.prune();
  expect(folders(home)).toEqual([lineage]);
  writeFileSync(settings, "", { mode: 0o600 });
  await tenant.prune();
  expect(folders(home)).toEqual([]);
  await tenant.trust("notes", { fingerprint: hash, approver: "test", lineage, expose: ["note"] });
  expect(await tenant.call("note", {})).toEqual([null, "NotFound"]);
  await host.close();
});

test("[T13] what cannot be noted is no reason to go on trusting, and a note that somebody wrote by hand removes nothing", async () => {
  const { tenant, home, directory } = await kept();
  writeFileSync(join(home, "retired.json"), "{", { mode: 0o600 });
  await tenant.untrust(directory);
  expect(await tenant.list()).toMatchObject([{ state: "untrusted" }]);
  expect(folders(home)).toHaveLength(1);
  const entry = {
    tenant: "acme",
    lineage: "../../..",
    name: "n",
    directory: "/d",
    since: "2020-01-01T00:00:00.000Z",
  };
  writeFileSync(join(home, "retired.json"), JSON.stringify({ v: 1, retired: [entry] }), { mode: 0o600 });
  await expect(tenant.prune()).rejects.toMatchObject({ code: "ERR_STORE" });
  expect(folders(home)).toHaveLength(1);
});

test("what kept nothing leaves no note, and a tenant that is deleted takes its notes with it", async () => {
  const { tenant, home } = await kept();
  await tenant.untrust("notes");
  expect(readFileSync(join(home, "retired.json"), "utf8")).toContain('"notes"');
  await tenant.delete();
  expect(fileRetiredStore(home).list("acme")).toEqual([]);
  const host = await hosted({ home: join(temporary(), "home") });
  const other = join(temporary(), "state");
  const quiet = host.tenant("quiet", {
    plugins: [pluginOf("calm", { go: "export const go = () => 1;" })],
    store: settingsTrustStore(other),
  });
  await approve(quiet, "calm");
  await quiet.untrust("calm");
  expect(existsSync(join(other, "retired.json"))).toBe(false);
});

test("[T13] the bound is 30 days of the given clock, to the millisecond", async () => {
  const home = join(temporary(), "home");
  let now = Date.parse("2026-01-01T00:00:00.000Z");
  const retired = fileRetiredStore(home);
  const spaces = openOwnSpaces({
    tenant: "t",
    retired,
    now: () => now,
    dataRoot: join(home, "data"),
    temporaryRoot: join(home, "temporary"),
    storageFile: join(home, "t.sqlite"),
    storageBytesMax: 1_048_576,
  });
  const lineage = "0123456789abcdef0123456789abcdef";
  spaces.spaceOf(lineage).makeData();
  await spaces.retire(lineage, { name: "n", directory: "/d" });
  const [note] = retired.list("t");
  expect(expiryOf(note!)).toBe(now + 30 * DAY_MS);
  now += 30 * DAY_MS - 1;
  expect(await spaces.removeExpired(new Set())).toEqual([]);
  now += 1;
  expect(await spaces.removeExpired(new Set())).toMatchObject([{ lineage }]);
  expect(existsSync(spaces.dataOf(lineage))).toBe(false);
  await spaces.close();
});
