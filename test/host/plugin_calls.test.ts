/** Calls under the tenant's policy, and calls from plugin to plugin: opted in, bounded, chained, under the callee's own grants. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type AuditEvent,
  type Denial,
  type Host,
  memoryAudit,
  type PermissionRequest,
  type Tenant,
} from "../../src/mod.ts";
import { plugin, RELAY } from "./plugin_calls_support.ts";
import { approve, approved, failureOf, hosted, temporary, until, write } from "./support.ts";

const ECHO = "plugin__echoer__echo";

const relay = (permissions = `{ call: ["plugin__echoer__*"] }`): string =>
  plugin("relay", permissions, { go: { code: RELAY } });

function echoer(callers: string, code = `return { input, caller: context.caller ?? null };`): string {
  return plugin("echoer", "{}", {
    echo: { code, more: `input: { type: object, properties: { n: { type: integer } } }${callers}` },
    other: { code: "return 1;" },
  });
}

const ANY = ", callers: any";
const CALL: { readonly permissions: PermissionRequest } = { permissions: { call: true } };

async function audited(): Promise<{ readonly host: Host; readonly events: readonly AuditEvent[] }> {
  const sink = memoryAudit();
  return { host: await hosted({ audit: () => sink }), events: sink.events };
}

describe("the tenant's own calls", () => {
  test("[R06] a deny of the full id in the tenant's policy refuses the call, and is written down; without it the same call passes", async () => {
    const { host, events } = await audited();
    for (
      const [id, deny] of [
        ["exact", [ECHO]],
        ["prefix", ["plugin__echoer__*"]],
        ["whole", true],
      ] as const
    ) {
      const policy = { permissions: { call: { deny } } };
      const tenant = await approved(host, id, { plugins: [echoer("")], policy });
      for (const spelled of [ECHO, "echo"]) { // the short name is the same id
        const error = await failureOf(tenant.call(spelled, {}));
        expect(error).toMatchObject({
          name: "NotCapableError",
          code: "ERR_NOT_CAPABLE",
          details: {
            kind: "call",
            value: ECHO,
            rule: expect.stringContaining("policy permissions.call.deny"),
          },
        });
        expect(error.details.remedy).toContain("remove policy permissions.call.deny");
      }
      const denied = events.filter(({ tenant, decision }) => tenant === id && decision === "denied");
      expect(denied.map(({ type, kind, value }) => ({ type, kind, value }))).toEqual(
        Array(2).fill({ type: "call", kind: "call", value: ECHO }),
      );
      expect(events.some(({ tenant, type }) => tenant === id && type === "activate")).toBe(false);
    }
    const open = await approved(host, "open", {
      plugins: [echoer("")],
      policy: { permissions: { call: { deny: ["plugin__echoer__other", "plugin__echoer__ech"] } } },
    });
    expect(await open.call("echo", { n: 1 })).toEqual({ input: { n: 1 }, caller: null });
    expect((await failureOf(open.call("other", {}))).code).toBe("ERR_NOT_CAPABLE");
    expect(
      events.find(({ tenant, value, decision }) =>
        tenant === "open" && value === ECHO && decision === "granted"
      ),
    ).toMatchObject({ type: "call", kind: "call" });
  });

  test("[R06] only a deny blocks: a policy that says nothing of call, or allows plugins none, leaves the tenant its own calls", async () => {
    const host = await hosted();
    for (const [id, permissions] of [["none", {}], ["empty", { call: [] }]] as const) {
      const tenant = await approved(host, id, { plugins: [echoer("")], policy: { permissions } });
      expect(await tenant.call(ECHO, {})).toMatchObject({ input: {} });
    }
  });
});

describe("calls between plugins", { timeout: 60_000 }, () => {
  test("a plugin that was granted the id calls one that lists it; its input and its result are JSON, and the chain is told", async () => {
    const host = await hosted();
    for (
      const [id, callers] of [["any", ANY], ["name", ", callers: [relay]"], [
        "id",
        ", callers: [plugin__relay__go]",
      ]] as const
    ) {
      const tenant = await approved(host, id, { plugins: [relay(), echoer(callers)], policy: CALL });
      expect(await tenant.call("go", { id: ECHO, input: { n: 1 } })).toEqual({
        value: { input: { n: 1 }, caller: ["plugin__relay__go"] },
      });
      expect(await tenant.call("go", { id: ECHO })).toEqual({
        value: { input: {}, caller: ["plugin__relay__go"] },
      });
    }
  });

  test("without the permission it is refused, by the manifest and by the policy alike, and the caller of all learns the rule", async () => {
    const host = await hosted();
    const cases = [
      ["manifest", `{ call: ["plugin__other__x"] }`, CALL, "manifest"],
      ["policy", `{ call: ["plugin__echoer__*"] }`, { permissions: {} }, "policy"],
      ["denied", `{ call: true }`, { permissions: { call: { allow: true, deny: [ECHO] } } }, "policy"],
    ] as const;
    for (const [id, asked, policy, rule] of cases) {
      const denials: Denial[] = [];
      const tenant = await approved(host, id, { plugins: [relay(asked), echoer(ANY)], policy });
      const told = await tenant.call("go", { id: ECHO }, { onDenial: (denial) => denials.push(denial) });
      expect(told).toEqual({
        name: "NotCapable",
        code: "ERR_NOT_CAPABLE",
        message: `Requires call access to "${ECHO}"`,
      });
      expect(denials.map(({ decision }) => decision)).toEqual([
        expect.objectContaining({ kind: "call", value: ECHO, rule: expect.stringContaining(rule) }),
      ]);
    }
  });

  test("[T10] what does not list the caller, is not exposed, is not trusted, is invalid or is not there is not called, and the guest learns no more", async () => {
    const { host, events } = await audited();
    const refusal = async (
      id: string,
      open: (tenant: Tenant) => Promise<void>,
      callee: string,
      called = ECHO,
    ) => {
      const tenant = host.tenant(id, { plugins: [relay(`{ call: true }`), callee], policy: CALL });
      await approve(tenant, "relay");
      await open(tenant);
      const told = await tenant.call("go", { id: called }) as { code: string; message: string };
      expect(JSON.stringify(told)).not.toContain(callee); // the host's layout is nothing to a guest
      const refused = events.filter(({ tenant, decision }) => tenant === id && decision === "denied");
      expect(refused.map(({ type, kind, value, rule }) => [type, kind, value, rule])).toEqual([
        ["call", "call", called, told.code],
      ]);
      expect(
        events.some(({ tenant, type, plugin }) =>
          tenant === id && type === "activate" && plugin === "echoer"
        ),
      )
        .toBe(false);
      return told.code;
    };
    const all = (tenant: Tenant) => approve(tenant, "echoer").then(() => {});
    expect(await refusal("unlisted", all, echoer(""))).toBe("ERR_CAPABILITY_NOT_EXPOSED");
    expect(await refusal("listed-other", all, echoer(", callers: [other, plugin__relay__stop]"))).toBe(
      "ERR_CAPABILITY_NOT_EXPOSED",
    );
    expect(
      await refusal("unexposed", async (tenant) => {
        const { hash } = await tenant.fingerprint("echoer");
        await tenant.trust("echoer", { fingerprint: hash, approver: "test" });
      }, echoer(ANY)),
    ).toBe("ERR_CAPABILITY_NOT_EXPOSED");
    expect(await refusal("untrusted", (tenant) => tenant.expose([ECHO]), echoer(ANY))).toBe(
      "ERR_TRUST_UNKNOWN",
    );
    expect(await refusal("missing", all, echoer(ANY), "plugin__echoer__gone")).toBe("ERR_CAPABILITY_UNKNOWN");
    expect(await refusal("bare", all, echoer(ANY), "echo")).toBe("ERR_CAPABILITY_UNKNOWN");
    const changed = echoer(ANY);
    expect(
      await refusal("changed", async (tenant) => {
        await all(tenant);
        const file = join(changed, "echo.ts");
        write(changed, { "echo.ts": `${readFileSync(file, "utf8")}// one byte more` });
      }, changed),
    ).toBe("ERR_TRUST_CHANGED");
  });

  test("[T10] it runs under its own grants and in its own isolate, and its refusal is told to the caller's caller alone", async () => {
    const host = await hosted();
    const place = temporary();
    write(place, { "a.txt": "text" });
    const reader = plugin("echoer", `{ read: ["${place}"] }`, {
      echo: { code: `return await Deno.readTextFile(input.path);`, more: "callers: any" },
    });
    const caller = plugin("relay", `{ call: true }`, {
      go: { code: `globalThis.mark = 1; ${RELAY}` },
      self: {
        code: `try { return await Deno.readTextFile(input.path); } catch ({ code }) { return code; }`,
      },
    });
    const policy = { permissions: { call: true, read: true } } as const;
    const tenant = await approved(host, "acme", { plugins: [caller, reader], policy });
    const path = join(place, "a.txt");
    expect(await tenant.call("go", { id: ECHO, input: { path } })).toEqual({ value: "text" });
    expect(await tenant.call("self", { path })).toBe("ERR_NOT_CAPABLE");
    const denials: Denial[] = [];
    const told = await tenant.call("go", { id: ECHO, input: { path: "/etc/hostname" } }, {
      onDenial: (denial) => denials.push(denial),
    });
    expect(told).toEqual({
      name: "NotCapable",
      code: "ERR_NOT_CAPABLE",
      message: `The call of "${ECHO}" failed: it was refused what it asked for`,
    });
    expect(denials.map(({ title, decision }) => [title, decision.kind, decision.value])).toEqual([
      [`Plugin "echoer"`, "read", "/etc/hostname"],
    ]);
  });

  test("[T18] of a failure the caller learns code and the callee's own words; of a result that is bad, and of an input that does not fit, why", async () => {
    const host = await hosted();
    const tenant = await approved(host, "acme", {
      plugins: [
        relay(),
        plugin("echoer", "{}", {
          echo: { code: `throw new RangeError("too much");`, more: "callers: any" },
          strict: { code: "return 1;", more: "callers: any, input: { type: object, required: [n] }" },
          bad: { code: "return 'text';", more: "callers: any, output: { type: object }" },
        }),
      ],
      policy: CALL,
    });
    const told = (tool: string) => tenant.call("go", { id: `plugin__echoer__${tool}` });
    expect(await told("echo")).toEqual({
      name: "GuestError",
      code: "ERR_GUEST_THREW",
      message: `The call of "${ECHO}" failed: RangeError: too much`,
    });
    expect(await told("strict")).toMatchObject({
      name: "CapabilityError",
      code: "ERR_CAPABILITY_INPUT_INVALID",
      message: expect.stringContaining("n"),
    });
    expect(await told("bad")).toMatchObject({ name: "GuestError", code: "ERR_RESULT_INVALID" });
  });

  test("[T10] a cycle is refused with its links, at once and through another; depth is bounded", async () => {
    const host = await hosted();
    const code =
      `const { code, message, depth, name } = await context.call(input.ids[0], { ids: input.ids.slice(1) })
      .catch((error: any) => error); return code ? { code, message, depth: context.caller?.length ?? 0 } : { depth };`;
    const names = ["a", "b", "c"];
    const cyclic = await approved(host, "cyclic", {
      plugins: names.map((name) => plugin(name, `{ call: true }`, { go: { code, more: "callers: any" } })),
      policy: CALL,
    });
    const of = (name: string) => `plugin__${name}__go`;
    const direct = await cyclic.call(of("a"), { ids: [of("a")] });
    expect(direct).toMatchObject({
      code: "ERR_ACTIVATION_FAILED",
      message: `Cannot call "${of("a")}": cycle ${of("a")} → ${of("a")}`,
    });
    const ids = [of("b"), of("c"), of("b")];
    const pass = `return await context.call(input.ids[0], { ids: input.ids.slice(1) })`;
    const chained = await approved(host, "chained", {
      plugins: names.map((name) =>
        plugin(name, `{ call: true }`, { go: { code: pass, more: "callers: any" } })
      ),
      policy: CALL,
    });
    const error = await failureOf(chained.call(of("a"), { ids }));
    expect(error).toMatchObject({ code: "ERR_GUEST_THREW" });
    expect(error.message).toContain(`cycle ${of("b")} → ${of("c")} → ${of("b")}`);

    const steps = Array.from({ length: 10 }, (_, step) => `s${step}`);
    const tools = Object.fromEntries(
      steps.map((step) => [step, {
        code: `if (input.left.length === 0) return context.caller.length;
          return await context.call("plugin__deep__" + input.left[0], { left: input.left.slice(1) });`,
        more: "callers: any",
      }]),
    );
    const deep = await approved(host, "deep", {
      plugins: [plugin("deep", `{ call: true }`, tools)],
      policy: CALL,
    });
    const go = (count: number) => deep.call("plugin__deep__s0", { left: steps.slice(1, 1 + count) });
    expect(await go(8)).toBe(8);
    expect((await failureOf(go(9))).message).toContain("callDepthMax");
  });

  test("the deadline of the caller is the callee's as well, and who cancels the caller cancels the callee", async () => {
    const { host, events } = await audited();
    const slow = echoer(ANY, `console.log("started"); await new Promise(() => {});`);
    const tenant = await approved(host, "acme", { plugins: [relay(), slow], policy: CALL });
    const late = await failureOf(tenant.call("go", { id: ECHO }, { wallMs: 3_000 }));
    expect(late.code).toBe("ERR_LIMIT_WALL");
    const ends = () =>
      events.filter(({ tenant, plugin, details }) =>
        tenant === "acme" && plugin === "echoer" && details?.phase === "end"
      );
    await until(() => ends().length === 1);
    expect(["ERR_LIMIT_WALL", "ERR_CALL_CANCELLED"]).toContain(ends()[0]!.details!.code);

    const timed = await approved(host, "timed", {
      plugins: [
        plugin("relay", `{ call: true }`, {
          go: { code: `return [context.deadline, await context.call("${ECHO}")];` },
        }),
        echoer(ANY, "return context.deadline;"),
      ],
      policy: CALL,
    });
    const [own, inherited] = await timed.call("go", {}, { wallMs: 12_000 }) as [number, number];
    expect(inherited - own).toBeLessThan(1_000); // its own bound alone would be 30 s from its start

    const controller = new AbortController();
    const starts = () =>
      events.filter(({ tenant, plugin, type }) =>
        tenant === "acme" && plugin === "echoer" && type === "activate"
      );
    const before = starts().length;
    const cancelled = failureOf(tenant.call("go", { id: ECHO }, { signal: controller.signal }));
    await until(() => starts().length > before);
    controller.abort();
    expect((await cancelled).code).toBe("ERR_CALL_CANCELLED");
    await until(() => ends().length === 2);
    expect(ends()[1]!.details!.code).toBe("ERR_CALL_CANCELLED");
  });

  test("[T10] the audit has the chain: each event of the callee names the call that made it", async () => {
    const { host, events } = await audited();
    const place = temporary();
    write(place, { "a.txt": "text" });
    const reader = plugin("echoer", `{ read: ["${place}"] }`, {
      echo: { code: `return await Deno.readTextFile("${place}/a.txt");`, more: "callers: any" },
    });
    const tenant = await approved(host, "acme", {
      plugins: [relay(), reader],
      policy: { permissions: { call: true, read: true } },
    });
    await tenant.call("go", { id: ECHO });
    const start = events.find(({ type, plugin }) => type === "call" && plugin === "relay")!;
    const op = events.findIndex(({ op }) => op === "call");
    expect(events[op]).toMatchObject({ call: start.call, kind: "call", value: ECHO, decision: "granted" });
    const inner = events.filter(({ plugin, call }) => plugin === "echoer" && call !== null);
    const types = inner.map(({ type }) => type);
    expect([types[0], types[1], types.at(-1), types.includes("op")]).toEqual([
      "call",
      "activate",
      "call",
      true,
    ]);
    expect(new Set(inner.map(({ parent }) => parent))).toEqual(new Set([start.call]));
    expect(inner[0]!.details).toMatchObject({ chain: ["plugin__relay__go", ECHO] });
    expect(events.indexOf(inner[0]!)).toBeGreaterThan(op);
    expect("parent" in start).toBe(false);
  });

  test("[T35] a result of one plugin carries no secret to another", async () => {
    const host = await hosted();
    const tenant = await approved(host, "acme", {
      plugins: [
        relay(),
        plugin("echoer", `{ env: ["TOKEN"] }`, {
          echo: { code: `return Deno.env.get("TOKEN") + ".";`, more: "callers: any" },
        }),
      ],
      policy: { permissions: { call: true, env: true }, environment: { TOKEN: "a-known-token-value" } },
    });
    const told = await tenant.call("go", { id: ECHO }) as { value: string };
    expect(told.value).not.toContain("a-known-token-value");
    expect(told.value).toMatch(/\.$/);
  });
});
