/** npm packages of which something is bundled, as far as pinned files tell. Their names and versions are their own word. */
import type { PluginSource } from "./source.ts";

/** One npm package. */
export interface ReviewedPackage {
  /** Its folder, relative to the plugin. */
  readonly path: string;
  /** Its name as it says itself, or its folder's. */
  readonly name: string;
  /** Its version as it says itself, or null. */
  readonly version: string | null;
}

/** The packages that pinned files lie in, as their own package.json names them where it was consulted. */
export function packagesOf(source: PluginSource, paths: readonly string[]): readonly ReviewedPackage[] {
  const pinned = new Set(paths);
  return packageFolders(paths).map((path) => {
    const file = `${path}/package.json`;
    const said = pinned.has(file) ? contentOf(source.bytes(file)) : {};
    const folder = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    return {
      path,
      name: typeof said.name === "string" ? said.name : folder,
      version: typeof said.version === "string" ? said.version : null,
    };
  });
}

/** The versions that they say, by folder; of those that say none, nothing. */
export function packageVersions(
  source: PluginSource,
  paths: readonly string[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    packagesOf(source, paths).flatMap(({ path, version }) => version === null ? [] : [[path, version]]),
  );
}

/** The folders of npm packages that these files lie in, each once and in order. */
export function packageFolders(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.flatMap((path) => PACKAGE.exec(path)?.[1] ?? []))].sort();
}

const PACKAGE = /^((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\//;

function contentOf(bytes: Uint8Array): { readonly name?: unknown; readonly version?: unknown } {
  try {
    return Object(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return {};
  }
}
