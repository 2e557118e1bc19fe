import { appendFileSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { approve, approved, failureOf, hosted, pluginOf, refusalOf, write } from "./support.ts";

const host = await hosted();
let count = 0;

/** A plugin with a helper, a package, a document and a pinned data file, approved and called once. */
async function running() {
  const directory = pluginOf("pinned", {
    go:
      'import { help } from "./help.js"; import { pack } from "pack"; export const go = () => `${help} ${pack}`;',
    later: 'import { help } from "./help.js"; export const later = () => help;',
  }, {
    head: "permissions: { read: [./data] }\n",
    files: {
      "tools/help.js": 'export const help = "help";',
      "node_modules/pack/package.json": '{"name":"pack","version":"1.0.0","main":"index.js"}',
      "node_modules/pack/index.js": 'exports.pack = "pack";',
      "data/a.txt": "data",
    },
  });
  const tenant = await approved(host, `t${count++}`, {
    plugins: [directory],
    policy: { permissions: { read: true } },
  });
  expect(await tenant.call("go", {})).toBe("help pack");
  return { directory, tenant };
}

test.each([
  "tools/go.ts",
  "tools/later.ts",
  "tools/help.js",
  "node_modules/pack/index.js",
  "node_modules/pack/package.json",
  "data/a.txt",
  "plugin.yaml",
])(
  "[T06][L31] one byte changed in %s stops the plugin and names the file; undone, it runs again",
  async (path) => {
    const { directory, tenant } = await running();
    const file = join(directory, path);
    const before = readFileSync(file);
    appendFileSync(file, path === "plugin.yaml" ? "x-note: changed\n" : " "); // reformatting it changes nothing
    const error = await refusalOf(() => tenant.call("go", {}));
    expect(error.code).toBe("ERR_TRUST_CHANGED");
    expect(error.message).toContain(path);
    expect(error.details.changed).toEqual([path]);
    expect((await tenant.list())[0]).toMatchObject({
      state: "changed",
      reason: expect.stringContaining(path),
    });
    writeFileSync(file, before);
    expect(await tenant.call("go", {})).toBe("help pack");
    expect((await tenant.list())[0]!.state).toBe("active");
  },
);

test("[T06] a file that is gone, replaced by a link, or moved away is a change", async () => {
  const { directory, tenant } = await running();
  const file = join(directory, "tools/help.js");
  renameSync(file, `${file}.away`);
  expect((await refusalOf(() => tenant.call("go", {}))).details.changed).toEqual(["tools/help.js"]);
  symlinkSync("help.js.away", file);
  expect((await failureOf(tenant.call("go", {}))).code).toBe("ERR_TRUST_CHANGED");
  rmSync(file);
  renameSync(`${file}.away`, file);
  expect(await tenant.call("go", {})).toBe("help pack");
});

test.each([
  ["tools/help.js.ts", "tools/help.ts"],
  ["node_modules/pack.js", "tools/node_modules/pack/index.js"],
])(
  "[T06] what shadows a pinned file changes nothing that runs, and is caught at the next reading",
  async (_a, shadow) => {
    const { directory, tenant } = await running();
    write(directory, { [shadow]: 'export const help = "shadow"; export const pack = "shadow";' });
    // Memory was read before the shadow came: what was hashed is what runs, first uses included.
    expect(await tenant.call("go", {})).toBe("help pack");
    expect(await tenant.call("later", {})).toBe("help");
  },
);

test("[T06] a nearer package that came after the approval is another fingerprint", async () => {
  const { directory, tenant } = await running();
  const { hash } = await tenant.fingerprint("pinned");
  write(directory, {
    "tools/node_modules/pack/package.json": '{"name":"pack","version":"1.0.0","main":"index.js"}',
    "tools/node_modules/pack/index.js": 'exports.pack = "pack";',
  });
  const next = host.tenant(`t${count++}`, { plugins: [directory], policy: { permissions: { read: true } } });
  const error = await failureOf(next.trust("pinned", { fingerprint: hash, approver: "test" }));
  expect(error.code).toBe("ERR_TRUST_CHANGED");
  rmSync(join(directory, "tools/node_modules"), { recursive: true });
  const last = host.tenant(`t${count++}`, { plugins: [directory], policy: { permissions: { read: true } } });
  await last.trust("pinned", { fingerprint: hash, approver: "test" });
});

test("a fingerprint approves bytes, not a name: another one is refused, and nothing is approved", async () => {
  const tenant = host.tenant(`t${count++}`, {
    plugins: [pluginOf("named", { go: "export const go = () => 1;" })],
  });
  const error = await failureOf(
    tenant.trust("named", { fingerprint: `sha256:${"0".repeat(64)}`, approver: "test" }),
  );
  expect(error.code).toBe("ERR_TRUST_CHANGED");
  await tenant.expose(["go"]);
  expect((await failureOf(tenant.call("go", {}))).code).toBe("ERR_TRUST_UNKNOWN");
  await approve(tenant, "named");
  expect(await tenant.call("go", {})).toBe(1);
});

test("[T06] a warm plugin runs from memory: what it reads of itself is what was pinned", async () => {
  const directory = pluginOf("reader", {
    go: 'export const go = () => Deno.readTextFile("./data/a.txt");',
  }, { head: "permissions: { read: [./data] }\n", files: { "data/a.txt": "as pinned" } });
  const tenant = await approved(host, `t${count++}`, {
    plugins: [directory],
    policy: { permissions: { read: true } },
  });
  expect(await tenant.call("go", {})).toBe("as pinned");
  writeFileSync(join(directory, "data/a.txt"), "changed!!");
  const seen = new Set<unknown>();
  const error = await refusalOf(async () => seen.add(await tenant.call("go", {})));
  expect(error.code).toBe("ERR_TRUST_CHANGED");
  expect([...seen].every((text) => text === "as pinned")).toBe(true);
});

test("`mutable: true` reads the disk, and a change there is none of the plugin", async () => {
  const directory = pluginOf("mutable", {
    go: 'export const go = () => Deno.readTextFile("./data/a.txt");',
  }, {
    head: "permissions: { read: { allow: [./data], mutable: true } }\n",
    files: { "data/a.txt": "before" },
  });
  const tenant = await approved(host, `t${count++}`, {
    plugins: [directory],
    policy: { permissions: { read: true } },
  });
  expect(await tenant.call("go", {})).toBe("before");
  writeFileSync(join(directory, "data/a.txt"), "after");
  expect(await tenant.call("go", {})).toBe("after");
});

test("[L30] reformatting the manifest before the approval leaves the fingerprint as it was", async () => {
  const directory = pluginOf("format", { go: "export const go = () => 1;" });
  const first = await host.tenant(`t${count++}`, { plugins: [directory] }).fingerprint("format");
  const text = readFileSync(join(directory, "plugin.yaml"), "utf8");
  writeFileSync(join(directory, "plugin.yaml"), `# a comment\n${text}\n`);
  const second = await host.tenant(`t${count++}`, { plugins: [directory] }).fingerprint("format");
  expect(second.hash).toBe(first.hash);
  writeFileSync(join(directory, "plugin.yaml"), text.replace("1.0.0", "1.0.1"));
  const third = await host.tenant(`t${count++}`, { plugins: [directory] }).fingerprint("format");
  expect(third.hash).not.toBe(first.hash);
});
