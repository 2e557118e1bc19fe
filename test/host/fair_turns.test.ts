/** A tenant that floods waits for its turn while others make calls as well; one that is alone waits for nobody. */
import { describe, expect, test } from "vitest";
import { RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { FairTurns } from "../../src/fair_turns.ts";

const { callsPerMsBesideOthersMax: most, besideOthersMs, callsWaitingMax } = RUNTIME_LIMITS;

function turnsAt(start = 0): { turns: FairTurns; clock: { now: number } } {
  const clock = { now: start };
  return { turns: new FairTurns(() => clock.now), clock };
}

/** How many of these calls begin at once. */
function begunAtOnce(turns: FairTurns, tenant: string, calls: number): number {
  return Array.from({ length: calls }, () => turns.take(tenant)).filter((turn) => turn === undefined).length;
}

describe("turns of tenants", () => {
  test("who is alone waits for nobody, and who is beside others only above their share", () => {
    const { turns, clock } = turnsAt();
    expect(begunAtOnce(turns, "bad", 10 * most)).toBe(10 * most);
    clock.now += 1;
    expect(turns.take("good")).toBeUndefined();
    expect(begunAtOnce(turns, "bad", 10 * most)).toBe(most);
    expect(begunAtOnce(turns, "good", most - 1)).toBe(most - 1);
  });

  test("when the others have been silent for a while, who is left is alone", () => {
    const { turns, clock } = turnsAt();
    turns.take("good");
    expect(begunAtOnce(turns, "bad", 2 * most)).toBe(most);
    const { turns: later, clock: at } = turnsAt();
    later.take("good");
    at.now += besideOthersMs + 1;
    expect(begunAtOnce(later, "bad", 2 * most)).toBe(2 * most);
    clock.now += besideOthersMs + 1;
    expect(turns.take("bad")).toBeUndefined();
  });

  test("those who wait are let in by and by, in their order", async () => {
    const turns = new FairTurns();
    turns.take("good");
    const order: number[] = [];
    await Promise.all(Array.from({ length: 4 * most }, async (_, i) => {
      await turns.take("bad");
      order.push(i);
    }));
    expect(order).toEqual(Array.from({ length: 4 * most }, (_, i) => i));
  });

  test("too many that wait are refused, by name; of another tenant none is", () => {
    const { turns } = turnsAt();
    turns.take("good");
    begunAtOnce(turns, "bad", most + callsWaitingMax);
    expect(() => turns.take("bad")).toThrowError(
      expect.objectContaining({ code: "ERR_LIMIT_RATE", details: { callsWaitingMax } }),
    );
    expect(turns.take("good")).toBeUndefined();
    turns.forget("bad");
  });
});
