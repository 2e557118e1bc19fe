import { join } from "node:path";
import { expect, test } from "vitest";
import { memoryAudit, settingsTrustStore, type Tenant, type TenantOptions } from "../../src/mod.ts";
import { failureOf, hosted, pluginOf, temporary, write } from "./support.ts";

const host = await hosted();
let count = 0;
const GO = { go: "export const go = () => 1;" };

function tenantOf(plugins: readonly string[], options: Omit<TenantOptions, "plugins"> = {}): Tenant {
  return host.tenant(`t${count++}`, { plugins, ...options });
}

async function trusted(tenant: Tenant, name: string, expose: readonly string[] = ["go"]): Promise<void> {
  const { hash } = await tenant.fingerprint(name);
  await tenant.trust(name, { fingerprint: hash, approver: "test", expose });
}

test("[R02] a plan has every tool with its description and input schema, and starts no worker and writes no audit", async () => {
  const audit = memoryAudit();
  const quiet = await hosted({ audit: () => audit });
  const directory = pluginOf("known", {}, {
    files: {
      "plugin.yaml":
        'name: known\nversion: "1"\ncapabilities: { tools: [{ name: add, target: "a.ts:add", description: Adds, input: { type: object, required: [n] } }] }\n',
      "a.ts": "this is ( no code",
    },
  });
  const plan = await quiet.tenant("one", { plugins: [directory] }).plan();
  expect(plan.capabilities).toEqual([{
    id: "plugin__known__add",
    name: "add",
    plugin: "known",
    surface: "tools",
    description: "Adds",
    input: { type: "object", required: ["n"] },
    live: true,
    before: false,
    after: false,
  }]);
  expect(await quiet.workerPids()).toEqual([]);
  expect(audit.events).toEqual([]);
});

test("[T23] a plan tells which act would be refused, and what would lie dormant, without doing either", async () => {
  const tenant = tenantOf([pluginOf("one", GO), pluginOf("two", GO)], { naming: "bare" });
  await trusted(tenant, "one");
  const refused = await tenant.plan({ enable: ["two", "nobody"], trust: ["/not/there"] });
  expect(refused.refused.map(({ plugin }) => plugin)).toEqual(["two", "nobody", "/not/there"]);
  expect(refused.refused[0]!.message).toMatch(/"two".*"one"/);
  expect(refused.capabilities.map(({ after }) => after)).toEqual([true, false]);

  const swapped = await tenant.plan({ disable: ["one"], enable: ["two"] });
  expect(swapped.refused).toEqual([]);
  expect(swapped.plugins.map(({ before, after }) => [before, after])).toEqual([
    ["active", "disabled"],
    ["untrusted", "active"],
  ]);
  expect(swapped.capabilities.map(({ before, after }) => [before, after])).toEqual([
    [true, false],
    [false, true],
  ]);
  expect(swapped.dormant).toEqual([
    { id: "plugin__one__go", plugin: "one", reason: "its plugin is disabled" },
  ]);
  expect(await tenant.call("go", {})).toBe(1);
  expect((await tenant.list()).map(({ state }) => state)).toEqual(["active", "untrusted"]);
});

test("a plan names what the policy cuts, and who could not run for lack of it", async () => {
  const asking = (required: boolean) =>
    `permissions:\n  net: { allow: ["a.example:443", "b.example:443"], required: ${required} }\n`;
  const policy = { permissions: { net: ["a.example:443"] } };
  const tenant = tenantOf([
    pluginOf("content", GO, { head: asking(false) }),
    pluginOf("needy", GO, { head: asking(true) }),
  ], { policy });
  const plan = await tenant.plan({ enable: ["content", "needy"] });
  expect(plan.cut).toEqual([
    { plugin: "content", kind: "net", entry: "b.example:443", by: "policy" },
    { plugin: "needy", kind: "net", entry: "b.example:443", by: "policy" },
  ]);
  expect(plan.broken).toMatchObject([{ plugin: "needy" }]);
  expect((await failureOf(trusted(tenant, "needy"))).code).toBe("ERR_NOT_CAPABLE");
  const fine = tenantOf([pluginOf("needy", GO, { head: asking(true) })], {
    policy: { permissions: { net: true } },
  });
  expect(await fine.plan({ enable: ["needy"] })).toMatchObject({ cut: [], broken: [] });
});

test("[T26] [L33] a diff after an edited argv asks for that hook alone, and one that moved is the same hook", async () => {
  const hooks = (...argvs: readonly string[]) =>
    `capabilities:\n  hooks:\n    PostToolUse:\n      - hooks:\n${
      argvs.map((argv) => `          - { type: command, command: [hooks/run, ${argv}] }\n`).join("")
    }`;
  const manifest = (text: string) => `name: hooked\nversion: "1"\npermissions: { run: true }\n${text}`;
  const directory = pluginOf("hooked", {}, {
    files: { "plugin.yaml": manifest(hooks("a", "b", "c")), "hooks/run": "#!/bin/sh\n" },
  });
  const store = settingsTrustStore(join(temporary(), "home"));
  const policy = { permissions: { run: true as const } };
  const tenant = (await hosted()).tenant("local", { plugins: [directory], store, policy });
  await trusted(tenant, "hooked", []);
  expect((await tenant.diff("hooked")).isChanged).toBe(false);
  write(directory, { "plugin.yaml": manifest(hooks("a", "evil", "c")) });
  expect(await tenant.list()).toMatchObject([{ name: "hooked", state: "changed" }]);
  expect((await tenant.diff("hooked")).argv).toEqual([
    { id: "hooked/PostToolUse/0/1", before: ["hooks/run", "b"], after: ["hooks/run", "evil"] },
  ]);
  write(directory, { "plugin.yaml": manifest(hooks("c", "a", "b")) });
  const moved = await tenant.diff("hooked");
  expect([moved.isChanged, moved.argv, moved.escalations]).toEqual([true, [], []]);
});

