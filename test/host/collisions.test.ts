import { join } from "node:path";
import { expect, test } from "vitest";
import { settingsTrustStore, type Tenant, type TenantOptions } from "../../src/mod.ts";
import { approve, failureOf, hosted, pluginOf, temporary, write } from "./support.ts";

const host = await hosted();
let count = 0;

function tenantOf(plugins: readonly string[], options: Omit<TenantOptions, "plugins"> = {}): Tenant {
  return host.tenant(`t${count++}`, { plugins, ...options });
}

function says(
  plugin: string,
  tool = "echo",
  files: Readonly<Record<string, string>> = {},
  more = "",
): string {
  const code = `export const ${tool} = () => ${JSON.stringify(plugin)};`;
  return pluginOf(plugin, { [tool]: code }, { files, head: more });
}

/** A plugin of one document, on a surface whose names are global. */
function documented(name: string, surface = "skills", path = "skills/weather/SKILL.md"): string {
  return pluginOf(name, {}, {
    head: `x-before: here\n`,
    files: {
      "plugin.yaml": `name: ${name}\nversion: "1"\ncapabilities: { ${surface}: ["${path}"] }\n`,
      [path]: surface === "playbooks" ? "steps: [{ name: a, instructions: b }]\n" : "# text\n",
    },
  });
}

function provider(name: string): string {
  return pluginOf(name, {}, {
    files: {
      "plugin.yaml":
        `name: ${name}\nversion: "1"\ncapabilities: { providers: [{ name: find, target: "a.ts:go" }] }\n`,
      "a.ts": "export const go = () => 1;",
    },
  });
}

async function trusted(tenant: Tenant, name: string, expose: readonly string[] = []): Promise<void> {
  const { hash } = await tenant.fingerprint(name);
  await tenant.trust(name, { fingerprint: hash, approver: "test", expose });
}

async function statesOf(tenant: Tenant): Promise<Record<string, string>> {
  return Object.fromEntries((await tenant.list()).map(({ name, state }) => [name, state]));
}

test("[T23] of two that nobody has trusted a name means neither, and each is trusted by its directory", async () => {
  const [mine, cloned] = [says("twin"), says("twin")];
  const both = tenantOf([cloned, mine]);
  expect(await failureOf(both.review("twin"))).toMatchObject({
    code: "ERR_NAME_AMBIGUOUS",
    details: { candidates: [cloned, mine] },
  });
  const alone = tenantOf([mine]);
  await approve(alone, "twin");
  expect(await alone.call("plugin__twin__echo", {})).toBe("twin");
});

test("[T23] a plugin that was changed since it was trusted takes no name from one that is active", async () => {
  const one = says("one");
  const tenant = tenantOf([one, says("two")], { naming: "bare" });
  await trusted(tenant, "one", ["echo"]);
  write(one, { "tools/echo.ts": "export const echo = () => 'evil';" });
  await trusted(tenant, "two", ["echo"]);
  const [changed, active] = await tenant.list();
  expect([changed!.state, active!.state]).toEqual(["changed", "active"]);
  expect(changed!.reason).toContain('"one" would collide');
  expect(await tenant.call("echo", {})).toBe("two");
  expect((await failureOf(trusted(tenant, "one", ["echo"]))).code).toBe("ERR_COLLISION");
});

test("[T23] beside a directory that only declares its name, a recorded plugin runs by name and id", async () => {
  const store = settingsTrustStore(join(temporary(), "home"));
  const mine = says("twin");
  const cloned = says("twin");
  const id = "plugin__twin__echo";
  const first = await hosted();
  await trusted(first.tenant("local", { plugins: [mine], store }), "twin", [id]);
  const second = await hosted();
  const tenant = second.tenant("local", { plugins: [cloned, mine], store });
  expect((await tenant.list()).map(({ state, directory }) => [state, directory])).toEqual([
    ["untrusted", cloned],
    ["active", mine],
  ]);
  expect((await tenant.list())[0]!.reason).toContain("would collide");
  expect((await tenant.facts("twin")).directory).toBe(mine);
  expect(await tenant.call(id, {})).toBe("twin");
  expect(await tenant.call("echo", {})).toBe("twin");
});

