/** Kinds that are wholly granted or not at all. */
import { type Kind, refuse } from "./kind.ts";

/** What `dynamicCode` and `wasm` have in common: no entries, no values. */
export const switchAlgebra: Pick<
  Kind<never, never>,
  | "isSettled"
  | "own"
  | "parseEntry"
  | "parseValue"
  | "displayEntry"
  | "displayValue"
  | "covers"
  | "includes"
  | "meet"
  | "isGrave"
> = {
  isSettled: true,
  own: {},
  parseEntry: () => refuse("it has no parts; write true"),
  parseValue: () => refuse("it has no parts; it is asked for as a whole"),
  displayEntry: (entry) => entry,
  displayValue: (value) => value,
  covers: () => false,
  includes: () => false,
  meet: () => null,
  isGrave: () => true,
};
