/**
 * Short slices run on the worker's own thread, where one that does not end keeps the worker from hearing its host. Every bound
 * must hold there by the same name as elsewhere, and who reached one never runs there again.
 */
import { afterAll, describe, expect, test } from "vitest";
import { RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { Pace } from "../../runtime/worker/pace.ts";
import { Bench, GRACE_MS, type Guest, type GuestOptions, isRunning } from "./harness.ts";

const bench = new Bench();
afterAll(() => bench.pool.close());

/** A tool that has been short often enough; its input is the body of what it does next. */
async function shortTool(options: GuestOptions = {}): Promise<Guest> {
  const guest = await bench.start(
    "(body) => body === null ? 0 : new Function(`return (async () => { ${body} })()`)()",
    { cordon: "inline", plugin: "inline", config: { dynamicCode: true }, ...options },
  );
  for (let i = 0; i < 2 * RUNTIME_LIMITS.inlineAfterSlices; i++) expect((await guest.call()).value).toBe(0);
  return guest;
}

/** Whether a call holds the worker's own thread: then a neighbour isolate of the same plugin is not served meanwhile. */
async function isInline(guest: Guest, plugin: string): Promise<boolean> {
  const neighbour = await bench.start("() => 1", { cordon: plugin, plugin });
  const busy = guest.call("const end = Date.now() + 600; while (Date.now() < end); return 1;");
  const { tookMs } = await neighbour.call();
  expect(await busy).toMatchObject({ value: 1 });
  neighbour.isolate.dispose();
  return tookMs > 300;
}

describe("where slices run", () => {
  test("a tool is short a few times before it runs inline, and long a few times before it never does again", () => {
    const { inlineAfterSlices, inlineOverrunsMax, inlineSliceMsMax, inlineOverrunMs, inlineForgivenAfter } =
      RUNTIME_LIMITS;
    const pace = new Pace(true);
    const short = (count: number): void => {
      for (let i = 0; i < count; i++) pace.took(1);
    };
    short(inlineAfterSlices - 1);
    pace.took(inlineSliceMsMax + 1);
    short(inlineAfterSlices - 1);
    expect(pace.isInline).toBe(false);
    short(1);
    expect(pace.isInline).toBe(true);
    for (let i = 0; i < 10; i++) {
      pace.took(inlineOverrunMs + 1); // once in a while is the machine's doing
      short(inlineForgivenAfter);
    }
    expect(pace.isInline).toBe(true);
    for (let i = 1; i < inlineOverrunsMax; i++) pace.took(inlineOverrunMs + 1);
    expect(pace.isInline).toBe(true);
    pace.took(inlineOverrunMs + 1);
    short(10 * inlineAfterSlices);
    expect(pace.isInline).toBe(false);
  });

  test("one that may not never does, however short it is", () => {
    const pace = new Pace(false);
    for (let i = 0; i < 100; i++) pace.took(0);
    expect(pace.isInline).toBe(false);
  });

  test("a new isolate's slices run apart, a short tool's inline, and a slow one's apart again", async () => {
    const options = { cordon: "paced", plugin: "paced", config: { dynamicCode: true } };
    const fresh = await bench.start("(body) => new Function(body)()", options);
    expect(await isInline(fresh, "paced")).toBe(false);
    fresh.isolate.dispose();
    const guest = await shortTool(options);
    expect(await isInline(guest, "paced")).toBe(true);
    for (let i = 0; i < RUNTIME_LIMITS.inlineOverrunsMax; i++) await isInline(guest, "paced");
    expect(await isInline(guest, "paced")).toBe(false);
    guest.isolate.dispose();
  });

  test("beside other plugins of its tenant a slice must be shorter, since they wait for it", () => {
    const { inlineAfterSlices, inlineOverrunsMax, inlineSharedSliceMsMax, inlineSharedOverrunMs } =
      RUNTIME_LIMITS;
    const paceOf = (ms: number, isShared: boolean): Pace => {
      const pace = new Pace(true);
      for (let i = 0; i < inlineAfterSlices; i++) pace.took(ms, isShared);
      return pace;
    };
    expect(paceOf(inlineSharedSliceMsMax, true).isInline).toBe(true);
    expect(paceOf(inlineSharedSliceMsMax + 1, true).isInline).toBe(false);
    expect(paceOf(inlineSharedSliceMsMax + 1, false).isInline).toBe(true);
    const slow = paceOf(0, true);
    for (let i = 0; i < inlineOverrunsMax; i++) slow.took(inlineSharedOverrunMs + 1, true);
    expect(slow.isInline).toBe(false);
  });

  test("plugins of one tenant run inline in one worker; whoever loops there loses it with them, and is then alone", async () => {
    const shared = { cordon: "tenant", limits: { cpuMs: 1_000 } };
    const one = await shortTool({ ...shared, plugin: "one" });
    const two = await bench.start("() => new Promise(() => {})", { ...shared, plugin: "two" });
    const waiting = two.call();
    expect(await one.call("for (;;);", 30_000)).toMatchObject({ code: "ERR_WORKER_LOST" });
    expect(await waiting).toMatchObject({ code: "ERR_WORKER_LOST", error: { retryable: true } });

    const again = await shortTool({ ...shared, plugin: "one", cordon: "alone" });
    expect(await again.call("for (;;);", 30_000)).toMatchObject({ code: "ERR_LIMIT_CPU" });
    expect(await bench.once("() => 1", { ...shared, plugin: "two" })).toMatchObject({ value: 1 });
  });

  test("whoever loops there keeps others' calls waiting for a moment, however long its own bounds are", async () => {
    const one = await shortTool({ cordon: "moment", plugin: "looping" });
    const two = await bench.start("() => new Promise(() => {})", { cordon: "moment", plugin: "waiting" });
    const waiting = two.call();
    expect(await one.call("for (;;);", 20_000)).toMatchObject({ code: "ERR_WORKER_LOST" });
    expect(await waiting).toMatchObject({ code: "ERR_WORKER_LOST", error: { retryable: true } });
    // Nobody waits for one that is alone, so its own bound ends it.
    const alone = await shortTool({ cordon: "moment alone", plugin: "alone" });
    expect(await alone.call("const end = Date.now() + 2500; while (Date.now() < end); return 2;", 20_000))
      .toMatchObject({ value: 2 });
  });

  test("short slices one after the other take the thread for a moment, and then leave it to their neighbours", async () => {
    const one = await shortTool({ cordon: "many", plugin: "busy" });
    const two = await bench.start("() => 1", { cordon: "many", plugin: "neighbour" });
    for (let i = 0; i < 2 * RUNTIME_LIMITS.inlineAfterSlices; i++) await two.call();
    const spin = "const end = performance.now() + 1.5; while (performance.now() < end);";
    const timer = `new Promise((done) => setTimeout(() => { ${spin} done(); }, 20))`;
    const busy = one.call(`await Promise.all(Array.from({ length: 900 }, () => ${timer})); return 1;`);
    let isOver = false;
    void busy.then(() => isOver = true);
    let longestMs = 0;
    while (!isOver) longestMs = Math.max(longestMs, (await two.call()).tookMs);
    const { value, tookMs } = await busy;
    expect(value).toBe(1);
    expect(longestMs).toBeLessThan(tookMs / 3);
  });

  test("[T15] nobody's slices run inline in a worker that serves another tenant as well", async () => {
    const options = { cordon: "shared", tenant: "a", plugin: "one", config: { dynamicCode: true } };
    const guest = await shortTool(options);
    const other = await bench.start("() => 1", { cordon: "shared", tenant: "b", plugin: "two" });
    const busy = guest.call("const end = Date.now() + 1500; while (Date.now() < end); return 1;");
    expect((await other.call()).tookMs).toBeLessThan(1_000);
    expect(await busy).toMatchObject({ value: 1 });
    other.isolate.dispose();
    guest.isolate.dispose();
  });
});

describe("bounds of inline slices", () => {
  test("[T32] a loop ends by name and takes its worker along; the next one of the plugin ends without", async () => {
    const loops = { cordon: "loops", plugin: "loops" };
    const first = await shortTool(loops);
    const neighbour = await bench.start("() => new Promise(() => {})", loops);
    const waiting = neighbour.call();
    const looping = await first.call("for (;;);", 1_000);
    expect(looping).toMatchObject({ code: "ERR_LIMIT_WALL" });
    expect(looping.tookMs).toBeLessThan(1_000 + GRACE_MS);
    expect(await waiting).toMatchObject({ code: "ERR_WORKER_LOST", error: { retryable: true } });

    const second = await shortTool(loops);
    const before = await bench.pool.pids();
    expect(await second.call("for (;;);", 1_000)).toMatchObject({ code: "ERR_LIMIT_WALL" });
    expect(await bench.once("() => 1", loops)).toMatchObject({ value: 1 });
    for (const pid of before) expect(isRunning(pid)).toBe(true);
  });

  test("[T32] processor time ends it with its own error and figure, though the worker cannot say so", async () => {
    const guest = await shortTool({ cordon: "cpu", plugin: "cpu", limits: { cpuMs: 1_000 } });
    expect(await guest.call("for (;;);", 30_000)).toMatchObject({
      code: "ERR_LIMIT_CPU",
      error: { details: { cpuMs: 1_000 } },
    });
  });

  test("[T32] memory ends it, by the heap and by one allocation that the engine cannot serve", async () => {
    for (const body of ["const kept = []; for (;;) kept.push(new Array(1000));", "new Array(1e9).fill(0);"]) {
      const guest = await shortTool({ cordon: "memory", plugin: "memory" });
      expect(await guest.call(body, 40_000)).toMatchObject({ code: "ERR_LIMIT_MEMORY" });
    }
  });

  test("[T32] operations above their bound end it while the slice still runs", async () => {
    const guest = await shortTool({ cordon: "ops", plugin: "ops" });
    const body = "for (let i = 0; i < 60_000; i++) Deno.stat('/x').catch(() => {}); for (;;);";
    expect(await guest.call(body, 20_000)).toMatchObject({ code: "ERR_LIMIT_OPS" });
  });

  test("[T32] recursion ends at the guest's own stack, and what it meets there tells nothing of the host", async () => {
    const guest = await shortTool({ cordon: "deep", plugin: "deep" });
    const body = `const seen = new Set();
      let left = 4000;
      const dive = () => {
        try { dive(); } catch (error) { seen.add(error.name + ": " + error.message); }
        if (left-- > 0) try { console.log("at the bottom"); crypto.randomUUID(); if (left > 3500) setTimeout(() => {}, 1); }
        catch (error) { seen.add(error.name + ": " + error.message + error.stack); }
      };
      dive();
      return [...seen].join("\\n");`;
    const { value, lines } = await guest.call(body);
    expect(value).toContain("RangeError: Maximum call stack size exceeded");
    expect(value).not.toMatch(/worker\/|\.ts|node:|isolated-vm/);
    expect(lines.length).toBeGreaterThan(0);
    expect((await guest.call()).value).toBe(0);
    guest.isolate.dispose();
  });
});

describe("what inline slices say", () => {
  test("a line is heard though its slice never ends", async () => {
    const guest = await shortTool({ cordon: "line", plugin: "line" });
    const { code, lines } = await guest.call("console.log('last words'); for (;;);", 1_000);
    expect(code).toBe("ERR_LIMIT_WALL");
    expect(lines.map(({ text }) => text)).toEqual(["last words"]);
  });

  test("a rejection that nobody handles is reported, and other calls go on", async () => {
    const guest = await shortTool({ cordon: "rejects", plugin: "rejects" });
    const waiting = guest.call(
      "return await new Promise((resolve) => setTimeout(() => resolve('slow'), 200))",
    );
    const { value, lines } = await guest.call(
      "Promise.reject(new Error('nobody')); await new Promise((next) => setTimeout(next, 50)); return 'fast'",
    );
    expect(value).toBe("fast");
    expect(await waiting).toMatchObject({ value: "slow" });
    expect(lines.map(({ text }) => text).join()).toContain("nobody");
    guest.isolate.dispose();
  });

  test("each op is its own call's, however many calls take turns", async () => {
    const guest = await shortTool({ cordon: "turns", plugin: "turns" });
    const body = (name: string): string =>
      `for (let i = 0; i < 20; i++) {
        await Promise.all([1, 2, 3].map((n) => Deno.stat("/turns/${name}/" + n).catch(() => {})));
        if (i % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      return "${name}";`;
    const names = Array.from({ length: 30 }, (_, index) => `turn${index}`);
    const outcomes = await Promise.all(names.map((name) => guest.call(body(name), 20_000, { id: name })));
    expect(outcomes.map(({ value }) => value)).toEqual(names);
    for (const { type, call, value } of bench.events) {
      if (type === "op" && value?.startsWith("/turns/")) expect(value.split("/")[2]).toBe(call);
    }
    for (const { denials } of outcomes) expect(denials).toHaveLength(60);
    guest.isolate.dispose();
  });

  test("a slice longer than the worker's heartbeat is no reason to kill it", async () => {
    const guest = await shortTool({ cordon: "long", plugin: "long" });
    const ms = RUNTIME_LIMITS.pongMsMax + 2_000;
    const body = `const end = Date.now() + ${ms}; while (Date.now() < end); return "done";`;
    expect(await guest.call(body, 4 * ms)).toMatchObject({ value: "done" });
    guest.isolate.dispose();
  }, 60_000);
});
