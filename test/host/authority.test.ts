/** When a tenant looks at what its plugins rest on, and what a call costs meanwhile. */
import { describe, expect, test } from "vitest";
import { HostError } from "../../permissions/mod.ts";
import { Authority, type Callable, type Holding } from "../../src/authority.ts";
import type { LoadedPlugin } from "../../src/plugin.ts";
import { type Approval, type Approvals, AUTHORITY_LIMITS } from "../../src/trust/mod.ts";
import { until } from "./support.ts";

const LOOKS_UNTIL_IDLE = Math.ceil(AUTHORITY_LIMITS.watchedMs / AUTHORITY_LIMITS.storePollMs) + 1;
const LOOKS_UNTIL_SWEEP = AUTHORITY_LIMITS.sweepMs / AUTHORITY_LIMITS.storePollMs;

/** A plugin that is on no disk, and a clock that stands still unless it is told. */
function setting() {
  const seen = { asked: 0, swept: 0, granted: 0, changed: [] as string[], isOther: false };
  let ask: () => Promise<boolean> = async () => seen.isOther;
  const source = { directory: "/p", changed: () => (seen.swept += 1, seen.changed) };
  // The casts hold: an authority asks for no more than these members.
  const plugin = { name: "p", source, location: {} } as unknown as LoadedPlugin;
  const approval = {
    fingerprint: { hash: "sha256:0" },
    lineage: "l",
    approver: "a",
    exposed: [],
  } as unknown as Approval;
  const ended: Holding[] = [];
  let tick: (() => void) | null = null;
  const approvals = {
    look: () => (seen.asked += 1, ask()),
    isOfProcess: () => false,
    standing: async () =>
      seen.changed.length === 0
        ? { state: "approved", approval }
        : { state: "changed", reason: "changed", changed: seen.changed },
  } as unknown as Approvals;
  const authority = new Authority({
    approvals,
    grant: () => (seen.granted += 1, { grant: { layers: [] } }) as never,
    fresh: (same) => same,
    secretsTaken: async () => [],
    onEnd: (holding) => void ended.push(holding),
    every: (_ms, work) => {
      tick = work;
      return () => tick = null;
    },
  });
  /** As the tenant finds out whether it may call. */
  const call = async (): Promise<Callable> => {
    const known = authority.recall("go");
    if (known !== undefined) return known;
    const epoch = await authority.watch();
    const callable = { plugin, holding: authority.hold(plugin, approval) } as Callable;
    authority.remember("go", callable, epoch);
    return callable;
  };
  const look = async (times = 1): Promise<void> => {
    for (let time = 0; time < times; time++) {
      tick?.();
      await new Promise((resume) => setImmediate(() => setImmediate(resume)));
    }
  };
  return {
    authority,
    seen,
    ended,
    call,
    look,
    hangs: (work: typeof ask) => ask = work,
    isLooking: () => tick !== null,
  };
}

describe("an authority", () => {
  test("looks at nothing before a call; then calls compare the epoch, and neither ask nor grant again", async () => {
    const { seen, call, isLooking } = setting();
    expect(isLooking()).toBe(false);
    const first = await call();
    const before = { ...seen };
    for (let time = 0; time < 100; time++) expect(await call()).toBe(first);
    expect(seen).toEqual(before);
    expect(before).toMatchObject({ asked: 1, granted: 1, swept: 0 });
    expect(isLooking()).toBe(true);
  });

  test("rests when nobody called for long, and is asked again by the next call, which grants nothing anew", async () => {
    const { authority, seen, call, look, isLooking, ended } = setting();
    const { holding } = await call();
    const { epoch } = authority;
    await look(LOOKS_UNTIL_IDLE + 1);
    expect(isLooking()).toBe(false);
    expect(authority.epoch).toBeGreaterThan(epoch);
    expect(seen.swept).toBeGreaterThan(0);
    const again = await call();
    expect(again.holding).toBe(holding);
    expect(seen.granted).toBe(1);
    expect(ended).toEqual([]);
  });

  test("goes on for as long as a call is under way, and sees what happens to it", async () => {
    const { seen, call, look, isLooking, ended } = setting();
    const { holding } = await call();
    holding.tenure.calls += 1;
    await look(3 * LOOKS_UNTIL_IDLE);
    expect(isLooking()).toBe(true);
    expect(holding.tenure.error).toBeNull();
    seen.changed = ["a.ts"];
    await look(LOOKS_UNTIL_SWEEP);
    await until(() => ended.length > 0);
    expect(holding.tenure.error).toMatchObject({ code: "ERR_TRUST_CHANGED", details: { changed: ["a.ts"] } });
    expect(holding.tenure.signal.aborted).toBe(true);
  });

  test("what other records say ends nothing, and costs one grant less than none", async () => {
    const { authority, seen, call, look, ended } = setting();
    const { holding } = await call();
    const { epoch } = authority;
    seen.isOther = true;
    await look();
    expect(authority.epoch).toBeGreaterThan(epoch);
    expect(ended).toEqual([]);
    expect((await call()).holding).toBe(holding);
    expect(seen.granted).toBe(1);
  });

  test("[T14] a store that fails, or does not answer in time, has approved nothing", async () => {
    for (
      const work of [
        () => new Promise<boolean>(() => {}),
        () => Promise.reject(new TypeError("a mistake of the store")),
      ]
    ) {
      const { call, look, hangs, ended } = setting();
      const { holding } = await call();
      hangs(work);
      await look();
      await until(() => ended.length > 0);
      const { error } = holding.tenure;
      expect(error).toMatchObject({ code: "ERR_TRUST_UNKNOWN", cause: expect.any(HostError) });
    }
  });

  test("what was found in another epoch is not remembered", async () => {
    const { authority, call } = setting();
    const first = await call();
    const { epoch } = authority;
    authority.bump();
    expect(authority.recall("go")).toBeUndefined();
    authority.remember("go", first, epoch);
    expect(authority.recall("go")).toBeUndefined();
    authority.close();
    authority.remember("go", first, authority.epoch);
    expect(authority.recall("go")).toBeUndefined();
  });
});
