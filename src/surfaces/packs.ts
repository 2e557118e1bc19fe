/** Packs: overlays that may restyle roles which exist, in words and colours, and may add none (L49). */
import { z } from "zod";
import { colorText, COMMON, lineValue, namedValues, titleText, wordingText } from "../documents/fields.ts";
import type { DocumentStyle, FrontMatter } from "../documents/format.ts";
import { DOCUMENT_LIMITS as LIMITS } from "../documents/limits.ts";
import { keyed } from "../manifest/keyed.ts";
import { agents } from "./agents.ts";
import { documentSurface, memberOf, type Surface } from "./surface.ts";
import { themes } from "./themes.ts";

const NOT_A_ROLE = "a pack restyles a role and does not say what it does";

const style: z.ZodType<DocumentStyle> = keyed({
  title: titleText.exactOptional(),
  description: COMMON.description,
  color: colorText.exactOptional(),
  theme: lineValue.exactOptional(),
  wording: namedValues(wordingText(LIMITS.descriptionCharsMax), LIMITS.entriesMax).exactOptional(),
}, {
  hints: {
    colour: 'did you mean "color"?',
    ...Object.fromEntries(
      ["tools", "model", "prompt", "instructions", "skills", "text"].map((key) => [key, NOT_A_ROLE]),
    ),
  },
});

/** The surface of packs. */
export const packs: Surface<readonly string[]> = documentSurface({
  name: "packs",
  doc: "Overlays that restyle what exists.",
  live: true,
  extensions: [".yaml", ".yml"],
  isLocal: false,
  format: {
    form: "yaml",
    schema: keyed({
      ...COMMON,
      roles: z.record(lineValue, style).refine((roles) => Object.keys(roles).length <= LIMITS.rolesMax, {
        error: `must have at most ${LIMITS.rolesMax} entries`,
      }),
    }, { hints: { agents: 'did you mean "roles"?' } }),
    references: (data) =>
      Object.entries(rolesOf(data)).flatMap(([role, { theme }]) =>
        theme === undefined ? [] : [{ at: ["roles", role, "theme"], surface: themes.name, ref: theme }]
      ),
    overlays: (data) =>
      Object.entries(rolesOf(data)).map(([ref, each]) => {
        return { at: ["roles", ref], surface: agents.name, ref, style: each };
      }),
  },
});

function rolesOf(data: FrontMatter): Readonly<Record<string, DocumentStyle>> {
  // The cast holds: the schema above has accepted it.
  return (memberOf(data, "roles") ?? {}) as Readonly<Record<string, DocumentStyle>>;
}
