/** Events that an embedder tells: one snapshot, in order, failures apart; and what only watches never holds anything up. */
import { describe, expect, test } from "vitest";
import type { EmittedEvent, PermissionRequest } from "../../src/mod.ts";
import { Watchers } from "../../src/points/watchers.ts";
import { opened, standing } from "./points_support.ts";
import { failureOf, until } from "./support.ts";

const OPEN = {
  permissions: {
    observe: true,
    intercept: ["prompt.submit", "event.sessionStart", "event.stop"],
    storage: true,
  } as PermissionRequest,
};
const STARTS = `{ observe: ["event.sessionStart"] }`;
const CHANGES = `{ intercept: ["event.sessionStart", "prompt.submit"] }`;

/** Adds a mark to the fields of an event. */
const mark = (name: string): string =>
  `const { name, ...fields } = event; return { decision: "replace", value: { ...fields, marks: [...fields.marks ?? [], "${name}"] } };`;

const KEEP =
  `const all = (await context.storage.get("seen")) ?? []; await context.storage.set("seen", [...all, event]);`;
const TOLD = { told: `return (await context.storage.get("seen")) ?? [];` };

describe("an event", { timeout: 60_000 }, () => {
  test("[P19] is told in the order in which plugins were started, then in that of their manifests; a priority comes before both", async () => {
    const plugin = (name: string, priorities: readonly number[] = [0, 0]) =>
      standing(name, {
        permissions: CHANGES,
        tools: { [`${name}_tool`]: "return 1;" },
        hooks: priorities.map((priority, place) => ({
          event: "SessionStart",
          priority,
          code: mark(`${name}${place}`),
        })),
      });
    const { tenant } = await opened(
      "a",
      [plugin("one"), plugin("two"), plugin("three"), plugin("four", [5, -5])],
      OPEN,
    );
    const marks = async () => (await tenant.emit({ name: "SessionStart" })).value.marks;
    await tenant.call("three_tool", {});
    await tenant.call("two_tool", {});
    const order = ["four1", "three0", "three1", "two0", "two1", "one0", "one1", "four0"];
    expect(await marks()).toEqual(order);
    expect(await tenant.emit({ name: "SessionStart", source: "x" })).toMatchObject({
      verdict: "replace",
      by: null,
      diagnostics: [],
      value: { source: "x" },
    });
  });

  test("[P19] is one snapshot: whoever told it cannot change it any more, nor can one that hears it for the next one", async () => {
    const hears = (name: string) =>
      standing(name, {
        permissions: `{ observe: ["event.stop"], storage: true }`,
        tools: { [`${name}_told`]: TOLD.told },
        hooks: [{ event: "Stop", code: `${KEEP} event.fields.n = 99; event.more = true;` }],
      });
    const { tenant } = await opened("a", [hears("one"), hears("two")], OPEN);
    const fields = { n: 1 };
    const telling = tenant.emit({ name: "Stop", fields });
    fields.n = 2;
    const told = await telling;
    expect(told).toEqual({
      verdict: "continue",
      by: null,
      reason: null,
      value: { fields: { n: 1 } },
      diagnostics: [],
    });
    expect(Object.isFrozen(told) && Object.isFrozen(told.value.fields)).toBe(true);
    for (const name of ["one", "two"]) {
      expect(await tenant.call(`${name}_told`, {})).toEqual([{ name: "Stop", fields: { n: 1 } }]);
    }
  });

  test("[P20] one hook that fails is a frozen diagnostic, and those after it are told", async () => {
    const plugin = (name: string, code: string, more = "") =>
      standing(name, {
        permissions: `{ observe: ["event.deployStarted"], storage: true }`,
        tools: { [`${name}_told`]: TOLD.told },
        hooks: [{ event: "DeployStarted", code }],
        more,
      });
    const { tenant } = await opened(
      "a",
      [
        plugin("first", KEEP),
        plugin("throws", `throw new Error("mine");`),
        plugin("hangs", `await new Promise(() => {});`, "limits: { wallMs: 700 }\n"),
        plugin("last", KEEP),
      ],
      OPEN,
      { events: ["DeployStarted"] },
    );
    const { diagnostics, verdict } = await tenant.emit({ name: "DeployStarted", to: "x" });
    expect(verdict).toBe("continue");
    expect(diagnostics).toEqual([
      { id: "throws/DeployStarted/0/0", index: 1, message: expect.stringContaining("mine") },
      { id: "hangs/DeployStarted/0/0", index: 2, message: expect.stringContaining("700 ms") },
    ]);
    expect(diagnostics.every((each) => Object.isFrozen(each)) && Object.isFrozen(diagnostics)).toBe(true);
    for (const name of ["first", "last"]) {
      expect(await tenant.call(`${name}_told`, {})).toEqual([{ name: "DeployStarted", to: "x" }]);
    }
  });

  test("[T33] a prompt and the start of a session may be stopped, by the first that says so; nothing else may", async () => {
    const stops = (name: string, event: string, permissions: string) =>
      standing(name, {
        permissions,
        hooks: [{ event, code: `if (event.stop) return { decision: "block", reason: "no ${name}" };` }],
      });
    const { tenant } = await opened("a", [
      stops("session", "SessionStart", STARTS),
      stops("prompt", "UserPromptSubmit", `{ observe: ["prompt.submit"] }`),
      standing("guard", {
        permissions: `{ observe: ["prompt.submit"] }`,
        guards: [{
          name: "g",
          on: "[prompt.input]",
          code: `if (event.prompt === "bad") return { decision: "block", reason: event.name };`,
        }],
      }),
      stops("watch", "Stop", `{ observe: ["event.stop"] }`),
    ], OPEN);
    expect(await tenant.emit({ name: "SessionStart", stop: true })).toMatchObject({
      verdict: "block",
      by: "session/SessionStart/0/0",
      reason: "no session",
    });
    expect(await tenant.emit({ name: "SessionStart" })).toMatchObject({ verdict: "continue", by: null });
    expect(await tenant.emit({ name: "UserPromptSubmit", prompt: "x", stop: true })).toMatchObject({
      verdict: "block",
      by: "prompt/UserPromptSubmit/0/0",
    });
    expect(await tenant.emit({ name: "UserPromptSubmit", prompt: "bad" })).toMatchObject({
      verdict: "block",
      by: "guard/g",
      reason: "prompt.input",
    });
    expect(await tenant.emit({ name: "UserPromptSubmit", prompt: "fine" })).toMatchObject({
      verdict: "continue",
    });
    expect(await tenant.emit({ name: "Stop", stop: true })).toMatchObject({
      verdict: "continue",
      diagnostics: [],
    });
  });

  test("[T11] a hook that gives no answer where one decides stops it, and only the policy lets it pass", async () => {
    const broken = () =>
      standing("broken", {
        permissions: STARTS,
        hooks: [{ event: "SessionStart", code: `throw new Error("mine");` }],
      });
    const after = () =>
      standing("after", { permissions: CHANGES, hooks: [{ event: "SessionStart", code: mark("after") }] });
    const { tenant, host } = await opened("a", [broken(), after()], OPEN);
    const diagnostics = [{
      id: "broken/SessionStart/0/0",
      index: 0,
      message: expect.stringContaining("mine"),
    }];
    expect(await tenant.emit({ name: "SessionStart" })).toMatchObject({
      verdict: "block",
      by: "broken/SessionStart/0/0",
      reason: null,
      diagnostics,
    });
    const policy = { ...OPEN, onNoAnswer: { broken: "continue" } } as const;
    const lax = await opened("b", [broken(), after()], policy, { host });
    expect(await lax.tenant.emit({ name: "SessionStart" })).toMatchObject({
      verdict: "replace",
      value: { marks: ["after"] },
      diagnostics,
    });
  });

  test("[T04] without a grant a hook hears that it happened, and has no say; with one it sees the fields, and changes them only where it may", async () => {
    const plugin = (name: string, permissions: string) =>
      standing(name, {
        permissions,
        tools: { [`${name}_told`]: TOLD.told },
        hooks: [{
          event: "SessionStart",
          code: `${KEEP} return { decision: event.as ?? "block", reason: "", value: { changed: true } };`,
        }],
      });
    const { tenant } = await opened("a", [plugin("blind", "{ storage: true }")], OPEN);
    expect(await tenant.emit({ name: "SessionStart", secret: 1 })).toMatchObject({
      verdict: "continue",
      value: { secret: 1 },
    });
    expect(await tenant.call("blind_told", {})).toEqual([{ name: "SessionStart" }]);
    const sees = await opened(
      "b",
      [plugin("sees", `{ storage: true, observe: ["event.sessionStart"] }`)],
      OPEN,
    );
    expect(await sees.tenant.emit({ name: "SessionStart", as: "replace" })).toMatchObject({
      verdict: "block",
      reason: null,
      diagnostics: [{ message: expect.stringContaining("may not change") }],
    });
    const may = await opened(
      "c",
      [plugin("may", `{ storage: true, intercept: ["event.sessionStart"] }`)],
      OPEN,
    );
    expect(await may.tenant.emit({ name: "SessionStart", as: "replace" })).toMatchObject({
      verdict: "replace",
      value: { changed: true },
    });
  });

  test.each<readonly [string, EmittedEvent, string]>([
    ["of no known name", { name: "SesionStart" }, 'did you mean "SessionStart"?'],
    ["about a call", { name: "PreToolUse" }, "told when one is made"],
    ["whose fields are no JSON", { name: "Stop", n: 1n }, "no JSON"],
    ["that is too large", { name: "Stop", text: "x".repeat(1_100_000) }, "eventCharsMax"],
    ["without a name", {} as EmittedEvent, "no such event"],
  ])("%s is refused", async (_what, event, why) => {
    const { tenant } = await opened("a", []);
    expect(await failureOf(tenant.emit(event))).toMatchObject({
      code: "ERR_USAGE",
      message: expect.stringContaining(why),
    });
    expect(await tenant.emit({ name: "Stop", n: 1 })).toMatchObject({ verdict: "continue", value: { n: 1 } });
  });
});

