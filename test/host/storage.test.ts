/** What plugins keep: storage and $data, across hosts, and not across plugins or tenants. */
import { existsSync, readdirSync, realpathSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createHost, memoryAudit } from "../../src/mod.ts";
import { failureOf, pluginOf, temporary, write } from "./support.ts";

const NOTES = {
  note: `export async function note({ set, get, file }, { storage }) {
    if (set !== undefined) await storage.set("note", set);
    if (get === true) return [await storage.get("note") ?? null, await storage.list()];
    if (file !== undefined) await Deno.writeTextFile("$data/note.txt", file);
    return await Deno.readTextFile("$data/note.txt").catch((e) => e.name);
  }`,
};
const HEAD = `permissions: { storage: { maxBytes: 4096 }, read: ["$data"], write: ["$data"] }\n`;
const POLICY = { permissions: { storage: true, read: ["$data"], write: ["$data"] } } as const;
const LINEAGE = "0123456789abcdef0123456789abcdef";

/** Opens a host of this home, trusts the plugins, and calls each with its inputs; gives the results. */
async function session(
  home: string,
  calls: readonly { tenant?: string; plugin: string; lineage?: string; inputs: readonly unknown[] }[],
): Promise<unknown[]> {
  await using host = await createHost({ confinement: "best", home, audit: () => memoryAudit() });
  const results: unknown[] = [];
  const ids = [...new Set(calls.map(({ tenant }) => tenant ?? "t"))];
  const tenants = new Map(ids.map((id) => {
    const plugins = [
      ...new Set(calls.filter((call) => (call.tenant ?? "t") === id).map(({ plugin }) => plugin)),
    ];
    return [id, host.tenant(id, { policy: POLICY, plugins })];
  }));
  for (const { tenant: id = "t", plugin, lineage, inputs } of calls) {
    const tenant = tenants.get(id)!;
    const name = plugin.split("/").at(-1)!;
    const { hash: fingerprint } = await tenant.fingerprint(name);
    await tenant.trust(name, {
      fingerprint,
      approver: "test",
      ...(lineage === undefined ? {} : { lineage }),
    });
    await tenant.expose([`plugin__${name}__note`]);
    for (const input of inputs) results.push(await tenant.call(`plugin__${name}__note`, input));
  }
  return results;
}

test("storage and $data survive a restart under one lineage, and are private files below home", async () => {
  const home = join(realpathSync(temporary()), "home");
  const notes = pluginOf("notes", NOTES, { head: HEAD });
  expect(await session(home, [{ plugin: notes, lineage: LINEAGE, inputs: [{ get: true }, {}] }])).toEqual([
    [null, []],
    "NotFound",
  ]);
  expect(existsSync(join(home, "data"))).toBe(false); // made when it is first written to
  await session(home, [{
    plugin: notes,
    lineage: LINEAGE,
    inputs: [{ set: { text: "kept" }, file: "kept" }],
  }]);
  expect(await session(home, [{ plugin: notes, lineage: LINEAGE, inputs: [{ get: true }, {}] }])).toEqual([
    [{ text: "kept" }, ["note"]],
    "kept",
  ]);
  expect(statSync(join(home, "storage/t.sqlite")).mode & 0o777).toBe(0o600);
  expect(statSync(join(home, "data/t", LINEAGE)).mode & 0o777).toBe(0o700);
});

test("[T13] another plugin, another tenant and another lineage of the same plugin find nothing", async () => {
  const home = join(realpathSync(temporary()), "home");
  const [notes, other] = [pluginOf("notes", NOTES, { head: HEAD }), pluginOf("other", NOTES, { head: HEAD })];
  const nothing = [[null, []], "NotFound"];
  const look = [{ get: true }, {}];
  expect(
    await session(home, [
      { plugin: notes, lineage: LINEAGE, inputs: [{ set: "mine", file: "mine" }, ...look] },
      { plugin: other, lineage: "f".repeat(32), inputs: look },
      { tenant: "u", plugin: notes, lineage: LINEAGE, inputs: look },
    ]),
  ).toEqual(["mine", ["mine", ["note"]], "mine", ...nothing, ...nothing]);
  expect(await session(home, [{ plugin: notes, lineage: "e".repeat(32), inputs: look }])).toEqual(nothing);
});

