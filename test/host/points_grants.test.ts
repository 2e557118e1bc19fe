/** Whose calls are shown to whom, and who may change them: watching and intercepting are authority (T04). */
import { describe, expect, test } from "vitest";
import type { PermissionRequest } from "../../src/mod.ts";
import { opened, standing } from "./points_support.ts";
import { failureOf, until } from "./support.ts";

const ECHO = "plugin__notes__echo";
const NEXT = "plugin__notes__next";

const notes = () => standing("notes", { tools: { echo: "return input;", next: "return input;" } });

/** Keeps what it is shown, for its own tool to tell: all its isolates share its storage. */
const KEEP =
  `const all = (await context.storage.get("seen")) ?? []; await context.storage.set("seen", [...all, event]);`;
const TOLD = { told: `return (await context.storage.get("seen")) ?? [];` };

const watcher = (permissions: string, more: object = {}) =>
  standing("watcher", {
    permissions: permissions.replace("{", "{ storage: true, "),
    tools: TOLD,
    hooks: [{ event: "PreToolUse", matcher: ".*(echo|next)", code: KEEP }],
    ...more,
  });

const ALL: PermissionRequest = { observe: true, intercept: true, storage: true };
const STOP = `return { decision: "block", reason: "stopped" };`;
const CHANGE = `return { decision: "replace", value: { changed: true } };`;

async function seenBy(permissions: string, policy: PermissionRequest): Promise<readonly unknown[]> {
  const { tenant } = await opened("a", [notes(), watcher(permissions)], { permissions: policy });
  await tenant.call(ECHO, { n: 1 });
  await tenant.call(NEXT, { n: 2 });
  return await tenant.call("told", {}) as readonly unknown[];
}

const shown = (target: string, n: number) => ({ name: "PreToolUse", target, input: { n } });

describe("[T04] what a hook is shown", { timeout: 60_000 }, () => {
  test.each<readonly [string, string, PermissionRequest, readonly unknown[]]>([
    ["nothing without a grant", "{}", ALL, []],
    ["nothing of what the policy does not grant", `{ observe: ["tool.input notes"] }`, { storage: true }, []],
    ["nothing at another point", `{ observe: ["tool.output notes", "prompt.submit"] }`, ALL, []],
    ["nothing of another plugin", `{ observe: ["tool.input other"] }`, ALL, []],
    ["the calls of a tool that is named", `{ observe: ["tool.input ${NEXT}"] }`, ALL, [shown(NEXT, 2)]],
    ["the calls of a plugin that is named", `{ observe: ["tool.input notes"] }`, ALL, [
      shown(ECHO, 1),
      shown(NEXT, 2),
    ]],
    ["of any plugin's", `{ observe: ["tool.input *"] }`, ALL, [shown(ECHO, 1), shown(NEXT, 2)]],
    ["what it may change", `{ intercept: ["tool.input notes"] }`, ALL, [shown(ECHO, 1), shown(NEXT, 2)]],
    [
      "nothing that is denied, though it might be changed",
      `{ observe: { deny: ["tool.input ${ECHO}"] }, intercept: ["tool.input notes"] }`,
      ALL,
      [shown(NEXT, 2)],
    ],
    [
      "all but what is denied",
      `{ observe: { allow: ["tool.input notes"], deny: ["tool.input ${ECHO}"] } }`,
      ALL,
      [shown(NEXT, 2)],
    ],
  ])("is %s", async (_what, permissions, policy, expected) => {
    expect(await seenBy(permissions, policy)).toEqual(expected);
  });

  test("is its own plugin's calls without any grant, which it may change as well", async () => {
    const own = standing("own", {
      tools: { echo: "return input;" },
      hooks: [{ event: "PreToolUse", code: `return { decision: "replace", value: { was: event.input } };` }],
    });
    const { tenant } = await opened("a", [own]);
    expect(await tenant.call("echo", { n: 1 })).toEqual({ was: { n: 1 } });
  });

  test("after a call is the input as well where that is granted, and else what came out alone", async () => {
    for (
      const [id, observe, expected] of [
        ["a", ["tool.output notes"], { name: "PostToolUse", target: ECHO, output: { n: 1 } }],
        ["b", ["tool.output notes", "tool.input notes"], {
          name: "PostToolUse",
          target: ECHO,
          input: { n: 1 },
          output: { n: 1 },
        }],
      ] as const
    ) {
      const plugin = watcher(`{ observe: ${JSON.stringify(observe)} }`, {
        hooks: [{ event: "PostToolUse", matcher: "echo", code: KEEP }],
      });
      const { tenant } = await opened(id, [notes(), plugin], { permissions: ALL });
      await tenant.call(ECHO, { n: 1 });
      await until(() => (tenant.pointsStats()[0]?.delivered ?? 0) > 0);
      expect(await tenant.call("told", {})).toEqual([expected]);
    }
  });

  test("is written down once, with the rule that lets it see", async () => {
    const { tenant, events } = await opened(
      "a",
      [notes(), watcher(`{ observe: ["tool.input ${ECHO}"] }`)],
      { permissions: ALL },
    );
    for (let i = 0; i < 3; i++) await tenant.call(ECHO, {});
    await tenant.call(NEXT, {});
    expect(events.filter(({ type, kind }) => type === "grant" && kind === "observe")).toEqual([
      expect.objectContaining({
        plugin: "watcher",
        value: `tool.input ${ECHO}`,
        decision: "granted",
        rule: expect.stringContaining("manifest permissions.observe"),
        details: { by: "watcher/PreToolUse/0/0" },
      }),
    ]);
  });
});

