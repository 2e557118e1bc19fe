/** Themes: colours and styles as JSON. A theme is called after its folder. */
import { folderName } from "../manifest/reference.ts";
import { documentSurface, stemOf, type Surface } from "./surface.ts";

const EXTENSIONS = [".json"];

/** The surface of themes. */
export const themes: Surface<readonly string[]> = documentSurface({
  name: "themes",
  doc: "Colours and styles.",
  live: false,
  extensions: EXTENSIONS,
  nameOf: (path) => folderName(path) ?? stemOf(path, EXTENSIONS),
  fullId: (plugin, name) => `plugin:${plugin}:${name}`,
});
