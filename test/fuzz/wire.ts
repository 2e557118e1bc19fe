/** Frames and payloads, under whatever a process that was taken over may write to its pipe. */
import assert from "node:assert/strict";
import fc from "fast-check";
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
import type { Fuzzer } from "./fuzzer.ts";

const BYTES_MAX = 512;
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const sizes = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 60 });
const message = fc.record({
  type: fc.integer({ min: 0, max: 255 }),
  isolate: u32,
  id: u32,
  payload: fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.string({ unit: "binary", maxLength: 100 })),
  call: fc.option(u32, { nil: undefined }),
});
type Message = typeof message extends fc.Arbitrary<infer Value> ? Value : never;

/** Valid frames, frames that lie about their length, and noise. */
const stream = fc.array(
  fc.oneof(
    message.map((m) => encode(m)),
    fc.tuple(message, fc.oneof(u32, fc.nat(BYTES_MAX + 20))).map(([m, length]) => {
      const bytes = encode(m);
      bytes.writeUInt32LE(length, 0);
      return bytes;
    }),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  ),
  { maxLength: 6 },
).map((all) => Buffer.concat(all));

/** The table. */
export const WIRE_FUZZERS: readonly Fuzzer[] = [
  {
    name: "any bytes, however they are cut, are read as a plain reader reads them whole",
    runs: 400,
    property: fc.property(stream, sizes, (bytes, cuts) => {
      const decoder = new FrameDecoder(BYTES_MAX);
      const found: string[] = [];
      let hasRefused = false;
      for (const chunk of cut(bytes, cuts)) {
        try {
          found.push(...decoder.push(chunk).map(plain));
        } catch (error) {
          assert.ok(error instanceof RangeError, String(error));
          hasRefused = true;
          break;
        }
      }
      const told = readWhole(bytes);
      // Of the chunk that holds the lie nothing need be given.
      assert.deepEqual(found, told.frames.slice(0, found.length));
      assert.equal(hasRefused, told.isRefused);
      if (!hasRefused) assert.equal(found.length, told.frames.length);
    }),
  },
  {
    name: "what a writer gathers is what a reader gets, in its order",
    runs: 200,
    property: fc.property(
      fc.array(fc.tuple(message, fc.boolean()), { maxLength: 40 }),
      sizes,
      fc.integer({ min: 0, max: 90_000 }),
      (messages, cuts, size) => {
        const written: Buffer[] = [];
        const writer = new FrameWriter((bytes) => void written.push(bytes));
        const large: Message = { type: 7, isolate: 1, id: 2, payload: "é".repeat(size), call: undefined };
        const all: [Message, boolean][] = [...messages, [large, true]];
        for (const [{ type, isolate, id, payload, call }, isFlushed] of all) {
          writer.send(type, isolate, id, payload, call);
          if (isFlushed) writer.flush();
        }
        writer.flush();
        const decoder = new FrameDecoder(1_048_576);
        const found = cut(Buffer.concat(written), cuts).flatMap((chunk) => decoder.push(chunk).map(plain));
        assert.deepEqual(found, all.map(([m]) => plain(whole(encode(m)))));
      },
    ),
  },
  {
    name:
      "a payload is taken apart as it was joined, and nothing else comes of a broken one than a RangeError",
    runs: 300,
    property: fc.property(
      fc.jsonValue(),
      fc.uint8Array({ maxLength: 100 }),
      fc.option(fc.tuple(fc.nat(120), fc.nat(255)), { nil: null }),
      (header, body, change: readonly [at: number, byte: number] | null) => {
        const joined = joinParts(header, body);
        if (change === null) {
          const parts = splitParts(joined);
          assert.equal(JSON.stringify(parts.header), JSON.stringify(header));
          return assert.deepEqual([...parts.body], [...body]);
        }
        if (change[0] < joined.byteLength) joined[change[0]] = change[1];
        refusesByRange(() => splitParts(joined));
        refusesByRange(() => splitParts(joined.subarray(0, change[0])));
      },
    ),
  },
  {
    name: "the call in front of a payload, and the text behind it, are read or refused by a RangeError",
    runs: 200,
    property: fc.property(fc.uint8Array({ maxLength: 40 }), (payload) => {
      const frame = { type: 1, isolate: 1, id: 1, payload: Buffer.from(payload) };
      refusesByRange(() => callOf(frame));
      assert.equal(typeof textBehindCall(frame), "string");
      assert.equal(typeof textOf(frame), "string");
    }),
  },
];

function encode({ type, isolate, id, payload, call }: Message): Buffer {
  return encodeFrame(type, isolate, id, payload, call);
}

function refusesByRange(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof RangeError, String(error));
  }
}

function cut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let from = 0;
  for (const size of cuts) {
    chunks.push(Buffer.from(bytes.subarray(from, from + size)));
    from += size;
  }
  return [...chunks, Buffer.from(bytes.subarray(from))];
}

function whole(bytes: Buffer): Frame {
  return {
    type: bytes[4]!,
    isolate: bytes.readUInt32LE(5),
    id: bytes.readUInt32LE(9),
    payload: bytes.subarray(13),
  };
}

/** The frames of a stream that is there in one piece. */
function readWhole(bytes: Buffer): { readonly frames: string[]; readonly isRefused: boolean } {
  const frames: string[] = [];
  let at = 0;
  while (bytes.byteLength - at >= 13) {
    const length = bytes.readUInt32LE(at);
    if (length < 9 || length + 4 > BYTES_MAX) return { frames, isRefused: true };
    if (bytes.byteLength - at < length + 4) break;
    frames.push(plain(whole(bytes.subarray(at, at + length + 4))));
    at += length + 4;
  }
  return { frames, isRefused: false };
}

function plain({ type, isolate, id, payload }: Frame): string {
  return `${type} ${isolate} ${id} ${Buffer.from(payload).toString("hex")}`;
}
