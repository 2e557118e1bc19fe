/** Plugins that are on no disk, for tests and for embedders that keep plugins elsewhere (A05). */
import type { Loader } from "./mod.ts";

/** The files of one plugin by relative path; `plugin.yaml` is one of them. */
export type PluginFiles = Readonly<Record<string, string | Uint8Array>>;

/**
 * Finds exactly these plugins, in this order. Where each one is said to be, nothing can ever be on a disk.
 *
 * @example
 * ```ts
 * const plugins = instancesLoader({ "plugin.yaml": 'name: hello\nversion: "1"\n' });
 * ```
 */
export function instancesLoader(...plugins: readonly PluginFiles[]): Loader {
  // A null device has nothing below it, so no grant, link or later file can make the place real.
  const locations = plugins.map((files, index) => ({
    directory: `/dev/null/plugin-${index + 1}`,
    origin: "memory",
    files,
  }));
  return { load: () => Promise.resolve(locations) };
}
