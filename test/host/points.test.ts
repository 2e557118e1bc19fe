/** Hooks, guardrails and interceptors around calls: in which order, with which say, and about whose calls. */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { describe, expect, test } from "vitest";
import { type AuditEvent, memoryAudit } from "../../src/mod.ts";
import { opened, standing } from "./points_support.ts";
import { failureOf, until } from "./support.ts";

const ECHO = "plugin__notes__echo";
const SEES = `{ observe: ["tool.input notes", "tool.output notes"] }`;
const CHANGES = `{ intercept: ["tool.input notes", "tool.output notes"] }`;
const OPEN = { permissions: { observe: true, intercept: true, call: true, storage: true } } as const;

const notes = (code = "return input;", input = "{ type: object }") =>
  standing("notes", { tools: { echo: code }, inputs: { echo: input } });

/** Adds a mark to what passes; `side` is what it is shown. */
const mark = (name: string, side = "input"): string =>
  `return { decision: "replace", value: { ...event.${side}, marks: [...event.${side}.marks ?? [], "${name}"] } };`;

const hashOf = (value: unknown): string =>
  `sha256:${createHash("sha256").update(canonicalize(value)!).digest("hex")}`;

function intercepts(events: readonly AuditEvent[]): readonly AuditEvent["details"][] {
  return events.filter(({ type }) => type === "intercept").map(({ details }) => details);
}

