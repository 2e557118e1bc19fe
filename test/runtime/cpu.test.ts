/** Processor time: counted by call, whoever waits for whom, and told apart from time that passes. */
import { afterAll, describe, expect, test } from "vitest";
import { Bench } from "./harness.ts";

const bench = new Bench();
afterAll(() => bench.pool.close());

const limits = { cpuMs: 400 };
const WALL_MS = 20_000;
const SPIN = "const spin = (ms) => { const end = Date.now() + ms; while (Date.now() < end); };";

describe("a call that uses up its processor time before its wall clock", () => {
  const CASES: Readonly<Record<string, string>> = {
    "in a loop": "for (;;);",
    "in a loop behind an operation of the host": "await Deno.stat('/x').catch(() => {}); for (;;);",
    "in slices, none of which is long": `${SPIN} for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      spin(20);
    }`,
    "in microtasks": "for (;;) await undefined;",
    "in a generator": "function* f() { for (;;) yield 1; } for (const one of f());",
    "in the comparator of a sort": "[3, 1, 2].sort(() => { for (;;); });",
    "in a regular expression": "/^(a+)+$/.test('a'.repeat(60) + 'b');",
    "in the trap of a proxy that it returns": "return new Proxy({}, { ownKeys: () => { for (;;); } });",
  };
  for (const [where, body] of Object.entries(CASES)) {
    test(`[T32] ${where}: ends with the processor limit and its figure`, async () => {
      const outcome = await bench.once(`async () => { ${body} }`, { wallMs: WALL_MS, limits });
      expect(outcome).toMatchObject({
        code: "ERR_LIMIT_CPU",
        error: { details: { cpuMs: 400 }, message: expect.stringContaining("400 ms of processor time") },
      });
      expect(outcome.tookMs).toBeLessThan(WALL_MS);
      expect(await bench.once("async () => 2")).toMatchObject({ value: 2 });
    });
  }

  test("[T32] while its target is evaluated", async () => {
    await expect(bench.load("for (;;);", { loadMs: WALL_MS, limits })).rejects.toMatchObject({
      code: "ERR_LIMIT_CPU",
    });
  });
});

describe("a call that does not", () => {
  test("[T32] may wait for much longer than its processor time", async () => {
    const outcome = await bench.once("() => new Promise((resolve) => setTimeout(resolve, 1200, 'late'))", {
      limits,
    });
    expect(outcome).toMatchObject({ value: "late" });
  });

  test("[T32] is not charged with what the calls before it used", async () => {
    const guest = await bench.start(`async () => { ${SPIN} spin(150); return 1; }`, { limits });
    for (let i = 0; i < 6; i++) expect(await guest.call()).toMatchObject({ value: 1 });
    guest.isolate.dispose();
  });

  test("[T32] is not charged with what its neighbour in the isolate uses; the neighbour is", async () => {
    const guest = await bench.start(
      `async (isGreedy) => {
        ${SPIN}
        for (let i = 0; i < 60; i++) {
          await new Promise((resolve) => setTimeout(resolve, 5));
          if (isGreedy) spin(20);
        }
        return "done";
      }`,
      { limits },
    );
    const [idle, greedy] = await Promise.all([guest.call(false), guest.call(true)]);
    expect(greedy).toMatchObject({ code: "ERR_LIMIT_CPU" });
    // It shared the isolate, which is no more; it may be made again.
    expect(["ERR_WORKER_LOST", undefined]).toContain(idle.code);
  });
});