describe("who only watches", { timeout: 60_000 }, () => {
  test("[R29] a wedged plugin holds up no call: what finds no room in its queue is dropped, counted and told, and others are told", async () => {
    const watch = (name: string, code: string) =>
      standing(name, {
        permissions: `{ observe: ["tool.output notes"] }`,
        hooks: [{ event: "PostToolUse", code }],
      });
    const { tenant, events } = await opened("a", [
      standing("notes", { tools: { echo: "return input;" } }),
      watch("wedged", `await new Promise(() => {});`),
      watch("fine", ""),
    ], OPEN);
    const calls = 300;
    for (let n = 0; n < calls; n++) expect(await tenant.call("echo", { n })).toEqual({ n });
    const stats = (name: string) => tenant.pointsStats().find(({ plugin }) => plugin === name)!;
    const { delivered, failed, dropped, waiting } = stats("wedged");
    // 256 wait at most; one is being told, and is given up after a while.
    expect({ delivered, sum: failed + 1 + dropped + waiting }).toEqual({ delivered: 0, sum: calls });
    expect(waiting).toBeLessThanOrEqual(256);
    expect(dropped).toBe(calls - 1 - failed - waiting);
    expect(dropped).toBeGreaterThan(0);
    await until(() => stats("fine").delivered > 0);
    expect(stats("fine")).toMatchObject({ failed: 0 });
    const told = events.filter(({ type, plugin }) => type === "limit" && plugin === "wedged");
    expect(told.length).toBeGreaterThan(0);
    expect(told.length).toBeLessThanOrEqual(dropped);
    expect(told[0]).toMatchObject({ details: { eventsDropped: 1 } });
  });

  test("its failure changes nothing of the call, and is counted", async () => {
    const { tenant } = await opened("a", [
      standing("notes", { tools: { echo: `if (input.fails) throw new Error("own"); return input;` } }),
      standing("watch", {
        permissions: `{ observe: ["tool.output notes"], storage: true }`,
        tools: TOLD,
        hooks: [
          { event: "PostToolUse", code: `return { decision: "block", reason: "too late" };` },
          { event: "PostToolUse", code: `throw new Error("mine");` },
          { event: "PostToolUse", code: KEEP },
        ],
      }),
    ], OPEN);
    expect(await tenant.call("echo", { n: 1 })).toEqual({ n: 1 });
    expect((await failureOf(tenant.call("echo", { fails: true }))).code).toBe("ERR_GUEST_THREW");
    await until(() => tenant.pointsStats()[0]?.delivered === 4);
    expect(tenant.pointsStats()).toEqual([{
      plugin: "watch",
      delivered: 4,
      failed: 2,
      dropped: 0,
      waiting: 0,
    }]);
    expect(await tenant.call("told", {})).toEqual([
      { name: "PostToolUse", target: "plugin__notes__echo", output: { n: 1 } },
      { name: "PostToolUse", target: "plugin__notes__echo", error: { code: "ERR_GUEST_THREW" } },
    ]);
  });

  test("a queue has a bound of bytes as well, and takes nothing once it is closed", async () => {
    const dropped: number[] = [];
    const watchers = new Watchers({
      onDropped: (_plugin, count) => void dropped.push(count),
      limits: { watchWaitingMax: 10, watchWaitingBytesMax: 100 },
    });
    const { promise: open, resolve } = Promise.withResolvers<void>();
    const event = () => "x".repeat(60);
    const add = (plugin: string, tell: () => Promise<unknown> = () => Promise.resolve()) =>
      watchers.add(plugin, event, tell);
    expect(add("p", () => open)).toBe(true); // it is being told, and waits no more
    expect(add("p")).toBe(true);
    expect(add("p")).toBe(false);
    expect(add("q")).toBe(true);
    expect(dropped).toEqual([1]);
    resolve();
    await until(() => watchers.stats[0]?.delivered === 2);
    watchers.close();
    expect(add("p")).toBe(false);
  });
});
