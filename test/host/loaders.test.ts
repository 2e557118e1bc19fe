import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as library from "../../src/mod.ts";
import { directoryLoader, instancesLoader, type Loader, npmLoader } from "../../src/mod.ts";
import { approve, failureOf, hosted, pluginOf, ROOT, temporary, write } from "./support.ts";

const host = await hosted();
let count = 0;

function tenantOf(plugins: Loader | readonly string[]) {
  return host.tenant(`t${count++}`, { plugins });
}

const ECHO = {
  "plugin.yaml": 'name: echo\nversion: "1"\ncapabilities: { tools: [{ name: say, target: "say.ts:say" }] }\n',
  "say.ts":
    'import { twice } from "./twice.ts";\nexport const say = ({ text }: { text: string }) => twice(text);',
  "twice.ts": "export const twice = (text: string) => text + text;",
};

const GO = { go: "export const go = () => 1;" };

test("[A01] a loader is replaceable, and what is none is refused before anything is asked of it", async () => {
  for (const none of [null, undefined, 7, {}, { load: 1 }]) {
    expect(() => tenantOf(none as unknown as Loader)).toThrow(
      expect.objectContaining({ code: "ERR_USAGE" }),
    );
  }
  const directory = pluginOf("found", GO);
  const rows = await tenantOf({ load: () => Promise.resolve([{ directory, origin: "custom" }]) }).list();
  expect(rows.map(({ name, origin }) => `${origin} ${name}`)).toEqual(["custom found"]);
});

test("[A02] the default loader is a function of the interface, and its class is nowhere in the public entry", () => {
  const loader: Loader = directoryLoader([{ directory: temporary(), origin: "project" }]);
  expect(Object.keys(loader).sort()).toEqual(["load", "roots"]);
  expect(Object.keys(library).filter((name) => /^[A-Z].*Loader$/.test(name))).toEqual([]);
});

test("[A03] a manifest that is missing or has no name excludes that plugin, and a name that two have is nobody's", async () => {
  const missing = temporary();
  const nameless = temporary();
  write(nameless, { "plugin.yaml": 'name: ""\nversion: "1"\n' });
  const [one, two, fine] = ["twin", "twin", "fine"].map((name) => pluginOf(name, GO));
  const tenant = tenantOf([missing, nameless, one!, two!, fine!]);
  const rows = await tenant.list();
  expect(rows.map(({ state }) => state)).toEqual([
    "untrusted",
    "untrusted",
    "untrusted",
    "invalid",
    "invalid",
  ]);
  expect(rows.find(({ directory }) => directory === nameless)?.reason).toContain("name");
  const refused = await failureOf(tenant.review("twin"));
  expect(refused.code).toBe("ERR_NAME_AMBIGUOUS");
  for (const directory of [one!, two!]) expect(refused.message).toContain(directory);
});

test("[A04] what a loader finds is neither approved nor exposed", async () => {
  const directory = pluginOf("inert", GO);
  const more = {
    directory,
    origin: "custom",
    enabled: true,
    exposed: ["plugin__inert__go"],
    state: "active",
  };
  const [row] = await tenantOf({ load: () => Promise.resolve([more]) }).list();
  expect(row).toMatchObject({ state: "untrusted", capabilities: [{ exposed: false }] });
});

test("[A05] plugins given as instances need no file, and are trusted, bundled and called like any other", async () => {
  const other = { "plugin.yaml": 'name: other\nversion: "1"\n' };
  const tenant = tenantOf(instancesLoader(ECHO, other));
  expect((await tenant.list()).map(({ name, directory }) => [name, existsSync(directory)])).toEqual([
    ["echo", false],
    ["other", false],
  ]);
  await approve(tenant, "echo");
  expect(await tenant.call("plugin__echo__say", { text: "ab" })).toBe("abab");
});

