/** What belongs to one call while it runs: its stream, its body, its progress; and what hostile code makes of them. */
import { afterAll, describe, expect, test } from "vitest";
import {
  BodyReader,
  type CallIo,
  ChunkWindow,
  composePlatform,
  enginePath,
  planConfinement,
  type Progress,
  ProgressReports,
  Redactor,
  RUNTIME_LIMITS,
  WorkerProcess,
} from "../../runtime/mod.ts";
import { Bench, type Guest, type Outcome } from "./harness.ts";

const bench = new Bench();
const leaking = leakingBench();
afterAll(async () => {
  await bench.pool.close();
  await (await leaking).close();
});

/** A bench whose guests have the platform's own way to the host in their hands, as if they had got past it. */
async function leakingBench() {
  const platform = composePlatform().replace(
    "function limitError(",
    () =>
      'ObjectDefineProperty(global, "leak", { __proto__: null, value: { op, current: () => current } });\n' +
      "function limitError(",
  );
  const worker = await WorkerProcess.start({ plan: planConfinement("best"), platform, engine: enginePath() });
  return { bench: new Bench({ worker }), close: () => worker.close() };
}

interface Streamed {
  readonly chunks: ChunkWindow;
  readonly outcome: Promise<Outcome>;
  /** Whether the call was to end at once, or after its cleanup, whenever it was. */
  readonly ends: readonly boolean[];
}

/** Begins a call whose stream is read by whoever calls this. */
function stream(
  guest: Guest,
  input: unknown = null,
  { wallMs = 20_000, io = {}, signal }: {
    readonly wallMs?: number;
    readonly io?: CallIo;
    readonly signal?: AbortSignal;
  } = {},
): Streamed {
  const ends: boolean[] = [];
  const chunks = new ChunkWindow({
    id: "s",
    redactor: new Redactor(),
    onOver: (isAtOnce) => ends.push(isAtOnce),
  });
  const text = JSON.stringify({ input, context: {}, streams: true, body: io.body !== undefined });
  const outcome = guest.during(
    async (run) => {
      const answer = await guest.isolate.call(text, { ...run, io: { chunks, ...io } });
      if (answer.ok && answer.streamed !== undefined) chunks.end({ streamed: answer.streamed });
      else if (answer.ok) chunks.cancel(null); // one value, which the outcome has
      return answer;
    },
    wallMs,
    signal === undefined ? {} : { signal },
  );
  return { chunks, outcome, ends };
}

/** Reads a stream to its end, together with what its call came to. */
async function read(streamed: Streamed): Promise<{ readonly values: unknown[]; readonly outcome: Outcome }> {
  const values: unknown[] = [];
  void streamed.outcome.then(({ error }) => {
    if (error !== undefined) streamed.chunks.cancel(null);
  });
  for (let next = await streamed.chunks.take(); next !== null; next = await streamed.chunks.take()) {
    values.push(next.chunk);
  }
  return { values, outcome: await streamed.outcome };
}

