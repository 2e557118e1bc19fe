/** Finds plugins as the folders of ordered roots: the project's first, then the user's (L02). */
import { type Dirent, existsSync, realpathSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { UsageError } from "../../permissions/mod.ts";
import type { Loader, PluginLocation } from "./mod.ts";

/** One root with the word for it in lists. */
export interface LoaderRoot {
  /** Absolute directory; one that is missing has no plugins. */
  readonly directory: string;
  /** For lists: `project`, `user`. */
  readonly origin: string;
}

const FOLDERS_PER_ROOT_MAX = 10_000;

/**
 * Finds each folder of the roots that holds a `plugin.yaml`, by name within a root; a link to one as well, which is a
 * plugin of its own. A folder without one is ignored in silence (L03). Throws UsageError when a root has more folders than are looked at.
 */
export function directoryLoader(roots: readonly LoaderRoot[]): Loader {
  return {
    roots: roots.map(({ directory }) => directory),
    async load() {
      const lists = await Promise.all(roots.map(async ({ directory, origin }) => {
        const folders = await foldersOf(directory);
        return folders.filter((entry) => existsSync(join(directory, entry.name, "plugin.yaml")))
          .map((entry) => locationOf(entry, directory, origin));
      }));
      return lists.flat();
    },
  };
}

function locationOf(entry: Dirent, root: string, origin: string): PluginLocation {
  const directory = join(root, entry.name);
  if (!entry.isSymbolicLink()) return { directory, origin };
  // Where the link itself is, whatever leads to its root: that is what its approval is kept under.
  const link = join(realpathSync.native(root), entry.name);
  return { directory, origin: `${origin} (link to ${realpathSync.native(directory)})`, link };
}

async function foldersOf(directory: string): Promise<Dirent[]> {
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
  return entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .sort((a, b) => a.name < b.name ? -1 : 1);
}
