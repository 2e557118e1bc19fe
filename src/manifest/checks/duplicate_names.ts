/** One name may stand once on a surface of a plugin: the second would be out of reach, or win. */
import { display } from "../../display.ts";
import { SURFACES } from "../../surfaces/mod.ts";
import { fieldName, type Finding, valueAt } from "../finding.ts";

/** Finds the second and further uses of a name on one surface. */
export function duplicateNames(manifest: unknown): readonly Finding[] {
  return Object.values(SURFACES).flatMap((surface) => {
    const base = ["capabilities", surface.name];
    const first = new Map<string, string>();
    return surface.names(valueAt(manifest, base)).flatMap(({ name, at }): Finding[] => {
      const path = [...base, ...at];
      const earlier = first.get(name);
      if (earlier === undefined) {
        first.set(name, fieldName(path));
        return [];
      }
      return [{
        path,
        message: `the name "${display(name)}" is taken by ${earlier}`,
        hint: "rename one of them",
      }];
    });
  });
}
