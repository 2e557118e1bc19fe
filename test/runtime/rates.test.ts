/** How often and how much at once: what is refused by its rate, and what the bounds of one tenant add up to. */
import { afterAll, describe, expect, test } from "vitest";
import { COMMAND_LIMITS, GUEST_LIMITS, NET_LIMITS, Rate, RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { Bench } from "./harness.ts";

const bench = new Bench();
afterAll(() => bench.pool.close());

describe("a rate", () => {
  test("lets through what was saved up, then so many a second, and saves no more than its bound", () => {
    let now = 0;
    const rate = new Rate(10, 20, () => now);
    const taken = (tries: number): number =>
      Array.from({ length: tries }, () => rate.take()).filter(Boolean).length;
    expect(taken(50)).toBe(20);
    now += 500;
    expect(taken(50)).toBe(5);
    now += 99;
    expect(taken(50)).toBe(0);
    now += 1;
    expect(taken(50)).toBe(1);
    now += 3_600_000;
    expect(taken(50)).toBe(20);
    expect(taken(50)).toBe(0);
  });

  test("of less than one a second lets one through in its time", () => {
    let now = 0;
    const rate = new Rate(0.5, 0.5, () => now);
    expect([rate.take(), rate.take()]).toEqual([true, false]);
    now += 2_000;
    expect([rate.take(), rate.take()]).toEqual([true, false]);
  });
});

describe("operations a second", () => {
  const ASK = `async ({ count, passOn }) => {
    const codes = {};
    for (let i = 0; i < count; i++) {
      await Deno.stat("/x").catch((error) => {
        if (passOn && error.code === "ERR_LIMIT_RATE") throw error;
        codes[error.code] = (codes[error.code] ?? 0) + 1;
      });
    }
    return codes;
  }`;
  const limits = { opsPerSecondMax: 20 };

  test("[T32] above the rate each is refused, and the call goes on; a moment later they are answered again", async () => {
    const guest = await bench.start(ASK, { limits });
    const { value } = await guest.call({ count: 100 });
    const codes = value as Record<string, number>;
    expect(codes["ERR_NOT_CAPABLE"]).toBeGreaterThanOrEqual(40); // two seconds' worth were saved up
    expect(codes["ERR_LIMIT_RATE"]).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect((await guest.call({ count: 20 })).value).toEqual({ ERR_NOT_CAPABLE: 20 });
    guest.isolate.dispose();
  });

  test("[T32] a call that passes the refusal on ends with the rate limit and its figure", async () => {
    const outcome = await bench.once(ASK, { limits, input: { count: 500, passOn: true } });
    expect(outcome).toMatchObject({
      code: "ERR_LIMIT_RATE",
      error: {
        name: "LimitError",
        details: { opsPerSecondMax: 20 },
        message: expect.stringContaining("20 operations a second"),
      },
    });
  });

  test("[T32] a guest that was not refused cannot say so", async () => {
    const outcome = await bench.once(
      "async () => { throw Object.assign(new Error('x'), { code: 'ERR_LIMIT_RATE' }); }",
    );
    expect(outcome).toMatchObject({ code: "ERR_GUEST_THREW" });
  });

  test("[T32] what was refused is not decided, so nothing is written down for it", async () => {
    const own = new Bench();
    try {
      await own.once(ASK, { limits, input: { count: 300 } });
      const ops = own.events.filter(({ type }) => type === "op").length;
      expect(ops).toBeGreaterThanOrEqual(40);
      expect(ops).toBeLessThan(300);
    } finally {
      await own.pool.close();
    }
  });
});

test("[T39] descriptors of one tenant: files, sockets and pipes of programs at their bounds stay below the row", () => {
  const { fileOpsInFlightMax, treeDepthMax, descriptorsPerTenantMax } = RUNTIME_LIMITS;
  // A tree is walked with each folder held; beside it the parent, the entry and what it was opened again as.
  const files = fileOpsInFlightMax * (treeDepthMax + 3);
  const programs = COMMAND_LIMITS.commandsPerTenant * 5;
  expect(files + NET_LIMITS.socketsPerTenant + programs).toBeLessThanOrEqual(descriptorsPerTenantMax);
  expect(GUEST_LIMITS.opsPerSecondMax).toBeGreaterThan(0);
});

describe("errors that nobody handles", () => {
  test("[T32] are told in the name of the call that made them, and its neighbours go on", async () => {
    const guest = await bench.start(`async (name) => {
      if (name === "careless") {
        Promise.reject(new Error("nobody cares"));
        setTimeout(() => { throw new Error("thrown in a timer"); }, 20);
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
      return name;
    }`);
    const [careless, careful] = await Promise.all([guest.call("careless"), guest.call("careful")]);
    expect([careless.value, careful.value]).toEqual(["careless", "careful"]);
    expect(careful.lines).toEqual([]);
    const told = careless.lines.map(({ level, text }) => `${level} ${text}`);
    expect(told).toHaveLength(2);
    expect(told[0]).toMatch(/^error Uncaught .*nobody cares/);
    expect(told[1]).toMatch(/^error Uncaught .*thrown in a timer/);
    expect(await guest.call("again")).toMatchObject({ value: "again" });
    guest.isolate.dispose();
  });
});