test("[T23] two of one name that were both trusted, each where it was alone, are offered neither until one is taken back", async () => {
  const store = settingsTrustStore(join(temporary(), "home"));
  const [mine, other] = [says("twin"), says("twin")];
  const one = (await hosted()).tenant("local", { plugins: [mine], store });
  await trusted(one, "twin", ["plugin__twin__echo"]);
  const two = (await hosted()).tenant("local", { plugins: [other], store });
  await trusted(two, "twin", ["plugin__twin__echo"]);
  const both = (await hosted()).tenant("local", { plugins: [mine, other], store });
  expect((await both.list()).map(({ state }) => state)).toEqual(["collision", "collision"]);
  const refused = await failureOf(both.call("plugin__twin__echo", {}));
  expect(refused.code).toBe("ERR_COLLISION");
  expect(refused.message).toContain(mine);
  expect(refused.message).toContain(other);
  await both.untrust(other);
  expect(await both.call("plugin__twin__echo", {})).toBe("twin");
});

test("[A18][T23] one tool name of two plugins is two ids; with naming bare the second to offer it is refused, and so is enabling it later", async () => {
  const plugins = [says("one"), says("two")];
  const qualified = tenantOf(plugins);
  for (const name of ["one", "two"]) await approve(qualified, name);
  expect(await qualified.call("plugin__one__echo", {})).toBe("one");
  expect(await qualified.call("plugin__two__echo", {})).toBe("two");

  const bare = tenantOf(plugins, { naming: "bare" });
  await trusted(bare, "one", ["echo"]);
  const refused = await failureOf(trusted(bare, "two", ["echo"]));
  expect(refused.code).toBe("ERR_COLLISION");
  for (const part of ['"one"', '"two"', "tools", '"echo"']) expect(refused.message).toContain(part);
  expect(await bare.call("echo", {})).toBe("one");
  expect(await statesOf(bare)).toEqual({ one: "active", two: "untrusted" });
  await bare.disable("one");
  await trusted(bare, "two", ["echo"]);
  expect(await bare.call("echo", {})).toBe("two");
  const enabling = await failureOf(bare.enable("one"));
  expect(enabling.code).toBe("ERR_COLLISION");
  expect(enabling.message).toMatch(/"one".*"two"/);
  expect(await statesOf(bare)).toEqual({ one: "disabled", two: "active" });
  expect(await bare.call("echo", {})).toBe("two");
});

test("[T23][L38] at a cold start with both names recorded neither is offered, other names of theirs are, and disabling one clears it", async () => {
  const store = settingsTrustStore(join(temporary(), "home"));
  const one = pluginOf("one", {
    echo: 'export const echo = () => "one";',
    own: 'export const own = () => "mine";',
  });
  const plugins = [one, says("two")];
  const before = (await hosted()).tenant("local", { plugins, store });
  await trusted(before, "one", ["echo", "own"]);
  await trusted(before, "two", ["echo"]);
  const tenant = (await hosted()).tenant("local", { plugins, store, naming: "bare" });
  const rows = await tenant.list();
  expect(rows.map(({ state }) => state)).toEqual(["collision", "collision"]);
  expect(rows[0]!.reason).toMatch(/"one".*"two".*"echo".*tools/);
  expect(rows[0]!.capabilities.map(({ withheld }) => withheld === null)).toEqual([false, true]);
  for (const id of ["plugin__one__echo", "plugin__two__echo"]) {
    expect((await failureOf(tenant.call(id, {}))).code).toBe("ERR_COLLISION");
  }
  expect(await tenant.call("own", {})).toBe("mine");
  await tenant.disable("two");
  expect(await tenant.call("echo", {})).toBe("one");
  expect((await tenant.list()).map(({ state }) => state)).toEqual(["active", "disabled"]);
});

