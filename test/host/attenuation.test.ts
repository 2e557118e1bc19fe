/** Calls between plugins where the tenant's policy cuts the callee down to what its caller may (T10). */
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type Denial,
  memoryAudit,
  type PermissionRequest,
  type Tenant,
  type TenantPolicy,
} from "../../src/mod.ts";
import { plugin, RELAY } from "./plugin_calls_support.ts";
import { approved, failureOf, hosted, pluginOf, temporary, write } from "./support.ts";

const READ = "plugin__reader__read";
const REFUSED = { name: "NotCapable", code: "ERR_NOT_CAPABLE" };

/** Reads what it is told to, and counts the calls of its isolate. */
const reader = (permissions: string): string =>
  plugin("reader", permissions, {
    read: {
      code: `globalThis.count = (globalThis.count ?? 0) + 1;
        return [await Deno.readTextFile(input.path), globalThis.count];`,
      more: "callers: any",
    },
  });
const relay = (name: string, permissions: string): string =>
  plugin(name, permissions, { [`go_${name}`]: { code: RELAY, more: "callers: any" } });

const OPEN = { read: true, call: true, env: true, write: true, storage: true, dynamicCode: true } as const;
const CUT: TenantPolicy = { permissions: OPEN, calls: { attenuate: true } };
const UNCUT: TenantPolicy = { permissions: OPEN };
const host = await hosted();

function place(): { readonly path: string; readonly other: string; readonly directory: string } {
  const directory = temporary();
  write(directory, { "a.txt": "text", "b.txt": "other" });
  return { directory, path: join(directory, "a.txt"), other: join(directory, "b.txt") };
}

test("[T10] with attenuation a callee reads for its caller only what both may; without it, and for the tenant itself, all that it may", async () => {
  const { directory, path, other } = place();
  const plugins = [
    reader(`{ read: ["${directory}"] }`),
    relay("none", `{ call: ["${READ}"] }`),
    relay("some", `{ call: ["${READ}"], read: ["${path}"] }`),
    relay("all", `{ call: ["${READ}"], read: true }`),
  ];
  const answers = async (tenant: Tenant) => {
    const by = async (name: string, wanted: string) => {
      const told = await tenant.call(`go_${name}`, { id: READ, input: { path: wanted } }) as {
        value?: [string];
        code?: string;
      };
      return told.value?.[0] ?? told.code;
    };
    return {
      none: await by("none", path),
      some: [await by("some", path), await by("some", other)],
      all: [await by("all", path), await by("all", other), await by("all", "/etc/hostname")],
      itself: (await tenant.call(READ, { path: other }) as [string])[0],
    };
  };
  const cut = await approved(host, "cut", { plugins, policy: CUT });
  expect(await answers(cut)).toEqual({
    none: "ERR_NOT_CAPABLE",
    some: ["text", "ERR_NOT_CAPABLE"],
    all: ["text", "other", "ERR_NOT_CAPABLE"],
    itself: "other",
  });
  const twins = {
    none: "text",
    some: ["text", "other"],
    all: ["text", "other", "ERR_NOT_CAPABLE"],
    itself: "other",
  };
  for (
    const [id, policy] of [["uncut", UNCUT], ["off", { ...UNCUT, calls: { attenuate: false } }]] as const
  ) {
    expect(await answers(await approved(host, id, { plugins, policy }))).toEqual(twins);
  }
});

test("[T10] an isolate of less never meets one of more: each intersection has its own, and callers that hold the same share it", async () => {
  const { directory, path } = place();
  const plugins = [
    reader(`{ read: ["${directory}"] }`),
    relay("one", `{ call: ["${READ}"], read: ["${path}"] }`),
    relay("same", `{ call: ["${READ}"], read: ["${path}"] }`),
    relay("more", `{ call: ["${READ}"], read: ["${directory}"] }`),
  ];
  const tenant = await approved(host, "isolates", { plugins, policy: CUT });
  const by = (name: string) => tenant.call(`go_${name}`, { id: READ, input: { path } });
  expect(await tenant.call(READ, { path })).toEqual(["text", 1]);
  expect(await by("one")).toEqual({ value: ["text", 1] });
  expect(await by("more")).toEqual({ value: ["text", 1] });
  expect(await by("same")).toEqual({ value: ["text", 2] });
  expect(await by("more")).toEqual({ value: ["text", 2] });
  expect(await tenant.call(READ, { path })).toEqual(["text", 2]);
});