test("[A16] a directory's plugins come in one order, whatever order the folders were made in", async () => {
  const roots = [["b", "a", "c10", "c2"], ["c2", "c10", "b", "a"]].map((names) => {
    const root = temporary();
    for (const name of names) pluginOf(name, GO, { under: root });
    return root;
  });
  const orders = await Promise.all(roots.map(async (directory) => {
    const rows = await tenantOf(directoryLoader([{ directory, origin: "user" }])).list();
    return rows.map(({ name }) => name);
  }));
  expect(orders).toEqual([["a", "b", "c10", "c2"], ["a", "b", "c10", "c2"]]);
});

test("[A14] two bundles with two versions of one package see each its own", async () => {
  const directories = ["one", "two"].map((version) =>
    pluginOf(version, { which: 'import { version } from "dep";\nexport const which = () => version;' }, {
      files: {
        "node_modules/dep/package.json": '{"name":"dep","main":"index.js"}',
        "node_modules/dep/index.js": `exports.version = "${version}";`,
      },
    })
  );
  const tenant = tenantOf(directories);
  for (const name of ["one", "two"]) await approve(tenant, name);
  expect(await tenant.call("plugin__one__which", {})).toBe("one");
  expect(await tenant.call("plugin__two__which", {})).toBe("two");
});

test("[L47] a plugin among installed packages is found by name alone and approved by nothing", async () => {
  const project = temporary();
  const trap = 'require("node:fs").writeFileSync("loaded", "");';
  write(project, {
    "node_modules/@acme/hello/plugin.yaml": 'name: hello\nversion: "1"\n',
    "node_modules/@acme/hello/package.json": '{"name":"@acme/hello","main":"index.js"}',
    "node_modules/@acme/hello/index.js": trap,
    "node_modules/plain/package.json": '{"name":"plain"}',
    "app/src/.keep": "",
  });
  const tenant = tenantOf(
    npmLoader({ packages: ["plain", "@acme/hello", "absent"], directory: join(project, "app/src") }),
  );
  const rows = await tenant.list();
  expect(rows.map(({ name, state, origin }) => ({ name, state, origin }))).toEqual([
    { name: "hello", state: "untrusted", origin: "npm @acme/hello" },
  ]);
  expect(existsSync("loaded")).toBe(false);
  for (const name of ["../evil", "/etc", "a/b", ""]) {
    expect(() => npmLoader({ packages: [name], directory: project })).toThrow(
      expect.objectContaining({ code: "ERR_USAGE" }),
    );
  }
});

test("[L48] another product's manifest beside ours changes nothing", async () => {
  const directory = pluginOf("ours", GO);
  const before = await tenantOf([directory]).fingerprint("ours");
  write(directory, {
    "plugin.json": '{"name":"theirs","permissions":["all"]}',
    ".claude-plugin/plugin.json": "{}",
  });
  const tenant = tenantOf([directory]);
  expect((await tenant.list()).map(({ name, permissions }) => ({ name, permissions }))).toEqual([
    { name: "ours", permissions: {} },
  ]);
  expect((await tenant.fingerprint("ours")).hash).toBe(before.hash);
});

test("[P10] a list with a hole, a stranger or a place twice is refused whole, and nothing of it is read", async () => {
  const directory = pluginOf("fine", GO);
  const place = { directory, origin: "custom" };
  const sparse = [place];
  sparse[2] = { ...place, directory: `${directory}2` };
  for (
    const bad of [sparse, [place, place], [place, "x"], [{ directory: "relative", origin: "custom" }], "none"]
  ) {
    const tenant = tenantOf({ load: () => Promise.resolve(bad as never) });
    expect((await failureOf(tenant.list())).code).toBe("ERR_USAGE");
  }
  expect((await tenantOf({ load: () => Promise.resolve([place]) }).list()).map(({ name }) => name)).toEqual([
    "fine",
  ]);
});

test("[L53] what is out of scope is written down, item by item", () => {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const section = readme.split(/^## /m).find((part) => part.startsWith("Out of scope\n")) ?? "";
  expect(section.match(/^- /gm)?.length ?? 0).toBeGreaterThan(4);
});
