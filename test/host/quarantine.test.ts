/** What becomes of plugins that kill workers, and that nobody else can be made to pay for it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type AuditEvent,
  type Host,
  memoryAudit,
  memoryQuarantineStore,
  type Tenant,
} from "../../src/mod.ts";
import { Quarantine, type QuarantineOptions } from "../../src/quarantine.ts";
import { fileQuarantineStore } from "../../src/quarantine_store.ts";
import { approve, failureOf, hosted, pluginOf, temporary, until } from "./support.ts";

/** No limit of the engine ends this: its process has to be. */
const KILL = "export const kill = () => { new Array(1e9).fill(0); return 'survived'; };";
const REST =
  "export const rest = (input) => new Promise((resolve) => setTimeout(resolve, input.ms, 'rested'));";
const GROW =
  "export const grow = () => { const kept = []; for (;;) kept.push(new Array(1000).fill(kept)); };";

async function opened(host: Host, plugins: readonly string[]): Promise<Tenant> {
  const tenant = host.tenant("acme", { plugins });
  for (const { name } of await tenant.list()) await approve(tenant, name);
  return tenant;
}

async function stateOf(tenant: Tenant, name: string): Promise<string | undefined> {
  return (await tenant.list()).find((row) => row.name === name)?.state;
}

describe("[T11] a plugin that kills workers by itself", () => {
  test(
    "is stopped at the third, shown, stopped after a restart, and runs again once it is enabled",
    async () => {
      const home = join(temporary(), "home");
      const plugin = pluginOf("killer", { kill: KILL, rest: REST });
      const audit = memoryAudit();
      const host = await hosted({ home, audit: () => audit });
      const tenant = await opened(host, [plugin]);
      for (let i = 0; i < 3; i++) {
        expect(await tenant.call("rest", { ms: 1 })).toBe("rested");
        const error = await failureOf(tenant.call("kill", {}));
        expect(["ERR_LIMIT_MEMORY", "ERR_WORKER_LOST"]).toContain(error.code);
      }
      await until(() => existsSync(join(home, "quarantine.json")));
      const refusal = {
        code: "ERR_TRUST_QUARANTINED",
        retryable: false,
        details: { plugin: "killer", deaths: 3 },
        message: expect.stringContaining("sallyport enable killer"),
      };
      expect(await failureOf(tenant.call("kill", {}))).toMatchObject(refusal);
      expect(await failureOf(tenant.call("rest", { ms: 1 }))).toMatchObject(refusal);
      expect((await tenant.list())[0]).toMatchObject({
        state: "quarantined",
        reason: expect.stringContaining("killed 3 workers"),
      });
      const crashes = audit.events.filter(({ type }: AuditEvent) => type === "crash");
      expect(crashes.at(-1)).toMatchObject({ plugin: "killer", details: { quarantined: true, deaths: 3 } });
      expect(crashes.length).toBeGreaterThanOrEqual(4);
      await host.close();

      const next = await hosted({ home });
      const again = await opened(next, [plugin]);
      expect(await stateOf(again, "killer")).toBe("quarantined");
      expect(await failureOf(again.call("rest", { ms: 1 }))).toMatchObject(refusal);
      expect(await again.enable("killer")).toMatchObject({ wasQuarantined: true });
      expect(await stateOf(again, "killer")).toBe("active");
      expect(await again.call("rest", { ms: 1 })).toBe("rested");
      expect(await again.enable("killer")).toMatchObject({ wasQuarantined: false });
      await next.close();

      const third = await hosted({ home });
      expect(await stateOf(await opened(third, [plugin]), "killer")).toBe("active");
    },
    180_000,
  );

  test("is stopped as it was approved: other bytes are another plugin", async () => {
    const store = memoryQuarantineStore();
    const plugin = pluginOf("killer", { rest: REST });
    const host = await hosted({ quarantine: store });
    const tenant = host.tenant("acme", { plugins: [plugin] });
    const fingerprint = await approve(tenant, "killer");
    const record = { tenant: "acme", plugin: "killer", deaths: 3, since: "2026-01-01T00:00:00.000Z" };
    await store.put({ ...record, fingerprint: "sha256:other" });
    expect(await tenant.call("rest", { ms: 1 })).toBe("rested");
    const other = await hosted({ quarantine: store });
    await store.put({ ...record, fingerprint });
    const same = await opened(other, [plugin]);
    expect(await failureOf(same.call("rest", { ms: 1 }))).toMatchObject({ code: "ERR_TRUST_QUARANTINED" });
    const elsewhere = other.tenant("other", { plugins: [plugin] });
    await approve(elsewhere, "killer");
    expect(await elsewhere.call("rest", { ms: 1 })).toBe("rested");
  });
});