test("[T10] it holds along the chain: who is in the middle gives its own caller no more than that one has", async () => {
  const { directory, path } = place();
  const open = `{ call: true, read: ["${directory}"] }`;
  const shut = "{ call: true }";
  const told = async (id: string, first: string, second: string, policy: TenantPolicy) => {
    const plugins = [relay("first", first), relay("second", second), reader(`{ read: ["${directory}"] }`)];
    const tenant = await approved(host, id, { plugins, policy });
    const inner = { id: READ, input: { path } };
    const answer = await tenant.call("go_first", { id: "plugin__second__go_second", input: inner });
    return (answer as { value: unknown }).value;
  };
  expect(await told("both", open, open, CUT)).toEqual({ value: ["text", 1] });
  expect(await told("first", open, shut, CUT)).toMatchObject(REFUSED);
  expect(await told("second", shut, open, CUT)).toMatchObject(REFUSED);
  expect(await told("free", shut, open, UNCUT)).toEqual({ value: ["text", 1] });
  // What the caller may not call, nobody calls for it.
  const narrow = `{ call: ["plugin__second__*"], read: ["${directory}"] }`;
  expect(await told("narrow", narrow, open, CUT)).toMatchObject({
    ...REFUSED,
    message: `Requires call access to "${READ}"`,
  });
  expect(await told("wide", narrow, open, UNCUT)).toEqual({ value: ["text", 1] });
});

test("[T10] [T18] whoever made the first call learns that the caller's grant decided, the guests only that it was refused", async () => {
  const { directory, path } = place();
  const sink = memoryAudit();
  const listened = await hosted({ audit: () => sink });
  const plugins = [
    reader(`{ read: ["${directory}"] }`),
    relay("denied", `{ call: ["${READ}"], read: { allow: true, deny: ["${path}"] } }`),
    relay("lacking", `{ call: ["${READ}"] }`),
  ];
  const tenant = await approved(listened, "acme", { plugins, policy: CUT });
  const decisionOf = async (name: string) => {
    const denials: Denial[] = [];
    const told = await tenant.call(`go_${name}`, { id: READ, input: { path } }, {
      onDenial: (denial) => denials.push(denial),
    });
    expect(told).toEqual({
      ...REFUSED,
      message: `The call of "${READ}" failed: it was refused what it asked for`,
    });
    expect(denials.map(({ title }) => title)).toEqual([`Plugin "reader"`]);
    return denials[0]!.decision;
  };
  expect(await decisionOf("lacking")).toMatchObject({
    layer: "caller",
    rule: "caller does not mention read",
    remedy: expect.stringContaining("calls.attenuate"),
  });
  expect(await decisionOf("denied")).toMatchObject({
    layer: "caller",
    rule: `caller's manifest permissions.read.deny[0] ${JSON.stringify(path)}`,
  });
  const refused = sink.events.filter(({ plugin: of, decision }) => of === "reader" && decision === "denied");
  expect(refused.map(({ kind, value }) => [kind, value])).toEqual([["read", path], ["read", path]]);
  // The callee's own refusal reads the same to its caller.
  const own = await tenant.call("go_denied", { id: READ, input: { path: "/etc/hostname" } });
  expect(own).toEqual({
    ...REFUSED,
    message: `The call of "${READ}" failed: it was refused what it asked for`,
  });
});

test("[T10] what counts is what the caller holds in that call: its capability's own part, less what its code gave up", async () => {
  const { directory, path } = place();
  const go = `return await context.call("${READ}", { path: "${path}" }).catch(({ code }) => code);`;
  const caller = plugin("caller", `{ call: true, read: ["${directory}"] }`, {
    whole: { code: go },
    part: { code: go, more: "permissions: { call: true }" },
    gives: {
      code: `const before = await context.call("${READ}", { path: "${path}" });
        await Deno.permissions.revoke({ name: "read", path: "${directory}" });
        return [before, await context.call("${READ}", { path: "${path}" }).catch(({ code }) => code)];`,
    },
  });
  const plugins = [caller, reader(`{ read: ["${directory}"] }`)];
  const tenant = await approved(host, "parts", { plugins, policy: CUT });
  expect(await tenant.call("whole", {})).toEqual(["text", 1]);
  expect(await tenant.call("part", {})).toBe("ERR_NOT_CAPABLE");
  expect(await tenant.call("gives", {})).toEqual([["text", 2], "ERR_NOT_CAPABLE"]);
  expect(await tenant.call("whole", {})).toEqual(["text", 3]);
});

