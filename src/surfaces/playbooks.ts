/** Playbooks: YAML descriptions of work in several steps. */
import { documentSurface, type Surface } from "./surface.ts";

/** The surface of playbooks. */
export const playbooks: Surface<readonly string[]> = documentSurface({
  name: "playbooks",
  doc: "Work in several steps.",
  live: false,
  extensions: [".playbook.yaml", ".playbook.yml", ".yaml", ".yml"],
});
