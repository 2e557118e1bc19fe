/** One name may stand once on a surface of a plugin, and once among what is run or typed: the second would be out of reach, or win. */
import { display } from "../../display.ts";
import { type Surface, SURFACES } from "../../surfaces/mod.ts";
import { fieldName, type Finding, valueAt } from "../finding.ts";

/** Finds the second and further uses of a name on one surface, or of an id on surfaces that are run or typed. */
export function duplicateNames(manifest: unknown): readonly Finding[] {
  const first = new Map<string, string>();
  const surfaces: readonly Surface[] = Object.values(SURFACES);
  return surfaces.flatMap((surface) => {
    const base = ["capabilities", surface.name];
    return surface.names(valueAt(manifest, base)).flatMap(({ name, at }): Finding[] => {
      const path = [...base, ...at];
      const key = keyOf(surface, name);
      const earlier = first.get(key);
      if (earlier === undefined) {
        first.set(key, fieldName(path));
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

/** A document is read by its surface and name; what is run or typed is found by its id alone. */
function keyOf({ name: surface, code, typedAs, fullId }: Surface, name: string): string {
  const isFoundById = code !== undefined || typedAs !== undefined;
  return isFoundById && fullId !== undefined ? fullId("", name) : `${surface} ${name}`;
}
