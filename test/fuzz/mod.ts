/** Every fuzzer, by what it is about. */
import { BROKER_FUZZERS } from "./broker.ts";
import type { Fuzzer } from "./fuzzer.ts";
import { JSON_FUZZERS } from "./json.ts";
import { MANIFEST_FUZZERS } from "./manifest.ts";
import { VERDICT_FUZZERS } from "./verdicts.ts";
import { WIRE_FUZZERS } from "./wire.ts";
import { WORD_FUZZERS } from "./words.ts";

/** The tables. */
export const FUZZERS: Readonly<Record<string, readonly Fuzzer[]>> = {
  wire: WIRE_FUZZERS,
  json: JSON_FUZZERS,
  manifest: MANIFEST_FUZZERS,
  broker: BROKER_FUZZERS,
  words: WORD_FUZZERS,
  verdicts: VERDICT_FUZZERS,
};
