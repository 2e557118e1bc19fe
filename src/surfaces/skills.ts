/** Skills: Markdown that a model reads when it needs it. A skill `weather/SKILL.md` is called after its folder. */
import { z } from "zod";
import { COMMON, lineValue, namedValues, namesList } from "../documents/fields.ts";
import { DOCUMENT_LIMITS as LIMITS } from "../documents/limits.ts";
import { keyed } from "../manifest/keyed.ts";
import { baseName, folderName } from "../manifest/reference.ts";
import { documentSurface, stemOf, type Surface } from "./surface.ts";

const EXTENSIONS = [".md"];
const FOLDER_FILE = "SKILL.md";

const scalar = z.union([z.string().max(LIMITS.descriptionCharsMax), z.number(), z.boolean()], {
  error: "must be a text, a number, true or false",
});

/** The surface of skills. */
export const skills: Surface<readonly string[]> = documentSurface({
  name: "skills",
  doc: "Texts that a model reads when it needs them.",
  live: true,
  extensions: EXTENSIONS,
  isLocal: true,
  folderFile: FOLDER_FILE,
  nameOf: (path) =>
    (baseName(path) === FOLDER_FILE ? folderName(path) : undefined) ?? stemOf(path, EXTENSIONS),
  format: {
    form: "markdown",
    isPicked: true,
    schema: keyed({
      ...COMMON,
      version: lineValue.exactOptional(),
      license: lineValue.exactOptional(),
      compatibility: lineValue.exactOptional(),
      "allowed-tools": namesList.exactOptional(),
      model: lineValue.exactOptional(),
      metadata: namedValues<string | number | boolean>(scalar, LIMITS.entriesMax).exactOptional(),
    }),
  },
});
