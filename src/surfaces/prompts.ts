/** Prompts: Markdown with front matter that a person may ask for by typing `/<plugin>:<name>`. */
import { documentSurface, type Surface, typedId } from "./surface.ts";

/** The surface of prompts. */
export const prompts: Surface<readonly string[]> = documentSurface({
  name: "prompts",
  doc: "Texts that a person asks for by name.",
  live: false,
  extensions: [".md"],
  aliases: (plugin, name) => [typedId(plugin, name)],
});
