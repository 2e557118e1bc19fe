/** What a hostile hook, guardrail or interceptor tries, and what becomes of it. Each has a twin that may. */
import { describe, expect, test } from "vitest";
import { opened, standing } from "./points_support.ts";
import { failureOf } from "./support.ts";

const ECHO = "plugin__notes__echo";
const NEXT = "plugin__notes__next";
const OPEN = { permissions: { observe: true, intercept: true, call: true, storage: true } } as const;
const SEES = `{ observe: ["tool.input notes"] }`;
const CHANGES = `{ intercept: ["tool.input notes", "tool.output notes"] }`;

const notes = () => standing("notes", { tools: { echo: "return input;", next: "return { next: input };" } });
const hook = (code: string, permissions = CHANGES, more = "", name = "hostile") =>
  standing(name, { permissions, more, hooks: [{ event: "PreToolUse", code }] });

/** What becomes of a call that a hook with this code stands before. */
async function outcome(code: string, more = ""): Promise<unknown> {
  const { tenant } = await opened("a", [notes(), hook(code, CHANGES, more)], OPEN);
  return await tenant.call(ECHO, { n: 1 }).catch(({ code, details }) => ({ code, details }));
}

const block = (details: object) => ({ code: "ERR_BLOCKED", details: expect.objectContaining(details) });

