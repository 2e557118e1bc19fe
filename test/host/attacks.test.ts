/** Ways to have something run that nobody approved, each beside what may run. */
import { spawn } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  directoryLoader,
  fileStatIndex,
  type Host,
  settingsTrustStore,
  type StatIndex,
  type Tenant,
} from "../../src/mod.ts";
import { TRUST_LIMITS } from "../../src/trust/limits.ts";
import { approve, approved, failureOf, hosted, pluginOf, refusalOf, temporary, write } from "./support.ts";

const GOOD = 'export const go = () => "good";\n';
const EVIL = 'export const go = () => "evil";\n'; // as long as the good one

/** What a call came to: a word of the plugin's, or the code of the refusal. */
function outcomeOf(tenant: Tenant): Promise<unknown> {
  return tenant.call("go", {}).catch((error: { readonly code?: unknown }) => error.code);
}

/** Puts other bytes of the same length there, with the same times, as far as anybody can. */
function swapQuietly(path: string, text: string): void {
  const { atime, mtime } = statSync(path);
  writeFileSync(path, text);
  utimesSync(path, atime, mtime);
}

describe("hash and load", () => {
  test("[T06] of a target whose bytes were swapped behind its hash give the hashed bytes or a refusal", async () => {
    const directory = pluginOf("target", { go: GOOD });
    const tenant = await approved(await hosted(), "acme", { plugins: [directory] });
    const file = join(directory, "tools/go.ts");
    expect((await tenant.list({ verify: true }))[0]).toMatchObject({ state: "active", verified: true });
    swapQuietly(file, EVIL);
    expect(await outcomeOf(tenant)).toBe("ERR_TRUST_CHANGED");
    writeFileSync(file, GOOD);
    expect(await outcomeOf(tenant)).toBe("good");
  });

  test("[T06] of a target that a link leads to agree on one file, and the link is part of it", async () => {
    const directory = pluginOf("linked", {}, {
      head: "",
      files: { "a/go.ts": GOOD, "b/go.ts": EVIL },
    });
    symlinkSync("a/go.ts", join(directory, "go.ts"));
    writeFileSync(
      join(directory, "plugin.yaml"),
      'name: linked\nversion: "1"\ncapabilities: { tools: [{ name: go, target: "go.ts:go" }] }\n',
    );
    const tenant = await approved(await hosted(), "acme", { plugins: [directory] });
    expect(await outcomeOf(tenant)).toBe("good");
    renameSync(join(directory, "go.ts"), join(directory, "former.ts"));
    symlinkSync("b/go.ts", join(directory, "go.ts"));
    const later = (await hosted()).tenant("acme", { plugins: [directory] });
    await expect(later.call("go", {})).rejects.toMatchObject({ code: "ERR_TRUST_UNKNOWN" });
  });

  test("[T06] a file that another process swaps all the time never runs as what was not approved", async () => {
    const directory = pluginOf("swapped", { go: GOOD });
    const file = join(directory, "tools/go.ts");
    const host = await hosted();
    const store = settingsTrustStore(join(temporary(), "home"));
    const first = await approved(host, "acme", { plugins: [directory], store });
    expect(await outcomeOf(first)).toBe("good");
    await first.close();
    const swapper = spawn(process.execPath, ["-e", SWAPPER, file, GOOD, EVIL], { stdio: "ignore" });
    try {
      const came = new Set<unknown>();
      for (let round = 0; round < 12; round += 1) {
        const again = (await hosted()).tenant("acme", { plugins: [directory], store });
        came.add(await outcomeOf(again));
        await setTimeout(round); // another phase of the other process each time
      }
      expect([...came].filter((each) => !["good", "ERR_TRUST_CHANGED"].includes(String(each)))).toEqual([]);
    } finally {
      swapper.kill();
    }
  });
});

const SWAPPER = `
const { renameSync, writeFileSync } = require("node:fs");
const [file, ...texts] = process.argv.slice(1);
for (let turn = 0;; turn += 1) {
  writeFileSync(file + ".new", texts[turn % 2]);
  renameSync(file + ".new", file);
}`;