describe("a stream", () => {
  test.each([
    ["an async generator", "async function* () { yield 'a'; await null; yield { b: [1] }; }"],
    ["a generator", "function* () { yield Promise.resolve('a'); yield { b: [1] }; }"],
    [
      "an async function that gives one",
      "async () => (async function* () { yield 'a'; yield { b: [1] }; })()",
    ],
    [
      "an object with nothing but an iterator",
      `() => ({ [Symbol.asyncIterator]() {
        const values = ["a", { b: [1] }];
        return { next: async () => ({ done: values.length === 0, value: values.shift() }) };
      } })`,
    ],
    [
      "one whose values are promises and thenables",
      `() => ({ [Symbol.asyncIterator]() {
        const values = [Promise.resolve("a"), { then: (resolve) => resolve({ b: [1] }) }];
        return { next: async () => ({ done: values.length === 0, get value() { return values.shift(); } }) };
      } })`,
    ],
  ])("is read from %s", async (_what, handler) => {
    const guest = await bench.start(handler);
    expect((await read(stream(guest))).values).toEqual(["a", { b: [1] }]);
    guest.isolate.dispose();
  });

  test("holds bytes of each kind as bytes, and an empty one ends well", async () => {
    const guest = await bench.start(
      `async function* (isEmpty) {
        if (isEmpty) return;
        yield new Uint8Array([0, 128, 255]);
        yield new Uint8Array([9, 1, 2, 9]).subarray(1, 3);
        yield new (class Mine extends Uint8Array {})(2);
        yield new Uint8Array(0);
      }`,
    );
    expect((await read(stream(guest, false))).values).toEqual([
      new Uint8Array([0, 128, 255]),
      new Uint8Array([1, 2]),
      new Uint8Array(2),
      new Uint8Array(0),
    ]);
    const { values, outcome } = await read(stream(guest, true));
    expect({ values, code: outcome.code }).toEqual({ values: [], code: undefined });
    guest.isolate.dispose();
  });

  test("is no result where none is asked for; a value is one where a stream may be", async () => {
    const guest = await bench.start("(isStream) => isStream ? (function* () { yield 1; })() : [1, 2]");
    expect(await guest.call(true)).toMatchObject({
      code: "ERR_RESULT_INVALID",
      error: { message: expect.stringContaining("tenant.stream") as string },
    });
    expect(await stream(guest, false).outcome).toMatchObject({ value: [1, 2] });
    guest.isolate.dispose();
  });

  test("[R44] makes nothing that its reader has no room for", async () => {
    const guest = await bench.start(
      `async function* () {
        for (globalThis.made = 0; globalThis.made < 500;) yield ++globalThis.made;
      }`,
    );
    const streamed = stream(guest);
    for (let taken = 0; taken < 40; taken++) {
      await streamed.chunks.take();
      expect(streamed.chunks.given).toBeLessThanOrEqual(taken + 2 + RUNTIME_LIMITS.streamChunksAheadMax);
    }
    // Time is all that a guest would need that did not wait.
    await new Promise((resume) => setTimeout(resume, 100));
    expect(streamed.chunks.given).toBeLessThanOrEqual(41 + RUNTIME_LIMITS.streamChunksAheadMax);
    const { values } = await read(streamed);
    expect(values.at(-1)).toBe(500);
    expect(streamed.chunks.summary.chunks).toBe(500);
    guest.isolate.dispose();
  });

  test("runs the guest's cleanup when its reader leaves, and the isolate serves the next call", async () => {
    const guest = await bench.start(
      `async function* (asks) {
        if (asks) return void (yield globalThis.left ?? "never");
        try {
          for (let i = 0;; i++) yield i;
        } finally {
          await null;
          globalThis.left = "cleaned up";
        }
      }`,
    );
    const streamed = stream(guest, false);
    await streamed.chunks.take();
    streamed.chunks.cancel(null);
    expect((await streamed.outcome).code).toBe(undefined);
    expect((await read(stream(guest, true))).values).toEqual(["cleaned up"]);
    guest.isolate.dispose();
  });

  test("ends with what its guest threw, after all that came before", async () => {
    const guest = await bench.start("async function* () { yield 1; throw new TypeError('broken'); }");
    const streamed = stream(guest);
    expect(await streamed.chunks.take()).toEqual({ chunk: 1 });
    expect(await streamed.outcome).toMatchObject({
      code: "ERR_GUEST_THREW",
      error: { details: { name: "TypeError", message: "broken" } },
    });
    guest.isolate.dispose();
  });

  test("keeps to its own call, though calls of one isolate wait for the same promises", async () => {
    const guest = await bench.start(
      `async function* (name) {
        for (let step = 0; step < 30; step++) {
          // Whoever comes first asks; whoever waits with it goes on in a slice that is not its own.
          const asked = globalThis.asked ??= Deno.stat("/outside/" + step).catch(() => {});
          await asked;
          globalThis.asked = undefined;
          yield name + step;
        }
      }`,
    );
    const names = ["a", "b", "c", "d"];
    const all = await Promise.all(names.map((name) => read(stream(guest, name))));
    for (const [place, { values, outcome }] of all.entries()) {
      expect(outcome.code).toBe(undefined);
      expect(values).toEqual(Array.from({ length: 30 }, (_, step) => `${names[place]}${step}`));
    }
    guest.isolate.dispose();
  });
});