test("[T17] without a lineage both last as long as the host, and leave nothing behind", async () => {
  const home = join(realpathSync(temporary()), "home");
  const notes = pluginOf("notes", NOTES, { head: HEAD });
  const before = readdirSync("/tmp").filter((name) => /^sallyport-[0-9a-f]{32}$/.test(name));
  expect(
    await session(home, [
      { plugin: notes, inputs: [{ set: 1, file: "passing" }] },
      { plugin: notes, inputs: [{ get: true }, {}] }, // trusted again in the same process
    ]),
  ).toEqual(["passing", [1, ["note"]], "passing"]);
  expect(await session(home, [{ plugin: notes, inputs: [{ get: true }, {}] }])).toEqual([
    [null, []],
    "NotFound",
  ]);
  expect(existsSync(join(home, "storage"))).toBe(false);
  expect(existsSync(join(home, "data"))).toBe(false);
  expect(readdirSync("/tmp").filter((name) => /^sallyport-[0-9a-f]{32}$/.test(name))).toEqual(before);
});

test("a home behind a link works: $data is granted by its real place", async () => {
  const root = realpathSync(temporary());
  symlinkSync("real", join(root, "link"));
  const notes = pluginOf("notes", NOTES, { head: HEAD });
  write(root, { "real/x": "" });
  expect(
    await session(join(root, "link/home"), [{ plugin: notes, lineage: LINEAGE, inputs: [{ file: "x" }] }]),
  ).toEqual(["x"]);
});

test("the tenant's policy bounds the file of all storages", async () => {
  const home = join(realpathSync(temporary()), "home");
  await using host = await createHost({ confinement: "best", home, audit: () => memoryAudit() });
  const notes = pluginOf("notes", NOTES, { head: "permissions: { storage: true }\n" });
  const tenant = host.tenant("t", { policy: { ...POLICY, storageBytesMax: 65_536 }, plugins: [notes] });
  const { hash } = await tenant.fingerprint("notes");
  await tenant.trust("notes", { fingerprint: hash, approver: "test", lineage: LINEAGE });
  await tenant.expose(["plugin__notes__note"]);
  const set = (chars: number) => tenant.call("plugin__notes__note", { set: "x".repeat(chars), get: true });
  expect((await failureOf(set(70_000))).details).toMatchObject({ name: "LimitError" });
  expect(await set(20_000)).toEqual(["x".repeat(20_000), ["note"]]);
});

test("[T30] a script has storage only with its flag, keyed by its real path", async () => {
  const root = realpathSync(temporary());
  const home = join(root, "home");
  write(root, {
    "a.ts": `export default async (_input, { storage }) => {
      const count = (await storage.get("runs") ?? 0) + 1;
      await storage.set("runs", count);
      return count;
    }`,
  });
  write(root, { "b.ts": `export { default } from "./a.ts";` });
  symlinkSync("a.ts", join(root, "c.ts"));
  const run = async (file: string, permissions = {}) => {
    await using host = await createHost({ confinement: "best", home, audit: () => memoryAudit() });
    const options = { permissions, cwd: root, environment: {}, limits: {} };
    return await host.script("local", join(root, file), options).run(null);
  };
  expect((await failureOf(run("a.ts"))).code).toBe("ERR_NOT_CAPABLE");
  const allowed = { storage: { allow: true } } as const;
  expect([await run("a.ts", allowed), await run("a.ts", allowed), await run("c.ts", allowed)]).toEqual([
    1,
    2,
    3,
  ]);
  expect(await run("b.ts", allowed)).toBe(1);
});