describe("a manifest", () => {
  test("[L29] that was read before is not what a later trust check is about", async () => {
    const directory = pluginOf("grows", { go: GOOD });
    const tenant = await approved(await hosted(), "acme", {
      plugins: [directory],
      policy: { permissions: { net: true } },
    });
    expect(await outcomeOf(tenant)).toBe("good");
    const before = readFileSync(join(directory, "plugin.yaml"), "utf8");
    swapQuietly(
      join(directory, "plugin.yaml"),
      before.replace("capabilities:", "permissions: { net: true }\ncapabilities:"),
    );
    expect((await tenant.list())[0]).toMatchObject({ state: "changed", permissions: { net: true } });
    expect((await refusalOf(() => tenant.call("go", {}))).code).toBe("ERR_TRUST_CHANGED");
    writeFileSync(join(directory, "plugin.yaml"), before);
    expect(await outcomeOf(tenant)).toBe("good");
  });

  test("[L30] that says the same in another order of keys stays trusted; in another order of a list it does not", async () => {
    const store = settingsTrustStore(join(temporary(), "home"));
    const directory = pluginOf("ordered", { go: GOOD, stay: "export const stay = () => 1;" });
    const file = join(directory, "plugin.yaml");
    const tool = (name: string) => `{ name: ${name}, target: "tools/${name}.ts:${name}" }`;
    const text = `name: ordered\nversion: "1"\ncapabilities: { tools: [${tool("go")}, ${tool("stay")}] }\n`;
    writeFileSync(file, text);
    const tenant = await approved(await hosted(), "acme", { plugins: [directory], store });
    writeFileSync(
      file,
      `capabilities: { tools: [{ target: "tools/go.ts:go", name: go }, ${
        tool("stay")
      }] }\nversion: "1"\nname: ordered\n`,
    );
    expect((await tenant.list())[0]!.state).toBe("active");
    expect(await outcomeOf((await hosted()).tenant("acme", { plugins: [directory], store }))).toBe("good");
    writeFileSync(file, text.replace(`[${tool("go")}, ${tool("stay")}]`, `[${tool("stay")}, ${tool("go")}]`));
    expect((await tenant.list())[0]!.state).toBe("changed");
  });
});

test("[T36] a trust record with values of wrong types approves nothing, whichever value it is", async () => {
  const home = join(temporary(), "home");
  const store = settingsTrustStore(home);
  const directory = pluginOf("typed", { go: GOOD });
  await approved(await hosted(), "acme", { plugins: [directory], store });
  const settings = join(home, "settings.yaml");
  const sound = readFileSync(settings, "utf8");
  const again = async () =>
    (await hosted()).tenant("acme", { plugins: [directory], store: settingsTrustStore(home) });
  for (
    const [line, wrong] of [
      [/fingerprint: .*/, "fingerprint: true"],
      [/fingerprint: (.*)/, "fingerprint: [$1]"],
      [/grants: .*/, "grants: true"],
      [/exposed:\n.*/, "exposed: plugin__typed__go"],
      [/lineage: .*/, "lineage: 7"],
      [/algorithm: .*/, "algorithm: { sallyport-1: true }"],
      [/directory: (.*)/, "directory: [$1]"],
      [/name: .*/, "name: { typed: true }"],
      [/tenant: (.*)/, "tenant: $1\n    link: true"],
    ] as const
  ) {
    writeFileSync(settings, sound.replace(line, wrong));
    expect(readFileSync(settings, "utf8")).not.toBe(sound);
    const code = await outcomeOf(await again());
    expect(["ERR_TRUST_CHANGED", "ERR_TRUST_UNKNOWN"], String(line)).toContain(code);
  }
  writeFileSync(settings, sound);
  expect(await outcomeOf(await again())).toBe("good");
});

test("[T13] a project that carries settings of its own approves nothing by them", async () => {
  const project = temporary();
  const directory = pluginOf("carried", { go: GOOD }, { under: join(project, ".sallyport/plugins") });
  const home = join(temporary(), "home");
  await approved(await hosted(), "acme", { plugins: [directory], store: settingsTrustStore(home) });
  const plugins = directoryLoader([{ directory: join(project, ".sallyport/plugins"), origin: "project" }]);
  // The very record that would do, where a repository could have put it.
  for (const place of [join(project, ".sallyport"), project, directory]) {
    write(place, { "settings.yaml": readFileSync(join(home, "settings.yaml"), "utf8") });
    chmodSync(join(place, "settings.yaml"), 0o600);
  }
  const tenant = (await hosted()).tenant("acme", {
    plugins,
    store: settingsTrustStore(join(temporary(), "home")),
  });
  expect(await outcomeOf(tenant)).toBe("ERR_TRUST_UNKNOWN");
  const own = (await hosted()).tenant("acme", { plugins, store: settingsTrustStore(home) });
  expect(await outcomeOf(own)).toBe("good");
});

