/**
 * Finds plugins among installed packages, by name only: no package is imported and no package.json is read, so installing a
 * package approves nothing (L47).
 */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { UsageError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import type { Loader, PluginLocation } from "./mod.ts";

/** Where packages are looked for. */
export interface NpmLoaderOptions {
  /** Names of the packages that are plugins; one that is not installed, or holds no `plugin.yaml`, is left out. */
  readonly packages: readonly string[];
  /** Where the search for `node_modules` begins; it goes on in the directories above. */
  readonly directory: string;
}

const PACKAGE_NAME = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/** Finds each named package that holds a `plugin.yaml`, in the order of the names. Throws UsageError for what is no name. */
export function npmLoader({ packages, directory }: NpmLoaderOptions): Loader {
  for (const name of packages) {
    if (!PACKAGE_NAME.test(name)) {
      throw new UsageError(
        "ERR_USAGE",
        `Cannot look for package "${display(name, { max: 200 })}": that is no name of an npm package`,
      );
    }
  }
  return {
    load: () =>
      Promise.resolve([...new Set(packages)].flatMap((name): PluginLocation[] => {
        const found = findPackage(name, resolve(directory));
        return found === undefined ? [] : [{ directory: found, origin: `npm ${name}` }];
      })),
  };
}

function findPackage(name: string, start: string): string | undefined {
  for (let folder = start;; folder = dirname(folder)) {
    const place = join(folder, "node_modules", name);
    if (existsSync(join(place, "plugin.yaml"))) return realpathSync.native(place);
    if (dirname(folder) === folder) return undefined;
  }
}
