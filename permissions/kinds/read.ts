/** Reading files and directories. */
import { z } from "zod";
import type { Kind } from "../kind.ts";
import { isForeign, type Path, pathAlgebra } from "../path_grammar.ts";

/** The kind `read`: an entry is a path and everything below it. */
export const read: Kind<Path, Path> = {
  ...pathAlgebra,
  name: "read",
  doc: "Reading the named files, and everything below the named directories.",
  examples: ["./data", "$project/docs", "/srv/shared"],
  own: { mutable: z.boolean() },
  remark: (object) => object["mutable"] === true ? "mutable: not pinned" : undefined,
  phrase: (value) => value === null ? "read every file" : `read "${value}"`,
  isGrave: (entry, context) => entry === true || isForeign(entry, context),
};
