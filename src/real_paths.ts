/**
 * Entries that a person wrote as absolute paths, such as `/tmp/x` where `/tmp` is a link: the place that they lead to at
 * the time of granting is meant as well. Not where the link could be the plugin's own work: in its bundle, which ships
 * whatever its author likes, or inside what it may write, where it may have put another link in the place.
 */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { isWithin, type Layer, relocate, type Side } from "../permissions/mod.ts";
import { realAncestor } from "./home.ts";

/** The layer with the real twin of each entry whose own path holds a link that the plugin cannot have made. */
export function withRealPaths(layer: Layer, bundle?: string): Layer {
  const writable = pathsOf(layer.kinds.write?.allow ?? []);
  const isItsOwn = (path: string): boolean =>
    writable === true ||
    [...writable, ...(bundle === undefined ? [] : [bundle])].some((root) => isWithin(root, path));
  // A deny holds wherever its path leads, whoever made the link.
  return relocate(
    layer,
    (path, effect) => effect === "allow" && linksOn(path).some(isItsOwn) ? path : realAncestor(path),
  );
}

function pathsOf(side: Side): true | readonly string[] {
  // An entry of a path kind is its absolute path.
  return side === true ? true : side.flatMap(({ entry }) => typeof entry === "string" ? [entry] : []);
}

/** The links on the way of an absolute path, itself included. */
function linksOn(path: string): string[] {
  const found: string[] = [];
  let here = "/";
  for (const part of path.split("/").filter((name) => name !== "")) {
    here = join(here, part);
    try {
      if (lstatSync(here).isSymbolicLink()) found.push(here);
    } catch {
      break; // nothing is there, so nothing leads elsewhere
    }
  }
  return found;
}
