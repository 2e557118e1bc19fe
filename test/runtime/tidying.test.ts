/** Isolates at rest give back what they do not need, and go on as before. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { Tidying } from "../../runtime/worker/tidying.ts";
import { Bench, type Guest } from "./harness.ts";

const bench = new Bench();
afterAll(() => bench.pool.close());

function pssKib(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]);
}

describe("isolates at rest", () => {
  test("take less than they would, and answer as before", async () => {
    const options = { cordon: "rest", plugin: "rest" };
    const answer = ["a", "undefined", "undefined"];
    const guests: Guest[] = [];
    // What one gives back is taken by the next one, and not by the system: further ones show what each takes.
    const kibAfter = async (count: number): Promise<number> => {
      for (; guests.length < count;) {
        guests.push(await bench.start("(input) => [input, typeof Atomics, typeof gc]", options));
        expect((await guests.at(-1)!.call("a")).value).toEqual(answer);
      }
      await sleep(4 * RUNTIME_LIMITS.tidyIdleMs);
      return pssKib((await bench.pool.pids())[0]!);
    };
    const few = await kibAfter(6);
    const many = await kibAfter(26);
    expect((many - few) / 20).toBeLessThan(2.6 * 1_024); // it is 3.1 where nothing is collected
    for (const guest of guests) expect((await guest.call("a")).value).toEqual(answer);
  });

  test("are looked after one by one, and not those that work again", async () => {
    const tidied: string[] = [];
    let under = 0;
    const tidying = new Tidying<string>(async (item) => {
      expect(++under).toBe(1);
      await sleep(5);
      under -= 1;
      tidied.push(item);
    });
    for (const item of ["a", "b", "c"]) tidying.rests(item);
    tidying.works("b");
    await sleep(RUNTIME_LIMITS.tidyIdleMs + 4 * RUNTIME_LIMITS.tidyLookMs);
    expect(tidied).toEqual(["a", "c"]);
  });
});