describe("[T11] a death with more than one possible culprit", () => {
  test("charges nobody, and from then on each works alone; the neighbour is never stopped", async () => {
    const host = await hosted();
    const plugins = [pluginOf("killer", { kill: KILL }), pluginOf("neighbour", { rest: REST })];
    const tenant = await opened(host, plugins);
    await tenant.call("rest", { ms: 1 });
    const before = await host.workerPids();
    expect(before).toHaveLength(1);
    const resting = tenant.call("rest", { ms: 20_000 }).catch((error: unknown) => error);
    await failureOf(tenant.call("kill", {}));
    expect(await resting).toMatchObject({ code: "ERR_WORKER_LOST", retryable: true });
    // What was charged to nobody leaves the killer its three; and now the neighbour does not even notice.
    const undisturbed = tenant.call("rest", { ms: 10_000 });
    for (let i = 0; i < 3; i++) {
      expect((await failureOf(tenant.call("kill", {}))).code).not.toBe("ERR_TRUST_QUARANTINED");
    }
    expect(await failureOf(tenant.call("kill", {}))).toMatchObject({ code: "ERR_TRUST_QUARANTINED" });
    expect(await undisturbed).toBe("rested");
    expect(await stateOf(tenant, "neighbour")).toBe("active");
  }, 180_000);
});

describe("[T11] what is no death of a plugin's making", () => {
  test("an isolate over its memory, which the engine ends and the process outlives", async () => {
    const host = await hosted();
    const tenant = await opened(host, [pluginOf("grower", { grow: GROW })]);
    for (let i = 0; i < 4; i++) {
      expect(await failureOf(tenant.call("grow", {}))).toMatchObject({ code: "ERR_LIMIT_MEMORY" });
    }
    expect(await stateOf(tenant, "grower")).toBe("active");
  }, 60_000);

  test("a signal from outside, however often", async () => {
    const host = await hosted();
    const tenant = await opened(host, [pluginOf("victim", { rest: REST })]);
    for (let i = 0; i < 4; i++) {
      await tenant.call("rest", { ms: 1 });
      const call = failureOf(tenant.call("rest", { ms: 20_000 }));
      for (const pid of await host.workerPids()) process.kill(pid, "SIGKILL");
      expect(await call).toMatchObject({ code: "ERR_WORKER_LOST", retryable: true });
    }
    expect(await stateOf(tenant, "victim")).toBe("active");
  });

  test("the host that closes", async () => {
    const store = memoryQuarantineStore();
    for (let i = 0; i < 3; i++) {
      const host = await hosted({ quarantine: store });
      const tenant = await opened(host, [pluginOf("late", { rest: REST })]);
      const call = failureOf(tenant.call("rest", { ms: 20_000 }));
      await new Promise((resolve) => setTimeout(resolve, 100));
      await host.close();
      expect((await call).code).toBe("ERR_HOST_CLOSED");
    }
    expect(await store.list()).toEqual([]);
  });
});

describe("[T11] counting", () => {
  const one = { tenant: "t", plugin: "p", fingerprint: "sha256:1" };
  const two = { tenant: "t", plugin: "q", fingerprint: "sha256:2" };
  const script = { tenant: "t", plugin: "s.ts", fingerprint: null };

  function counting(options: Partial<QuarantineOptions> = {}) {
    let now = 0;
    const quarantine = new Quarantine({ store: memoryQuarantineStore(), now: () => now, ...options });
    return {
      quarantine,
      die: (...suspects: { tenant: string; plugin: string; fingerprint: string | null }[]) =>
        quarantine.onEnd({ suspects }),
      pass: (ms: number) => now += ms,
    };
  }

  test("three within ten minutes stop it, three over a longer time do not", async () => {
    const { quarantine, die, pass } = counting();
    for (let i = 0; i < 6; i++) {
      die(one);
      pass(300_001);
    }
    expect(await quarantine.find(one)).toBeNull();
    die(one);
    die(one);
    expect(await quarantine.find(one)).toMatchObject({ plugin: "p", deaths: 3 });
    expect(await quarantine.find({ ...one, fingerprint: "sha256:9" })).toBeNull();
    expect(await quarantine.find({ ...one, tenant: "u" })).toBeNull();
  });

  test("deaths beside others do not count, and make suspects for ten minutes; a script is never stopped", async () => {
    const { quarantine, die, pass } = counting();
    for (let i = 0; i < 5; i++) die(one, two);
    for (let i = 0; i < 5; i++) die(script);
    die();
    expect([await quarantine.find(one), await quarantine.find(two), await quarantine.find(script)])
      .toEqual([null, null, null]);
    expect([one, two].map((owner) => quarantine.isSuspect(owner))).toEqual([true, true]);
    pass(600_001);
    expect([one, two].map((owner) => quarantine.isSuspect(owner))).toEqual([false, false]);
  });

  test("one that another process enabled runs here as well; one that cannot be written is stopped here all the same", async () => {
    const store = fileQuarantineStore(join(temporary(), "home"));
    const { quarantine, die } = counting({ store });
    for (let i = 0; i < 3; i++) die(one);
    expect(await quarantine.find(one)).not.toBeNull();
    expect(await fileQuarantineStore(join(temporary(), "home")).list()).toEqual([]);
    expect(await store.remove("t", "p")).toBe(true);
    expect(await quarantine.find(one)).toBeNull();
    const broken = { ...memoryQuarantineStore(), put: () => Promise.reject(new Error("full")) };
    const other = counting({ store: broken });
    for (let i = 0; i < 3; i++) other.die(one);
    expect(await other.quarantine.find(one)).not.toBeNull();
  });
});
