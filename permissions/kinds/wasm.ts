/** WebAssembly: its memory is not counted by the engine, so it needs a worker of its own. */
import type { Kind } from "../kind.ts";
import { switchAlgebra } from "../switch_grammar.ts";

/** The kind `wasm`: `true` or nothing. */
export const wasm: Kind<never, never> = {
  ...switchAlgebra,
  name: "wasm",
  doc: "Running WebAssembly, in a worker of its own.",
  phrase: () => "run WebAssembly",
};
