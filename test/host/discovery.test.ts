import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseTarget } from "../../src/manifest/mod.ts";
import { directoryLoader } from "../../src/mod.ts";
import { approve, failureOf, hosted, pluginOf, temporary, write } from "./support.ts";

const host = await hosted();
let count = 0;

/** A tenant that finds the folders of `directory`. */
function found(directory: string) {
  return host.tenant(`t${count++}`, { plugins: directoryLoader([{ directory, origin: "project" }]) });
}

/** A tenant of exactly these directories. */
function listed(...plugins: string[]) {
  return host.tenant(`t${count++}`, { plugins });
}

test("[L01] a bundle with every folder lists all that it offers", async () => {
  const directory = pluginOf("whole", { search: "export const search = () => 1;" }, {
    head: "permissions: { run: [hooks/rate] }\n",
    files: {
      "hooks/guard.ts": "export const guard = () => {};",
      "hooks/rate": "#!/bin/sh\n",
      "agents/researcher.md": "# Researcher\n",
      "playbooks/deep.playbook.yaml": "steps: [{ name: one, instructions: Begin }]\n",
      "providers/api.ts": "export const provider = {};",
      "packs/research.yaml": "roles: {}\n",
    },
  });
  write(directory, {
    "plugin.yaml": `name: whole
version: "1"
permissions: { run: ["hooks/rate"] }
capabilities:
  tools: [{ name: search, target: "tools/search.ts:search" }]
  hooks:
    PreToolUse: [{ matcher: "search", hooks: [{ type: module, target: "hooks/guard.ts:guard" }] }]
    PostToolUse: [{ matcher: "*", hooks: [{ type: command, command: ["hooks/rate"] }] }]
  agents: [agents/researcher.md]
  playbooks: [playbooks/deep.playbook.yaml]
  providers: [{ name: api, target: "providers/api.ts:provider" }]
  packs: [packs/research.yaml]
`,
  });
  const [row] = await listed(directory).list();
  expect(row).toMatchObject({ name: "whole", state: "untrusted", reason: null });
  expect([...new Set(row!.capabilities.map(({ surface }) => surface))].sort()).toEqual(
    ["agents", "hooks", "packs", "playbooks", "providers", "tools"],
  );
  expect(row!.capabilities.every(({ live }) => live)).toBe(true);
});

test("[L03] a folder without a manifest is ignored in silence, one with a manifest is found", async () => {
  const root = temporary();
  write(root, { "notes/readme.txt": "hello", "file.txt": "no folder" });
  pluginOf("real", { go: "export const go = () => 1;" }, { under: root });
  const rows = await found(root).list();
  expect(rows.map(({ name, state, reason }) => ({ name, state, reason }))).toEqual([
    { name: "real", state: "untrusted", reason: null },
  ]);
});

test("[L04] an invalid manifest excludes its plugin whole, naming file and field, and the scan goes on", async () => {
  const root = temporary();
  write(root, { "bad/plugin.yaml": 'name: bad\nversion: "1"\nplaybook: []\n' });
  pluginOf("good", { go: "export const go = () => 'still here';" }, { under: root });
  const tenant = found(root);
  const rows = await tenant.list();
  const bad = rows.find(({ name }) => name === "bad")!;
  expect(bad).toMatchObject({ state: "invalid", capabilities: [], version: null });
  expect(bad.reason).toContain(join(root, "bad/plugin.yaml"));
  expect(bad.reason).toContain("playbook");
  expect((await failureOf(tenant.manifest("bad"))).code).toBe("ERR_MANIFEST_INVALID");
  await approve(tenant, "good");
  expect(await tenant.call("plugin__good__go", {})).toBe("still here");
});

test.each([
  ["absolute", "/etc/passwd:go", {}],
  ["parent", "../outside.ts:go", {}],
  ["link that leaves", "tools/link.ts:go", { "tools/link.ts": { link: "../../outside.ts" } }],
])("[L05] a reference outside the bundle is refused at discovery: %s", async (_name, target, files) => {
  const directory = pluginOf("leaver", {}, { files });
  write(directory, {
    "../outside.ts": "export const go = () => 1;",
    "plugin.yaml": `name: leaver\nversion: "1"\ncapabilities: { tools: [{ name: go, target: ${
      JSON.stringify(target)
    } }] }\n`,
  });
  const [row] = await listed(directory).list();
  expect(row).toMatchObject({ state: "invalid", capabilities: [] });
});

test("[L05] a link that stays inside the bundle is a reference like any other", async () => {
  const directory = pluginOf("stayer", { go: "export const go = () => 'inside';" }, {
    files: { "tools/link.ts": { link: "go.ts" } },
  });
  write(directory, {
    "plugin.yaml":
      'name: stayer\nversion: "1"\ncapabilities: { tools: [{ name: go, target: "tools/link.ts:go" }] }\n',
  });
  const tenant = listed(directory);
  await approve(tenant, "stayer");
  expect(await tenant.call("go", {})).toBe("inside");
});

test("[L06] a plugin of data alone is valid, listed, and active once it is trusted", async () => {
  const directory = join(temporary(), "profiles");
  write(directory, {
    "plugin.yaml": 'name: profiles\nversion: "1"\ncapabilities: { agents: [agents/a.md] }\n',
    "agents/a.md": "# A\n",
  });
  const tenant = listed(directory);
  expect((await tenant.list())[0]).toMatchObject({ state: "untrusted", reason: null });
  await approve(tenant, "profiles");
  expect((await tenant.list())[0]!.state).toBe("active");
});

