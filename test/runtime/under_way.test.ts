/** What is under way is known by its number. That it is not kept afterwards is what `npm run leaks` and `fairness` show. */
import { describe, expect, test } from "vitest";
import { UnderWay } from "../../runtime/under_way.ts";

describe("things under way", () => {
  test("are found by number until they are taken away, and told in the order in which they came", () => {
    const all = new UnderWay<string>();
    all.set(7, "seven");
    all.set(2, "two");
    expect([all.size, all.get(7), all.has(2), all.get(3)]).toEqual([2, "seven", true, undefined]);
    expect([...all]).toEqual([[7, "seven"], [2, "two"]]);
    expect([all.delete(7), all.delete(7)]).toEqual([true, false]);
    expect([[...all.keys()], [...all.values()], all.size]).toEqual([[2], ["two"], 1]);
  });
});