test("[T10] environment, code from text and storage go by the same rule, and $data stays each one's own", async () => {
  const tries = `
    const told = async (work) => { try { return await work(); } catch ({ code, name }) { return code ?? name; } };
    return {
      env: await told(() => Deno.env.get("WORD") === undefined ? "unset" : "set"),
      code: await told(() => new Function("return 1")()),
      storage: await told(async () => { await context.storage.set("k", 1); return "kept"; }),
      data: await told(async () => { await Deno.writeTextFile("$data/f", "x"); return "written"; }),
    };`;
  const held = `{ env: [WORD], dynamicCode: true, storage: true, write: ["$data"], read: ["$data"] }`;
  const worker = plugin("worker", held, { work: { code: tries, more: "callers: any" } });
  const callers = [
    relay("alike", held.replace("{", "{ call: true,")),
    relay("bare", "{ call: true }"),
    relay("wide", "{ call: true, env: true, dynamicCode: true, storage: true, write: true, read: true }"),
  ];
  const policy = { ...CUT, environment: { WORD: "word" } };
  const tenant = await approved(host, "kinds", { plugins: [worker, ...callers], policy });
  const by = async (name: string) =>
    (await tenant.call(`go_${name}`, { id: "plugin__worker__work" }) as { value: Record<string, unknown> })
      .value;
  const all = await tenant.call("work", {});
  expect(all).toMatchObject({ env: "set", code: 1, storage: "kept", data: "written" });
  expect(await by("wide")).toEqual(all);
  expect(await by("alike")).toEqual({ ...all as object, data: "ERR_NOT_CAPABLE" });
  const bare = await by("bare");
  expect(bare).toMatchObject({ storage: "ERR_NOT_CAPABLE", data: "ERR_NOT_CAPABLE" });
  expect(bare.env).not.toBe("set");
  expect(bare.code).not.toBe(1);
});

test("[T10] nobody at the prompt lifts what the caller lacks; what only the callee's record left out may be asked about", async () => {
  const { directory, path } = place();
  const asked: (string | null)[] = [];
  const asking = await hosted({
    asker: { name: "grace", ask: ({ entry }) => (asked.push(entry), Promise.resolve("always")) },
  });
  const plugins = [
    reader(`{ read: ["${directory}"] }`),
    relay("none", `{ call: ["${READ}"], read: true }`),
    relay("all", `{ call: ["${READ}"], read: true }`),
  ];
  const tenant = asking.tenant("acme", { plugins, policy: CUT });
  const trust = async (name: string, grants: PermissionRequest, tool: string) => {
    const { hash } = await tenant.fingerprint(name);
    await tenant.trust(name, { fingerprint: hash, approver: "test", grants, expose: [tool] });
  };
  await trust("none", { call: [READ] }, "go_none");
  await trust("all", { call: [READ], read: true }, "go_all");
  await trust("reader", {}, "read");
  const by = (name: string) => tenant.call(`go_${name}`, { id: READ, input: { path } });
  expect(await by("none")).toMatchObject(REFUSED);
  expect(asked).toEqual([]);
  expect(await by("all")).toEqual({ value: ["text", 1] });
  expect(asked).toEqual([path]);
  expect(await by("none")).toMatchObject(REFUSED);
});

test("[T10] a caller with too little for the callee's start withdraws it from nobody else", async () => {
  const { directory, path } = place();
  const head = `lifecycle: { activate: "main.ts:activate" }\npermissions: { read: ["${directory}"] }\n`;
  const callee = pluginOf("callee", {}, {
    head,
    files: {
      "main.ts": `export const activate = async (context) => {
        const text = await Deno.readTextFile("${path}").catch(() => { throw new Error("no start"); });
        context.register("tools", "start", () => text);
      };`,
    },
  });
  write(callee, {
    "plugin.yaml":
      `name: callee\nversion: "1"\n${head}capabilities:\n  tools: [{ name: start, callers: any }]\n`,
  });
  const plugins = [callee, relay("none", "{ call: true }"), relay("all", "{ call: true, read: true }")];
  const tenant = await approved(host, "starts", { plugins, policy: CUT });
  const by = (name: string) => tenant.call(`go_${name}`, { id: "plugin__callee__start" });
  expect(await by("none")).toMatchObject({ name: expect.any(String), code: expect.stringMatching(/^ERR_/) });
  const offered = (await tenant.snapshot()).tools.map(({ id }) => id);
  expect(offered).toContain("plugin__callee__start");
  expect(await by("all")).toEqual({ value: "text" });
  expect(await tenant.call("plugin__callee__start", {})).toBe("text");
  expect((await failureOf(tenant.call("plugin__callee__gone", {}))).code).toBe("ERR_CAPABILITY_UNKNOWN");
});
