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
  /** Locations in the order in which they count. Reads no plugin's code and no manifest. */
  load(): Promise<readonly PluginLocation[]>;
}
