/** Where programs are looked for by name. */
import { statSync } from "node:fs";
import { join } from "node:path";

/** Fixed: a PATH from the environment would let whoever sets it choose what a name means (T34). */
const PLACES = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** A look-up that finds a name once: what it meant when it was granted, it means for as long as the grant is used. */
export function findPrograms(places: readonly string[] = PLACES): (name: string) => string | undefined {
  const found = new Map<string, string>();
  return (name) => {
    const known = found.get(name) ?? places.map((place) => join(place, name)).find(isProgram);
    if (known !== undefined) found.set(name, known);
    return known;
  };
}

function isProgram(path: string): boolean {
  try {
    const facts = statSync(path);
    return facts.isFile() && (facts.mode & 0o111) !== 0;
  } catch {
    return false;
  }
}
