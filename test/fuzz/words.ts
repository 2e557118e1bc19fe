/** What a guest that got past its platform could say to its worker. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { encodeFrame, FrameDecoder, RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { FROM_GUEST, FROM_WORKER } from "../../runtime/protocol.ts";
import { onGuestText } from "../../runtime/worker/guest_words.ts";
import { GuestTimers } from "../../runtime/worker/timers.ts";
import type { Fuzzer } from "./fuzzer.ts";

const number = fc.oneof(
  fc.nat().map(String),
  fc.constantFrom(
    "-1",
    "1e9",
    "4294967296",
    "NaN",
    "Infinity",
    "0x10",
    "",
    " 7 ",
    "1.5",
    "18446744073709551616",
  ),
);
const text = fc.oneof(
  fc.tuple(
    fc.constantFrom(...Object.values(FROM_GUEST)),
    number,
    fc.constantFrom(":", "", "::", " :"),
    fc.oneof(fc.json(), fc.string({ unit: "binary" }), number),
  ).map((parts) => parts.join("")),
  fc.string({ unit: "binary" }),
);
const said = fc.oneof(
  { weight: 9, arbitrary: text },
  { weight: 1, arbitrary: fc.anything({ withBigInt: true, withDate: true, withTypedArray: true }) },
);
/** What a worker may say in the name of an isolate because its guest said something. */
const TYPES: ReadonlySet<number> = new Set([
  FROM_WORKER.result,
  FROM_WORKER.op,
  FROM_WORKER.log,
  FROM_WORKER.breach,
  FROM_WORKER.fault,
]);

/** Those that are under way, and nobody's. */
const CALLS: ReadonlySet<number> = new Set([0, 3, 4]);

/** The table. */
export const WORD_FUZZERS: readonly Fuzzer[] = [
  {
    name:
      "whatever a guest says becomes frames of its own isolate, of a call under way in it or nobody's, or nothing",
    runs: 300,
    property: fc.property(fc.array(said, { maxLength: 30 }), fc.boolean(), (all, isInline) => {
      const timers = new GuestTimers(() => {});
      const bytes: Buffer[] = [];
      const speaker = {
        id: 7,
        calls: new Set([3, 4]),
        ops: new Map<number, number>(),
        timers,
        currentCall: 3,
        isInline,
      };
      const host = {
        send: (...frame: Parameters<typeof encodeFrame>) => void bytes.push(encodeFrame(...frame)),
        flush: () => {},
      };
      try {
        for (const one of all) onGuestText(speaker, one, host);
      } finally {
        timers.clearAll();
      }
      const decoder = new FrameDecoder(RUNTIME_LIMITS.frameBytesMax);
      for (const { type, isolate, payload } of decoder.push(Buffer.concat(bytes))) {
        assert.ok(TYPES.has(type), `type ${type}`);
        assert.equal(isolate, 7);
        if (type === FROM_WORKER.op) assert.ok(CALLS.has(Buffer.from(payload).readUInt32LE(0)));
      }
      assert.ok([...speaker.ops.values()].every((call) => CALLS.has(call)));
    }),
  },
];