test("[L05] a plugin whose imports leave it by a link is not trusted; one whose links stay inside is", async () => {
  const outside = temporary();
  write(outside, { "secret.ts": 'export default "secret";\n' });
  const code = 'import word from "../lib/word.ts";\nexport const go = () => word;\n';
  const leaving = pluginOf("leaving", { go: code });
  symlinkSync(outside, join(leaving, "lib"));
  const file = pluginOf("file", { go: code });
  mkdirSync(join(file, "lib"));
  symlinkSync(join(outside, "secret.ts"), join(file, "lib/word.ts"));
  const staying = pluginOf("staying", { go: code }, { files: { "own/word.ts": 'export default "good";\n' } });
  symlinkSync("own", join(staying, "lib"));
  const tenant = (await hosted()).tenant("acme", { plugins: [leaving, file, staying] });
  for (const name of ["leaving", "file"]) {
    const error = await failureOf(approve(tenant, name));
    expect([error.code, error.message.includes(outside)]).toEqual(["ERR_IMPORT_REFUSED", false]);
  }
  await approve(tenant, "staying");
  expect(await tenant.call("plugin__staying__go", {})).toBe("good");
});

describe("a link among the plugins", () => {
  test("[R45] to a plugin that is trusted is untrusted, and each keeps an approval of its own", async () => {
    const [home, roots, under] = [join(temporary(), "home"), temporary(), temporary()];
    const directory = pluginOf("shared", { go: GOOD }, { under });
    const store = settingsTrustStore(home);
    const direct = await approved(await hosted(), "acme", { plugins: [directory], store });
    symlinkSync(directory, join(roots, "shared"));
    const plugins = directoryLoader([{ directory: roots, origin: "user" }]);
    const open = async () => (await hosted()).tenant("acme", { plugins, store });
    const linked = await open();
    const [row] = await linked.list();
    expect(row).toMatchObject({
      state: "untrusted",
      origin: `user (link to ${directory})`,
      link: join(roots, "shared"),
    });
    expect(row!.capabilities.map(({ exposed }) => exposed)).toEqual([false]);
    expect(await outcomeOf(linked)).toBe("ERR_TRUST_UNKNOWN");
    await approve(linked, "shared");
    expect(await outcomeOf(linked)).toBe("good");
    const lineages = (await store.list("acme")).map((each) => each.isSound ? each.record.lineage : "");
    expect(new Set(lineages).size).toBe(2);
    await direct.untrust(directory);
    expect(await outcomeOf(direct)).toBe("ERR_TRUST_UNKNOWN");
    expect(await outcomeOf(await open())).toBe("good");
    // Edits are seen, and a link that leads elsewhere is another plugin.
    writeFileSync(join(directory, "tools/go.ts"), EVIL);
    expect(await outcomeOf(await open())).toBe("ERR_TRUST_CHANGED");
    writeFileSync(join(directory, "tools/go.ts"), GOOD);
    const copy = pluginOf("shared", { go: GOOD }, { under: temporary() });
    renameSync(join(roots, "shared"), join(under, "former"));
    symlinkSync(copy, join(roots, "shared"));
    expect(await outcomeOf(await open())).toBe("ERR_TRUST_UNKNOWN");
    expect((await (await open()).prune()).map(({ link }) => link)).toEqual([join(roots, "shared")]);
  });

  test("[R45] a store that knows nothing of links lets none inherit", async () => {
    const roots = temporary();
    const directory = pluginOf("shared", { go: GOOD });
    const store = settingsTrustStore(join(temporary(), "home"));
    await approved(await hosted(), "acme", { plugins: [directory], store });
    symlinkSync(directory, join(roots, "shared"));
    const former = {
      ...store,
      get: ({ link: _link, ...key }: Parameters<typeof store.get>[0]) => store.get(key),
    };
    const plugins = directoryLoader([{ directory: roots, origin: "user" }]);
    const tenant = (await hosted()).tenant("acme", {
      plugins,
      store: { ...former, withKinds: () => former },
    });
    expect(await outcomeOf(tenant)).toBe("ERR_TRUST_UNKNOWN");
  });
});

