/** How plugins are found. A loader only finds: it never enables, exposes or authorizes (A04). */
import type { PluginFiles } from "./instances.ts";

export { checkedLoader } from "./checked.ts";
export { directoryLoader, type LoaderRoot } from "./directory.ts";
export { fixedLoader } from "./fixed.ts";
export { instancesLoader, type PluginFiles } from "./instances.ts";
export { npmLoader, type NpmLoaderOptions } from "./npm.ts";

/** Where one plugin is. */
export interface PluginLocation {
  /** Absolute directory that holds `plugin.yaml`. */
  readonly directory: string;
  /** What found it, for lists. */
  readonly origin: string;
  /**
   * Where a link stands through which it was found; absent where there is none. It is another plugin than the one that is
   * found in the directory itself, and inherits no trust from it.
   */
  readonly link?: string;
  /** All its files, for a plugin that is on no disk; `directory` then only names it. */
  readonly files?: PluginFiles;
}

/** Finds plugins; replaceable by an embedder's own. */
export interface Loader {
  /** Directories whose folders are plugins: no grant reaches them, so that no plugin puts another one there. */
  readonly roots?: readonly string[];
  /** Locations in the order in which they count. Reads no plugin's code and no manifest. */
  load(): Promise<readonly PluginLocation[]>;
}
