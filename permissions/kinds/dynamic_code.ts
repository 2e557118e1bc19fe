/** Code from strings: what runs then was not hashed. */
import type { Kind } from "../kind.ts";
import { switchAlgebra } from "../switch_grammar.ts";

/** The kind `dynamicCode`: `true` or nothing. */
export const dynamicCode: Kind<never, never> = {
  ...switchAlgebra,
  name: "dynamicCode",
  doc: "Running code from strings: may run code that was not hashed.",
  phrase: () => "run code from strings",
};