test("[L08] version and description are shown as written and never compared", async () => {
  const directory = pluginOf("words", { go: "export const go = () => 1;" });
  write(directory, {
    "plugin.yaml": "name: words\nversion: not-a-number!\ndescription: Of words\n",
  });
  expect((await listed(directory).list())[0]).toMatchObject({
    version: "not-a-number!",
    description: "Of words",
    state: "untrusted",
  });
});

test("[L09] out of range is `incompatible` and names the range; nothing of it loads, and the others survive", async () => {
  const root = temporary();
  pluginOf("future", { go: "export const go = () => 'never';" }, {
    head: 'sallyport: ">=99"\n',
    under: root,
  });
  pluginOf("present", { go: "export const go = () => 'here';" }, {
    head: 'sallyport: ">=0.1 <1"\n',
    under: root,
  });
  const tenant = found(root);
  expect((await tenant.list()).map(({ name, state }) => [name, state])).toEqual([
    ["future", "incompatible"],
    ["present", "untrusted"],
  ]);
  expect((await tenant.list())[0]!.reason).toContain(">=99");
  const { hash } = await tenant.fingerprint("future");
  const trust = await failureOf(tenant.trust("future", { fingerprint: hash, approver: "test" }));
  expect(trust.code).toBe("ERR_TRUST_INCOMPATIBLE");
  expect(trust.message).toContain(">=99");
  await tenant.expose(["plugin__future__go"]);
  expect((await failureOf(tenant.call("plugin__future__go", {}))).code).toBe("ERR_TRUST_INCOMPATIBLE");
  await approve(tenant, "present");
  expect(await tenant.call("plugin__present__go", {})).toBe("here");
});

test("[L10] listing, checking and pinning run nothing of a target", async () => {
  const directory = pluginOf("loud", {
    go:
      'console.log("ran"); globalThis.ran = true; await Deno.readTextFile("./trace"); export const go = () => 1;',
  });
  const tenant = listed(directory);
  const pids = await host.workerPids();
  await tenant.list();
  await tenant.manifest("loud");
  await tenant.check("loud");
  await tenant.fingerprint("loud");
  expect(await host.workerPids()).toEqual(pids);
  expect(readdirSync(directory).sort()).toEqual(["plugin.yaml", "tools"]);
  // The twin: once it is trusted and called, the very same top level runs, and is refused.
  await approve(tenant, "loud");
  expect((await failureOf(tenant.call("go", {}))).code).toBe("ERR_NOT_CAPABLE");
});

test("[L15] what the manifest refuses as a target is what the loader refuses: one parser", async () => {
  const spellings = [
    "tools/go.ts:go",
    "tools/go.ts",
    "tools/go.ts:go:go",
    ":go",
    "tools/go.ts:",
    "a b.ts:go",
    "tools//go.ts:go",
    "./tools/go.ts:go",
    "tools/go.ts:__proto__",
    "tools/go.ts:constructor",
    "tools\\go.ts:go",
    "tools/%67o.ts:go",
    "C:go.ts:go",
  ];
  for (const target of spellings) {
    const directory = pluginOf("spelled", { go: "export const go = () => 1;" }, {
      files: { "a b.ts": "export const go = () => 1;" },
    });
    write(directory, {
      "plugin.yaml": `name: spelled\nversion: "1"\ncapabilities: { tools: [{ name: go, target: ${
        JSON.stringify(target)
      } }] }\n`,
    });
    const tenant = listed(directory);
    const [row] = await tenant.list();
    expect([target, row!.state]).toEqual([target, parseTarget(target).ok ? "untrusted" : "invalid"]);
    if (parseTarget(target).ok) await tenant.fingerprint("spelled");
  }
  expect(parseTarget("tools/go.ts:go").ok).toBe(true);
});

test("[A10] the manifest of a name is that of its row, and an unknown name is a named error", async () => {
  const tenant = listed(pluginOf("known", { go: "export const go = () => 1;" }));
  const manifest = await tenant.manifest("known");
  const [row] = await tenant.list();
  expect(row).toMatchObject({
    name: manifest.name,
    version: manifest.version,
    permissions: manifest.permissions,
  });
  const error = await failureOf(tenant.manifest("unknown"));
  expect(error.code).toBe("ERR_CAPABILITY_UNKNOWN");
  expect(error.message).toContain('"known"');
});

test("[A08] listing twice gives equal rows that point at the bundle, and starts nothing", async () => {
  const directory = pluginOf("twice", { go: "export const go = () => 1;" });
  const tenant = listed(directory);
  const first = await tenant.list();
  expect(await tenant.list()).toEqual(first);
  expect(first[0]!.directory).toBe(directory);
  expect(existsSync(directory)).toBe(true);
});

test("[A06] a directory that is not on the list is never read", async () => {
  const root = temporary();
  const inside = pluginOf("inside", { go: "export const go = () => 1;" }, { under: root });
  pluginOf("beside", { go: "export const go = () => 1;" }, { under: root });
  expect((await listed(inside).list()).map(({ name }) => name)).toEqual(["inside"]);
});

test("[L02] roots are scanned in their order, and folders of one root by name", async () => {
  const [project, user] = [temporary(), temporary()];
  for (const name of ["zeta", "alpha"]) {
    pluginOf(name, { go: "export const go = () => 1;" }, { under: project });
  }
  pluginOf("beta", { go: "export const go = () => 1;" }, { under: user });
  mkdirSync(join(user, "empty"));
  const tenant = host.tenant("ordered", {
    plugins: directoryLoader([
      { directory: project, origin: "project" },
      { directory: user, origin: "user" },
      {
        directory: join(user, "missing"),
        origin: "none",
      },
    ]),
  });
  expect((await tenant.list()).map(({ name, origin }) => `${origin} ${name}`)).toEqual([
    "project alpha",
    "project zeta",
    "user beta",
  ]);
});
