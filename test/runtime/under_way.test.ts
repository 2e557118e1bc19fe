/** What is under way is known by its number, and what has ended is not kept. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
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

  test("are not kept when they have ended, as those in a Map are until everything is collected", async () => {
    const [ofMap, own] = [await keptBytes("new Map()"), await keptBytes("new UnderWay()")];
    expect(own).toBeLessThan(ofMap / 2);
  });
});

/** What is of the old generation after many have come and gone, 64 of them there at any time. */
async function keptBytes(made: string): Promise<number> {
  const module = join(import.meta.dirname, "../../runtime/under_way.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--expose-gc",
    "--input-type=module",
    "--eval",
    `import { UnderWay } from ${JSON.stringify(module)};
    import { getHeapSpaceStatistics } from "node:v8";
    const all = ${made};
    const oldBytes = () => getHeapSpaceStatistics().find((space) => space.space_name === "old_space").space_used_size;
    let next = 0;
    const churn = (times) => Promise.all(Array.from({ length: 64 }, async () => {
      for (let n = 0; n < times; n++) {
        const id = next++;
        all.set(id, { content: new Array(400).fill(id) });
        await new Promise((resolve) => setImmediate(resolve));
        all.delete(id);
      }
    }));
    setTimeout(() => { gc(); before = oldBytes(); }, 20);
    let before = 0;
    await churn(1_000);
    console.log(oldBytes() - before);`,
  ]);
  return Number(stdout);
}
