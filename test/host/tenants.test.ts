import { expect, test } from "vitest";
import { type AuditEvent, memoryAudit, type PermissionRequest } from "../../src/mod.ts";
import { approve, approved, failureOf, hosted, pluginOf, temporary, write } from "./support.ts";

const LOOK = `export const look = async ({ path, name }) => ({
  file: path === undefined ? undefined : await Deno.readTextFile(path),
  name: name === undefined ? undefined : Deno.env.get(name) ?? null,
});`;

/** A plugin that asks for a file and for variables. */
function looker(read: string, head = ""): string {
  return pluginOf("looker", { look: LOOK }, {
    head: head || `permissions: { read: [${JSON.stringify(read)}], env: ["WORD_*"] }\n`,
  });
}

test("[T09] without a policy nothing is granted, whatever the manifest asks", async () => {
  const place = temporary();
  write(place, { "a.txt": "text" });
  const host = await hosted();
  const path = `${place}/a.txt`;
  const bare = await approved(host, "bare", { plugins: [looker(place)] });
  for (const input of [{ path }, { name: "WORD_A" }]) {
    const error = await failureOf(bare.call("look", input));
    expect([error.code, error.details.rule]).toEqual(["ERR_NOT_CAPABLE", expect.stringContaining("policy")]);
  }
  const given = await approved(host, "given", {
    plugins: [looker(place)],
    policy: { permissions: { read: [place], env: true }, environment: { WORD_A: "a" } },
  });
  expect(await given.call("look", { path, name: "WORD_A" })).toEqual({ file: "text", name: "a" });
});

test("[T09] the environment is the policy's map, never the host's own", async () => {
  process.env.WORD_HOST = "the host's own secret";
  const host = await hosted();
  const policy = { permissions: { env: true } as const, environment: { WORD_MINE: "mine" } };
  const tenant = await approved(host, "acme", { plugins: [looker("/nowhere")], policy });
  expect(await tenant.call("look", { name: "WORD_MINE" })).toEqual({ name: "mine" });
  expect(await tenant.call("look", { name: "WORD_HOST" })).toEqual({ name: null });
  const empty = await approved(host, "empty", {
    plugins: [looker("/nowhere")],
    policy: { permissions: { env: true } },
  });
  expect(await empty.call("look", { name: "WORD_HOST" })).toEqual({ name: null });
  expect((await failureOf(tenant.call("look", { name: "PATH" }))).code).toBe("ERR_NOT_CAPABLE");
});

test.each(["home", "project"] as const)("[T09] $%s exists only where the policy maps it", async (root) => {
  const place = temporary();
  write(place, { "notes/a.txt": "noted" });
  const head = `permissions: { read: ["$${root}/notes"] }\n`;
  const host = await hosted();
  const unmapped = host.tenant("unmapped", {
    plugins: [looker("", head)],
    policy: { permissions: { read: true } },
  });
  const error = await failureOf(approve(unmapped, "looker"));
  expect(error.code).toBe("ERR_USAGE");
  expect(error.message).toContain(`$${root} is not mapped`);
  const mapped = await approved(host, "mapped", {
    plugins: [looker("", head)],
    policy: { permissions: { read: [place] }, [root]: place },
  });
  expect(await mapped.call("look", { path: `$${root}/notes/a.txt` })).toEqual({ file: "noted" });
});

test("[T09] two tenants of one host share no policy, approval, exposure or audit", async () => {
  const directory = pluginOf("shared", { look: LOOK, other: "export const other = () => 'o';" }, {
    head: 'permissions: { env: ["WORD_*"] }\n',
  });
  const logs = new Map<string, ReturnType<typeof memoryAudit>>();
  const host = await hosted({
    audit: (id) => {
      const log = memoryAudit();
      logs.set(id, log);
      return log;
    },
  });
  const open = (id: string, env: PermissionRequest["env"] & object, word: string) =>
    host.tenant(id, {
      plugins: [directory],
      policy: { permissions: { env }, environment: { WORD_A: word, WORD_B: word } },
    });
  const a = open("a", ["WORD_A"], "for a");
  const b = open("b", ["WORD_B"], "for b");
  await approve(a, "shared");
  expect((await failureOf(b.call("look", { name: "WORD_B" }))).code).toBe("ERR_TRUST_UNKNOWN");
  expect((await b.list())[0]!.state).toBe("untrusted");
  expect((await b.list())[0]!.capabilities.map(({ exposed }) => exposed)).toEqual([false, false]);
  const { hash } = await b.fingerprint("shared");
  await b.trust("shared", { fingerprint: hash, approver: "test" });
  await b.expose(["look"]);
  expect((await failureOf(b.call("other", {}))).code).toBe("ERR_CAPABILITY_NOT_EXPOSED");
  expect(await a.call("other", {})).toBe("o");
  expect(await a.call("look", { name: "WORD_A" })).toEqual({ name: "for a" });
  expect(await b.call("look", { name: "WORD_B" })).toEqual({ name: "for b" });
  expect((await failureOf(a.call("look", { name: "WORD_B" }))).code).toBe("ERR_NOT_CAPABLE");
  expect((await failureOf(b.call("look", { name: "WORD_A" }))).code).toBe("ERR_NOT_CAPABLE");
  expect(await host.workerPids()).toHaveLength(2);
  for (const id of ["a", "b"]) {
    const events: readonly AuditEvent[] = logs.get(id)!.events;
    expect(events.length).toBeGreaterThan(3);
    expect(events.every(({ tenant }) => tenant === id)).toBe(true);
  }
});

test("[T09] what a plugin requires and the policy cuts keeps it from being trusted", async () => {
  const head = 'permissions: { env: { allow: ["WORD_*"], required: true } }\n';
  const host = await hosted();
  const cut = host.tenant("cut", {
    plugins: [looker("", head)],
    policy: { permissions: { env: ["WORD_A"] } },
  });
  expect((await failureOf(approve(cut, "looker"))).code).toBe("ERR_NOT_CAPABLE");
  const whole = await approved(host, "whole", {
    plugins: [looker("", head)],
    policy: { permissions: { env: true } },
  });
  expect(await whole.call("look", {})).toEqual({});
});
