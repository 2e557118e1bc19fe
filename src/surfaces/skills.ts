/** Skills: Markdown that a model reads when it needs it. A skill `weather/SKILL.md` is called after its folder. */
import { baseName, folderName } from "../manifest/reference.ts";
import { documentSurface, stemOf, type Surface } from "./surface.ts";

const EXTENSIONS = [".md"];

/** The surface of skills. */
export const skills: Surface<readonly string[]> = documentSurface({
  name: "skills",
  doc: "Texts that a model reads when it needs them.",
  live: false,
  extensions: EXTENSIONS,
  nameOf: (path) =>
    (baseName(path) === "SKILL.md" ? folderName(path) : undefined) ?? stemOf(path, EXTENSIONS),
});
