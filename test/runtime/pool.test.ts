/** Workers and isolates: who gets one, for how long, and what becomes of calls when its time is over. */
import { availableParallelism, totalmem } from "node:os";
import { afterEach, describe, expect, test } from "vitest";
import { type PoolLimits, poolLimits } from "../../runtime/mod.ts";
import { Bench, type Guest, type GuestOptions, isRunning, until } from "./harness.ts";

const benches: Bench[] = [];
afterEach(async () => {
  await Promise.all(benches.splice(0).map((bench) => bench.pool.close()));
});

function benchWith(
  limits: Partial<PoolLimits>,
  more: Omit<NonNullable<ConstructorParameters<typeof Bench>[0]>["pool"] & object, "limits"> = {},
): Bench {
  const bench = new Bench({ pool: { limits: { sweepMs: 25, ...limits }, ...more } });
  benches.push(bench);
  return bench;
}

const WAIT = "(ms) => new Promise((resolve) => setTimeout(resolve, ms, 'done'))";
const asked = (plugin: string, more: GuestOptions = {}): GuestOptions => ({
  plugin,
  isCordoned: true,
  ...more,
});

/** The worker that an isolate was made in, told by which one is new, or by whom it dies with. */
async function pidsAfter(bench: Bench, ...options: GuestOptions[]): Promise<number[][]> {
  const seen: number[][] = [];
  for (const option of options) {
    await bench.start(WAIT, option);
    seen.push(await bench.pool.pids());
  }
  return seen;
}

describe("sizes", () => {
  test("follow from the machine and stay within reason", () => {
    const small = poolLimits({ cpus: 1, memoryBytes: 512 * 1_048_576 });
    const large = poolLimits({ cpus: 64, memoryBytes: 512 * 1024 * 1_048_576 });
    const own = poolLimits({ cpus: availableParallelism(), memoryBytes: totalmem() });
    expect(small.workersPerHostMax).toBe(4);
    expect(large.workersPerHostMax).toBe(2_048);
    for (const limits of [small, large, own]) {
      expect(limits.workersPerTenantMax).toBeLessThanOrEqual(limits.workersPerHostMax);
      expect(limits.workersPerTenantMax).toBeGreaterThanOrEqual(3);
      expect(limits.isolatesPerTenantMax).toBeGreaterThanOrEqual(32);
      expect(Object.values(limits).every((value) => Number.isInteger(value) && value > 0)).toBe(true);
    }
  });
});

describe("[T15] who shares a worker", () => {
  test("plugins of one tenant that hold nothing grave; no two tenants", async () => {
    const bench = benchWith({});
    const [one, two, other] = await pidsAfter(
      bench,
      asked("a", { permissions: { sys: ["hostname"], net: ["api.example.com:443"] } }),
      asked("b"),
      asked("a", { tenant: "u" }),
    );
    expect([one?.length, two?.length, other?.length]).toEqual([1, 1, 2]);
  });

  const GRAVE: Readonly<Record<string, GuestOptions>> = {
    run: { permissions: { run: ["/usr/bin/true"] } },
    write: { permissions: { write: ["/srv/data"] } },
    secrets: {
      permissions: { secrets: [{ name: "KEY", host: "api.example.com:443" }] },
    },
    intercept: { permissions: { intercept: ["tool.input"] } },
    "all of net": { permissions: { net: true } },
    wasm: { permissions: { wasm: true } },
    env: { permissions: { env: ["HOME"] } },
  };
  for (const [what, options] of Object.entries(GRAVE)) {
    test(`who holds ${what} shares with nobody, whatever the chooser says`, async () => {
      const bench = benchWith({}, { cordon: () => "host" });
      const [harmless, grave, again] = await pidsAfter(
        bench,
        asked("a"),
        asked("grave", { source: "policy", ...options }),
        asked("b"),
      );
      expect([harmless?.length, grave?.length, again?.length]).toEqual([1, 2, 2]);
    });
  }

  test("all tenants only where the host's maker says so, or each plugin alone", async () => {
    const options = [asked("a"), asked("b"), asked("a", { tenant: "u" })];
    const counts = async (cordon: "host" | "plugin" | "tenant"): Promise<number | undefined> =>
      (await pidsAfter(benchWith({}, { cordon }), ...options)).at(-1)?.length;
    expect(await counts("host")).toBe(1);
    expect(await counts("tenant")).toBe(2);
    expect(await counts("plugin")).toBe(3);
  });

  test("a chooser decides for each by what it is told", async () => {
    const told: string[] = [];
    const bench = benchWith({}, {
      cordon: ({ tenant, plugin, fingerprint }) => {
        told.push(`${tenant} ${plugin} ${fingerprint}`);
        return plugin === "b" ? "plugin" : "tenant";
      },
    });
    const seen = await pidsAfter(bench, asked("a", { fingerprint: "sha256:1" }), asked("b"), asked("c"));
    expect(seen.map(({ length }) => length)).toEqual([1, 2, 2]);
    expect(told).toEqual(["t a sha256:1", "t b null", "t c null"]);
  });

  test("[T11] a suspect works alone from its next isolate on", async () => {
    const suspects = new Set<string>();
    const bench = benchWith({}, { isSuspect: ({ plugin }) => suspects.has(plugin) });
    await pidsAfter(bench, asked("a"), asked("b"));
    suspects.add("b");
    const [after] = await pidsAfter(bench, asked("b"));
    expect(after).toHaveLength(2);
  });
});