test("[A20] expose and call take a full id, or a bare name that one exposed capability has", async () => {
  const tenant = tenantOf([says("one"), says("two", "other")]);
  for (const name of ["one", "two"]) await trusted(tenant, name);
  await tenant.expose(["echo", "plugin__two__other"]);
  expect(await tenant.call("echo", {})).toBe("one");
  expect(await tenant.call("other", {})).toBe("two");
});

test("[A21] a bare name that several have lists them; who is not trusted, or does not expose it, does not count", async () => {
  const tenant = tenantOf([says("one"), says("two"), says("three")]);
  await trusted(tenant, "one");
  await tenant.expose(["echo"]);
  expect(await tenant.call("echo", {})).toBe("one");
  await trusted(tenant, "two");
  expect(await failureOf(tenant.expose(["echo"]))).toMatchObject({
    code: "ERR_NAME_AMBIGUOUS",
    details: { candidates: ["plugin__one__echo", "plugin__two__echo"] },
  });
  expect(await tenant.call("echo", {})).toBe("one");
  await tenant.expose(["plugin__two__echo"]);
  const refused = await failureOf(tenant.call("echo", {}));
  expect(refused).toMatchObject({
    code: "ERR_NAME_AMBIGUOUS",
    details: { candidates: ["plugin__one__echo", "plugin__two__echo"] },
  });
});

test("[L35][L37] a name that the embedder has stays the embedder's, and the refusal names plugin, name and winner", async () => {
  const directory = pluginOf("search", {
    web_search: "export const web_search = () => 1;",
    other: "export const other = () => 2;",
  });
  const builtins = { tools: ["web_search", "plugin__search__other"] };
  const bare = tenantOf([directory], { naming: "bare", builtins });
  await trusted(bare, "search");
  for (const id of ["web_search", "plugin__search__other"]) {
    const refused = await failureOf(bare.expose([id]));
    expect(refused.code).toBe("ERR_COLLISION");
    for (const part of ['"search"', id, "built-in"]) expect(refused.message).toContain(part);
  }
  const qualified = tenantOf([directory], { builtins: { tools: ["web_search"] } });
  await approve(qualified, "search");
  expect(await qualified.call("plugin__search__web_search", {})).toBe(1);
});

test("[L35] a built-in that came later takes the name at the next start, and the list says so", async () => {
  const store = settingsTrustStore(join(temporary(), "home"));
  const plugins = [says("one")];
  await trusted((await hosted()).tenant("local", { plugins, store }), "one", ["echo"]);
  const tenant = (await hosted()).tenant("local", {
    plugins,
    store,
    naming: "bare",
    builtins: { tools: ["echo"] },
  });
  const [row] = await tenant.list();
  expect(row).toMatchObject({ state: "collision" });
  expect(row!.reason).toMatch(/"echo".*built-in.*"one"/);
  expect((await failureOf(tenant.call("plugin__one__echo", {}))).code).toBe("ERR_COLLISION");
});

test("[L36] documents collide at discovery, tools at registration, providers only when they are looked up", async () => {
  const documents = tenantOf([documented("one"), documented("two")]);
  await trusted(documents, "one", ["weather"]);
  expect(await statesOf(documents)).toEqual({ one: "active", two: "untrusted" });
  expect((await documents.list())[1]!.reason).toMatch(/"weather".*skills.*"two" would collide/);

  const tools = tenantOf([says("one"), says("two")], { naming: "bare" });
  await trusted(tools, "one", ["echo"]);
  await trusted(tools, "two");
  expect((await failureOf(tools.expose(["plugin__two__echo"]))).code).toBe("ERR_COLLISION");

  const providers = tenantOf([provider("one"), provider("two")]);
  await trusted(providers, "one", ["find"]);
  await trusted(providers, "two", ["find"]);
  expect(await statesOf(providers)).toEqual({ one: "active", two: "active" });
  const late = await failureOf(providers.resolve("find", "providers"));
  expect(late).toMatchObject({ code: "ERR_COLLISION", details: { surface: "providers", name: "find" } });
  expect(late.message).toMatch(/"one".*"two"/);
  await providers.untrust("two");
  expect(await providers.resolve("find", "providers")).toMatchObject({
    id: "plugin/one/find",
    plugin: "one",
  });
});