describe("[R44] more than it holds goes through an isolate of 16 MiB", () => {
  test("64 MiB out of it and 16 into it, and no process holds it at once", { timeout: 180_000 }, async () => {
    const guest = await bench.start(
      `async function* ({ pieces, bytes }, { body }) {
        if (!body) {
          const piece = new Uint8Array(bytes).fill(7);
          for (let i = 0; i < pieces; i++) yield piece;
          return;
        }
        let count = 0;
        for await (const piece of body) count += piece.length;
        yield count;
      }`,
      { memoryMb: 16 },
    );
    const [pieces, bytes] = [512, 131_072];
    const wallMs = 150_000; // on a busy machine all of it takes its time
    const streamed = stream(guest, { pieces, bytes }, { wallMs });
    // A call that fails must not leave its reader waiting.
    void streamed.outcome.then(({ error }) => {
      if (error !== undefined) streamed.chunks.cancel(null);
    });
    const start = process.memoryUsage();
    let most = 0;
    let seen = 0;
    for (let next = await streamed.chunks.take(); next !== null; next = await streamed.chunks.take()) {
      seen += (next.chunk as Uint8Array).length;
      if (streamed.chunks.summary.chunks % 32 === 0) {
        // What is garbage is not held.
        (globalThis as { gc?: () => void }).gc?.();
        const { arrayBuffers, external } = process.memoryUsage();
        most = Math.max(most, arrayBuffers + external - start.arrayBuffers - start.external);
      }
    }
    expect(seen).toBe(pieces * bytes);
    expect(streamed.chunks.summary.bytes).toBe(pieces * bytes);
    expect((await streamed.outcome).code).toBe(undefined);
    expect(most).toBeLessThan(48 * 1_048_576);

    let made = 0;
    const body = (async function* () {
      for (; made < pieces / 4; made++) yield new Uint8Array(bytes);
    })();
    const { values, outcome } = await read(stream(guest, {}, { wallMs, io: { body: new BodyReader(body) } }));
    expect(outcome.code).toBe(undefined);
    expect(values).toEqual([pieces / 4 * bytes]);
    guest.isolate.dispose();
  });
});

describe("an iterator that means harm", () => {
  test.each<[string, string, Partial<Outcome>]>([
    [
      "gives no step",
      "() => ({ [Symbol.asyncIterator]: () => ({ next: () => 7 }) })",
      { code: "ERR_GUEST_THREW" },
    ],
    [
      "gives a step whose getters throw",
      `() => ({ [Symbol.asyncIterator]: () => ({ next: () => ({ get done() { throw new Error("x"); } }) }) })`,
      { code: "ERR_GUEST_THREW" },
    ],
    [
      "gives a value whose getters throw",
      `async function* () { yield { get a() { throw new Error("x"); } }; }`,
      { code: "ERR_GUEST_THREW" },
    ],
    ["has a method that throws", "() => ({ get [Symbol.asyncIterator]() { throw new Error('x'); } })", {
      code: "ERR_RESULT_INVALID",
    }],
    ["has no method behind its name", "() => ({ next: 1, [Symbol.asyncIterator]: () => 1 })", {
      code: "ERR_GUEST_THREW",
    }],
    ["gives a function", "async function* () { yield () => 1; }", { code: "ERR_GUEST_THREW" }],
    ["gives a circle", "async function* () { const a = {}; a.a = a; yield a; }", { code: "ERR_GUEST_THREW" }],
    [
      "gives what is nested too deeply",
      "async function* () { let a = 1; for (let i = 0; i < 1000; i++) a = [a]; yield a; }",
      { code: "ERR_GUEST_THREW" },
    ],
    [
      "gives a proxy that answers to everything",
      "() => new Proxy(function () {}, { get: (t, k) => k === 'then' ? undefined : () => t, apply: (t) => t })",
      { code: "ERR_RESULT_INVALID" },
    ],
    [
      "never gives its next value",
      "() => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) })",
      {
        code: "ERR_LIMIT_WALL",
      },
    ],
    ["gives a value that never comes", "function* () { yield new Promise(() => {}); }", {
      code: "ERR_LIMIT_WALL",
    }],
    ["loops", "async function* () { yield 1; for (;;); }", { code: "ERR_LIMIT_WALL" }],
    [
      "changed what promises do",
      `async function* () {
        Promise.prototype.then = () => new Promise(() => {});
        Object.defineProperty(Promise.prototype, "constructor", { get() { throw new Error("x"); } });
        yield 1;
      }`,
      {},
    ],
  ])("ends its own call: %s", async (_what, handler, expected) => {
    const guest = await bench.start(handler);
    const streamed = stream(guest, null, { wallMs: 1_500 });
    const { outcome } = await read(streamed);
    expect(outcome).toMatchObject(expected);
    if (Object.keys(expected).length === 0) {
      expect(["ERR_GUEST_THREW", "ERR_LIMIT_WALL"]).toContain(outcome.code);
    }
    guest.isolate.dispose();
  });
});