describe("around a call", { timeout: 60_000 }, () => {
  test("[L21] a trusted plugin's hook and guardrail are asked from the time that they are exposed; an untrusted, a hidden and a disabled one never", async () => {
    const guard = standing("guard", {
      permissions: SEES,
      hooks: [{
        event: "PreToolUse",
        code: `if (event.input.hook) return { decision: "block", reason: "hook" };`,
      }],
      guards: [{
        name: "g",
        on: "[tool.input]",
        code: `if (event.input.guard) return { decision: "block", reason: "guard" };`,
      }],
    });
    const sink = memoryAudit();
    const { tenant, host } = await opened("a", [notes()], OPEN, { audit: () => sink });
    const both = host.tenant("b", { plugins: [notes(), guard], policy: OPEN });
    const trust = async (name: string) =>
      await both.trust(name, { fingerprint: (await both.fingerprint(name)).hash, approver: "test" });
    await trust("notes");
    await both.expose([ECHO]);
    const bad = [{ hook: true }, { guard: true }] as const;
    for (const input of bad) {
      expect(await tenant.call(ECHO, input)).toEqual(input);
      expect(await both.call(ECHO, input)).toEqual(input); // nobody has trusted it
    }
    await trust("guard");
    for (const input of bad) expect(await both.call(ECHO, input)).toEqual(input); // and it is not exposed
    expect(sink.events.some(({ type, plugin }) => type === "activate" && plugin === "guard")).toBe(false);
    await both.expose(["guard/PreToolUse/0/0", "guard/g"]);
    expect(await failureOf(both.call(ECHO, { hook: true }))).toMatchObject({
      name: "BlockedError",
      code: "ERR_BLOCKED",
      retryable: false,
      details: {
        by: "guard/PreToolUse/0/0",
        plugin: "guard",
        point: "PreToolUse",
        target: ECHO,
        reason: "hook",
        answered: true,
      },
    });
    expect((await failureOf(both.call(ECHO, { guard: true }))).details).toMatchObject({ by: "guard/g" });
    expect(await both.call(ECHO, { fine: 1 })).toEqual({ fine: 1 });
    await both.hide(["guard/g"]);
    expect(await both.call(ECHO, { guard: true })).toEqual({ guard: true });
    expect((await failureOf(both.call(ECHO, { hook: true }))).code).toBe("ERR_BLOCKED");
    await both.disable("guard");
    expect(await both.call(ECHO, { hook: true })).toEqual({ hook: true });
    await both.enable("guard");
    expect((await failureOf(both.call(ECHO, { hook: true }))).code).toBe("ERR_BLOCKED");
    await both.untrust("guard");
    expect(await both.call(ECHO, { hook: true })).toEqual({ hook: true });
  });

  test("[A19] they see the full id as target, however the call was spelled, and hooks come before guardrails before interceptors; on the way out the order is the reverse", async () => {
    const log = `globalThis.seen ??= []; `;
    const around = (name: string, priority: number) =>
      standing(name, {
        permissions: CHANGES,
        hooks: [{ event: "PreToolUse", priority, code: mark(`${name}-hook`) }],
        guards: [
          { name: "in", on: "[tool.input]", priority, code: mark(`${name}-in`) },
          { name: "out", on: "[tool.output]", priority, code: mark(`${name}-out`, "output") },
        ],
        around: [{
          priority,
          code: `const side = event.phase === "before" ? "input" : "output";
            if (event.name !== "tool.call" || event.target !== "${ECHO}") throw new Error("no target");
            return { decision: "replace", value: { ...event[side], marks: [...event[side].marks ?? [], "${name}-" + event.phase] } };`,
        }],
      });
    const target = standing("target", {
      permissions: SEES,
      guards: [{
        name: "see",
        on: "[tool.input, tool.output]",
        priority: -100,
        code:
          `${log} if (event.target !== "${ECHO}") return { decision: "block", reason: String(event.target) };`,
      }],
    });
    const { tenant } = await opened("a", [
      notes(),
      around("one", 0),
      around("two", 0),
      around("three", -1),
      target,
    ], OPEN);
    const order = (...kinds: readonly string[]): readonly string[] =>
      kinds.flatMap((kind) => ["three", "one", "two"].map((name) => `${name}-${kind}`));
    const marks = [
      ...order("hook", "in", "before"),
      ...["two", "one", "three"].map((name) => `${name}-after`),
      ...order("out"),
    ];
    for (const id of [ECHO, "echo"]) expect(await tenant.call(id, { n: 1 })).toEqual({ n: 1, marks });
  });

  test("[T33] the first block is final: who comes later is not asked, and the call is not made", async () => {
    const first = standing("first", {
      permissions: SEES,
      hooks: [{
        event: "PreToolUse",
        code: `if (event.input.stop) return { decision: "block", reason: "first" };`,
      }],
    });
    const second = standing("second", { permissions: SEES, hooks: [{ event: "PreToolUse", code: "" }] });
    const { tenant, events } = await opened("a", [notes(), first, second], OPEN);
    expect((await failureOf(tenant.call(ECHO, { stop: true }))).details).toMatchObject({
      by: "first/PreToolUse/0/0",
    });
    const called = () =>
      events.filter(({ type, kind }) => type === "call" && kind === "call").map(({ value }) => value);
    expect(called()).toEqual(["first/PreToolUse/0/0"]);
    expect(await tenant.call(ECHO, {})).toEqual({});
    expect(called()).toEqual(["first/PreToolUse/0/0", "first/PreToolUse/0/0", "second/PreToolUse/0/0", ECHO]);
  });

  test("[T33] there is no allow: an answer that says so is none, and a call that the policy denies stays denied", async () => {
    const guard = (answer: string) =>
      standing("guard", { permissions: SEES, hooks: [{ event: "PreToolUse", code: `return ${answer};` }] });
    for (
      const [id, answer] of [["a", `{ decision: "allow" }`], ["b", `{ decision: "continue", allow: true }`], [
        "c",
        `true`,
      ]]
    ) {
      const { tenant } = await opened(id!, [notes(), guard(answer!)], OPEN);
      expect((await failureOf(tenant.call(ECHO, {}))).details).toMatchObject({
        answered: false,
        code: "ERR_RESULT_INVALID",
      });
    }
    const { tenant } = await opened("d", [notes(), guard(`{ decision: "continue" }`)], {
      permissions: { ...OPEN.permissions, call: { deny: [ECHO] } },
    });
    expect((await failureOf(tenant.call(ECHO, {}))).code).toBe("ERR_NOT_CAPABLE");
  });

  test("[T04] a replacement is written down with who changed what of whom, and the hashes before and after", async () => {
    const changer = standing("changer", {
      permissions: CHANGES,
      around: [{ code: `if (event.phase === "before") ${mark("a")}` }],
    });
    const { tenant, events } = await opened("a", [notes(), changer], OPEN);
    expect(await tenant.call(ECHO, { n: 1 })).toEqual({ n: 1, marks: ["a"] });
    const call = events.find(({ type, value }) => type === "call" && value === ECHO)?.call;
    expect(events.filter(({ type }) => type === "intercept")).toEqual([
      expect.objectContaining({
        plugin: "changer",
        call,
        kind: "intercept",
        value: `tool.input ${ECHO}`,
        decision: "granted",
        rule: expect.stringContaining("manifest permissions.intercept"),
        details: {
          by: "changer/tool.call/0",
          point: "tool.call",
          phase: "before",
          target: ECHO,
          verdict: "replace",
          before: hashOf({ n: 1 }),
          after: hashOf({ n: 1, marks: ["a"] }),
        },
      }),
    ]);
  });

  test("[T04] each replacement is held to the target's input schema, and what does not fit blocks in the name of who made it", async () => {
    const schema = "{ type: object, properties: { n: { type: integer } }, required: [n] }";
    const changer = standing("changer", {
      permissions: CHANGES,
      hooks: [{
        event: "PreToolUse",
        code: `return { decision: "replace", value: { n: event.input.n > 1 ? "two" : 2 } };`,
      }],
    });
    const next = standing("next", {
      permissions: SEES,
      hooks: [{
        event: "PreToolUse",
        code: `if (typeof event.input.n !== "number") throw new Error("seen");`,
      }],
    });
    const { tenant, events } = await opened("a", [notes(undefined, schema), changer, next], OPEN);
    expect(await tenant.call(ECHO, { n: 1 })).toEqual({ n: 2 });
    const error = await failureOf(tenant.call(ECHO, { n: 2 }));
    expect(error).toMatchObject({
      code: "ERR_BLOCKED",
      details: { by: "changer/PreToolUse/0/0", answered: false, code: "ERR_CAPABILITY_INPUT_INVALID" },
    });
    expect(intercepts(events).at(-1)).toMatchObject({ verdict: "none", refused: "replace" });
    // What the caller got wrong is the caller's, and nobody is asked about it.
    expect((await failureOf(tenant.call(ECHO, { n: "x" }))).code).toBe("ERR_CAPABILITY_INPUT_INVALID");
  });

  test("a guardrail decides about what comes out, and about what a tool says went wrong", async () => {
    const guard = standing("guard", {
      permissions: `{ intercept: ["tool.output notes"] }`,
      guards: [{
        name: "no-pii",
        on: "[tool.output]",
        code: `const text = JSON.stringify(event.output ?? event.error);
          if (text.includes("ssn")) return { decision: "block", reason: "pii" };
          if (event.output?.secret) return { decision: "replace", value: { secret: "***" } };
          if ("input" in event) return { decision: "block", reason: "the input is not its to see" };`,
      }],
    });
    const code = `if (input.fails) throw new Error(input.text); return input;`;
    const { tenant } = await opened("a", [notes(code), guard], OPEN);
    expect(await tenant.call(ECHO, { text: "fine" })).toEqual({ text: "fine" });
    expect(await tenant.call(ECHO, { secret: "x" })).toEqual({ secret: "***" });
    expect((await failureOf(tenant.call(ECHO, { text: "ssn 1" }))).code).toBe("ERR_BLOCKED");
    expect((await failureOf(tenant.call(ECHO, { fails: true, text: "fine" }))).code).toBe("ERR_GUEST_THREW");
    const error = await failureOf(tenant.call(ECHO, { fails: true, text: "ssn 1" }));
    expect(error.code).toBe("ERR_BLOCKED");
    expect(JSON.stringify(error)).not.toContain("ssn");
  });

  test("calls of plugins pass the same points, and the plugin that calls learns the code alone", async () => {
    const guard = standing("guard", {
      permissions: SEES,
      hooks: [{
        event: "PreToolUse",
        code: `if (event.input.stop) return { decision: "block", reason: "the secret reason" };`,
      }],
    });
    const relay = standing("relay", {
      permissions: `{ call: ["plugin__notes__*"] }`,
      tools: {
        go:
          `try { return { value: await context.call("${ECHO}", input) }; } catch ({ code, message }) { return { code, message }; }`,
      },
    });
    const { tenant, events } = await opened("a", [notes(), guard, relay], OPEN);
    expect(await tenant.call("go", { n: 1 })).toEqual({ value: { n: 1 } });
    const told = await tenant.call("go", { stop: true }) as { code: string; message: string };
    expect(told.code).toBe("ERR_BLOCKED");
    expect(told.message).not.toContain("secret reason");
    expect(intercepts(events)).toMatchObject([{
      by: "guard/PreToolUse/0/0",
      target: ECHO,
      verdict: "block",
    }]);
  });

  test("without anybody at a point a call is what it was: nothing is asked, and nothing is written down beside it", async () => {
    const { tenant, events } = await opened("a", [notes()], OPEN);
    for (let i = 0; i < 3; i++) expect(await tenant.call(ECHO, { i })).toEqual({ i });
    expect(events.some(({ type }) => type === "intercept" || type === "grant")).toBe(false);
  });

  test("[A12] one plugin registers in all seven registries, and the snapshot shows each", async () => {
    const whole = standing("whole", {
      tools: { go: "return 1;" },
      guards: [{ name: "g", on: "[tool.input]", code: "" }],
      around: [{ code: "" }],
      hooks: [{ event: "PreToolUse", code: "" }],
      more: 'lifecycle: { activate: "main.ts:activate" }\n',
    });
    const { appendFileSync, mkdirSync, writeFileSync } = await import("node:fs");
    appendFileSync(
      `${whole}/plugin.yaml`,
      '  commands: [{ name: c, target: "c.ts:run" }]\n  skills: [s.md]\n  prompts: [p.md]\n',
    );
    mkdirSync(whole, { recursive: true });
    writeFileSync(`${whole}/main.ts`, "export const activate = () => {};\n");
    writeFileSync(`${whole}/c.ts`, "export const run = () => 1;\n");
    writeFileSync(`${whole}/s.md`, "---\nname: s\ndescription: A skill\n---\ntext\n");
    writeFileSync(`${whole}/p.md`, "---\nname: p\ndescription: A prompt\n---\ntext\n");
    const { tenant } = await opened("a", [whole], OPEN);
    const snapshot = await tenant.snapshot();
    for (
      const surface of [
        "tools",
        "commands",
        "skills",
        "prompts",
        "guardrails",
        "interceptors",
        "hooks",
      ] as const
    ) {
      expect([surface, snapshot[surface].map(({ plugin }) => plugin)]).toEqual([surface, ["whole"]]);
    }
    expect(snapshot.lifecycle).toMatchObject([{ plugin: "whole" }]);
    expect(snapshot.guardrails[0]!.live).toBe(true);
    expect(await tenant.call("go", {})).toBe(1);
    await until(() => true);
  });
});
