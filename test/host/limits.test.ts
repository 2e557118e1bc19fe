/** Bounds that hold whichever plugin is called: calls a second, shapes of values, plugins of one tenant. */
import { describe, expect, test } from "vitest";
import { type AuditEvent, memoryAudit } from "../../src/mod.ts";
import { CallRate } from "../../src/call_rate.ts";
import { RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { approved, failureOf, hosted, pluginOf } from "./support.ts";

const ECHO = `export const echo = ({ depth = 0, count = 0 }) => {
  let value = Array.from({ length: count }, () => 0);
  for (let i = 0; i < depth; i++) value = [value];
  return value;
};`;

const nested = (depth: number): unknown => {
  let value: unknown = 0;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
};

describe("calls a second", () => {
  test("[T32] above its tenant's policy a call is refused by its figure, and other tenants are not", async () => {
    const audit = memoryAudit();
    const host = await hosted({ audit: () => audit });
    const plugins = [pluginOf("echo", { echo: ECHO })];
    const tenant = await approved(host, "busy", { plugins, policy: { callsPerSecondMax: 3 } });
    const other = await approved(host, "other", { plugins });
    const codes = await Promise.all(
      Array.from(
        { length: 20 },
        () => tenant.call("echo", {}).then(() => "ok", (error) => error.code as string),
      ),
    );
    expect(codes.filter((code) => code === "ok").length).toBeGreaterThanOrEqual(3);
    expect(new Set(codes)).toEqual(new Set(["ok", "ERR_LIMIT_RATE"]));
    expect(await other.call("echo", {})).toEqual([]);
    const limits = audit.events.filter(({ type }: AuditEvent) => type === "limit");
    expect(limits.length).toBeLessThan(5);
    expect(limits[0]).toMatchObject({ tenant: "busy", plugin: null, details: { callsRefused: 1 } });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await tenant.call("echo", {})).toEqual([]);
  });

  test("[T32] what was refused is told once a second, with how many it were", () => {
    let now = 0;
    const told: number[] = [];
    const calls = new CallRate({
      tenant: "t",
      callsPerSecondMax: 2,
      onRefused: (count) => told.push(count),
      now: () => now,
    });
    const tries = (count: number): number => {
      let passed = 0;
      for (let i = 0; i < count; i++) {
        try {
          calls.take();
          passed += 1;
        } catch (error) {
          expect(error).toMatchObject({ code: "ERR_LIMIT_RATE", details: { callsPerSecondMax: 2 } });
        }
      }
      return passed;
    };
    expect(tries(100)).toBe(2);
    now += 1_000;
    expect(tries(100)).toBe(2);
    expect(told).toEqual([1, 98]);
  });
});

describe("shapes of values", () => {
  const { inputDepthMax, inputNodesMax, resultDepthMax, resultNodesMax } = RUNTIME_LIMITS;

  test(
    "[T32] an input is refused by its depth and by its number of values; one within them is not",
    async () => {
      const host = await hosted();
      const tenant = await approved(host, "acme", { plugins: [pluginOf("echo", { echo: ECHO })] });
      expect(await tenant.call("echo", { more: nested(inputDepthMax - 2) })).toEqual([]);
      for (const depth of [inputDepthMax, 100_000]) {
        expect(await failureOf(tenant.call("echo", { more: nested(depth) }))).toMatchObject({
          code: "ERR_LIMIT_SIZE",
          details: { inputDepthMax },
        });
      }
      const many = (count: number) => ({ more: new Array<number>(count).fill(0) });
      expect(await tenant.call("echo", many(inputNodesMax - 10))).toEqual([]);
      expect(await failureOf(tenant.call("echo", many(inputNodesMax + 1)))).toMatchObject({
        code: "ERR_LIMIT_SIZE",
        details: { inputNodesMax },
      });
      const round: { self?: unknown } = {};
      round.self = round;
      expect(await failureOf(tenant.call("echo", round))).toMatchObject({ code: "ERR_RESULT_INVALID" });
    },
    60_000,
  );

  test("[T32] a result likewise", async () => {
    const host = await hosted();
    const tenant = await approved(host, "acme", { plugins: [pluginOf("echo", { echo: ECHO })] });
    expect(await tenant.call("echo", { depth: resultDepthMax - 1 })).toBeInstanceOf(Array);
    expect(await failureOf(tenant.call("echo", { depth: resultDepthMax }))).toMatchObject({
      code: "ERR_LIMIT_SIZE",
      details: { resultDepthMax },
    });
    expect(await tenant.call("echo", { count: resultNodesMax - 1 })).toHaveLength(resultNodesMax - 1);
    expect(await failureOf(tenant.call("echo", { count: resultNodesMax + 1 }))).toMatchObject({
      code: "ERR_LIMIT_SIZE",
      details: { resultNodesMax },
    });
  }, 60_000);
});

test("[T39] plugins beyond the bound are not read, and those before them are not pushed out", async () => {
  const { pluginsPerTenantMax } = RUNTIME_LIMITS;
  const location = (directory: string) => ({ directory, origin: "test" });
  const first = pluginOf("first", { echo: ECHO });
  const last = pluginOf("last", { echo: ECHO });
  const host = await hosted();
  const tenant = host.tenant("acme", {
    plugins: {
      load: async () => [
        location(first),
        ...Array.from({ length: pluginsPerTenantMax - 1 }, (_, n) => location(`/nowhere/${n}`)),
        location(last),
      ],
    },
  });
  const rows = await tenant.list();
  expect(rows[0]).toMatchObject({ name: "first", state: "untrusted" });
  expect(rows.at(-1)).toMatchObject({
    name: "last",
    state: "invalid",
    reason: expect.stringContaining("pluginsPerTenantMax"),
  });
});
