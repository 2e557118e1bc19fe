/** What stands between a guest that gives values and a reader that takes them. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ChunkWindow, Redactor, RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { failureOf } from "../host/support.ts";

function windowOf(redactor = new Redactor(), idleMs?: number) {
  const ends: boolean[] = [];
  const chunks = new ChunkWindow({ id: "s", redactor, idleMs, onOver: (isAtOnce) => ends.push(isAtOnce) });
  return { chunks, ends };
}

async function all(chunks: ChunkWindow): Promise<unknown[]> {
  const values: unknown[] = [];
  for (let next = await chunks.take(); next !== null; next = await chunks.take()) values.push(next.chunk);
  return values;
}

/** Whether a promise has settled by the next turn. */
async function hasSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.then(() => (settled = true), () => (settled = true));
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

test("values come in their order, with a count and a hash by which a reader can compare them", async () => {
  const { chunks } = windowOf();
  await chunks.push(0, "tëxt");
  await chunks.push(1, new Uint8Array([0, 255]));
  await chunks.push(2, { a: [1] });
  chunks.end({ streamed: 3 });
  expect(await all(chunks)).toEqual(["tëxt", new Uint8Array([0, 255]), { a: [1] }]);
  const bytes = Buffer.concat([Buffer.from("tëxt"), Buffer.from([0, 255]), Buffer.from('{"a":[1]}')]);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  expect(chunks.summary).toEqual({ chunks: 3, bytes: bytes.byteLength, sha256 });
  expect(chunks.isWhole).toBe(true);
});

test("[R44] a guest waits for its turn once as much lies unread as may", async () => {
  const { chunks } = windowOf();
  const { streamChunksAheadMax } = RUNTIME_LIMITS;
  for (let place = 0; place < streamChunksAheadMax - 1; place++) {
    expect(await chunks.push(place, place)).toBe(true);
  }
  const last = chunks.push(streamChunksAheadMax - 1, "last");
  expect(await hasSettled(last)).toBe(false);
  expect(await chunks.take()).toEqual({ chunk: 0 });
  expect(await last).toBe(true);
});

test("[R44] few large values fill it as well as many small ones", async () => {
  const { chunks } = windowOf();
  const large = chunks.push(0, "x".repeat(RUNTIME_LIMITS.streamBytesAheadMax));
  expect(await hasSettled(large)).toBe(false);
  await chunks.take();
  expect(await large).toBe(true);
});

describe.each([
  ["a gap", [0, 2]],
  ["a repetition", [0, 0]],
  ["a wrong beginning", [1]],
])("%s in the order", (_what, places) => {
  test("ends the stream at once, as a lie", async () => {
    const { chunks, ends } = windowOf();
    const answers: boolean[] = [];
    for (const place of places) answers.push(await chunks.push(place, "x"));
    expect(answers.at(-1)).toBe(false);
    expect(ends).toEqual([true]);
    for (let count = 1; count < places.length; count++) await chunks.take();
    expect(await failureOf(chunks.take())).toMatchObject({ code: "ERR_RESULT_INVALID" });
    expect(chunks.isWhole).toBe(false);
  });
});

test("who does not wait for its turn has lied, and fills nothing", async () => {
  const { chunks, ends } = windowOf();
  const { streamBytesAheadMax } = RUNTIME_LIMITS;
  const pushes = Array.from(
    { length: 1_000 },
    (_, place) => chunks.push(place, "x".repeat(streamBytesAheadMax)),
  );
  expect(await Promise.all(pushes)).not.toContain(true);
  expect(ends).toEqual([true]);
  await chunks.take();
  expect(await failureOf(chunks.take())).toMatchObject({ code: "ERR_RESULT_INVALID" });
});

test.each([["too few", 1], ["too many", 3]])("an end that counts %s is a lie", async (_what, streamed) => {
  const { chunks } = windowOf();
  await chunks.push(0, "a");
  await chunks.push(1, "b");
  chunks.end({ streamed });
  await chunks.take();
  await chunks.take();
  expect(await failureOf(chunks.take())).toMatchObject({ code: "ERR_RESULT_INVALID" });
});