describe("[T04] who may change what passes", { timeout: 60_000 }, () => {
  const around = (permissions: string, code = `if (event.phase === "before") ${CHANGE}`) =>
    standing("changer", { permissions, around: [{ code }] });

  async function called(permissions: string, policy: PermissionRequest) {
    const { tenant, events } = await opened("a", [notes(), around(permissions)], { permissions: policy });
    const result = await tenant.call(ECHO, { n: 1 }).catch((error: unknown) => error);
    return { result, events };
  }

  test.each<readonly [string, string, PermissionRequest]>([
    ["only seeing is granted", `{ observe: ["tool.input notes"] }`, ALL],
    [
      "changing is granted for any plugin, and the policy grants the whole kind",
      `{ observe: ["tool.input notes"], intercept: ["tool.input *"] }`,
      ALL,
    ],
    ["the manifest asks for the whole kind", `{ observe: ["tool.input notes"], intercept: true }`, ALL],
    ["the policy grants another plugin", `{ observe: ["tool.input notes"], intercept: ["tool.input *"] }`, {
      observe: true,
      intercept: ["tool.input other"],
    }],
    ["the policy denies it", `{ observe: ["tool.input notes"], intercept: ["tool.input notes"] }`, {
      observe: true,
      intercept: { allow: true, deny: ["tool.input notes"] },
    }],
  ])(
    "a replacement of another's input is refused, and blocks, where %s",
    async (_where, permissions, policy) => {
      const { result, events } = await called(permissions, policy);
      expect(result).toMatchObject({
        code: "ERR_BLOCKED",
        details: { by: "changer/tool.call/0", answered: false, code: "ERR_NOT_CAPABLE" },
        cause: { details: { kind: "intercept", value: `tool.input ${ECHO}` } },
      });
      expect(events.filter(({ type }) => type === "intercept")).toMatchObject([
        {
          kind: "intercept",
          value: `tool.input ${ECHO}`,
          decision: "denied",
          details: { refused: "replace" },
        },
      ]);
      expect(events.some(({ type, value }) => type === "call" && value === ECHO)).toBe(false);
    },
  );

  test.each<readonly [string, string, PermissionRequest]>([
    ["the manifest names the plugin", `{ intercept: ["tool.input notes"] }`, ALL],
    ["the manifest names the tool", `{ intercept: ["tool.input ${ECHO}"] }`, ALL],
    ["the policy itself says any plugin", `{ intercept: ["tool.input *"] }`, { intercept: ["tool.input *"] }],
    ["the policy itself names the plugin", `{ intercept: true }`, { intercept: ["tool.input notes"] }],
  ])("it is made where %s", async (_where, permissions, policy) => {
    expect((await called(permissions, policy)).result).toEqual({ changed: true });
  });

  test("whoever has no grant at all is not asked, and stops nothing", async () => {
    const { tenant } = await opened("a", [
      notes(),
      around("{}", STOP),
      standing("own", {
        tools: { echo: "return input;" },
        around: [{ code: STOP }],
      }),
    ], { permissions: ALL });
    expect(await tenant.call(ECHO, { n: 1 })).toEqual({ n: 1 });
    expect((await failureOf(tenant.call("plugin__own__echo", {}))).code).toBe("ERR_BLOCKED");
  });
});
