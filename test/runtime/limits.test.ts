/** What a guest cannot do to the time, the memory and the queues of its host. */
import { afterAll, describe, expect, test } from "vitest";
import { RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { Bench, GRACE_MS, until } from "./harness.ts";

const bench = new Bench();
afterAll(() => bench.pool.close());

const WALL_MS = 1_500;

/** Ends with the code in time, and the same pool answers the next call. */
async function ends(body: string, code: string, wallMs = WALL_MS): Promise<void> {
  const outcome = await bench.once(`async () => { ${body} }`, { wallMs });
  expect(outcome).toMatchObject({ code });
  expect(outcome.tookMs).toBeLessThan(wallMs + GRACE_MS);
  const next = await bench.once("async (input) => input + 1", { input: 1 });
  expect(next).toMatchObject({ value: 2 });
}

describe("what the mission names", () => {
  test("[T32] a loop ends with the wall limit", () => ends("for (;;);", "ERR_LIMIT_WALL"));

  test("[T32] an allocating loop ends with the wall limit, whatever a new Node calls its engine flags", () =>
    ends("let a; while (true) a = new Array(1000)", "ERR_LIMIT_WALL"));

  test("[T32] a loop that keeps what it allocates ends with the memory limit", () =>
    ends("const kept = []; while (true) kept.push(new Array(1000))", "ERR_LIMIT_MEMORY", 10_000));

  test("[T32] one allocation that the engine cannot serve ends with the memory limit", () =>
    ends("new Array(1e9).fill(0)", "ERR_LIMIT_MEMORY", 20_000));

  test("[T32] a promise that never settles ends with the wall limit", () =>
    ends("await new Promise(() => {})", "ERR_LIMIT_WALL"));

  test("[T32] ten million calls of the host that nobody awaits end with the op limit", () =>
    ends("for (let i = 0; i < 1e7; i++) Deno.readTextFile('/x')", "ERR_LIMIT_OPS", 20_000));

  test("[T32] a call just within its limits succeeds: time, memory and operations", async () => {
    const busy = await bench.once(
      "async () => { const end = Date.now() + 700; while (Date.now() < end); return 'done'; }",
      { wallMs: WALL_MS },
    );
    expect(busy).toMatchObject({ value: "done" });
    const large = await bench.once("async () => { const a = new Array(4e6).fill(1); return a.length; }");
    expect(large).toMatchObject({ value: 4e6 });
    const many = await bench.once(
      `async () => {
        let refused = 0;
        for (let i = 0; i < 40; i++) {
          await Promise.all(Array.from({ length: 1000 }, () => Deno.stat("/x").catch(() => refused++)));
        }
        return refused;
      }`,
    );
    expect(many).toMatchObject({ value: 40_000 });
  });
});

describe("builtins that the engine cannot interrupt", () => {
  test("[T32] a search through 2^53 indexes", () =>
    ends("[].indexOf.call({ length: 2 ** 53 - 1 }, 1)", "ERR_LIMIT_WALL"));

  test("[T32] the square of the square of a huge BigInt", () =>
    ends("let n = 3n; for (;;) n = n * n;", "ERR_LIMIT_WALL"));

  test("[T32] a string made of ropes, flattened", async () => {
    const body =
      "const kept = []; for (;;) { const s = 'x'.repeat(2 ** 27) + kept.length; kept.push(s); [...s]; }";
    const outcome = await bench.once(`async () => { ${body} }`, { wallMs: 10_000 });
    expect(outcome.code).toBe("ERR_LIMIT_MEMORY");
    expect(outcome.tookMs).toBeLessThan(10_000 + GRACE_MS);
  });

  test("[T32] a regular expression that backtracks for ever", () =>
    ends("/^(a+)+$/.test('a'.repeat(60) + 'b')", "ERR_LIMIT_WALL"));
});

describe("loops that no single slice bounds", () => {
  test("[T32] microtasks that make microtasks", () => ends("for (;;) await undefined;", "ERR_LIMIT_WALL"));

  test("[T32] an interval of nothing", () =>
    ends("setInterval(() => {}, 0); await new Promise(() => {});", "ERR_LIMIT_WALL"));

  test("[T32] a loop after an operation of the host", () =>
    ends("await Deno.stat('/x').catch(() => {}); for (;;);", "ERR_LIMIT_WALL"));

  test("[T32] a loop in a timer and one while the target is evaluated", async () => {
    await ends("await new Promise(() => setTimeout(() => { for (;;); }, 1));", "ERR_LIMIT_WALL");
    await expect(bench.load("for (;;);", { loadMs: 1_000 })).rejects.toMatchObject({
      code: "ERR_LIMIT_WALL",
    });
  });

  test("[T32] an error nobody handles, whose getter never returns, and one that is thrown", async () => {
    const evil = "{ get message() { for (;;); }, get stack() { for (;;); } }";
    await ends(`Promise.reject(${evil}); await new Promise(() => {});`, "ERR_LIMIT_WALL");
    await ends(`throw ${evil};`, "ERR_LIMIT_WALL");
    await ends(`return { toJSON() { for (;;); } };`, "ERR_LIMIT_WALL");
  });

  test("[T32] code that goes on after the answer is stopped, and so is its isolate", async () => {
    const guest = await bench.start("async () => { Promise.resolve().then(() => { for (;;); }); return 1; }");
    const outcome = await guest.call(null, WALL_MS);
    expect(outcome.tookMs).toBeLessThan(WALL_MS + GRACE_MS);
    await until(() => !guest.isolate.isAlive, RUNTIME_LIMITS.settleMs + GRACE_MS);
    expect(await bench.once("async () => 2")).toMatchObject({ value: 2 });
  });

  test("[T32] between calls nothing of a guest runs; its timers wait for the next call", async () => {
    const guest = await bench.start(`async (input) => {
      if (input === "set") setInterval(() => globalThis.fired = (globalThis.fired ?? 0) + 1, 5);
      if (input === "wait") await new Promise((resolve) => setTimeout(resolve, 200));
      return globalThis.fired ?? 0;
    }`);
    await guest.call("set");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await guest.call("look")).value).toBeLessThanOrEqual(2);
    expect((await guest.call("wait")).value).toBeGreaterThan(5);
    expect(guest.isolate.isAlive).toBe(true);
    guest.isolate.dispose();
  });
});
