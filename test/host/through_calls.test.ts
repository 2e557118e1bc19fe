/** What a plugin may reach by calling others, told before anybody approves it (T10). */
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Tenant, type TenantPolicy, type ThroughCall } from "../../src/mod.ts";
import { plugin } from "./plugin_calls_support.ts";
import { approve, approved, failureOf, hosted, temporary, write } from "./support.ts";

const OPEN: TenantPolicy = { permissions: { read: true, write: true, call: true, net: true } };
const host = await hosted();

/** A plugin with one tool, `go`. */
const one = (name: string, permissions: string, more = "callers: any"): string =>
  plugin(name, permissions, { go: { code: "return 1;", more } });
const go = (name: string): string => `plugin__${name}__go`;
const lines = (through: readonly ThroughCall[]): readonly string[] =>
  through.map(({ kind, entry, plugin: of, chain }) => `${kind} ${entry} ${of} ${chain.join(" ")}`);

test("[T10] what a plugin may reach through calls is what its callees are granted, and theirs: each once, by the shortest way", async () => {
  const plugins = [
    one("a", `{ call: ["${go("b")}"] }`),
    one("b", `{ call: ["plugin__c__*"], write: [/srv/b] }`),
    one("c", `{ call: ["${go("a")}", "${go("b")}"], read: { allow: [/srv/c, /srv/d], deny: [/srv/d] } }`),
    one("d", `{ call: true }`),
    one("e", `{ write: [/srv/e] }`),
  ];
  const tenant = await approved(host, "closure", { plugins, policy: OPEN });
  expect(lines(await tenant.throughCalls("a"))).toEqual([
    `write /srv/b b ${go("b")}`,
    `call plugin__c__* b ${go("b")}`,
    `read /srv/c c ${go("b")} ${go("c")}`,
    `call ${go("a")} c ${go("b")} ${go("c")}`,
    `call ${go("b")} c ${go("b")} ${go("c")}`,
  ]);
  expect(await tenant.throughCalls("e")).toEqual([]);
  const all = await tenant.throughCalls("d");
  expect(all.find(({ plugin: of }) => of === "c")?.chain).toEqual([go("c")]);
  expect(new Set(all.map(({ plugin: of }) => of))).toEqual(new Set(["a", "b", "c", "e"]));
  expect(all.filter(({ isGrave }) => isGrave).map(({ kind }) => kind)).toContain("call");
});

test("[T10] only what lists the caller, is exposed and is trusted is reached, and no more than was granted and its own part", async () => {
  const reached = async (id: string, callee: string, then: (tenant: Tenant) => Promise<unknown>) => {
    const tenant = host.tenant(id, { plugins: [one("a", "{ call: true }"), callee], policy: OPEN });
    await approve(tenant, "a");
    await then(tenant);
    return lines(await tenant.throughCalls("a"));
  };
  const all = (tenant: Tenant) => approve(tenant, "b");
  const way = `b ${go("b")}`;
  const asks = "{ write: [/srv/b, /srv/c] }";
  expect(await reached("any", one("b", asks), all)).toEqual([`write /srv/b ${way}`, `write /srv/c ${way}`]);
  expect(await reached("listed", one("b", asks, "callers: [a]"), all)).toHaveLength(2);
  expect(await reached("other", one("b", asks, "callers: [c]"), all)).toEqual([]);
  expect(await reached("unlisted", one("b", asks, ""), all)).toEqual([]);
  expect(await reached("untrusted", one("b", asks), (tenant) => tenant.expose([go("b")]))).toEqual([]);
  expect(
    await reached("hidden", one("b", asks), async (tenant) => {
      await all(tenant);
      await tenant.hide([go("b")]);
    }),
  ).toEqual([]);
  expect(
    await reached("disabled", one("b", asks), async (tenant) => {
      await all(tenant);
      await tenant.disable("b");
    }),
  ).toEqual([]);
  expect(
    await reached("less", one("b", asks), async (tenant) => {
      const { hash } = await tenant.fingerprint("b");
      const grants = { write: ["/srv/c"] };
      await tenant.trust("b", { fingerprint: hash, approver: "test", grants, expose: ["go"] });
    }),
  ).toEqual([`write /srv/c ${way}`]);
  const part = one("b", asks, "callers: any, permissions: { write: [/srv/b] }");
  expect(await reached("part", part, all)).toEqual([`write /srv/b ${way}`]);
});

