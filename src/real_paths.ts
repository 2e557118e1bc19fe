/**
 * Entries that a person wrote as absolute paths, such as `/tmp/x` where `/tmp` is a link: the place that they lead to at
 * the time of granting is meant as well. Relative entries stay as they are: what a bundle ships may be a link to anywhere.
 */
import type { Layer } from "../permissions/mod.ts";
import { relocate } from "../permissions/mod.ts";
import { realAncestor } from "./home.ts";

/** The layer with the real twin of each entry whose own path holds a link. */
export function withRealPaths(layer: Layer): Layer {
  return relocate(layer, realAncestor);
}