describe("what a hook answers", { timeout: 60_000 }, () => {
  test.each([
    [
      "a thenable that blocks",
      `return { then: (resolve) => resolve({ decision: "block", reason: "later" }) };`,
      "later",
    ],
    [
      "a getter that says block when it is read first",
      `let n = 0; return { get decision() { n += 1; return n === 1 ? "block" : "continue"; }, reason: "first" };`,
      "first",
    ],
    [
      "an object that becomes a block as JSON",
      `return { decision: "continue", toJSON: () => ({ decision: "block", reason: "json" }) };`,
      "json",
    ],
    [
      "a block with further keys and no reason",
      `return { decision: "block", allow: true, reason: { toString: 1 } };`,
      "the hook gave no reason",
    ],
  ])("%s is what it comes to, once: a block", async (_what, code, reason) => {
    expect(await outcome(code)).toEqual(block({ answered: true, reason }));
    expect(
      await outcome(
        code.replaceAll(`"block"`, `"continue"`).replace(/, (allow: true, )?reason: [^}]*\} ?\}?;/, " };"),
      ),
    )
      .toEqual(expect.anything());
  });

  test.each([
    [
      "a thenable that never settles",
      `return { then: () => {} };`,
      "limits: { wallMs: 700 }\n",
      "ERR_LIMIT_WALL",
    ],
    ["a thenable that throws", `return { then: () => { throw new Error("mine"); } };`, "", "ERR_GUEST_THREW"],
    [
      "a getter that throws",
      `return { get decision() { throw new Error("mine"); } };`,
      "",
      "ERR_RESULT_INVALID",
    ],
    [
      "a proxy that answers everything",
      `return new Proxy({}, { get: () => "continue", ownKeys: () => [] });`,
      "",
      "ERR_RESULT_INVALID",
    ],
    ["a replacement by nothing", `return { decision: "replace" };`, "", "ERR_RESULT_INVALID"],
    [
      "a replacement that is no object",
      `return { decision: "replace", value: [1] };`,
      "",
      "ERR_CAPABILITY_INPUT_INVALID",
    ],
    [
      "what is nested without end",
      `let value = []; for (let i = 0; i < 600; i++) value = [value]; return { decision: "replace", value: { value } };`,
      "",
      "ERR_LIMIT_SIZE",
    ],
    ["an array of verdicts", `return [{ decision: "continue" }];`, "", "ERR_RESULT_INVALID"],
    ["an iterator", `return (function* () { yield 1; })();`, "", "ERR_RESULT_INVALID"],
  ])("%s is no answer, and blocks", async (_what, code, more, expected) => {
    expect(await outcome(code, more)).toEqual(block({ answered: false, code: expected }));
  });

  test("its plain twins go on: nothing, null, continue, and a replacement", async () => {
    for (
      const code of ["", "return null;", `return { decision: "continue" };`, `return Promise.resolve();`]
    ) {
      expect(await outcome(code)).toEqual({ n: 1 });
    }
    expect(await outcome(`return { decision: "replace", value: { n: event.input.n + 1 } };`)).toEqual({
      n: 2,
    });
  });

  test("[T33] a reason is cut to 1 KiB, shown as the plugin's words, and reaches no terminal as it is", async () => {
    const { tenant } = await opened("a", [
      notes(),
      hook(
        `return { decision: "block", reason: event.input.short ? "short" : "\\x1b[2J\\u202e" + "é".repeat(1_000_000) };`,
      ),
    ], OPEN);
    const error = await failureOf(tenant.call(ECHO, {}));
    const { reason } = error.details as { reason: string };
    expect(Buffer.byteLength(reason)).toBeLessThan(1_100);
    expect(reason.startsWith("\\u{1b}[2J\\u{202e}é")).toBe(true);
    expect(error.message).toContain(`of plugin "hostile" stopped it, in its own words: \\u{1b}[2J`);
    expect((await failureOf(tenant.call(ECHO, { short: true }))).details.reason).toBe("short");
  });

  test("keys that mean something to an object change nothing but the value", async () => {
    const code =
      `return { decision: "replace", value: JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1, "n": 2}') };`;
    const value = await outcome(code) as Record<string, unknown>;
    expect(value).toEqual({ constructor: 1, n: 2 });
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe("who calls while it is asked", { timeout: 60_000 }, () => {
  const calls = (id: string) =>
    `let told; try { told = await context.call("${id}", { inner: true }); } catch ({ code, message }) { told = { code, message }; }
     return { decision: "replace", value: { told } };`;
  const PERMITTED = `{ intercept: ["tool.input notes"], call: ["plugin__notes__*"] }`;

  test("[T22] a hook that calls the tool that it stands before is refused, since that waits for it; another tool it may call, and is not asked about that again", async () => {
    const { tenant, events } = await opened("a", [notes(), hook(calls(ECHO), PERMITTED)], OPEN);
    expect(await tenant.call(ECHO, { n: 1 })).toEqual({
      told: { code: "ERR_ACTIVATION_FAILED", message: expect.stringContaining("cycle") },
    });
    const asked = () =>
      events.filter(({ type, value }) => type === "call" && value === "hostile/PreToolUse/0/0").length;
    expect(asked()).toBe(1);
    const other = await opened("b", [notes(), hook(calls(NEXT), PERMITTED)], OPEN);
    expect(await other.tenant.call(ECHO, { n: 1 })).toEqual({ told: { next: { inner: true } } });
    expect(other.events.filter(({ type, value }) => type === "call" && value === "hostile/PreToolUse/0/0"))
      .toHaveLength(1);
  });

  test("[T11] what another plugin calls for a guard is guarded by it all the same; what it calls itself it is not asked about", async () => {
    const guard = (helps: string) =>
      standing("guard", {
        permissions: `{ intercept: ["tool.input notes", "tool.input helper"], call: true }`,
        guards: [{
          name: "g",
          on: "[tool.input]",
          code: `if (event.target === "${NEXT}") return { decision: "block", reason: "not next" };
            if (event.target !== "${ECHO}") return;
            const said = await context.call("${helps}", {}).catch(({ code }) => ({ code }));
            return { decision: "block", reason: JSON.stringify(said) };`,
        }],
      });
    const helper = () =>
      standing("helper", {
        permissions: `{ call: ["${NEXT}"] }`,
        tools: { help: `return await context.call("${NEXT}", { ran: true });` },
      });
    const reasonOf = async (tenant: string, helps: string) => {
      const own = await opened(tenant, [notes(), guard(helps), helper()], OPEN);
      return await own.tenant.call(ECHO, {}).catch(({ details }) => details.reason);
    };
    const throughHelper = await reasonOf("a", "plugin__helper__help");
    expect(throughHelper).toContain("ERR_GUEST_THREW");
    expect(throughHelper).not.toContain("ran");
    expect(await reasonOf("b", NEXT)).toContain("next");
  });

  test("[T22] two hooks that call what the other one stands before end", async () => {
    const own = (name: string, id: string) =>
      standing(name, {
        permissions: `{ intercept: ["tool.input notes", "tool.input one", "tool.input two"], call: true }`,
        tools: { [`${name}_tool`]: "return input;" },
        hooks: [{ event: "PreToolUse", code: calls(id) }],
      });
    const { tenant, events } = await opened(
      "a",
      [notes(), own("one", "plugin__two__two_tool"), own("two", "plugin__one__one_tool")],
      OPEN,
    );
    const told = await tenant.call(ECHO, { n: 1 });
    expect(JSON.stringify(told)).toContain("cycle");
    const asked = events.filter(({ type, value }) => type === "call" && value?.endsWith("/PreToolUse/0/0"));
    expect(asked.length).toBeLessThanOrEqual(8);
  });

  test("a hook that watches what it does itself is not told of it for ever", async () => {
    const { tenant, events } = await opened("a", [
      notes(),
      standing("loop", {
        permissions: `{ observe: ["tool.output notes"], call: ["plugin__notes__*"] }`,
        hooks: [{
          event: "PostToolUse",
          code: `await context.call(event.target === "${ECHO}" ? "${NEXT}" : "${ECHO}", {});`,
        }],
      }),
    ], OPEN);
    await tenant.call(ECHO, {});
    for (let i = 0; i < 100 && (tenant.pointsStats()[0]?.delivered ?? 0) === 0; i++) {
      await new Promise((resume) => setTimeout(resume, 20));
    }
    expect(tenant.pointsStats()).toEqual([{
      plugin: "loop",
      delivered: 1,
      failed: 0,
      dropped: 0,
      waiting: 0,
    }]);
    expect(events.filter(({ value }) => value === NEXT || value === ECHO).map(({ value }) => value)).toEqual(
      expect.arrayContaining([ECHO, NEXT]),
    );
  });
});

describe("many at once", { timeout: 60_000 }, () => {
  test("two guardrails that race over fifty calls: each call has its own chain, and both are asked about each", async () => {
    const guard = (name: string) =>
      standing(name, {
        permissions: CHANGES,
        guards: [{
          name: "g",
          on: "[tool.input]",
          code: `globalThis.last = event.input.n;
            await new Promise((resume) => setTimeout(resume, event.input.n % 7));
            if (event.input.n % 10 === 0) return { decision: "block", reason: String(event.input.n) };
            return { decision: "replace", value: { ...event.input, by: [...event.input.by ?? [], "${name}"] } };`,
        }],
      });
    const { tenant } = await opened("a", [notes(), guard("one"), guard("two")], OPEN);
    const settled = await Promise.allSettled(
      Array.from({ length: 50 }, (_, n) => tenant.call(ECHO, { n })),
    );
    for (const [n, each] of settled.entries()) {
      if (n % 10 === 0) {
        expect(each).toMatchObject({
          status: "rejected",
          reason: { details: { by: "one/g", reason: String(n) } },
        });
      } else expect(each).toEqual({ status: "fulfilled", value: { n, by: ["one", "two"] } });
    }
  });

  test("whoever made the call cannot change what was shown between a guardrail's answer and the call", async () => {
    const { tenant } = await opened("a", [
      notes(),
      hook(
        `if (event.input.bad) return { decision: "block", reason: "bad" }; await new Promise((resume) => setTimeout(resume, 30));`,
        SEES,
      ),
    ], OPEN);
    await tenant.call(ECHO, {});
    const input: Record<string, unknown> = { n: 1 };
    const calling = tenant.call(ECHO, input);
    setTimeout(() => input.bad = true, 10);
    expect(await calling).toEqual({ n: 1 });
    expect((await failureOf(tenant.call(ECHO, input))).code).toBe("ERR_BLOCKED");
  });

  test("a caller's own bound and signal end the asking as that, and the call is not made", async () => {
    const { tenant, events } = await opened("a", [notes(), hook(`await new Promise(() => {});`, SEES)], OPEN);
    expect((await failureOf(tenant.call(ECHO, {}, { wallMs: 600 }))).code).toBe("ERR_LIMIT_WALL");
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    expect((await failureOf(tenant.call(ECHO, {}, { signal: controller.signal }))).code).toBe(
      "ERR_CALL_CANCELLED",
    );
    expect(events.some(({ type, value }) => type === "call" && value === ECHO)).toBe(false);
    expect(await tenant.call(NEXT, {}, { wallMs: 600 }).catch(({ code }) => code)).toBe("ERR_LIMIT_WALL");
  });
});
