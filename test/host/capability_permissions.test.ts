/** A tool with permissions of its own runs under these and nothing more; a tenant's policy is the ceiling of all (T24). */
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { rememberedJail } from "../../runtime/mod.ts";
import type { TenantPolicy } from "../../src/mod.ts";
import { sharedStorage } from "../../src/shared_storage.ts";
import { approved, failureOf, hosted, temporary, write } from "./support.ts";

const canRun = process.env.SALLYPORT_TEST_STRONG === "1" || typeof await rememberedJail()() !== "string";

/** Each tries all that the plugin may do, and says what came of each. */
const TRY = `
globalThis.uses = (globalThis.uses ?? 0) + 1;
const attempt = async (work) => { try { return await work(); } catch (error) { return error.code ?? error.name; } };
export const tryAll = async (_input, context) => ({
  read: await attempt(() => Deno.readTextFile("./a.txt")),
  other: await attempt(() => Deno.readTextFile("./b.txt")),
  write: await attempt(() => Deno.writeTextFile("$data/x.txt", "x").then(() => "written")),
  env: await attempt(() => Deno.env.get("WORD")),
  listed: Object.keys(Deno.env.toObject()),
  sys: await attempt(() => typeof Deno.hostname()),
  storage: await attempt(() => context.storage.set("k", 1).then(() => "kept")),
  code: await attempt(() => eval("'made'")),
  state: globalThis.uses++,
});
`;

const ALL = {
  read: "a",
  other: "b",
  write: "written",
  env: "a word",
  listed: ["WORD"],
  sys: "string",
  storage: "kept",
  code: "made",
};
const NONE = {
  read: "ERR_NOT_CAPABLE",
  other: "ERR_NOT_CAPABLE",
  write: "ERR_NOT_CAPABLE",
  env: "ERR_NOT_CAPABLE",
  listed: [],
  sys: "ERR_NOT_CAPABLE",
  storage: "ERR_NOT_CAPABLE",
  code: "TypeError",
};

/** A plugin of which each tool is the same code under its own permissions, as YAML; null is none of its own. */
function pluginOf(tools: Readonly<Record<string, string | null>>): string {
  const directory = join(temporary(), "parts");
  const entries = Object.entries(tools).map(([name, own]) =>
    `    - { name: ${name}, target: "try.ts:tryAll", input: { type: object }${
      own === null ? "" : `, permissions: ${own}`
    } }\n`
  );
  write(directory, {
    "plugin.yaml": `name: parts
version: "1"
permissions:
  read: [./a.txt, ./b.txt, $data]
  write: ["$data"]
  env: [WORD]
  sys: [hostname]
  storage: true
  dynamicCode: true
capabilities:
  tools:
${entries.join("")}`,
    "try.ts": TRY,
    "a.txt": "a",
    "b.txt": "b",
  });
  return directory;
}

const EVERYTHING: TenantPolicy = {
  permissions: { read: true, write: true, env: true, sys: true, storage: true, dynamicCode: true },
  environment: { WORD: "a word" },
};

