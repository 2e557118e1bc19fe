import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, describe, expect, test } from "vitest";
import { CELL_NAMES, type CellName, CELLS } from "./cells.ts";
import { breaches, cellTables, markdown, targetTable } from "./report.ts";
import type { Results, Subject } from "./results.ts";
import { GATES, judge, SIZE_GATES, type Target, TARGETS } from "./targets.ts";

type Figures = Partial<Record<CellName, Partial<Record<Subject, number>>>>;

/** Results with one figure a cell and subject, in two turns. */
function resultsOf(figures: Figures, rest: Partial<Results> = {}): Results {
  const cells = Object.entries(figures).map(([cell, of]) => [
    cell,
    Object.fromEntries(
      Object.entries(of).map((
        [subject, figure],
      ) => [subject, [[figure], [figure]]]),
    ),
  ]);
  const sizes = Object.fromEntries(
    Object.keys(SIZE_GATES).map((name) => [name, 1]),
  );
  return {
    machine: ["2 cores"],
    effort: "test",
    cells: Object.fromEntries(cells) as Results["cells"],
    sizes,
    gaps: [],
    ...rest,
  };
}

/** Results in which every target of a table has exactly its bound, or that many times it. */
function atBounds(targets: readonly Target[], times = 1): Results {
  const figures: Record<string, Record<string, number>> = {};
  const set = (cell: CellName, subject: Subject, figure: number): void =>
    void ((figures[cell] ??= {})[subject] ??= figure);
  const { cell, of = "sallyport", over, bound, is } = targets[0]!;
  set(cell, of, 100);
  if (over !== undefined) {
    const share = is === "within" ? 1 : is === "at most" ? bound * times : bound / times;
    set(over.cell ?? cell, over.subject, 100 / share);
  } else figures[cell]![of] = bound * times;
  return resultsOf(figures as Figures);
}

describe("a target", () => {
  test.each(
    TARGETS.filter(({ is }) => is !== "within").map((target) => [target.cell, target] as const),
  )(
    "for %s is met at its bound and missed beyond it, by as much as is said",
    (_cell, target) => {
      const atIt = judge(atBounds([target], 0.999), target);
      expect(atIt).toMatchObject({ isMet: true, words: "met" });
      expect(judge(atBounds([target], 1.5), target)).toMatchObject({
        isMet: false,
        words: "missed by 50 %",
      });
      expect(judge(atBounds([target], 3), target)).toMatchObject({
        words: "missed by a factor of 3.0",
      });
    },
  );

  test("that wants a straight line is met near it, on both sides", () => {
    const target = TARGETS.find(({ is }) => is === "within")!;
    const line = (slope: number): Results =>
      resultsOf({
        memorySmall: { sallyport: slope },
        memorySmallFirst: { sallyport: 1 },
      });
    expect([0.96, 1.04].map((slope) => judge(line(slope), target).isMet))
      .toEqual([true, true]);
    expect(judge(line(1.2), target)).toMatchObject({
      isMet: false,
      words: "missed: 20 % away, 5.0 % allowed",
    });
    expect(judge(line(0.8), target).isMet).toBe(false);
  });

  test("whose cell, or whose peer, was not measured is not met and says so", () => {
    const [target] = TARGETS;
    expect(judge(resultsOf({}), target!)).toMatchObject({
      isMet: false,
      value: null,
      words: "not measured",
    });
    const alone = resultsOf({ [target!.cell]: { sallyport: 1 } });
    expect(judge(alone, target!)).toMatchObject({
      value: null,
      words: "not measured",
    });
  });
});

describe("the report", () => {
  const results = resultsOf({
    coldSmall: { ivm: 2, sallyport: 1, quickjs: 0.5, denoWorker: 20 },
    warmSmall: { ivm: 100, sallyport: 400 },
  }, { gaps: ["workerd, start: there is none"] });

  test("says met or by how much for every target, in their order", () => {
    const lines = targetTable(results).split("\n").slice(2);
    expect(lines).toHaveLength(TARGETS.length);
    expect(lines[0]).toMatch(
      /cold start, small.*≤ 1 × raw isolated-vm.*0\.50.*\| +met \|$/,
    );
    expect(lines.find((line) => line.includes("≤ 1.9"))).toMatch(
      /missed by a factor of 2\.1 \|$/,
    );
    for (const line of lines) {
      expect(line).toMatch(/met \||missed|not measured/);
    }
    const some = targetTable(results, ["coldLarge"]).split("\n").slice(2);
    expect(some).toHaveLength(
      TARGETS.filter(({ cell }) => cell === "coldLarge").length,
    );
  });

  test("has medians, ratios to the reference and spread, for whoever was measured", () => {
    const text = cellTables(results);
    expect(text).toMatch(/\| Sallyport +\| +1\.00 ±0 % \(0\.50\)/);
    expect(text).toMatch(/\| quickjs-emscripten .*0\.50 ±0 % \(0\.25\)/);
    expect(text).not.toContain("workerd");
  });

  test("as a page names peers that are better, misses without an explanation, and gaps", () => {
    const page = markdown(results);
    expect(page).toMatch(
      /as multiples of Sallyport:.*quickjs-emscripten.*\(0\.50\)/,
    );
    expect(page).toMatch(/\*\*call, 1 KB\*\*: /);
    expect(page).toContain("workerd, start: there is none");
  });

  test("counts more calls a second as better", () => {
    const page = markdown(
      resultsOf({ throughput64: { ivm: 30, sallyport: 20, quickjs: 5 } }),
    );
    expect(page).toMatch(
      /throughput, 64 in flight, as multiples of Sallyport: raw isolated-vm, async \(1\.50\)\n/,
    );
  });
});

