/** Packs: overlays that may restyle what exists and may add no role. */
import { documentSurface, type Surface } from "./surface.ts";

/** The surface of packs. */
export const packs: Surface<readonly string[]> = documentSurface({
  name: "packs",
  doc: "Overlays that restyle what exists.",
  live: false,
  extensions: [".yaml", ".yml"],
});
