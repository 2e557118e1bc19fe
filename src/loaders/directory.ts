/** Finds plugins as the folders of ordered roots: the project's first, then the user's (L02). */
import { type Dirent, existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { UsageError } from "../../permissions/mod.ts";
import type { Loader } from "./mod.ts";

/** One root with the word for it in lists. */
export interface LoaderRoot {
  /** Absolute directory; one that is missing has no plugins. */
  readonly directory: string;
  /** For lists: `project`, `user`. */
  readonly origin: string;
}

const FOLDERS_PER_ROOT_MAX = 10_000;

/**
 * Finds each folder of the roots that holds a `plugin.yaml`, by name within a root. A folder without one is ignored in
 * silence (L03). Throws UsageError when a root has more folders than are looked at.
 */
export function directoryLoader(roots: readonly LoaderRoot[]): Loader {
  return {
    roots: roots.map(({ directory }) => directory),
    async load() {
      const lists = await Promise.all(roots.map(async ({ directory, origin }) => {
        const names = await foldersOf(directory);
        return names
          .map((name) => ({ directory: join(directory, name), origin }))
          .filter((location) => existsSync(join(location.directory, "plugin.yaml")));
      }));
      return lists.flat();
    },
  };
}

async function foldersOf(directory: string): Promise<string[]> {
  let entries: Dirent[];
  try {
    entries = await readdir(directory, { withFileTypes: true });
  } catch {
    return [];
  }
  if (entries.length > FOLDERS_PER_ROOT_MAX) {
    throw new UsageError(
      "ERR_USAGE",
      `Cannot look for plugins in "${directory}": it has more than ${FOLDERS_PER_ROOT_MAX} entries`,
    );
  }
  // By code unit, so that the order is the same whatever the file system and the language of the system.
  return entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink()).map(({ name }) => name)
    .sort((a, b) => a < b ? -1 : 1);
}
