/** What a fuzzer is. */
import type fc from "fast-check";

/** One property of a part that meets hostile bytes. */
export interface Fuzzer {
  /** What must hold. */
  readonly name: string;
  /** How many inputs the suite tries with one seed. */
  readonly runs: number;
  /** The property; it asserts by throwing. */
  readonly property: fc.IRawProperty<unknown>;
}