describe("a guest that got past its platform", () => {
  test("pushes into its own stream alone, in order, and never behind its end", async () => {
    const { bench: open } = await leaking;
    const guest = await open.start(
      `async (how) => {
        const own = leak.current();
        if (how === "other") return await leak.op("stream_push", [0, "forged", false]).catch(({ code }) => code);
        if (how === "late") {
          globalThis.late = () => leak.op("stream_push", [1, "late", false], own);
          return (async function* () { yield "one"; })();
        }
        if (how === "try late") return await globalThis.late().catch(({ code }) => code);
        if (how === "never") {
          return await leak.op("stream_push", [0, "x", false], { ...own, id: 4_000_000 }).catch(({ code }) => code);
        }
        return (async function* () { for (let i = 0; i < 3; i++) { await null; yield i; } })();
      }`,
    );
    // A call that is not read as a stream has none to push into, whatever runs beside it.
    const honest = stream(guest, "honest");
    expect(await guest.call("other")).toMatchObject({ value: "ENOTSUP" });
    expect(await guest.call("never")).toMatchObject({ value: "ERR_CALL_ENDED" });
    expect((await read(honest)).values).toEqual([0, 1, 2]);

    const first = stream(guest, "late");
    expect((await read(first)).values).toEqual(["one"]);
    expect(await guest.call("try late")).toMatchObject({ value: "ERR_CALL_ENDED" });
    expect(first.chunks.summary.chunks).toBe(1);
    guest.isolate.dispose();
  });

  test.each([
    ["skips a place", "await push(1, 'x')"],
    ["repeats one", "await push(0, 'x'); await push(0, 'y')"],
    ["does not wait for its turn", "push(0, 'x'); for (let i = 1; i < 500; i++) push(i, 'x')"],
    ["gives what its platform does not count", "await push(0, 'x')"],
  ])("is told apart when it %s", async (_what, deed) => {
    const { bench: open } = await leaking;
    const guest = await open.start(
      `async () => {
        const own = leak.current();
        const push = (place, value) => leak.op("stream_push", [place, value, false], own);
        ${deed};
        return (async function* () {})();
      }`,
    );
    const streamed = stream(guest);
    await streamed.outcome;
    await expect((async () => {
      while (await streamed.chunks.take() !== null);
    })()).rejects.toMatchObject({ code: "ERR_RESULT_INVALID" });
    expect(streamed.ends).toEqual([true]);
    guest.isolate.dispose();
  });

  test("gets no further body, and is heard no more often, than any other", async () => {
    const { bench: open } = await leaking;
    const guest = await open.start(
      `async () => {
        const own = leak.current();
        const body = await leak.op("body_read", [], own).catch(({ code }) => code);
        for (let i = 0; i < 200; i++) leak.op("progress", [i, 200, "x".repeat(5000)], own).catch(() => {});
        const wrong = await Promise.allSettled([[-1, 1, null], ["1", 1, null], [1, 1, 1], []]
          .map((args) => leak.op("progress", args, own)));
        return [body, wrong.map(({ reason }) => reason?.code)];
      }`,
    );
    const told: Progress[] = [];
    const progress = new ProgressReports((each) => told.push(each));
    const { outcome } = await read(stream(guest, null, { io: { progress } }));
    progress.flush();
    expect(outcome.value).toEqual(["ENOTSUP", Array(4).fill("ERR_OP_INVALID")]);
    expect(told.length).toBeLessThan(10);
    expect(told.at(-1)).toMatchObject({ done: 199, total: 200 });
    expect(told[0]!.message).toHaveLength(RUNTIME_LIMITS.progressMessageCharsMax);
    guest.isolate.dispose();
  });
});

