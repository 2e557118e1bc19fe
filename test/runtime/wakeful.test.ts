/** Staying awake is bounded, and given up where it does not pay. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Wakeful } from "../../runtime/wakeful.ts";

/** Counts the turns of the loop in which nobody slept. */
async function turnsDuring(ms: number, work: () => void): Promise<number> {
  let turns = 0;
  let isOver = false;
  const asleep = sleep(ms).then(() => isOver = true);
  const { setImmediate: real } = globalThis;
  globalThis.setImmediate = ((look: () => void) => {
    turns += 1;
    return real(look);
  }) as typeof setImmediate;
  try {
    work();
    await asleep;
  } finally {
    globalThis.setImmediate = real;
  }
  expect(isOver).toBe(true);
  return turns;
}

describe("a thread that waits for a short answer", () => {
  test("stays awake for so long, and no longer", async () => {
    const awake = new Wakeful(5_000);
    expect(await turnsDuring(30, () => awake.said())).toBeGreaterThan(1);
    awake.heard();
    expect(await turnsDuring(30, () => {})).toBe(0);
  });

  test("sleeps at once after it waited in vain, until an answer comes in time", async () => {
    const awake = new Wakeful(5_000);
    await turnsDuring(30, () => awake.said());
    expect(await turnsDuring(30, () => awake.said())).toBe(0);
    awake.heard(); // too late to have been worth it
    expect(await turnsDuring(30, () => awake.said())).toBe(0);
    awake.said();
    awake.heard();
    expect(await turnsDuring(30, () => awake.said())).toBeGreaterThan(1);
  });

  test("tries again after some waits asleep, since awake an answer comes sooner", async () => {
    const awake = new Wakeful(5_000);
    await turnsDuring(30, () => awake.said());
    let asleep = 0;
    while (await turnsDuring(15, () => awake.said()) === 0) asleep += 1;
    expect(asleep).toBe(7);
  });

  test("that has no other processor to be answered by never does", async () => {
    expect(await turnsDuring(10, () => new Wakeful(0).said())).toBe(0);
  });
});
