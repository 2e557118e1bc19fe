import { expect, test } from "vitest";
import { HostError } from "../permissions/mod.ts";
import { type DoctorFacts, examine } from "../src/doctor.ts";
import type { PluginRow } from "../src/mod.ts";
import { hosted, pluginOf } from "./host/support.ts";

const PLAN = {
  plugins: [],
  capabilities: [],
  refused: [],
  collisions: [],
  dormant: [],
  cut: [],
  broken: [],
  unmatched: [],
};

const SOUND: DoctorFacts = {
  node: "26.1.0",
  engine: () => "/engine.node",
  confinement: { level: "strong", reasons: [], bubblewrap: "/usr/bin/bwrap" },
  weakenings: [],
  records: () => Promise.resolve([]),
  isThere: () => true,
  plugins: () => Promise.resolve([]),
  plan: () => Promise.resolve(PLAN),
  sharedStorage: () => Promise.resolve(new Map()),
  lineages: () => [],
  retired: () => [],
  audit: () => null,
};

async function levels(facts: Partial<DoctorFacts>): Promise<string[]> {
  const rows = await examine({ ...SOUND, ...facts });
  return rows.filter(({ level }) => level !== "ok").map(({ level, id }) => `${level} ${id}`);
}

test("where nothing is wrong every row is fine and says what was looked at", async () => {
  const rows = await examine(SOUND);
  expect(rows.every(({ level, what }) => level === "ok" && what !== "")).toBe(true);
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
});

test("[T01] a boundary that is weaker than promised fails, whichever way it is", async () => {
  const weaker = { level: "medium", reasons: ["bubblewrap is not installed"] };
  expect(await levels({ confinement: weaker })).toEqual(["fail confinement", "warn bubblewrap"]);
  expect(await levels({ confinement: { ...weaker, level: "weak" } })).toContain("fail confinement");
  expect(await levels({ node: "22.0.0" })).toEqual(["fail node"]);
  const absent = (): never => {
    throw new HostError("ERR_ENGINE", "there is no binary");
  };
  expect(await levels({ engine: absent })).toEqual(["fail engine"]);
});

test("[T34] options that weaken the boundary are told by the host, and each fails", async () => {
  const none = await hosted();
  none.tenant("calm", { plugins: [] });
  expect(none.weakenings).toEqual([]);
  const host = await hosted({ cordon: "host" });
  host.tenant("open", { plugins: [], policy: { unconfinedCommands: "allow" } });
  expect(host.weakenings.join()).toMatch(/cordon.*"open".*unconfinedCommands/);
  expect(await levels({ weakenings: host.weakenings })).toEqual(["fail weakening", "fail weakening"]);
});

test("a store that cannot be believed is told once, not for each question that rests on it", async () => {
  const broken = () => Promise.reject(new HostError("ERR_STORE", "its mode is 0666"));
  expect(await levels({ records: broken, plan: broken })).toEqual(["fail settings"]);
});

test("[T24] storage that joins capabilities with different permissions is warned of", async () => {
  const ids = ["plugin__a__one", "plugin__a__two"];
  const sharedStorage = () => Promise.resolve(new Map([["a", ids]]));
  const rows = await examine({ ...SOUND, sharedStorage });
  expect(rows.find(({ id }) => id === "storage")).toMatchObject({ level: "warn" });
  expect(rows.find(({ id }) => id === "storage")?.what).toContain(ids.join(", "));
});

test("data of a lineage without a record is told, unless a record is too broken to say whose it is", async () => {
  const lineage = "a".repeat(32);
  expect(await levels({ lineages: () => [lineage] })).toEqual(["warn orphans"]);
  const key = { tenant: "local", directory: "/gone", name: "x" };
  const records = () => Promise.resolve([{ isSound: false as const, key, reason: "broken" }]);
  expect(await levels({ lineages: () => [lineage], records })).toEqual(["warn records"]);
});

test("a change in a package is told with the versions that it said it had", async () => {
  const packaged = (version: string) => ({
    "node_modules/tiny/package.json": `{ "name": "tiny", "version": "${version}", "main": "index.js" }`,
    "node_modules/tiny/index.js": `module.exports = "${version}";`,
  });
  const go = { go: 'import tiny from "tiny"; export const go = () => tiny;' };
  const directory = pluginOf("packed", go, { files: packaged("1.0.0") });
  const host = await hosted();
  const tenant = host.tenant("packed", { plugins: [directory] });
  const { hash } = await tenant.fingerprint("packed");
  await tenant.trust("packed", { fingerprint: hash, approver: "test" });
  pluginOf("packed", go, { files: packaged("2.0.0"), under: directory.slice(0, -"/packed".length) });
  expect(await tenant.diff("packed")).toMatchObject({
    packages: [{ path: "node_modules/tiny", change: "changed", before: "1.0.0", after: "2.0.0" }],
    escalations: [],
  });
});

test("[T13] what a plugin kept whose trust was forgotten is named, with the day on which it goes, and is no orphan beside", async () => {
  const lineage = "0123456789abcdef0123456789abcdef";
  const kept = {
    tenant: "t",
    lineage,
    name: "no\x1btes",
    directory: "/d",
    since: "2026-01-01T12:00:00.000Z",
  };
  const rows = await examine({ ...SOUND, retired: () => [kept], lineages: () => [lineage] });
  expect(rows.filter(({ level }) => level !== "ok")).toEqual([{
    id: "orphans",
    level: "warn",
    what:
      'what "no\\u{1b}tes" of /d kept belongs to nobody since 2026-01-01: its trust was forgotten. It is kept until 2026-01-31',
    cure: "sallyport list removes it then",
  }]);
  expect(await levels({ lineages: () => [lineage] })).toEqual(["warn orphans"]);
});

test("[R50] a state of a later version is passed over, and breaks nothing", async () => {
  const row = { name: "later", state: "hibernating", reason: "it sleeps" } as unknown as PluginRow; // of a later version
  expect(await levels({ plugins: () => Promise.resolve([row]) })).toEqual([]);
  expect(await levels({ plugins: () => Promise.resolve([{ ...row, state: "changed" }]) })).toEqual([
    "warn plugins",
  ]);
});
