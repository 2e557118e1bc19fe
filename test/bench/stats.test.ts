import { describe, expect, test } from "vitest";
import { payload } from "./payload.ts";
import { median, quantile, ratioOf, summarize } from "./stats.ts";

describe("the middle and the tail", () => {
  test("of an odd and of an even number of samples, in whatever order", () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([9, 1, 5, 3])).toBe(4);
    expect(median([])).toBeNaN();
  });

  test("are samples that there were, by nearest rank", () => {
    const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);
    expect([0, 0.5, 0.95, 0.99, 1].map((share) => quantile(hundred, share)))
      .toEqual([1, 50, 95, 99, 100]);
    expect(quantile([7], 0.99)).toBe(7);
    expect(quantile([], 0.5)).toBeNaN();
  });
});

describe("a summary", () => {
  test("is of all samples, and its range of the turns' medians", () => {
    const { p50, range, n } = summarize([[1, 2, 3], [], [10, 20, 30]])!;
    expect({ p50, range, n }).toEqual({ p50: 6.5, range: [2, 20], n: 6 });
  });

  test("of nothing is none", () => {
    expect(summarize([])).toBeNull();
    expect(summarize([[], []])).toBeNull();
  });
});

describe("a ratio", () => {
  test("compares what was measured in the same turn, so that a slow turn of the machine's does not show", () => {
    const slowSecondTurn = {
      ours: [[20], [200], [20]],
      theirs: [[10], [100], [10]],
    };
    expect(ratioOf(slowSecondTurn.ours, slowSecondTurn.theirs)).toEqual({
      value: 2,
      range: [2, 2],
    });
  });

  test("leaves out turns in which one of the two has nothing", () => {
    expect(ratioOf([[30], [], [4]], [[10], [10], []])).toEqual({
      value: 3,
      range: [3, 3],
    });
    expect(ratioOf([[30]], [])).toBeNull();
  });

  test("of the tail is of all samples together", () => {
    const flat = [[1, 1, 1, 1], [1, 1, 1, 9]];
    expect(ratioOf(flat, [[1, 1, 1, 1], [1, 1, 1, 3]], "p99")!.value).toBe(3);
  });
});

test.each([1_024, 102_400])(
  "a payload of %d bytes has them, within 1 %%",
  (bytes) => {
    const { length } = JSON.stringify(payload(bytes));
    expect(Math.abs(length - bytes)).toBeLessThanOrEqual(bytes / 100);
  },
);
