/** Agents: Markdown profiles of roles. */
import { documentSurface, type Surface } from "./surface.ts";

/** The surface of agents. */
export const agents: Surface<readonly string[]> = documentSurface({
  name: "agents",
  doc: "Profiles of roles.",
  live: false,
  extensions: [".md"],
});
