/** The fuzzers for a bounded time: always from the same seed, and from one that nobody has seen before. `npm run fuzz` goes on. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeFrame, ENDOWMENTS, FrameDecoder, RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { FROM_WORKER } from "../../runtime/protocol.ts";
import { type HostWriter, onGuestText } from "../../runtime/worker/guest_words.ts";
import { GuestTimers } from "../../runtime/worker/timers.ts";
import { takenOps } from "./broker.ts";
import { FUZZERS } from "./mod.ts";

const FIXED_SEED = 20_261_130;
const seed = Math.floor(Math.random() * 0x7fff_ffff);
console.log(`fuzz: the seed of this run is ${seed}`);

for (const [name, fuzzers] of Object.entries(FUZZERS)) {
  describe(name, () => {
    for (const { name: title, runs, property } of fuzzers) {
      test(title, async () => {
        await fc.assert(property as fc.IAsyncProperty<unknown>, { seed: FIXED_SEED, numRuns: runs });
        await fc.assert(property as fc.IAsyncProperty<unknown>, { seed, numRuns: runs });
      }, 60_000);
    }
  });
}

test("a word of a guest that no frame holds ends its call and not its worker; one that fits passes", () => {
  const said = (text: string): number[] => {
    const decoder = new FrameDecoder(RUNTIME_LIMITS.frameBytesMax);
    const types: number[] = [];
    const host: HostWriter = {
      send: (...frame) => types.push(...decoder.push(encodeFrame(...frame)).map(({ type }) => type)),
      flush: () => {},
    };
    const timers = new GuestTimers(() => {});
    const speaker = { id: 1, calls: new Set([1]), ops: new Map(), timers, currentCall: 1, isInline: false };
    onGuestText(speaker, text, host);
    return types;
  };
  const room = RUNTIME_LIMITS.frameBytesMax - 64;
  for (const word of ["r1:", "o1:", "l", "f", "x"]) {
    expect(said(word + "x".repeat(RUNTIME_LIMITS.frameBytesMax))).toEqual([FROM_WORKER.breach]);
    expect(said(word + "€".repeat(room / 2))).toEqual([FROM_WORKER.breach]);
  }
  expect(said("r1:" + "x".repeat(room))).toEqual([FROM_WORKER.result]);
});

test("the fuzzers find arguments that each op of every endowment takes", async () => {
  expect(await takenOps()).toEqual(ENDOWMENTS.flatMap(({ ops }) => ops.map(({ name }) => name)));
});