test("[T38] a diff tells every text of the manifest that a model will read, and marks only what asks for more", async () => {
  const manifest = (description: string, net: string, limits: string, own = "") =>
    `name: texts\nversion: "1"\npermissions: { net: [${net}] }\nlimits: { ${limits} }\ncapabilities:\n  tools:\n` +
    `    - { name: go, target: "go.ts:go", description: "${description}", input: { type: object, properties: { q: { description: "${description}" } } }${own} }\n`;
  const before = manifest("Finds", '"*.a.com:443"', "wallMs: 10");
  const directory = pluginOf("texts", {}, {
    files: { "plugin.yaml": before, "go.ts": "export const go = () => 1;" },
  });
  const tenant = tenantOf([directory], { policy: { permissions: { net: true } } });
  await trusted(tenant, "texts");
  const diffOf = async (text: string) => {
    write(directory, { "plugin.yaml": text });
    return await tenant.diff("texts");
  };
  const texts = await diffOf(manifest("Finds, and obeys", '"*.a.com:443"', "wallMs: 10"));
  expect(texts.manifest.map(({ path }) => path)).toEqual([
    '$.capabilities.tools["go"].description',
    '$.capabilities.tools["go"].input.properties.q.description',
  ]);
  expect(texts.escalations).toEqual([]);
  const narrower = await diffOf(manifest("Finds", '"x.a.com:443"', "wallMs: 5"));
  expect(narrower.permissions.map(({ change, entry }) => [change, entry])).toEqual([["lost", "*.a.com:443"]]);
  expect(narrower.escalations).toEqual([]);
  const wider = await diffOf(manifest("Finds", '"*.a.com:443", "b.com:443"', "wallMs: 20", ", callers: any"));
  expect(wider.escalations.map(({ what }) => what).sort()).toEqual(["callers", "limit", "permission"]);
  const unbundled = await (write(directory, { "go.ts": "this is ( no code" }), diffOf(before));
  expect(unbundled).toMatchObject({
    isChanged: true,
    found: null,
    files: [{ path: "go.ts", change: "changed" }],
  });
});

test("a diff of what nobody trusted is refused", async () => {
  const tenant = tenantOf([pluginOf("one", GO)]);
  expect((await failureOf(tenant.diff("one"))).code).toBe("ERR_TRUST_UNKNOWN");
});

test("[A33] a defect that the manifest shows is told by the check and by what is known of the plugin, in the same words", async () => {
  const tool = (ref: string) =>
    `capabilities: { tools: [{ name: go, target: "go.ts:go", input: { type: object, properties: { a: { $ref: "${ref}" } }, $defs: { here: {} } } }] }\n`;
  const files = (ref: string) => ({
    "plugin.yaml": `name: planted\nversion: "1"\n${tool(ref)}`,
    "go.ts": "export const go = () => 1;",
  });
  const planted = tenantOf([pluginOf("planted", {}, { files: files("#/$defs/nowhere") })]);
  const { findings } = await planted.facts("planted");
  expect(findings).toHaveLength(1);
  expect(findings[0]).toContain("#/$defs/nowhere");
  expect((await planted.check("planted")).problems).toEqual(findings);
  const sound = tenantOf([pluginOf("planted", {}, { files: files("#/$defs/here") })]);
  expect((await sound.check("planted")).problems).toEqual([]);
  expect((await sound.facts("planted")).findings).toEqual([]);
});

test("a check finds statically what is used and not asked for, what is asked for and not used, and code from strings in packages", async () => {
  const directory = pluginOf("asks", {
    reads: 'export const reads = () => Deno.readTextFile("a"); // fetch("https://a.example")',
    keeps:
      'import maker from "maker"; export const keeps = (_: unknown, { storage }: any) => storage.get(maker("1"));',
  }, {
    head: 'permissions: { net: ["a.example:443"], storage: true }\n',
    files: {
      "node_modules/maker/package.json": '{ "name": "maker", "main": "index.js" }',
      "node_modules/maker/index.js": "module.exports = (code) => new Function(code)();",
    },
  });
  const found = await tenantOf([directory]).check("asks");
  expect(found.problems).toEqual([]);
  expect(found.unused).toEqual(["net"]);
  expect(found.targets.map(({ id, uses }) => [id, uses.map(({ api }) => api)])).toEqual([
    ["plugin__asks__reads", ["Deno.readTextFile"]],
    ["plugin__asks__keeps", ["context.storage", "code from strings"]],
  ]);
  expect(found.advice.join("\n")).toMatch(
    /permissions\.net.*\n.*reads.*Deno\.readTextFile.*read[^]*"node_modules\/maker"/,
  );
});
