/** What an embedder passes as the finder of plugins is held to its promise here, before anything of it is used. */
import { isAbsolute } from "node:path";
import { UsageError } from "../../permissions/mod.ts";
import { fixedLoader } from "./fixed.ts";
import type { Loader, PluginLocation } from "./mod.ts";

const LOCATIONS_MAX = 10_000;

/**
 * A loader from what was passed: a list of directories, or something that loads. Whatever it gives is taken as a snapshot, all
 * of it or nothing. Throws UsageError for neither; its `load` rejects with one for a result that is no dense list of places,
 * or that names a place twice.
 */
export function checkedLoader(plugins: unknown): Loader {
  if (Array.isArray(plugins)) {
    for (const directory of plugins as unknown[]) {
      if (typeof directory !== "string" || directory === "") throw noLoader("a directory is not a path");
    }
    return checkedLoader(fixedLoader(plugins as string[]));
  }
  if (!isLoader(plugins)) throw noLoader("give a loader, or a list of directories");
  return {
    ...(plugins.roots === undefined ? {} : { roots: plugins.roots }),
    async load() {
      const found: unknown = await plugins.load();
      if (!Array.isArray(found)) throw noLoader("it gave no list");
      if (found.length > LOCATIONS_MAX) throw noLoader(`it gave more than ${LOCATIONS_MAX} places`);
      const places = new Set<string>();
      return Array.from(found as unknown[], (location) => { // a hole becomes undefined, which is no place
        if (!isLocation(location)) throw noLoader("it gave what is no place of a plugin");
        if (places.has(location.directory)) throw noLoader(`it gave "${location.directory}" twice`);
        places.add(location.directory);
        return { ...location };
      });
    },
  };
}

function isLoader(value: unknown): value is Loader {
  return typeof value === "object" && value !== null && "load" in value && typeof value.load === "function";
}

function isLocation(value: unknown): value is PluginLocation {
  return typeof value === "object" && value !== null && "directory" in value && "origin" in value &&
    typeof value.directory === "string" && isAbsolute(value.directory) && typeof value.origin === "string" &&
    (!("link" in value) || (typeof value.link === "string" && isAbsolute(value.link)));
}

function noLoader(why: string): UsageError {
  return new UsageError("ERR_USAGE", `Cannot find plugins with this loader: ${why}`);
}