test("[T10] before it is approved a plugin is told by what it asks for, and by what would be granted of that", async () => {
  const plugins = [
    one("a", `{ call: ["${go("b")}", "${go("c")}"] }`),
    one("b", "{ write: [/srv/b] }"),
    one("c", "{ write: [/srv/c] }"),
  ];
  const tenant = host.tenant("before", { plugins, policy: OPEN });
  for (const name of ["b", "c"]) await approve(tenant, name);
  expect(lines(await tenant.throughCalls("a"))).toEqual([
    `write /srv/b b ${go("b")}`,
    `write /srv/c c ${go("c")}`,
  ]);
  expect(lines(await tenant.throughCalls("a", { call: [go("c")] }))).toEqual([`write /srv/c c ${go("c")}`]);
  expect(await tenant.throughCalls("a", {})).toEqual([]);
  const shut = host.tenant("shut", { plugins, policy: { permissions: { write: true } } });
  for (const name of ["b", "c"]) await approve(shut, name);
  expect(await shut.throughCalls("a")).toEqual([]);
  expect((await failureOf(tenant.throughCalls("gone"))).code).toBe("ERR_CAPABILITY_UNKNOWN");
});

test("[T10] of plugins beside those of the tenant only what it has approved is told, and with attenuation nothing is reached by calling", async () => {
  const [caller, callee] = [one("a", "{ call: true }"), one("b", "{ write: [/srv/b] }")];
  const tenant = host.tenant("beside", {
    plugins: [caller],
    beside: { load: () => Promise.resolve([{ directory: callee, origin: "test" }]) },
    policy: OPEN,
  });
  // Nobody has approved it here.
  expect(await tenant.throughCalls("a")).toEqual([]);
  const cut = await approved(host, "cut", {
    plugins: [caller, callee],
    policy: { ...OPEN, calls: { attenuate: true } },
  });
  expect(await cut.throughCalls("a")).toEqual([]);
  const uncut = await approved(host, "uncut", { plugins: [caller, callee], policy: OPEN });
  expect(lines(await uncut.throughCalls("a"))).toEqual([`write /srv/b b ${go("b")}`]);
});

test("[T10] the bound of calls that wait for one another is the bound of what is told", async () => {
  const names = Array.from({ length: 11 }, (_, at) => `p${at}`);
  const plugins = names.map((name, at) =>
    one(name, `{ call: ["${go(`p${at + 1}`)}"], write: [/srv/${name}] }`)
  );
  const tenant = await approved(host, "deep", { plugins, policy: OPEN });
  const written = (await tenant.throughCalls("p0")).filter(({ kind }) => kind === "write");
  expect(written.map(({ plugin: of }) => of)).toEqual(names.slice(1, 9));
});

test("[T10] explain tells of what is denied by whom it may be reached, the place as the asker means it", async () => {
  const place = temporary();
  const callee = one("b", "{ read: [./data, /srv/x] }");
  write(callee, { "data/z": "z" });
  const caller = plugin("a", `{ call: true, read: [/srv/own] }`, {
    go: { code: "return 1;" },
    part: { code: "return 1;", more: "permissions: { read: [/srv/own] }" },
  });
  const plugins = [caller, callee];
  const tenant = await approved(host, "explained", { plugins, policy: OPEN });
  const through = async (value: string, capability?: string) =>
    (await tenant.explain("a", { kind: "read", value }, capability)).through;
  const way = [{ plugin: "b", chain: [go("b")] }];
  expect(await through("/srv/x/y")).toEqual(way);
  expect(await through("/srv/own/y")).toEqual([]); // its own: no detour is told
  expect(await through(join(place, "z"))).toEqual([]);
  expect(await through("./data/z")).toEqual([]); // in the asker's directory, not in the callee's
  expect(await through(join(callee, "data/z"))).toEqual(way);
  expect(await through("/srv/x/y", "plugin__a__go")).toEqual(way);
  expect(await through("/srv/x/y", "plugin__a__part")).toEqual([]);
  const cut = await approved(host, "uncalled", { plugins, policy: { ...OPEN, calls: { attenuate: true } } });
  expect((await cut.explain("a", { kind: "read", value: "/srv/x/y" })).through).toEqual([]);
});
