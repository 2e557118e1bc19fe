/** What waits in queues and how large it may be: operations, timers, calls, results, answers and console lines. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { diskFiles, type Powers, RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { Bench, temporaryFolder } from "./harness.ts";

const bench = new Bench();
afterAll(() => bench.pool.close());

describe("code that does not start", () => {
  test("a syntax that only the engine refuses is told at once", async () => {
    await expect(bench.load("/(?<a>.)(?<a>.)/; __sallyport_register__(1)")).rejects.toMatchObject({
      code: "ERR_GUEST_THREW",
      message: expect.stringContaining("SyntaxError"),
    });
  });

  test("[T32] code that does not fit its memory ends with the memory limit", async () => {
    const code = `const a = [${"[1],".repeat(4_000_000)}];`;
    await expect(bench.load(code, { memoryMb: 8, loadMs: 10_000 })).rejects.toMatchObject({
      code: "ERR_LIMIT_MEMORY",
    });
  });
});

describe("what waits in queues", () => {
  test("[T32] above the in-flight bound the operation itself is refused, and the call goes on", async () => {
    const { opsInFlightMax } = RUNTIME_LIMITS;
    const outcome = await bench.once(
      `async () => {
        const codes = {};
        const all = Array.from({ length: ${opsInFlightMax + 100} }, () => Deno.stat("/x").catch((error) => {
          codes[error.code] = (codes[error.code] ?? 0) + 1;
        }));
        await Promise.all(all);
        return codes;
      }`,
    );
    expect(outcome.value).toEqual({ ERR_NOT_CAPABLE: opsInFlightMax, ERR_LIMIT_OPS: 100 });
  });

  test("[T32] operations of a timer that outlives its call do not use up the next call's", async () => {
    const guest = await bench.start(`async (input) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      if (input === "ask") return await Deno.stat("/x").catch((error) => error.code);
      setTimeout(() => { for (let i = 0; i < 1000; i++) Deno.stat("/x").catch(() => {}); }, 20);
      setTimeout(() => { for (let i = 0; i < 1000; i++) Deno.stat("/x").catch(() => {}); }, 60);
      return "left";
    }`);
    expect(await guest.call("leave")).toMatchObject({ value: "left" });
    await guest.call("pass");
    expect(await guest.call("ask")).toMatchObject({ value: "ERR_NOT_CAPABLE" });
    guest.isolate.dispose();
  });

  test("[T32] more bytes in operations under way than there may be end the call; as many as may be do not", async () => {
    const disk = diskFiles();
    const slow = new Bench({
      // Nothing here asks for another power.
      powers: {
        files: { ...disk, writeFile: () => new Promise((resolve) => setTimeout(resolve, 3_000)) },
      } as unknown as Powers,
    });
    using folder = temporaryFolder();
    const write = (count: number) =>
      slow.once(
        `async () => {
          const bytes = new Uint8Array(3 * 1048576);
          await Promise.all(Array.from({ length: ${count} }, (_, n) => Deno.writeFile("f" + n, bytes)));
          return "written";
        }`,
        { permissions: { write: ["."] }, cwd: folder.path, memoryMb: 512, source: "policy" },
      );
    try {
      expect(await write(15)).toMatchObject({ value: "written" }); // 4 MiB each as base64
      expect(await write(40)).toMatchObject({
        code: "ERR_LIMIT_OPS",
        error: { message: expect.stringContaining("opBytesInFlightMax") },
      });
    } finally {
      await slow.pool.close();
    }
  });

  test("[T32] a result above its bound is refused by its size, in bytes; one just below is not", async () => {
    const { resultBytesMax } = RUNTIME_LIMITS;
    const guest = await bench.start("async ({ text, count }) => text.repeat(count)", { memoryMb: 256 });
    const of = (text: string, bytes: number) => guest.call({ text, count: bytes / Buffer.byteLength(text) });
    expect(await of("x", resultBytesMax - 2)).toMatchObject({ value: expect.any(String) });
    expect(await of("x", resultBytesMax - 1)).toMatchObject({ code: "ERR_LIMIT_SIZE" });
    expect(await of("\u20ac", 3 * Math.floor(resultBytesMax / 3 - 1))).toMatchObject({
      value: expect.any(String),
    });
    expect(await of("\u20ac", resultBytesMax + 4)).toMatchObject({ code: "ERR_LIMIT_SIZE" });
    guest.isolate.dispose();
  });

  test("[T32] a result of the engine's longest string ends, and the pool goes on", async () => {
    const outcome = await bench.once("async () => 'x'.repeat(134_000_000)", { wallMs: 10_000 });
    expect(["ERR_LIMIT_SIZE", "ERR_LIMIT_MEMORY"]).toContain(outcome.code);
    expect(await bench.once("async () => 2")).toMatchObject({ value: 2 });
  });

  test("[T32] a result as deep as the stack of its maker ends by name, and the pool goes on", async () => {
    const deep = (depth: number) =>
      bench.once(`async () => { let v = 0; for (let i = 0; i < ${depth}; i++) v = [v]; return v; }`);
    expect(await deep(500)).toMatchObject({ value: expect.any(Array) });
    // Its depth is bounded by whoever walks it: here it must only not take anything down.
    expect([undefined, "ERR_RESULT_INVALID", "ERR_LIMIT_MEMORY"]).toContain((await deep(1_000_000)).code);
    expect(await bench.once("async () => 2")).toMatchObject({ value: 2 });
  });

  test("[T32] a file that is small but whose answer is not is refused, and the worker lives", async () => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "small"), new Uint8Array(1_000));
    writeFileSync(join(folder.path, "zeros"), new Uint8Array(RUNTIME_LIMITS.fileBytesMax));
    const guest = await bench.start(
      "(name) => Deno.readTextFile(name).then((text) => text.length, (error) => [error.name, error.code])",
      { permissions: { read: ["."] }, cwd: folder.path, memoryMb: 256 },
    );
    expect(await guest.call("small")).toMatchObject({ value: 1_000 });
    expect(await guest.call("zeros")).toMatchObject({ value: ["InvalidData", "ERR_LIMIT_SIZE"] });
    guest.isolate.dispose();
  });

  test("[T32] more timers than may wait end the call; as many as may wait do not", async () => {
    const set = (count: number) => `for (let i = 0; i < ${count}; i++) setTimeout(() => {}, 1e6); return 1;`;
    const tooMany = await bench.once(`async () => { ${set(RUNTIME_LIMITS.timersMax + 1)} }`);
    expect(tooMany).toMatchObject({ code: "ERR_LIMIT_OPS" });
    expect(await bench.once(`async () => { ${set(RUNTIME_LIMITS.timersMax)} }`)).toMatchObject({ value: 1 });
  });

  test("[T32] a call too many in one isolate is refused at once", async () => {
    const guest = await bench.start("() => new Promise((resolve) => setTimeout(resolve, 300))");
    const { callsInFlightMax } = RUNTIME_LIMITS;
    const calls = await Promise.all(Array.from({ length: callsInFlightMax + 3 }, () => guest.call()));
    expect(calls.filter(({ code }) => code === "ERR_LIMIT_RATE")).toHaveLength(3);
    expect(calls.filter(({ value }) => value === null)).toHaveLength(callsInFlightMax);
    guest.isolate.dispose();
  });
});

describe("console", () => {
  const flood = (statement: string) =>
    `async () => { for (let i = 0; i < 60000; i++) ${statement}; return 1; }`;

  test("[T32] a flood of lines, of empty ones too, ends with a notice and the call goes on", async () => {
    for (const statement of ["console.log()", "console.log('x')", "console.log('x'.repeat(1000))"]) {
      const { value, lines } = await bench.once(flood(statement));
      expect(value).toBe(1);
      expect(lines.length).toBeLessThanOrEqual(RUNTIME_LIMITS.logLinesPerCallMax + 1);
      expect(lines.reduce((sum, { text }) => sum + text.length, 0))
        .toBeLessThan(RUNTIME_LIMITS.logBytesPerCallMax + 2_000);
      expect(lines.at(-1)?.text).toContain("dropped");
    }
  });

  test("[T32] errors that nobody handles are bounded alike", async () => {
    const { value, lines } = await bench.once(`() => new Promise((resolve) => {
      let count = 0;
      const timers = Array.from({ length: 900 }, () => setInterval(() => {
        if (++count > 3000) { for (const timer of timers) clearInterval(timer); resolve(1); }
        throw new Error("x".repeat(5000));
      }, 1));
    })`);
    expect(value).toBe(1);
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.reduce((sum, { text }) => sum + text.length, 0))
      .toBeLessThan(RUNTIME_LIMITS.logBytesPerCallMax + 3_000);
  });
});