describe("[R42] what is ready", () => {
  test("nothing before it is asked for; then a spare worker, which the first plugin gets, and another one", async () => {
    const bench = benchWith({});
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await bench.pool.sparePid()).toBeNull();
    bench.pool.warm();
    const spare = await bench.pool.sparePid();
    expect(spare).not.toBeNull();
    await bench.start(WAIT);
    expect(await bench.pool.pids()).toEqual([spare]);
    let next: number | null = null;
    for (let i = 0; i < 100 && (next === null || next === spare); i++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      next = await bench.pool.sparePid();
    }
    expect(next).not.toBeNull();
    expect(next).not.toBe(spare);
  });

  test("a spare worker that was killed is replaced, and nobody notices", async () => {
    const bench = benchWith({});
    bench.pool.warm();
    process.kill((await bench.pool.sparePid())!, "SIGKILL");
    expect(await bench.once("async () => 1")).toMatchObject({ value: 1 });
  });
});

describe("what is idle", () => {
  test("[R42] isolates end, then their worker, and the next call starts another", async () => {
    const bench = benchWith({ idleIsolateMs: 200, idleWorkerMs: 200 });
    const guest = await bench.start(WAIT);
    expect(await guest.call(600)).toMatchObject({ value: "done" }); // not idle, however long it takes
    const [pid] = await bench.pool.pids();
    await until(() => !guest.isolate.isAlive, 5_000);
    await until(() => !isRunning(pid!), 5_000);
    expect(await bench.pool.pids()).toEqual([]);
    expect(await bench.once("async () => 1")).toMatchObject({ value: 1 });
  });

  test("an isolate that is loaded late was never idle", async () => {
    const bench = benchWith({ idleIsolateMs: 50, idleWorkerMs: 50 });
    const guest = await bench.start("async () => 1");
    await until(() => !guest.isolate.isAlive, 5_000);
    expect(await guest.call()).toMatchObject({ code: "ERR_WORKER_LOST", error: { retryable: true } });
  });

  test("[T39] the isolate that was used least recently gives way when its tenant has too many", async () => {
    const bench = benchWith({ isolatesPerTenantMax: 2 });
    const [first, second] = [await bench.start(WAIT), await bench.start(WAIT, { cordon: "other" })];
    await first.call(1);
    const third = await bench.start(WAIT);
    expect([first, second, third].map(({ isolate }) => isolate.isAlive)).toEqual([true, false, true]);
    const other = await bench.start(WAIT, { tenant: "u" });
    expect(other.isolate.isAlive && first.isolate.isAlive).toBe(true);
  });

  test("[T39] none gives way that is at work: the next one is refused, by its figure", async () => {
    const bench = benchWith({ isolatesPerTenantMax: 2 });
    const busy = [await bench.start(WAIT), await bench.start(WAIT)];
    const calls = busy.map((guest) => guest.call(1_000));
    await expect(bench.start(WAIT)).rejects.toMatchObject({
      code: "ERR_LIMIT_RATE",
      details: { isolatesPerTenantMax: 2 },
    });
    expect((await Promise.all(calls)).map(({ value }) => value)).toEqual(["done", "done"]);
    expect(await bench.once("async () => 1")).toMatchObject({ value: 1 });
  });

  test("a full worker makes room, or is left to those who are at work in it", async () => {
    const bench = benchWith({ isolatesPerWorkerMax: 1 });
    const first = await bench.start(WAIT);
    await bench.start(WAIT);
    expect(first.isolate.isAlive).toBe(false);
    expect(await bench.pool.pids()).toHaveLength(1);
    const busy = await bench.start(WAIT);
    const call = busy.call(1_500);
    await bench.start(WAIT);
    expect(await bench.pool.pids()).toHaveLength(2);
    expect(await call).toMatchObject({ value: "done" });
  });
});

