/** What stands around a plugin's code, in the words of SECURITY.md. */
import type { Confinement } from "../runtime/mod.ts";

/** What each level of confinement is. */
export const LEVELS: Readonly<Record<Confinement, string>> = {
  strong: "bubblewrap around Node's permission model",
  medium: "a user id of its own, and the permission model",
  weak: "the permission model alone",
};

/** Where a plugin's code runs. */
export const PLACE = "in a V8 isolate of its own, inside a worker process";

/** The boundary on this machine, in one line. */
export function boundaryText(level: Confinement): string {
  return `${PLACE}; confinement ${level}: ${LEVELS[level]}`;
}
