import { chmodSync, existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  fileSecretStore,
  memoryAudit,
  memorySecretStore,
  settingsTrustStore,
  type Tenant,
} from "../../src/mod.ts";
import { approve, approved, failureOf, hosted, pluginOf, refusalOf, temporary, write } from "./support.ts";

const VALUE = "ghp-or-not_0123456789/abc+def";
const FETCH = `export const go = async ({ url, init }) => {
  const answer = await fetch(url, init);
  const text = await answer.text();
  console.log(text.slice(0, 9));
  console.log(text.slice(9));
  return { text, status: answer.status, length: text.length, seen: JSON.stringify([...answer.headers]) };
};`;

let server: Server;
let host: string;
const seen: (string | undefined)[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    const sent = request.headers.authorization ?? "nothing";
    response.writeHead(200, { "x-echo": sent });
    for (const part of sent.match(/.{1,4}/g)!) response.write(part);
    response.end(`|${Buffer.from(sent).toString("base64")}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

const policy = { permissions: { net: true, secrets: true, read: true } } as const;

function user(name: string): string {
  const head = `permissions:\n  net: ["${host}"]\n  secrets: [{ name: KEY, host: "${host}" }]\n`;
  return pluginOf(name, { go: FETCH }, { head });
}

const at = (path = "") => ({ url: `http://${host}/${path}` });

test("[T02] an owner binds a secret to hosts and plugins: that plugin's request carries it, and the plugin never sees it", async () => {
  const audit = memoryAudit();
  const tenant = await approved(await hosted({ audit: () => audit }), "acme", {
    plugins: [user("web"), user("other")],
    policy,
  });
  const refused = await failureOf(tenant.call("plugin__web__go", at()));
  expect(refused).toMatchObject({ code: "ERR_NOT_CAPABLE", details: { kind: "secrets" } });
  expect(refused.message).toContain("nobody has set it");
  await tenant.secrets.set("KEY", VALUE, { hosts: [host], plugins: ["web"] });
  seen.length = 0;
  const lines: string[] = [];
  const result = await tenant.call("plugin__web__go", at(), { onLine: ({ text }) => void lines.push(text) });
  expect(seen).toEqual([`Bearer ${VALUE}`]);
  expect(result).toMatchObject({
    status: 200,
    text: expect.stringMatching(/^Bearer \[redacted\]\|[\w+/]*\[redacted\]/),
  });
  for (const part of ["0123", "abc+", Buffer.from("0123456789").toString("base64").slice(2, 9)]) {
    expect(JSON.stringify([result, lines])).not.toContain(part);
  }
  const other = await failureOf(tenant.call("plugin__other__go", at()));
  expect(other.message).toContain("not bound it to this plugin");
  expect(seen.length).toBe(1);
  expect(
    audit.events.filter(({ kind }) => kind === "secrets").map((
      { type, value, decision },
    ) => [type, value, decision]),
  )
    .toEqual([
      ["op", `KEY ${host} as authorization: Bearer {}`, "denied"],
      ["grant", "KEY", undefined],
      ["op", `KEY ${host} as authorization: Bearer {}`, "granted"],
      ["op", `KEY ${host} as authorization: Bearer {}`, "denied"],
    ]);
  expect(JSON.stringify(audit.events)).not.toContain("0123456789");
});

test("[T02] what is deleted while it runs is gone with the next op; what is set again is used", async () => {
  const tenant = await approved(await hosted(), "acme", { plugins: [user("web")], policy });
  await tenant.secrets.set("KEY", VALUE, { hosts: [host], plugins: ["web"] });
  await tenant.call("go", at());
  expect(await tenant.secrets.delete("KEY")).toBe(true);
  expect(await tenant.secrets.delete("KEY")).toBe(false);
  seen.length = 0;
  expect((await failureOf(tenant.call("go", at()))).code).toBe("ERR_NOT_CAPABLE");
  expect(seen).toEqual([]);
  await tenant.secrets.set("KEY", "another value", { hosts: [host], plugins: ["web"] });
  await tenant.call("go", at());
  expect(seen).toEqual(["Bearer another value"]);
});

test("[T02] a secret of one tenant is none of another's, in one store as well", async () => {
  const store = memorySecretStore();
  const one = await hosted();
  const acme = await approved(one, "acme", { plugins: [user("web")], policy, secrets: store });
  const umbrella = await approved(one, "umbrella", { plugins: [user("web")], policy, secrets: store });
  await acme.secrets.set("KEY", VALUE, { hosts: [host], plugins: ["web"] });
  expect((await acme.call("go", at()) as { status: number }).status).toBe(200);
  expect((await failureOf(umbrella.call("go", at()))).message).toContain("nobody has set it");
  expect(await umbrella.secrets.list()).toEqual([]);
});

test("[T02] the policy's ceiling holds for secrets as for all", async () => {
  const tenant = await approved(await hosted(), "acme", {
    plugins: [user("web")],
    policy: { permissions: { net: true } },
  });
  await tenant.secrets.set("KEY", VALUE, { hosts: [host], plugins: ["web"] });
  const error = await failureOf(tenant.call("go", at()));
  expect(error).toMatchObject({
    code: "ERR_NOT_CAPABLE",
    details: { kind: "secrets", rule: "policy does not mention secrets" },
  });
});

test("[T02] a list tells names, hosts and plugins, and never a value", async () => {
  const tenant = (await hosted()).tenant("acme", { plugins: [] });
  await tenant.secrets.set("B", VALUE, {
    hosts: ["[::1]:443", "b.example:443"],
    plugins: ["web", "/srv/plugins/x"],
  });
  await tenant.secrets.set("A", VALUE, { hosts: ["a.example:443"], plugins: ["web"] });
  expect(await tenant.secrets.list()).toEqual([
    { name: "A", hosts: ["a.example:443"], plugins: ["web"] },
    { name: "B", hosts: ["[::1]:443", "b.example:443"], plugins: ["web", "/srv/plugins/x"] },
  ]);
});

test.each<[string, string, string, readonly string[], readonly string[], string]>([
  ["a name that is no word", "a b", VALUE, ["a.example:443"], ["web"], "a name is a word"],
  ["a short value", "KEY", "1234567", ["a.example:443"], ["web"], "8 to 4096 characters"],
  ["a long value", "KEY", "x".repeat(4097), ["a.example:443"], ["web"], "8 to 4096 characters"],
  ["a line end in the value", "KEY", "12345678\r\nX: y", ["a.example:443"], ["web"], "ASCII"],
  ["a space at its end", "KEY", "12345678 ", ["a.example:443"], ["web"], "ASCII"],
  ["no host", "KEY", VALUE, [], ["web"], "at least one HOST:PORT"],
  ["a host without a port", "KEY", VALUE, ["a.example"], ["web"], "no host with a port"],
  ["a wildcard", "KEY", VALUE, ["*.example:443"], ["web"], "no host with a port"],
  ["any host", "KEY", VALUE, ["*:443"], ["web"], "no host with a port"],
  ["a range", "KEY", VALUE, ["10.0.0.0/8:443"], ["web"], "no host with a port"],
  ["a URL", "KEY", VALUE, ["https://a.example/"], ["web"], "no host with a port"],
  ["more than a host", "KEY", VALUE, ["a.example:443 as x: {}"], ["web"], "no host with a port"],
  ["a socket", "KEY", VALUE, ["unix:/run/x"], ["web"], "no host with a port"],
  ["no plugin", "KEY", VALUE, ["a.example:443"], [], "at least one"],
  ["a pattern of plugins", "KEY", VALUE, ["a.example:443"], ["web-*"], "neither a plugin's name"],
  ["a relative path", "KEY", VALUE, ["a.example:443"], ["./web"], "neither a plugin's name"],
])("[T02] %s cannot be set, and is not repeated", async (_case, name, value, hosts, plugins, why) => {
  const tenant = (await hosted()).tenant("acme", { plugins: [] });
  const error = await failureOf(tenant.secrets.set(name, value, { hosts, plugins }));
  expect(error).toMatchObject({ code: "ERR_USAGE", message: expect.stringContaining(why) });
  expect(error.message).not.toContain(value);
  expect(await tenant.secrets.list()).toEqual([]);
  await tenant.secrets.set("KEY", VALUE, { hosts: ["a.example:443"], plugins: ["web"] });
});

test("[T02] a plugin that is trusted anew after its trust was taken back inherits no secret, until its owner sets it again", async () => {
  const home = join(temporary(), "home");
  const directory = user("web");
  const kept = {
    plugins: [directory],
    policy,
    secrets: fileSecretStore(home),
    store: settingsTrustStore(home),
  };
  const trust = async (tenant: Tenant) => {
    const { hash } = await tenant.fingerprint("web");
    await tenant.trust("web", { fingerprint: hash, approver: "test", expose: ["go"] });
  };
  const binding = { hosts: [host], plugins: ["web"] };
  const status = async (tenant: Tenant) => (await tenant.call("go", at()) as { status: number }).status;
  const refusal = async (tenant: Tenant) => (await failureOf(tenant.call("go", at()))).message;
  const again = "or to this one before it was trusted anew";
  const stateOf = async (tenant: Tenant) => (await tenant.requestedSecrets("web")).map(({ state }) => state);

  // Set while it is trusted: meant for that trust.
  const tenant = (await hosted({ home })).tenant("acme", kept);
  await trust(tenant);
  await tenant.secrets.set("KEY", VALUE, binding);
  expect([await status(tenant), await stateOf(tenant)]).toEqual([200, ["bound"]]);
  await trust(tenant); // approved anew without having been taken back: the same lineage
  expect(await status(tenant)).toBe(200);
  await tenant.untrust("web");
  await trust(tenant);
  seen.length = 0;
  expect([await refusal(tenant), await stateOf(tenant)]).toEqual([expect.stringContaining(again), [
    "unbound",
  ]]);
  expect(seen).toEqual([]);
  await tenant.secrets.set("KEY", VALUE, binding);
  expect([await status(tenant), await stateOf(tenant)]).toEqual([200, ["bound"]]);

  // Set before anybody trusted it: meant for whoever uses it first, in this process and the next.
  await tenant.untrust("web");
  await tenant.secrets.set("KEY", VALUE, binding);
  await trust(tenant);
  expect([await stateOf(tenant), await status(tenant)]).toEqual([["bound"], 200]);
  await tenant.untrust("web");
  const next = (await hosted({ home })).tenant("acme", kept);
  await trust(next);
  expect(await refusal(next)).toContain(again);
});

test("[T02] the same for plugins that are trusted for one process alone, whose trust says nothing to the next one", async () => {
  const secrets = fileSecretStore(join(temporary(), "home"));
  const options = { plugins: [user("web")], policy, secrets };
  const tenant = await approved(await hosted(), "acme", options);
  await tenant.secrets.set("KEY", VALUE, { hosts: [host], plugins: ["web"] });
  expect((await tenant.call("go", at()) as { status: number }).status).toBe(200);
  await tenant.untrust("web");
  await approve(tenant, "web");
  expect((await failureOf(tenant.call("go", at()))).message).toContain("before it was trusted anew");
  const next = await approved(await hosted(), "acme", options);
  expect((await next.call("go", at()) as { status: number }).status).toBe(200);
});

test("[T02] at most 256 secrets", async () => {
  const tenant = (await hosted()).tenant("acme", { plugins: [] });
  const binding = { hosts: ["a.example:443"], plugins: ["web"] };
  for (let index = 0; index < 256; index++) {
    await tenant.secrets.set(`K${index}`, `${VALUE}${index}`, binding);
  }
  expect((await failureOf(tenant.secrets.set("MORE", VALUE, binding))).message).toContain(
    "secretsPerTenantMax",
  );
  await tenant.secrets.set("K0", VALUE, binding);
});

test("[T02] the file: mode 0600, replaced whole under a lock, read anew by who has it open, out of reach of every grant", async () => {
  const home = join(temporary(), "home");
  const reader = pluginOf("reader", { go: "export const go = ({ path }) => Deno.readTextFile(path);" }, {
    head: "permissions: { read: true }\n",
  });
  const one = await approved(await hosted({ home }), "acme", {
    plugins: [reader],
    policy,
    secrets: fileSecretStore(home),
  });
  const file = join(home, "secrets.json");
  expect(await one.secrets.list()).toEqual([]);
  expect(existsSync(file)).toBe(false);
  const store = fileSecretStore(home);
  const named = (name: string) => ({ name, value: VALUE, hosts: ["a.example:443"], plugins: ["web"] });
  await Promise.all(["A", "B", "C"].map((name) => store.put("acme", named(name))));
  await store.put("umbrella", named("D"));
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(existsSync(`${file}.lock`)).toBe(false);
  expect((await one.secrets.list()).map(({ name }) => name)).toEqual(["A", "B", "C"]);
  expect(await store.remove("acme", "B")).toBe(true);
  expect(await store.remove("acme", "D")).toBe(false);
  expect((await one.secrets.list()).map(({ name }) => name)).toEqual(["A", "C"]);
  const error = await failureOf(one.call("go", { path: file }));
  expect(error).toMatchObject({
    code: "ERR_NOT_CAPABLE",
    details: { rule: expect.stringContaining("Sallyport's own state") },
  });
});

test("[T02][T36] a file that somebody else could have read or written is not believed: nothing runs, and the cure is told", async () => {
  const home = join(temporary(), "home");
  const file = join(home, "secrets.json");
  const tenant = await approved(await hosted({ home }), "acme", {
    plugins: [pluginOf("plain", { go: "export const go = () => 1;" })],
    secrets: fileSecretStore(home),
  });
  await tenant.secrets.set("KEY", VALUE, { hosts: [host], plugins: ["web"] });
  expect(await tenant.call("go", {})).toBe(1);
  chmodSync(file, 0o640);
  // What is known of no secret cannot be kept out of what leaves.
  expect(await refusalOf(() => tenant.call("go", {}))).toMatchObject({
    code: "ERR_STORE",
    message: expect.stringContaining("chmod 600"),
  });
  chmodSync(file, 0o600);
  expect(await tenant.call("go", {})).toBe(1);
  for (
    const text of ["{", "[]", `{"v":2,"secrets":[]}`, `{"v":1,"secrets":[{"name":"KEY","value":"${VALUE}"}]}`]
  ) {
    writeFileSync(file, text);
    for (
      const asked of [
        tenant.secrets.list(),
        tenant.secrets.set("X", VALUE, { hosts: [host], plugins: ["p"] }),
      ]
    ) {
      const error = await failureOf(asked);
      expect(error).toMatchObject({ code: "ERR_STORE" });
      expect(error.message).not.toContain(VALUE);
    }
    expect(readFileSync(file, "utf8")).toBe(text);
  }
});

test("[T36] a link to the file is followed, and what it leads to is checked alike", async () => {
  const home = join(temporary(), "home");
  const elsewhere = temporary();
  const store = fileSecretStore(home);
  await store.put("acme", { name: "KEY", value: VALUE, hosts: [host], plugins: ["web"] });
  write(elsewhere, { "secrets.json": readFileSync(join(home, "secrets.json"), "utf8") });
  chmodSync(join(elsewhere, "secrets.json"), 0o644);
  const linked = join(temporary(), "home");
  await fileSecretStore(linked).put("x", { name: "KEY", value: VALUE, hosts: [host], plugins: ["web"] });
  rmSync(join(linked, "secrets.json"));
  symlinkSync(join(elsewhere, "secrets.json"), join(linked, "secrets.json"));
  expect(await failureOf(fileSecretStore(linked).list("acme"))).toMatchObject({ code: "ERR_STORE" });
  chmodSync(join(elsewhere, "secrets.json"), 0o600);
  expect((await fileSecretStore(linked).list("acme")).length).toBe(1);
});
