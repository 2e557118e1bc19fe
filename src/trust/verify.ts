/** Whether a plugin still is what was approved, without bundling it: the bundle that runs is held to its pins later. */
import canonicalize from "canonicalize";
import { declaredFiles } from "../manifest/mod.ts";
import type { LoadedPlugin } from "../plugin.ts";
import { relativeOf } from "../source.ts";
import { SourceError } from "../source_file.ts";
import type { FileHashes, Pins } from "./fingerprint.ts";

/**
 * Relative paths of all that differs from the pins, in order; `plugin.yaml` when it says something else. Reads every pinned
 * file, and so into the memory that runs.
 */
export function differences({ manifest, source }: LoadedPlugin, pins: Pins): readonly string[] {
  const changed = new Set<string>();
  if (canonicalize(manifest) !== canonicalize(pins.manifest)) changed.add("plugin.yaml");
  const declared = new Set(declaredFiles(manifest).map(({ path }) => path));
  for (const [path, hash] of Object.entries(pins.files)) {
    // What the manifest names may be a link inside the plugin; what was imported was pinned without links.
    const isThere = declared.has(path) || attempt(() => relativeOf(source.real(path))) === path;
    if (!isThere || attempt(() => source.hash(path)) !== hash) changed.add(path);
  }
  for (const [entry, before] of Object.entries(pins.trees)) {
    const now = attempt((): FileHashes => Object.fromEntries(source.tree(entry)));
    if (now === null) changed.add(entry);
    else for (const path of treeDifferences(before, now)) changed.add(path);
  }
  return [...changed].sort();
}

function treeDifferences(before: FileHashes, now: FileHashes): string[] {
  const paths = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...paths].filter((path) => own(before, path) !== own(now, path));
}

function own(hashes: FileHashes, path: string): string | undefined {
  return Object.hasOwn(hashes, path) ? hashes[path] : undefined;
}

/** A file that cannot be read any more differs as well. */
function attempt<Value>(work: () => Value): Value | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof SourceError) return null;
    throw error;
  }
}
