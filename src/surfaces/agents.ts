/** Agents: Markdown profiles of roles. */
import { colorText, COMMON, lineValue, namesList } from "../documents/fields.ts";
import { keyed } from "../manifest/keyed.ts";
import { documentSurface, type Surface } from "./surface.ts";

/** The surface of agents. */
export const agents: Surface<readonly string[]> = documentSurface({
  name: "agents",
  doc: "Profiles of roles.",
  live: true,
  extensions: [".md"],
  isLocal: true,
  format: {
    form: "markdown",
    isPicked: true,
    schema: keyed({
      ...COMMON,
      tools: namesList.exactOptional(),
      skills: namesList.exactOptional(),
      model: lineValue.exactOptional(),
      color: colorText.exactOptional(),
    }, { hints: { colour: 'did you mean "color"?' } }),
  },
});