test("[R44] a value that is too large is refused to the guest, and ends the stream by name", async () => {
  const { chunks, ends } = windowOf();
  const { streamChunkBytesMax } = RUNTIME_LIMITS;
  const pushed = chunks.push(0, "x".repeat(streamChunkBytesMax));
  await chunks.take();
  expect(await pushed).toBe(true);
  expect(await failureOf(chunks.push(1, "x".repeat(streamChunkBytesMax + 1)))).toMatchObject({
    name: "LimitError",
    code: "ERR_LIMIT_SIZE",
  });
  expect(await failureOf(chunks.take())).toMatchObject({
    code: "ERR_LIMIT_SIZE",
    details: { streamChunkBytesMax },
  });
  expect(ends).toEqual([false]);
  expect(await chunks.push(2, "more")).toBe(false);
});

test("who leaves drops what is there, and the guest is told at its next value", async () => {
  const { chunks, ends } = windowOf();
  await chunks.push(0, "unread");
  const waiting = chunks.take().then(() => chunks.take());
  expect(await hasSettled(waiting)).toBe(false);
  chunks.cancel(null);
  expect(await waiting).toBe(null);
  expect(await chunks.push(1, "more")).toBe(false);
  expect(chunks.isWhole).toBe(false);
  expect(ends).toEqual([false]);
});

test("[T39] what nobody reads ends after a while; what is read as slowly as that allows does not", async () => {
  const { chunks: read } = windowOf(new Redactor(), 300);
  await read.push(0, "a");
  for (let place = 1; place < 4; place++) {
    await new Promise((resume) => setTimeout(resume, 100));
    await read.push(place, "a");
    await read.take();
  }
  read.end({ streamed: 4 });
  expect(await all(read)).toEqual(["a"]);

  const { chunks, ends } = windowOf(new Redactor(), 20);
  await chunks.push(0, "a");
  await new Promise((resume) => setTimeout(resume, 60));
  expect(ends).toEqual([false]);
  expect(await failureOf(chunks.take())).toMatchObject({
    code: "ERR_LIMIT_WALL",
    details: { streamIdleMs: 20 },
  });
  // An error is told once, like that of any iterator.
  expect(await chunks.take()).toBe(null);
});

describe("[T35] a known value does not leave in parts", () => {
  const secret = "s3cret-value-0123456789";
  const redactor = new Redactor();
  redactor.know(secret);

  async function through(values: readonly unknown[]): Promise<unknown[]> {
    const { chunks } = windowOf(redactor);
    const reading = all(chunks);
    for (const [place, value] of values.entries()) await chunks.push(place, value);
    chunks.end({ streamed: values.length });
    return await reading;
  }

  test.each(Array.from({ length: secret.length - 1 }, (_, at) => at + 1))(
    "of text, cut at %i",
    async (at) => {
      const text = `before ${secret} after`;
      const parts = [text.slice(0, 7 + at), text.slice(7 + at)];
      const left = (await through(parts)).join("");
      expect(left).not.toContain(secret.slice(4));
      expect(left).toMatch(/^before .{0,3}\[redacted\] after$/);
    },
  );

  test("of text that comes a character at a time, nothing else being lost", async () => {
    const text = `a ${secret} b ${secret.slice(0, -1)} c`;
    expect((await through([...text])).join("")).toBe(`a s3c[redacted] b ${secret.slice(0, -1)} c`);
  });

  test("of text, as base64", async () => {
    const encoded = Buffer.from(secret).toString("base64");
    expect((await through([encoded.slice(0, 10), encoded.slice(10)])).join("")).toBe("[redacted]");
  });

  test("of bytes", async () => {
    const bytes = Buffer.from(`\xff${secret}\x00`, "latin1");
    const left = await through([bytes.subarray(0, 9), bytes.subarray(9)]) as Uint8Array[];
    expect(Buffer.concat(left).toString("latin1")).toBe("\xff[redacted]\x00");
  });

  test("of values, under one name: what completes it is cut", async () => {
    const values = [{ delta: secret.slice(0, 12) }, { delta: secret.slice(12) }, { delta: secret }];
    expect(await through(values)).toEqual([
      { delta: secret.slice(0, 12) },
      { delta: "[redacted]" },
      { delta: "[redacted]" },
    ]);
  });

  test("and what only looks like its beginning stays whole, in its place", async () => {
    expect(await through(["see s3cr", "ets", { s: "s3cret-value" }, "s3cret", new Uint8Array([1])])).toEqual([
      "see ",
      "s3crets",
      { s: "s3cret-value" },
      "s3cret",
      new Uint8Array([1]),
    ]);
  });
});