describe("a capability's own permissions", () => {
  test("[T24] each tool has its own part of what the plugin has, one without any has it all, and none meets another's isolate", async () => {
    const host = await hosted();
    const tenant = await approved(host, "acme", {
      plugins: [
        pluginOf({
          whole: null,
          nothing: "{}",
          reads: "{ read: [./a.txt] }",
          keeps: "{ storage: true, write: [$data] }",
          denies:
            "{ read: { allow: [./a.txt, ./b.txt], deny: [./b.txt] }, env: [WORD], sys: [hostname], dynamicCode: true }",
        }),
      ],
      policy: EVERYTHING,
    });
    const call = (name: string) => tenant.call(name, {});
    // Twice, and in turns: an isolate that was started for one must not serve the next.
    for (const state of [1, 2]) {
      expect(await call("whole")).toEqual({ ...ALL, state });
      expect(await call("nothing")).toEqual({ ...NONE, state });
      expect(await call("reads")).toEqual({ ...NONE, read: "a", state });
      expect(await call("keeps")).toEqual({ ...NONE, storage: "kept", write: "written", state });
      expect(await call("denies")).toEqual({
        ...ALL,
        other: "ERR_NOT_CAPABLE",
        write: "ERR_NOT_CAPABLE",
        storage: "ERR_NOT_CAPABLE",
        state,
      });
    }
  });

  test("[T24] what the plugin has and the tool does not is refused by the layer of the capability, with the line that would allow it", async () => {
    const directory = join(temporary(), "thrower");
    write(directory, {
      "plugin.yaml": `name: thrower
version: "1"
permissions: { sys: [hostname] }
capabilities:
  tools:
    - { name: own, target: "t.ts:t", permissions: {} }
    - { name: whole, target: "t.ts:t" }
`,
      "t.ts": "export const t = () => typeof Deno.hostname();",
    });
    const host = await hosted();
    const tenant = await approved(host, "acme", {
      plugins: [directory],
      policy: { permissions: { sys: true } },
    });
    const error = await failureOf(tenant.call("own", {}));
    expect(error).toMatchObject({
      code: "ERR_NOT_CAPABLE",
      details: { kind: "sys", value: "hostname", rule: "capability does not mention sys" },
    });
    expect(error.details.remedy).toContain(`sys: ["hostname"] to the capability's own permissions`);
    expect(await tenant.call("whole", {})).toBe("string");
  });

  test("[T24] a tool that asks for more than its plugin does is no valid plugin", async () => {
    const host = await hosted();
    const tenant = host.tenant("acme", {
      plugins: [pluginOf({ more: "{ sys: true }" })],
      policy: EVERYTHING,
    });
    expect((await tenant.list())[0]).toMatchObject({ state: "invalid" });
  });

  test.skipIf(!canRun)("[T24] `run` and the environment of a program follow the tool as well", async () => {
    const directory = join(temporary(), "runner");
    write(directory, {
      "plugin.yaml": `name: runner
version: "1"
permissions: { run: [echo, ./bin/tool.sh] }
capabilities:
  tools:
    - { name: echo, target: "t.ts:t", permissions: { run: [echo] } }
    - { name: own, target: "t.ts:t", permissions: { run: [./bin/tool.sh] } }
    - { name: none, target: "t.ts:t", permissions: {} }
`,
      "t.ts": `export const t = async () => {
        const out = [];
        for (const name of ["echo", "./bin/tool.sh", "sh"]) {
          try {
            const { stdout } = await new Deno.Command(name, { args: ["x"] }).output();
            out.push(new TextDecoder().decode(stdout));
          } catch (error) { out.push(error.code); }
        }
        return out;
      };`,
      "bin/tool.sh": '#!/bin/sh\necho "tool $1"\n',
    });
    const host = await hosted();
    const tenant = await approved(host, "acme", {
      plugins: [directory],
      policy: { permissions: { run: true } },
    });
    expect(await tenant.call("echo", {})).toEqual(["x\n", "ERR_NOT_CAPABLE", "ERR_NOT_CAPABLE"]);
    expect(await tenant.call("own", {})).toEqual(["ERR_NOT_CAPABLE", "tool x\n", "ERR_NOT_CAPABLE"]);
    expect(await tenant.call("none", {})).toEqual(["ERR_NOT_CAPABLE", "ERR_NOT_CAPABLE", "ERR_NOT_CAPABLE"]);
  });
});

test("[T24] what is named is what happens: kept data passes between capabilities that may keep some, module state never", async () => {
  const directory = join(temporary(), "keepers");
  const tool = (name: string, code: string, permissions: string): string =>
    `    - { name: ${name}, target: "t.ts:${code}", permissions: ${permissions} }\n`;
  write(directory, {
    "plugin.yaml": `name: keepers
version: "1"
permissions: { storage: true, sys: [hostname], call: ["plugin__keepers__*"] }
capabilities:
  tools:
${tool("puts", "puts", "{ storage: true, sys: [hostname] }")}${tool("gets", "gets", "{ storage: true }")}${
      tool("bare", "gets", "{ sys: [hostname] }")
    }${tool("calls", "calls", `{ call: ["plugin__keepers__*"] }`)}${tool("cannot", "calls", "{}")}${
      tool("called", "gets", "{ storage: true }").replace(" }\n", ", callers: [keepers] }\n")
    }`,
    "t.ts": `let state = "none";
      const told = async (work) => { try { return await work(); } catch ({ code }) { return code; } };
      export const puts = async (input, { storage }) => { state = "put"; await storage.set("k", "kept"); };
      export const gets = async (input, { storage }) => [await told(() => storage.get("k")), state];
      export const calls = (input, { call }) => told(() => call("plugin__keepers__called", {}));`,
  });
  const host = await hosted();
  const policy = { permissions: { storage: true, sys: true, call: true } } as const;
  const tenant = await approved(host, "acme", { plugins: [directory], policy });
  expect(sharedStorage(await tenant.manifest("keepers"))).toEqual(
    ["puts", "gets", "called"].map((name) => `plugin__keepers__${name}`),
  );
  await tenant.call("puts", {});
  expect(await tenant.call("gets", {})).toEqual(["kept", "none"]);
  expect(await tenant.call("bare", {})).toEqual(["ERR_NOT_CAPABLE", "none"]);
  // A capability of its own is called as any other is.
  expect(await tenant.call("calls", {})).toEqual(["kept", "none"]);
  expect(await tenant.call("cannot", {})).toBe("ERR_NOT_CAPABLE");
});

