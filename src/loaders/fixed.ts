/** A fixed list of plugin directories: what is not on it is never read (A06). */
import { resolve } from "node:path";
import type { Loader } from "./mod.ts";

/** Finds exactly these directories; relative ones start at the working directory of the process. */
export function fixedLoader(directories: readonly string[]): Loader {
  return {
    load: () =>
      Promise.resolve(directories.map((directory) => ({ directory: resolve(directory), origin: "list" }))),
  };
}