describe("the stat index", () => {
  const setUp = async () => {
    const home = join(temporary(), "home");
    const directory = pluginOf("seen", { go: GOOD });
    const file = join(directory, "tools/go.ts");
    await setTimeout(TRUST_LIMITS.settledMs + 100);
    const [index, keyFile] = [join(home, "stat.index"), join(home, "cache.key")];
    const open = async (id = "acme", host?: Host) =>
      (host ?? await hosted()).tenant(id, {
        plugins: [directory],
        store: settingsTrustStore(home),
        index: fileStatIndex({ file: index, keyFile }),
      });
    const tenant = await open();
    await approve(tenant, "seen");
    const look = async () => {
      const [row] = await (await open()).list();
      return [row?.state, row?.verified];
    };
    return { home, directory, file, index, open, look };
  };

  test("[T27] is a hint for lists alone: a run hashes, whatever it says", async () => {
    const { home, directory, file, index, open, look } = await setUp();
    expect(await look()).toEqual(["active", false]);
    expect((await (await open()).list({ verify: true }))[0]).toMatchObject({
      state: "active",
      verified: true,
    });
    writeFileSync(file, EVIL);
    const lying = lyingIndex(fileStatIndex({ file: index, keyFile: join(home, "cache.key") }), directory);
    const store = settingsTrustStore(home);
    const tenant = (await hosted()).tenant("acme", { plugins: [directory], store, index: lying });
    expect((await tenant.list())[0]).toMatchObject({ state: "active", verified: false });
    expect(await outcomeOf(tenant)).toBe("ERR_TRUST_CHANGED");
    expect((await tenant.list({ verify: true }))[0]).toMatchObject({ state: "changed", verified: true });
    expect(await look()).toEqual(["changed", true]);
    writeFileSync(file, GOOD);
    expect(await outcomeOf(await open())).toBe("good");
  });

  test("[T27] that is forged, cut, empty or another home's is a miss", async () => {
    const { index, look } = await setUp();
    const sound = readFileSync(index);
    const other = readFileSync((await setUp()).index);
    const flipped = Buffer.from(sound);
    flipped[sound.length - 20]! ^= 1;
    const forged = Buffer.concat([Buffer.alloc(32), sound.subarray(32)]);
    for (const bytes of [other, flipped, forged, sound.subarray(0, 40), Buffer.alloc(0), Buffer.from("[]")]) {
      writeFileSync(index, bytes);
      // Found out by hashing, and told anew.
      expect(await look()).toEqual(["active", true]);
      expect(await look()).toEqual(["active", false]);
    }
    writeFileSync(index, sound);
    expect(await look()).toEqual(["active", false]);
  });

  test("[T27] says nothing of another tenant, another fingerprint or another place", async () => {
    const { directory, open, look } = await setUp();
    const host = await hosted();
    const other = await open("other", host);
    expect((await other.list())[0]).toMatchObject({ state: "untrusted", verified: false });
    await approve(other, "seen");
    const tenant = await open();
    await tenant.untrust(directory);
    expect(await look()).toEqual(["untrusted", false]);
    expect((await (await open("other")).list())[0]).toMatchObject({ state: "active", verified: false });
  });
});

/** Says of every file that it looked before as it looks now. */
function lyingIndex(index: StatIndex, directory: string): StatIndex {
  return {
    put() {},
    get(key) {
      const [version, fingerprint, manifest, files] = JSON.parse(index.get(key) ?? "null") as [
        string,
        string,
        string,
        [string, string][],
      ];
      const lies = files.map(([path]) => {
        const { dev, ino, size, mtimeNs, ctimeNs } = statSync(join(directory, path), { bigint: true });
        return [path, `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`];
      });
      return JSON.stringify([version, fingerprint, manifest, lies]);
    },
  };
}