describe("progress", () => {
  test("is told now and then, the last of it always, and a flood of it costs its call nothing", async () => {
    const guest = await bench.start(
      `async (count, { progress }) => {
        for (let i = 1; i <= count; i++) progress(i, count, "step " + i);
        return "done";
      }`,
    );
    const told: Progress[] = [];
    const progress = new ProgressReports((each) => told.push(each));
    const call = (input: unknown) =>
      guest.during((run) =>
        guest.isolate.call(JSON.stringify({ input, context: {} }), { ...run, io: { progress } })
      );
    expect(await call(300_000)).toMatchObject({ value: "done" });
    progress.flush();
    expect(told[0]).toEqual({ done: 1, total: 300_000, message: "step 1" });
    expect(told.at(-1)).toEqual({ done: 300_000, total: 300_000, message: "step 300000" });
    expect(told.length).toBeLessThan(50);
    // What is no progress is nobody's failure.
    expect(await guest.call(3)).toMatchObject({ value: "done" });
    guest.isolate.dispose();
  });

  test("that makes no sense is dropped, and so is what its listener throws", async () => {
    const guest = await bench.start(
      `(_, { progress }) => { progress("half"); progress(NaN, -1); progress(1, 2, { a: 1 }); progress(2); return 1; }`,
    );
    const told: Progress[] = [];
    const progress = new ProgressReports((each) => {
      told.push(each);
      throw new Error("mine");
    });
    const text = JSON.stringify({ input: null, context: {} });
    expect(await guest.during((run) => guest.isolate.call(text, { ...run, io: { progress } })))
      .toMatchObject({ value: 1 });
    progress.flush();
    expect(told).toEqual([{ done: 2, total: null, message: null }]);
    guest.isolate.dispose();
  });
});

describe("a body", () => {
  const collect =
    "async (_, { body }) => { const all = []; for await (const piece of body) all.push(typeof piece === 'string' ? piece : [...piece]); return all; }";

  test("is read piece by piece, as text and as bytes, and no faster than it is asked for", async () => {
    const guest = await bench.start(
      `async (_, { body }) => {
        const { value } = await body.next();
        return [value, [...(await body.next()).value]];
      }`,
    );
    let made = 0;
    let isLeft = false;
    const body = new BodyReader((async function* () {
      try {
        for (;;) yield ++made % 2 === 1 ? "tëxt" : new Uint8Array([1, 255]);
      } finally {
        isLeft = true;
      }
    })());
    const { outcome } = await read(stream(guest, null, { io: { body } }));
    expect(outcome.value).toEqual(["tëxt", [1, 255]]);
    expect(made).toBe(2);
    body.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(isLeft).toBe(true);
    guest.isolate.dispose();
  });

  test("in large pieces comes in smaller ones, and no character is cut", async () => {
    const guest = await bench.start(collect);
    const text = "x".repeat(RUNTIME_LIMITS.bodyPieceBytesMax - 1) + "\u{1f600}" + "y";
    const body = new BodyReader((async function* () {
      yield "";
      yield text;
    })());
    const { outcome } = await read(stream(guest, null, { io: { body } }));
    const pieces = outcome.value as string[];
    expect(pieces.join("")).toBe(text);
    expect(pieces.map((piece) => piece.isWellFormed())).toEqual(pieces.map(() => true));
    expect(pieces.length).toBe(2);
    guest.isolate.dispose();
  });

  test.each([
    ["fails", "throws", "UnexpectedEof"],
    ["holds what is no piece", "number", "InvalidData"],
  ])("that %s is told to the guest by name, and nothing of why", async (_what, how, name) => {
    const guest = await bench.start(
      `async (_, { body }) => {
        const { value } = await body.next();
        try { await body.next(); } catch (error) { return [value, error.name, error.message, (await body.next()).done]; }
      }`,
    );
    const body = new BodyReader((async function* () {
      yield "first";
      if (how === "throws") throw new Error(`at ${import.meta.filename}`);
      yield 7 as unknown as string;
    })());
    const { outcome } = await read(stream(guest, null, { io: { body } }));
    expect(outcome.value).toMatchObject([
      "first",
      name,
      expect.not.stringContaining(import.meta.filename),
      true,
    ]);
    guest.isolate.dispose();
  });

  test("that never comes ends with its call, and a call without one has none", async () => {
    const guest = await bench.start(
      "async (_, { body }) => body === undefined ? 'none' : (await body.next()).value",
    );
    expect(await guest.call()).toMatchObject({ value: "none" });
    const body = new BodyReader({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) });
    const { outcome } = await read(stream(guest, null, { wallMs: 300, io: { body } }));
    expect(outcome).toMatchObject({ code: "ERR_LIMIT_WALL" });
  });
});