describe("what is worn out is replaced once its last call has ended", () => {
  const CASES: Readonly<
    Record<
      string,
      { readonly limits: Partial<PoolLimits>; wear(bench: Bench, guest: Guest): Promise<unknown> }
    >
  > = {
    "by its age": {
      limits: { workerAgeMsMax: 3_000 },
      wear: () => new Promise((resolve) => setTimeout(resolve, 3_100)),
    },
    "by the isolates that were made in it": {
      limits: { isolatesMadePerWorkerMax: 4, blanksShared: 1 },
      wear: async (bench) => {
        for (let i = 0; i < 4; i++) await bench.once("async () => 1");
      },
    },
    "by its resident memory": {
      limits: { recycleMb: 24, recyclePerIsolateMb: 0 },
      wear: async (_bench, guest) => {
        expect(await guest.call("grow")).toMatchObject({ value: "grown" });
        await new Promise((resolve) => setTimeout(resolve, 200)); // a look while nothing is under way
      },
    },
  };
  const code = `async (input) => {
    if (input !== "grow") return await new Promise((resolve) => setTimeout(resolve, input, "done"));
    globalThis.kept = Array.from({ length: 40 }, () => new Uint8Array(1048576).fill(1));
    return "grown";
  }`;
  for (const [why, { limits, wear }] of Object.entries(CASES)) {
    test(why, async () => {
      const bench = benchWith(limits);
      const guest = await bench.start(code);
      const [pid] = await bench.pool.pids();
      const call = why === "by its resident memory" ? undefined : guest.call(5_000);
      await wear(bench, guest);
      await until(() => call !== undefined || !guest.isolate.isAlive, 5_000);
      const fresh = await bench.start(code);
      expect((await bench.pool.pids()).some((other) => other !== pid)).toBe(true);
      expect(await fresh.call(1)).toMatchObject({ value: "done" });
      if (call !== undefined) expect(await call).toMatchObject({ value: "done" });
      await until(() => !isRunning(pid!), 5_000);
    });
  }
});

describe("[T39] as many workers as the host may have", () => {
  test("an idle one gives way; where none is, the next waits until one is", async () => {
    const bench = benchWith({ workersPerHostMax: 2, workersPerTenantMax: 2, sweepWantedMs: 5 });
    const idle = await bench.start(WAIT, { cordon: "1" });
    const busy = await bench.start(WAIT, { cordon: "2" });
    const first = busy.call(1_200);
    const third = await bench.start(WAIT, { cordon: "3" });
    expect(idle.isolate.isAlive).toBe(false);
    const second = third.call(1_200);
    const begin = performance.now();
    const fourth = await bench.start(WAIT, { cordon: "4" });
    expect(performance.now() - begin).toBeGreaterThan(200);
    expect((await bench.pool.pids()).length).toBeLessThanOrEqual(2);
    expect([await first, await second, await fourth.call(1)].map(({ value }) => value)).toEqual(
      Array(3).fill("done"),
    );
  });

  test("a tenant that has its share gives way to itself, not to others", async () => {
    const bench = benchWith({ workersPerHostMax: 4, workersPerTenantMax: 1, sweepWantedMs: 5 });
    const other = await bench.start(WAIT, { cordon: "o", tenant: "u" });
    const own = await bench.start(WAIT, { cordon: "1" });
    await bench.start(WAIT, { cordon: "2" });
    expect([other, own].map(({ isolate }) => isolate.isAlive)).toEqual([true, false]);
  });

  test("tenants take turns: one that asks for many does not hold up one that asks for one", async () => {
    const bench = benchWith({ workersPerHostMax: 1, workersPerTenantMax: 1, sweepWantedMs: 5 });
    const order: string[] = [];
    const use = async (tenant: string, cordon: string): Promise<void> => {
      const guest = await bench.start(WAIT, { tenant, cordon });
      await guest.call(50);
      order.push(tenant);
    };
    const greedy = Array.from({ length: 5 }, (_, n) => use("greedy", `g${n}`));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await Promise.all([...greedy, use("modest", "m")]);
    expect(order.indexOf("modest")).toBeLessThanOrEqual(2);
  });
});
