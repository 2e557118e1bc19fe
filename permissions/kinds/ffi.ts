/** Native libraries. No op loads one; the kind exists so that a request for it can be read, shown and refused. */
import type { Kind } from "../kind.ts";
import { type Path, pathAlgebra } from "../path_grammar.ts";

/** The kind `ffi`: an entry is a path and everything below it. */
export const ffi: Kind<Path, Path> = {
  ...pathAlgebra,
  name: "ffi",
  isSettled: true,
  doc: "Loading native libraries: never possible, shown for clarity.",
  examples: ["/usr/lib/libz.so"],
  own: {},
  phrase: (value) => value === null ? "load every native library" : `load "${value}"`,
  isGrave: () => true,
};