test("[L39] the user's own file wins a bare name over a plugin, and a line of the log says so", async () => {
  const lines: unknown[] = [];
  const logging = await hosted({
    audit: () => ({ write: (event) => void lines.push(event), close: () => {} }),
  });
  const tenant = logging.tenant("one", {
    plugins: [documented("one")],
    local: { skills: ["weather"] },
  });
  await trusted(tenant, "one", ["weather"]);
  await tenant.list();
  await tenant.list();
  const shadows = lines.filter((line) => JSON.stringify(line).includes("shadowed"));
  expect(shadows).toHaveLength(1);
  expect(shadows[0]).toMatchObject({ type: "expose", plugin: "one", details: { shadowed: "weather" } });
  expect(await tenant.resolve("weather", "skills")).toEqual({
    owner: "local",
    name: "weather",
    surface: "skills",
  });
  expect(await tenant.resolve("one/weather", "skills")).toMatchObject({ id: "one/weather" });
});

test("[L40] a document is addressed by its plugin and name, and by its bare name only where that is one", async () => {
  const tenant = tenantOf([
    documented("one", "playbooks", "p/deep.playbook.yaml"),
    documented("two", "playbooks", "p/deep.playbook.yaml"),
    documented("three", "agents", "a/deep.md"),
  ]);
  await trusted(tenant, "one", ["deep"]);
  await trusted(tenant, "three", ["deep"]);
  expect(await tenant.resolve("one/deep", "playbooks")).toMatchObject({ id: "one/deep", plugin: "one" });
  expect(await tenant.resolve("deep", "playbooks")).toMatchObject({ id: "one/deep" });
  expect(await tenant.resolve("deep", "agents")).toMatchObject({ id: "three/deep" });
  expect((await failureOf(tenant.resolve("deep"))).code).toBe("ERR_NAME_AMBIGUOUS");
});

test("[R50] a reference to a plugin that is gone is unavailable, and never another owner's", async () => {
  const store = settingsTrustStore(join(temporary(), "home"));
  const [gone, other] = [says("gone"), says("other")];
  const before = (await hosted()).tenant("local", { plugins: [gone, other], store });
  await trusted(before, "gone", ["echo"]);
  await trusted(before, "other", ["plugin__other__echo"]);
  const tenant = (await hosted()).tenant("local", { plugins: [other], store });
  expect((await failureOf(tenant.call("plugin__gone__echo", {}))).code).toBe("ERR_CAPABILITY_UNKNOWN");
  expect((await failureOf(tenant.resolve("gone/echo"))).code).toBe("ERR_CAPABILITY_UNKNOWN");
  expect(await tenant.call("plugin__other__echo", {})).toBe("other");
});

test("[R34] a name that two claim is refused before anything of either is built", async () => {
  const [one, two] = ["one", "two"].map((name) => pluginOf(name, { echo: "this is ( no code" }));
  const tenant = tenantOf([one!, two!], { naming: "bare", builtins: { tools: ["echo"] } });
  const plan = await tenant.plan({ enable: ["one", "two"] });
  expect(plan.collisions.map(({ message }) => message).join()).toMatch(/"one"/);
  const refused = await failureOf(tenant.expose(["plugin__one__echo"]));
  expect(refused.code).toBe("ERR_COLLISION"); // bundling it would have failed otherwise
});

test("[P16] of a batch with one name that is taken, none is exposed", async () => {
  const tenant = tenantOf([
    says("one"),
    pluginOf("two", {
      fine: "export const fine = () => 1;",
      echo: "export const echo = () => 2;",
    }),
  ], { naming: "bare" });
  await trusted(tenant, "one", ["echo"]);
  await trusted(tenant, "two");
  const refused = await failureOf(tenant.expose(["fine", "plugin__two__echo"]));
  expect(refused.code).toBe("ERR_COLLISION");
  expect((await failureOf(tenant.call("fine", {}))).code).toBe("ERR_CAPABILITY_NOT_EXPOSED");
  await tenant.expose(["fine"]);
  expect(await tenant.call("fine", {})).toBe(1);
});
