/** Creating, changing and removing files and directories. */
import type { Kind } from "../kind.ts";
import { isForeign, isRelative, type Path, pathAlgebra } from "../path_grammar.ts";

/** The kind `write`: an entry is a path and everything below it. */
export const write: Kind<Path, Path> = {
  ...pathAlgebra,
  name: "write",
  doc: "Creating, changing and removing the named files, and everything below the named directories.",
  examples: ["$data", "$project/out", "/srv/shared"],
  own: {},
  phrase: (value) => value === null ? "write every file" : `write "${value}"`,
  // The bundle is what was trusted, so it never changes under the plugin's own hand.
  misplaced: (given) =>
    typeof given === "string" && isRelative(given)
      ? 'a plugin does not write into its own bundle; its writable space is "$data"'
      : undefined,
  suggest: (text, isFlag) => !isFlag && isRelative(text) ? "$data" : text,
  isGrave: (entry, context) => entry === true || isForeign(entry, context),
};