describe("the gate", () => {
  test("names each threshold that is broken or has no figure, and none that holds", () => {
    const held = atBounds(GATES.slice(0, 1), 0.9);
    const title = CELLS[GATES[0]!.cell].title;
    expect(breaches(held).some((line) => line.startsWith(title))).toBe(false);
    expect(breaches(atBounds(GATES.slice(0, 1), 1.1))).toContainEqual(
      expect.stringMatching(
        /^cold start, small plugin .*, p10: 4\.40 for ≤ 4 × raw/,
      ),
    );
    expect(breaches(resultsOf({}))).toHaveLength(GATES.length);
  });

  test("names each size that grew too far, or is not known", () => {
    const [name, most] = Object.entries(SIZE_GATES)[0]!;
    const sizes = (bytes: number): Results =>
      resultsOf({}, { sizes: { ...resultsOf({}).sizes, [name]: bytes } });
    const ofSizes = (results: Results): readonly string[] =>
      breaches(results).filter((line) => line.startsWith("size of"));
    expect(ofSizes(sizes(most))).toEqual([]);
    expect(ofSizes(sizes(most + 1))).toEqual([
      `size of the ${name}: ${most + 1} bytes for at most ${most}`,
    ]);
    expect(ofSizes(resultsOf({}, { sizes: {} }))).toHaveLength(
      Object.keys(SIZE_GATES).length,
    );
  });

  test("is wider than the target of the same figure", () => {
    for (const gate of GATES) {
      const target = TARGETS.find(({ cell, stat, over, isStretch }) =>
        cell === gate.cell && stat === undefined && isStretch !== true &&
        JSON.stringify(over) === JSON.stringify(gate.over)
      );
      if (target === undefined) continue;
      const isWider = gate.is === "at most" ? gate.bound > target.bound : gate.bound < target.bound;
      expect(isWider, gate.cell).toBe(true);
    }
  });
});

test("every cell with turns can be ordered, each turn anew", () => {
  for (const name of CELL_NAMES) {
    const cell = CELLS[name];
    if ("order" in cell) {
      expect(cell.order(1)).toMatchObject({ do: expect.any(String) });
    }
  }
  expect(CELLS.typescript.order(1)).not.toEqual(CELLS.typescript.order(2));
});

describe("the release gate, as a program", () => {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-gate-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** What `npm run bench -- --from FILE --gate` ends with. */
  function gate(
    results: Results,
  ): { readonly status: number | null; readonly broken: string } {
    const file = join(folder, "results.json");
    writeFileSync(file, JSON.stringify(results));
    const main = join(import.meta.dirname, "main.ts");
    const { status, stderr } = spawnSync(process.execPath, [
      main,
      "--from",
      file,
      "--gate",
    ], { encoding: "utf8" });
    return { status, broken: stderr };
  }

  /** A run that keeps to every threshold. */
  const good = ((): Results => {
    const figures: Record<string, Record<string, number>> = {};
    for (const { cell, of = "sallyport", over, bound, is } of GATES) {
      const own = ((figures[cell] ??= {})[of] ??= over === undefined ? bound / 2 : 100);
      if (over === undefined) continue;
      (figures[over.cell ?? cell] ??= {})[over.subject] ??= is === "at least" ? own : own * 2;
    }
    return resultsOf(figures as Figures);
  })();

  test("[R32] a run that keeps to the thresholds passes; one whose p95, median or size is beyond them is named and fails", () => {
    expect(gate(good)).toEqual({ status: 0, broken: "" });
    const { warmSmall } = good.cells;
    const late = [...Array<number>(18).fill(100), 100_000, 100_000];
    const slowTail = {
      ...good,
      cells: {
        ...good.cells,
        warmSmall: { ...warmSmall, sallyport: [late, late] },
      },
    };
    expect(gate(slowTail)).toMatchObject({
      status: 1,
      broken: expect.stringMatching(/call, 1 KB, p95/),
    });
    const slow = {
      ...good,
      cells: {
        ...good.cells,
        warmSmall: { ...warmSmall, sallyport: [[100_000]] },
      },
    };
    expect(gate(slow)).toMatchObject({
      status: 1,
      broken: expect.stringMatching(/call, 1 KB: /),
    });
    const large = {
      ...good,
      sizes: { ...good.sizes, worker: SIZE_GATES.worker! + 1 },
    };
    expect(gate(large)).toEqual({
      status: 1,
      broken: expect.stringMatching(/^gate: size of the worker/),
    });
  });
});
