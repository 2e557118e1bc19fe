/** Where Sallyport keeps its own state, and where it must not. */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { HostError, isWithin } from "../permissions/mod.ts";

/** The directories of one user's Sallyport. */
export interface Home {
  /** Root of all of it. */
  readonly root: string;
  /** Audit segments. */
  readonly audit: string;
  /** Key of the audit chain. */
  readonly auditKey: string;
  /** Plugins' own writable folders. */
  readonly data: string;
  /** The same, for what ends with its host. */
  readonly temporary: string;
  /** Plugins' keys and values, a file for each tenant. */
  readonly storage: string;
  /** What was bundled before, to be used again. */
  readonly cache: string;
  /** Key of the cache. */
  readonly cacheKey: string;
  /** How files looked when they were found to be what was approved; authenticated with the key of the cache. */
  readonly statIndex: string;
}

/** What decides where home is. */
export interface HomeFacts {
  /** The user's home directory. */
  readonly userHome: string;
  /** SALLYPORT_HOME of the environment, when set. */
  readonly fromEnvironment?: string | undefined;
  /** The working directory. */
  readonly cwd: string;
}

/**
 * Finds home. Throws `ERR_STORE` when the environment names a directory inside the project or a plugin: a repository
 * must not bring its own trust (T34, decision 22).
 */
export function findHome({ userHome, fromEnvironment, cwd }: HomeFacts): Home {
  const own = realAncestor(join(userHome, ".sallyport"));
  if (fromEnvironment === undefined || fromEnvironment === "") return homeAt(own);
  const root = realAncestor(resolve(cwd, fromEnvironment));
  // Only the user's own `.sallyport` is excused from making its folder a project: a repository may say what home is, too.
  const project = findProject(realAncestor(cwd), own);
  const owner = [project, pluginAround(root)].find((folder) => folder !== null && isWithin(folder, root));
  if (owner !== undefined && owner !== null) {
    throw new HostError(
      "ERR_STORE",
      `Cannot use SALLYPORT_HOME "${fromEnvironment}": it lies inside a project or plugin, which could then trust itself. ` +
        "Choose a directory outside of it",
      { details: { home: root, inside: owner } },
    );
  }
  return homeAt(root);
}

/** The nearest ancestor that has `.sallyport/plugins`, other than the one whose `.sallyport` is home itself; or null. */
export function findProject(cwd: string, homeRoot: string): string | null {
  for (let folder = cwd;; folder = dirname(folder)) {
    const own = join(folder, ".sallyport");
    if (own !== homeRoot && existsSync(join(own, "plugins"))) return folder;
    if (folder === dirname(folder)) return null;
  }
}

function homeAt(root: string): Home {
  return {
    root,
    audit: join(root, "audit"),
    auditKey: join(root, "audit.key"),
    data: join(root, "data"),
    temporary: join(root, "temporary"),
    storage: join(root, "storage"),
    cache: join(root, "cache"),
    cacheKey: join(root, "cache.key"),
    statIndex: join(root, "stat.index"),
  };
}

function pluginAround(path: string): string | null {
  for (let folder = path;; folder = dirname(folder)) {
    if (existsSync(join(folder, "plugin.yaml"))) return folder;
    if (folder === dirname(folder)) return null;
  }
}

/** The path with links of its deepest existing ancestor resolved. */
export function realAncestor(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path
      ? path
      : join(realAncestor(parent), path.slice(parent.length + (parent === sep ? 0 : 1)));
  }
}