test("[T24] what lifecycle code registers is named as what has a target is", async () => {
  const named = async (permissions: string) => {
    const directory = join(temporary(), "life");
    write(directory, {
      "plugin.yaml": `name: life
version: "1"
permissions: { storage: true, sys: [hostname] }
lifecycle: { activate: "main.ts:activate" }
capabilities:
  tools:
    - { name: one, permissions: { storage: true } }
    - { name: two, permissions: ${permissions} }
`,
      "main.ts": "export const activate = () => {};",
    });
    const tenant = (await hosted()).tenant("acme", { plugins: [directory] });
    return sharedStorage(await tenant.manifest("life"));
  };
  expect(await named("{ storage: true, sys: [hostname] }")).toEqual([
    "plugin__life__one",
    "plugin__life__two",
  ]);
  expect(await named("{ storage: true }")).toEqual([]);
  expect(await named("{ sys: [hostname] }")).toEqual([]);
});

test("[T24] capabilities that differ in their permissions and keep data in one place are named", async () => {
  const host = await hosted();
  const named = async (tools: Readonly<Record<string, string | null>>, id: string) =>
    sharedStorage(
      (await host.tenant(id, { plugins: [pluginOf(tools)], policy: EVERYTHING }).facts("parts")).manifest,
    );
  const keeper = "{ storage: true, sys: [hostname] }";
  expect(await named({ one: keeper, two: "{ storage: true }", three: "{ env: [WORD] }" }, "a"))
    .toEqual(["plugin__parts__one", "plugin__parts__two"]);
  expect(await named({ one: keeper, two: "{ write: [$data] }" }, "b"))
    .toEqual(["plugin__parts__one", "plugin__parts__two"]);
  expect(await named({ one: keeper, two: keeper }, "c")).toEqual([]);
  expect(await named({ one: keeper, two: "{ env: [WORD] }" }, "d")).toEqual([]);
  expect(await named({ one: null, two: null }, "e")).toEqual([]);
  // Who only reads what another one writes hears of it as well.
  expect(await named({ one: "{ write: [$data] }", two: "{ read: [$data] }" }, "f"))
    .toEqual(["plugin__parts__one", "plugin__parts__two"]);
  expect(await named({ one: "{ read: [$data] }", two: "{ read: [$data, ./a.txt] }" }, "g")).toEqual([]);
});

describe("a tenant's policy", () => {
  test("[T24] is the ceiling of every tool: what it leaves out or denies nobody has, and no policy is nothing", async () => {
    const host = await hosted();
    const tools = { whole: null, reads: "{ read: [./a.txt, ./b.txt], sys: [hostname] }" };
    const none = await approved(host, "none", { plugins: [pluginOf(tools)] });
    expect(await none.call("whole", {})).toMatchObject(NONE);
    expect(await none.call("reads", {})).toMatchObject(NONE);
    const plugin = pluginOf(tools);
    const some = await approved(host, "some", {
      plugins: [plugin],
      policy: {
        permissions: {
          read: { allow: true, deny: [join(plugin, "b.txt")] },
          sys: ["hostname"],
          dynamicCode: true,
        },
      },
    });
    expect(await some.call("whole", {})).toMatchObject({ ...NONE, read: "a", sys: "string", code: "made" });
    expect(await some.call("reads", {})).toMatchObject({ ...NONE, read: "a", sys: "string" });
  });

  test("[T34] unconfinedCommands stands in every audit line of its tenant and in no other's", async () => {
    const events: { readonly tenant: string; readonly confinement: string }[] = [];
    const host = await hosted({ audit: () => ({ write: (event) => void events.push(event), close() {} }) });
    const tools = { whole: null };
    const open = await approved(host, "open", {
      plugins: [pluginOf(tools)],
      policy: { ...EVERYTHING, unconfinedCommands: "allow" },
    });
    const closed = await approved(host, "closed", { plugins: [pluginOf(tools)], policy: EVERYTHING });
    for (const tenant of [open, closed]) await tenant.call("whole", {});
    const levels = (id: string) =>
      new Set(events.filter(({ tenant }) => tenant === id).map(({ confinement }) => confinement));
    expect(levels("open")).toEqual(new Set([`${host.confinement.level}, commands may be unconfined`]));
    expect(levels("closed")).toEqual(new Set([host.confinement.level]));
    expect([open.confinement, closed.confinement]).toEqual([...levels("open"), ...levels("closed")]);
  });
});
