/** How plugins are found. A loader only finds: it never enables, exposes or authorizes (A04). */
export { directoryLoader, type LoaderRoot } from "./directory.ts";
export { fixedLoader } from "./fixed.ts";

/** Where one plugin is. */
export interface PluginLocation {
  /** Absolute directory that holds `plugin.yaml`. */
  readonly directory: string;
  /** What found it, for lists. */
  readonly origin: string;
}

/** Finds plugins; replaceable by an embedder's own. */
export interface Loader {
  /** Directories whose folders are plugins: no grant reaches them, so that no plugin puts another one there. */
  readonly roots?: readonly string[];
  /** Locations in the order in which they count. Reads no plugin's code and no manifest. */
  load(): Promise<readonly PluginLocation[]>;
}
