/** The frames between processes, under whatever a process that was taken over may send. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  encodeFrame,
  type Frame,
  FrameDecoder,
  FrameWriter,
  joinParts,
  splitParts,
  textOf,
} from "../../runtime/mod.ts";
import { callOf, textBehindCall } from "../../runtime/wire.ts";

const BYTES_MAX = 4_096;
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const frame = fc.record({
  type: fc.integer({ min: 0, max: 255 }),
  isolate: u32,
  id: u32,
  payload: fc.uint8Array({ maxLength: 600 }),
});

/** Cuts bytes at the given places, none left out; places beyond the end cut nothing. */
function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let from = 0;
  for (const size of sizes) {
    chunks.push(bytes.subarray(from, from + size));
    from += size;
  }
  return [...chunks, bytes.subarray(from)];
}

function plain({ type, isolate, id, payload }: Frame): unknown[] {
  return [type, isolate, id, Buffer.from(payload).toString("hex")];
}

describe("frames", () => {
  test("come out as they went in, however the stream is cut", () => {
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 8 }),
        fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 300 }),
        (frames, sizes) => {
          const bytes = Buffer.concat(frames.map((f) => encodeFrame(f.type, f.isolate, f.id, f.payload)));
          const decoder = new FrameDecoder(BYTES_MAX);
          const decoded = cut(bytes, sizes).flatMap((chunk) => decoder.push(chunk));
          expect(decoded.map(plain)).toEqual(frames.map(plain));
        },
      ),
      { numRuns: 300 },
    );
  });

  test("carry any text, byte by byte too", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 300 }), (text) => {
        const decoder = new FrameDecoder(BYTES_MAX);
        const frames = [...encodeFrame(1, 2, 3, text)].flatMap((byte) => decoder.push(Uint8Array.of(byte)));
        expect(frames.map(textOf)).toEqual([text]);
      }),
    );
  });

  test("name a call in front of their payload, and one that is too short for it is a RangeError", () => {
    const [frame] = new FrameDecoder(BYTES_MAX).push(encodeFrame(1, 2, 3, "t\u20acxt", 0xffff_fffe));
    expect([callOf(frame!), textBehindCall(frame!)]).toEqual([0xffff_fffe, "t\u20acxt"]);
    const [short] = new FrameDecoder(BYTES_MAX).push(encodeFrame(1, 2, 3, "abc"));
    expect(() => callOf(short!)).toThrow(RangeError);
  });

  test("[T39] that never end hold the memory that they declare and no more, however small their pieces", () => {
    const frame = encodeFrame(1, 0, 0, new Uint8Array(2_097_152));
    const decoder = new FrameDecoder(frame.byteLength);
    const before = process.memoryUsage();
    let early = 0;
    for (let at = 0; at < 500_000; at++) early += decoder.push(frame.subarray(at, at + 1)).length;
    const { heapUsed, external } = process.memoryUsage();
    expect(early).toBe(0);
    expect(heapUsed + external - before.heapUsed - before.external).toBeLessThan(64 * 1_048_576);
    const [whole] = decoder.push(frame.subarray(500_000));
    expect(whole?.payload.byteLength).toBe(2_097_152);
  });

  test("[T39] are refused by their declared length, before anything of them is kept", () => {
    fc.assert(
      fc.property(u32, fc.uint8Array({ minLength: 9, maxLength: 9 }), (length, rest) => {
        const head = Buffer.alloc(13);
        head.writeUInt32LE(length, 0);
        head.set(rest, 4);
        const push = () => new FrameDecoder(BYTES_MAX).push(head);
        if (length < 9 || length + 4 > BYTES_MAX) expect(push).toThrow(RangeError);
        else expect(push().length).toBe(length === 9 ? 1 : 0);
      }),
    );
  });

  test("[T39] at the bound pass and one byte above do not", () => {
    const fits = encodeFrame(1, 0, 0, new Uint8Array(BYTES_MAX - 13));
    expect(new FrameDecoder(BYTES_MAX).push(fits)).toHaveLength(1);
    const exceeds = encodeFrame(1, 0, 0, new Uint8Array(BYTES_MAX - 12));
    expect(() => new FrameDecoder(BYTES_MAX).push(exceeds)).toThrow(RangeError);
    const lie = Buffer.from(fits);
    lie.writeUInt32LE(0xffff_ffff, 0);
    expect(() => new FrameDecoder(BYTES_MAX).push(lie.subarray(0, 13))).toThrow(RangeError);
  });

  test("[T39] garbage gives frames or a RangeError, and nothing else", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 10 }), (chunks) => {
        const decoder = new FrameDecoder(BYTES_MAX);
        try {
          for (const decoded of chunks.flatMap((chunk) => decoder.push(chunk))) {
            expect(decoded.payload.byteLength).toBeLessThanOrEqual(BYTES_MAX);
          }
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("a writer", () => {
  /** A writer with what it wrote, piece by piece, as frames. */
  function writing(): { readonly writer: FrameWriter; readonly pieces: unknown[][] } {
    const pieces: unknown[][] = [];
    const decoder = new FrameDecoder(1_048_576);
    return { writer: new FrameWriter((bytes) => pieces.push(decoder.push(bytes).map(plain))), pieces };
  }

  test("sends in one piece what the promises of one turn say, in its order", async () => {
    const { writer, pieces } = writing();
    const say = async (type: number): Promise<void> => {
      for (let i = 0; i < type; i++) await null;
      writer.send(type, 1, type, Uint8Array.of(type), 7);
    };
    setImmediate(() => [3, 1, 2].forEach((type) => void say(type)));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(pieces).toEqual([[1, 2, 3].map((type) => [type, 1, type, `070000000${type}`])]);
  });

  test("does not wait for the last of many, and sends at once when it is told to", () => {
    const { writer, pieces } = writing();
    for (let id = 0; id < 40; id++) writer.send(1, 1, id, "x");
    expect(pieces.flat().length).toBe(32);
    writer.flush();
    expect(pieces.flat().length).toBe(40);
    writer.flush();
    expect(pieces.length).toBe(3);
  });

  test("keeps the order and the bytes of small and large frames alike", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.integer({ min: 0, max: 60_000 }),
            fc.constantFrom("x", "\u00e9", "\u20ac", "\ud83d\ude00"),
          ),
        ),
        (sizes) => {
          const { writer, pieces } = writing();
          const texts = sizes.map(([size, unit]) => unit.repeat(size / 4));
          texts.forEach((text, id) => writer.send(1, 0, id, text));
          writer.flush();
          const got = (pieces.flat() as unknown[][]).map(([, , id, hex]) => [id, hex]);
          expect(got).toEqual(texts.map((text, id) => [id, Buffer.from(text).toString("hex")]));
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("parts", () => {
  test("come apart as they were joined", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.uint8Array({ maxLength: 300 }), (header, body) => {
        const parts = splitParts(joinParts(header, body));
        expect(JSON.stringify(parts.header)).toBe(JSON.stringify(header));
        expect([...parts.body]).toEqual([...body]);
      }),
    );
  });

  test("[T39] garbage is a RangeError", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(80), (bytes, length) => {
        for (const first of [null, length]) {
          const payload = Buffer.from(bytes);
          if (first !== null && payload.byteLength >= 4) payload.writeUInt32LE(first, 0);
          try {
            splitParts(payload);
          } catch (error) {
            expect(error).toBeInstanceOf(RangeError);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
