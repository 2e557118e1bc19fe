import { appendFileSync, chmodSync, cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { settingsTrustStore, type Tenant, type TenantOptions, type TrustStore } from "../../src/mod.ts";
import { failureOf, hosted, pluginOf, refusalOf, temporary, write } from "../host/support.ts";

const host = await hosted();
let count = 0;

/** A plugin that names a file of every kind, imports, and reads. */
function plugin() {
  return pluginOf("pinned", {
    go:
      'import { help } from "./help.js"; import { pack } from "pack"; import { space } from "./space.js"; export const go = () => help + space + pack;',
    later: "export const later = () => 2;",
  }, {
    head: `permissions: { read: ["./data"], net: ["a.example:443", "b.example:443"] }\n`,
    files: {
      "tools/help.js": 'export const help = "help";',
      "tools/space.ts": 'export const space = " ";',
      "node_modules/pack/package.json": '{"name":"pack","version":"1.2.3","main":"index.js"}',
      "node_modules/pack/index.js": 'module.exports = { pack: require("./deep/er.js") };',
      "node_modules/pack/deep/er.js": 'module.exports = "pack";',
      "data/a.txt": "data",
      "prompts/brief.md": "# Brief",
      "skills/weather/SKILL.md": "# Weather",
      "agents/one.md": "# One",
      "playbooks/a.playbook.yaml": "steps: [{ name: a, instructions: b }]",
      "packs/a.yaml": "roles: {}",
      "themes/dusk/theme.json": "{}",
      "hooks/guard": "#!/bin/sh\n",
      "hooks/guard.ts": "export const guard = () => {};",
      "README.md": "not pinned",
    },
  });
}

const MORE = `  hooks:
    PreToolUse:
      - matcher: "*"
        hooks: [{ type: command, command: [hooks/guard, "--quiet"] }, { type: module, target: "hooks/guard.ts:guard" }]
  prompts: [prompts/brief.md]
  skills: [skills/weather/SKILL.md]
  agents: [agents/one.md]
  playbooks: [playbooks/a.playbook.yaml]
  packs: [packs/a.yaml]
  themes: [themes/dusk/theme.json]
`;

function whole(): string {
  const directory = plugin();
  appendFileSync(join(directory, "plugin.yaml"), MORE);
  return directory;
}

/** A tenant as a new process opens it: one that has read nothing yet. */
function opened(directory: string, store: TrustStore | undefined, more: Partial<TenantOptions> = {}): Tenant {
  return host.tenant(`t${count++}`, {
    plugins: [directory],
    policy: { permissions: { read: true, net: true, write: true, storage: true } },
    ...(store === undefined ? {} : { store: sharing(store) }),
    ...more,
  });
}

/** Tenants of one host have different ids; here they stand for processes of one tenant. */
function sharing(store: TrustStore): TrustStore {
  const tenant = "t";
  return {
    get: (key) => store.get({ ...key, tenant }),
    list: (id) => store.list(tenant).then((all) => all.map((each) => renamed(each, id))),
    put: (record, pins) => store.put({ ...record, tenant }, pins),
    remove: (key) => store.remove({ ...key, tenant }),
    pins: (fingerprint) => store.pins(fingerprint),
  };
}

function renamed<Stored extends Awaited<ReturnType<TrustStore["list"]>>[number]>(
  stored: Stored,
  tenant: string,
): Stored {
  return stored.isSound
    ? { ...stored, record: { ...stored.record, tenant } }
    : { ...stored, key: { ...stored.key, tenant } };
}

async function trusted(directory: string) {
  const home = join(temporary(), "home");
  const store = settingsTrustStore(home);
  const tenant = opened(directory, store);
  const { hash } = await tenant.fingerprint("pinned");
  await tenant.trust("pinned", { fingerprint: hash, approver: "ada", expose: ["go", "later"] });
  return { home, store, hash, tenant };
}

const stateOf = async (tenant: Tenant) => (await tenant.list())[0]!.state;

describe("a record", () => {
  test("lets a new process run the plugin, with what was exposed; what was not is refused", async () => {
    const directory = plugin();
    const { store, hash, tenant } = await trusted(directory);
    expect(await tenant.record("pinned")).toMatchObject({
      directory,
      name: "pinned",
      algorithm: "sallyport-1",
      fingerprint: hash,
      approver: "ada",
      grants: { read: { allow: ["./data"] }, net: { allow: ["a.example:443", "b.example:443"] } },
      exposed: ["plugin__pinned__go", "plugin__pinned__later"],
      lineage: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    const next = opened(directory, store);
    expect(await stateOf(next)).toBe("active");
    expect(await next.call("go", {})).toBe("help pack");
    const { hash: again } = await next.fingerprint("pinned");
    await next.trust("pinned", { fingerprint: again, approver: "ada", expose: ["later"] });
    expect((await failureOf(opened(directory, store).call("go", {}))).code).toBe(
      "ERR_CAPABILITY_NOT_EXPOSED",
    );
  });

  test("[T13] is the plugin's in its place: a copy elsewhere, and another tenant, are untrusted", async () => {
    const directory = plugin();
    const { store } = await trusted(directory);
    const copy = join(temporary(), "copy");
    cpSync(directory, copy, { recursive: true });
    const elsewhere = opened(copy, store);
    expect(await stateOf(elsewhere)).toBe("untrusted");
    expect((await failureOf(elsewhere.call("go", {}))).code).toBe("ERR_TRUST_UNKNOWN");
    const other = host.tenant(`other${count++}`, { plugins: [directory], store });
    expect(await stateOf(other)).toBe("untrusted");
    expect(await stateOf(opened(directory, undefined))).toBe("untrusted");
  });

  test("[L26] without one a plugin is listed and inert: nothing of it is exposed or can be called", async () => {
    const directory = whole();
    const tenant = opened(directory, settingsTrustStore(join(temporary(), "home")));
    const [row] = await tenant.list();
    expect(row!.state).toBe("untrusted");
    expect(row!.capabilities.length).toBeGreaterThan(8);
    for (const { id, exposed } of row!.capabilities) {
      expect(exposed).toBe(false);
      expect((await failureOf(tenant.call(id, {}))).code).toBe("ERR_TRUST_UNKNOWN");
    }
  });

  test("is not written for a process that approves for itself, nor where there is no store", async () => {
    const directory = plugin();
    const store = settingsTrustStore(join(temporary(), "home"));
    const tenant = opened(directory, store);
    const { hash } = await tenant.fingerprint("pinned");
    await tenant.trust("pinned", { fingerprint: hash, approver: "ada", expose: ["go"], keep: false });
    expect(await tenant.call("go", {})).toBe("help pack");
    expect(await store.list("t")).toEqual([]);
    expect(await stateOf(opened(directory, store))).toBe("untrusted");
  });

  test("can be taken back, by another process as well: the next call is refused", async () => {
    const directory = plugin();
    const { store, tenant } = await trusted(directory);
    expect(await tenant.call("go", {})).toBe("help pack");
    await opened(directory, store).untrust("pinned");
    expect((await refusalOf(() => tenant.call("go", {}))).code).toBe("ERR_TRUST_UNKNOWN");
    expect((await failureOf(tenant.untrust("pinned"))).code).toBe("ERR_TRUST_UNKNOWN");
  });

  test("says less than the request where less was approved, and never grants more than is asked for", async () => {
    const directory = pluginOf("pinned", {
      go:
        'export const go = (path) => Deno.permissions.query({ name: "net", host: path.host }).then((s) => s.state);',
    }, { head: 'permissions: { net: ["a.example:443", "b.example:443"] }\n' });
    const store = settingsTrustStore(join(temporary(), "home"));
    const tenant = opened(directory, store);
    const { hash } = await tenant.fingerprint("pinned");
    const flags = { permissions: { net: { deny: ["b.example:443"] } }, cwd: "/" };
    await tenant.trust("pinned", { fingerprint: hash, approver: "ada", flags, expose: ["go"] });
    expect((await tenant.record("pinned"))!.grants).toEqual({
      net: { allow: ["a.example:443", "b.example:443"], deny: ["b.example:443"] },
    });
    const next = opened(directory, store);
    expect(await next.call("go", { host: "a.example:443" })).toBe("granted");
    expect(await next.call("go", { host: "b.example:443" })).toBe("denied");
    // The isolate of the wider grant is not met again once less is approved.
    const allow = { permissions: { net: { allow: ["c.example:443"] } }, cwd: "/" };
    await next.trust("pinned", { fingerprint: hash, approver: "ada", flags: allow, expose: ["go"] });
    for (const name of ["a", "b", "c"]) {
      expect(await next.call("go", { host: `${name}.example:443` })).toBe("denied");
    }
  });
});

describe("[T06] a new process", () => {
  test.each([
    "tools/go.ts",
    "tools/later.ts",
    "tools/help.js",
    "node_modules/pack/index.js",
    "node_modules/pack/deep/er.js",
    "node_modules/pack/package.json",
    "data/a.txt",
    "prompts/brief.md",
    "skills/weather/SKILL.md",
    "agents/one.md",
    "playbooks/a.playbook.yaml",
    "packs/a.yaml",
    "themes/dusk/theme.json",
    "hooks/guard",
    "hooks/guard.ts",
  ])("[L29][L31][L32] finds one byte changed in %s; undone, the plugin runs again", async (path) => {
    const directory = wholeOnce.directory;
    const { store } = await wholeOnce.trusted;
    const file = join(directory, path);
    const before = readFileSync(file);
    appendFileSync(file, " ");
    const tenant = opened(directory, store);
    const [row] = await tenant.list();
    expect(row).toMatchObject({ state: "changed", reason: `changed since it was trusted: ${path}` });
    const error = await failureOf(tenant.call("go", {}));
    expect(error).toMatchObject({ code: "ERR_TRUST_CHANGED", details: { changed: [path] } });
    writeFileSync(file, before);
    expect(await stateOf(tenant)).toBe("active");
    expect(await tenant.call("go", {})).toBe("help pack");
  });

  test("[L29] finds a change of the manifest, an argv included, and names it", async () => {
    const { directory } = wholeOnce;
    const { store } = await wholeOnce.trusted;
    const file = join(directory, "plugin.yaml");
    const before = readFileSync(file, "utf8");
    writeFileSync(file, before.replace('"--quiet"', '"--loud"'));
    const tenant = opened(directory, store);
    expect((await failureOf(tenant.call("go", {}))).details.changed).toEqual(["plugin.yaml"]);
    writeFileSync(file, before);
    expect(await tenant.call("go", {})).toBe("help pack");
  });

  test("[L30] finds no change where the YAML was only written differently", async () => {
    const { directory } = wholeOnce;
    const { store } = await wholeOnce.trusted;
    const file = join(directory, "plugin.yaml");
    const before = readFileSync(file, "utf8");
    writeFileSync(file, `# a comment\n${before.replace("name: pinned\n", 'name:   "pinned"\n\n')}`);
    const tenant = opened(directory, store);
    expect(await stateOf(tenant)).toBe("active");
    expect(await tenant.call("go", {})).toBe("help pack");
    writeFileSync(file, before);
  });

  test.each([
    ["tools/space.js", 'export const space = "shadow";', "tools/space.js"],
    ["tools/node_modules/pack/index.js", 'exports.pack = "shadow";', "tools/node_modules/pack/index.js"],
    ["node_modules/pack/deep/package.json", '{"type":"module"}', "node_modules/pack/deep/package.json"],
  ])(
    "finds %s, which is new and would shadow what was pinned; removed, the plugin runs again",
    async (path, text, named) => {
      const { directory } = wholeOnce;
      const { store } = await wholeOnce.trusted;
      write(directory, { [path]: text });
      const error = await failureOf(opened(directory, store).call("go", {}));
      expect(error.code).toBe("ERR_TRUST_CHANGED");
      expect(error.message).toContain(named);
      rmSync(join(directory, path));
      expect(await opened(directory, store).call("go", {})).toBe("help pack");
    },
  );

  test("finds a new file in a pinned tree, and one that is gone", async () => {
    const { directory } = wholeOnce;
    const { store } = await wholeOnce.trusted;
    write(directory, { "data/b.txt": "new" });
    expect((await failureOf(opened(directory, store).call("go", {}))).details.changed).toEqual([
      "data/b.txt",
    ]);
    rmSync(join(directory, "data/b.txt"));
    const before = readFileSync(join(directory, "prompts/brief.md"));
    rmSync(join(directory, "prompts/brief.md"));
    expect((await failureOf(opened(directory, store).call("go", {}))).details.changed).toEqual([
      "prompts/brief.md",
    ]);
    write(directory, { "prompts/brief.md": before, "README.md": "still not pinned" });
    expect(await opened(directory, store).call("go", {})).toBe("help pack");
  });
});

const wholeOnce = (() => {
  const directory = whole();
  return { directory, trusted: trusted(directory) };
})();

test("[T17] the record pins what was reviewed, not what is there when it is approved", async () => {
  const directory = plugin();
  const store = settingsTrustStore(join(temporary(), "home"));
  const tenant = opened(directory, store);
  const review = await tenant.review("pinned");
  const file = join(directory, "tools/help.js");
  const before = readFileSync(file);
  writeFileSync(file, 'export const help = "swapped";');
  await review.approve({ approver: "ada", expose: ["go"] });
  expect((await tenant.record("pinned"))!.fingerprint).toBe(review.fingerprint.hash);
  expect((await failureOf(tenant.call("go", {}))).details.changed).toEqual(["tools/help.js"]);
  expect((await failureOf(opened(directory, store).call("go", {}))).details.changed).toEqual([
    "tools/help.js",
  ]);
  writeFileSync(file, before);
  expect(await opened(directory, store).call("go", {})).toBe("help pack");
});

test("[T17] a fingerprint that is not that of what is there trusts nothing", async () => {
  const directory = plugin();
  const store = settingsTrustStore(join(temporary(), "home"));
  const tenant = opened(directory, store);
  const { hash } = await tenant.fingerprint("pinned");
  appendFileSync(join(directory, "tools/help.js"), " ");
  const error = await failureOf(tenant.trust("pinned", { fingerprint: hash, approver: "ada" }));
  expect(error.code).toBe("ERR_TRUST_CHANGED");
  expect(await store.list("t")).toEqual([]);
  const found = await tenant.fingerprint("pinned");
  await tenant.trust("pinned", { fingerprint: found.hash, approver: "ada" });
  expect(await store.list("t")).toHaveLength(1);
});

test("a declared file that is missing refuses the trust; it is there, and the trust is written", async () => {
  const directory = whole();
  rmSync(join(directory, "agents/one.md"));
  const store = settingsTrustStore(join(temporary(), "home"));
  const tenant = opened(directory, store);
  const error = await failureOf(tenant.review("pinned"));
  expect(error.code).toBe("ERR_MANIFEST_INVALID");
  expect(error.details.missing).toEqual(["agents/one.md"]);
  write(directory, { "agents/one.md": "# One" });
  await (await opened(directory, store).review("pinned")).approve({ approver: "ada" });
  expect(await store.list("t")).toHaveLength(1);
});

test("[T36] with settings that others may write every plugin is untrusted, with the chmod as the cure", async () => {
  const directory = plugin();
  const { home, store } = await trusted(directory);
  const file = join(home, "settings.yaml");
  chmodSync(file, 0o666);
  const tenant = opened(directory, store);
  const [row] = await tenant.list();
  expect(row).toMatchObject({ state: "untrusted", reason: expect.stringContaining(`chmod 600 ${file}`) });
  const error = await failureOf(tenant.call("go", {}));
  expect(error.code).toBe("ERR_TRUST_UNKNOWN");
  expect(error.message).toContain(`chmod 600 ${file}`);
  const { hash } = await tenant.fingerprint("pinned");
  expect((await failureOf(tenant.trust("pinned", { fingerprint: hash, approver: "ada" }))).code).toBe(
    "ERR_STORE",
  );
  chmodSync(file, 0o600);
  expect(await tenant.call("go", {})).toBe("help pack");
});

test("[T36] a record that was broken by hand, or whose pins are gone, is changed until it is trusted anew", async () => {
  const directory = plugin();
  const { home, store, hash } = await trusted(directory);
  const file = join(home, "settings.yaml");
  const before = readFileSync(file, "utf8");
  writeFileSync(file, before.replace("algorithm: sallyport-1", "algorithm: sallyport-9"));
  const tenant = opened(directory, store);
  expect((await tenant.list())[0]).toMatchObject({
    state: "changed",
    reason: expect.stringContaining("sallyport-9"),
  });
  const error = await failureOf(tenant.call("plugin__pinned__go", {}));
  expect(error.code).toBe("ERR_TRUST_CHANGED");
  expect(error.message).toContain("sallyport-9");
  writeFileSync(file, before);
  expect(await tenant.call("go", {})).toBe("help pack");
  rmSync(join(home, "pins"), { recursive: true });
  const next = opened(directory, store);
  expect((await failureOf(next.call("go", {}))).message).toContain("the list of what was pinned is gone");
  await next.trust("pinned", { fingerprint: hash, approver: "ada", expose: ["go"] });
  expect(await opened(directory, store).call("go", {})).toBe("help pack");
});
