/** What goes into the bundler, and what comes out of it. */
import type { PluginSource } from "../source.ts";
import type { BundleMessage } from "./failure.ts";
import type { BundleMap } from "./source_map.ts";

/** How a file is asked for, in the words of the bundler. */
export type ImportKind = "import-statement" | "dynamic-import" | "require-call" | "require-resolve";

/** What is bundled: a file of the plugin, and the export that is registered. */
export interface BundleTarget {
  /** Path relative to the plugin. */
  readonly path: string;
  /** Name of the export; null for a script, whose default export is optional. */
  readonly export: string | null;
}

/** One edge of the import graph. */
export interface ImportEdge {
  /** Importing file, relative to the plugin. */
  readonly importer: string;
  /** What stands in quotes. */
  readonly specifier: string;
  /** How it is imported. */
  readonly kind: ImportKind;
  /** Imported file, relative to the plugin; null when nothing is there and the code allows for that. */
  readonly path: string | null;
}

/** One build. */
export interface BundleRequest {
  /** The plugin. */
  readonly source: PluginSource;
  /** What of it. */
  readonly target: BundleTarget;
  /** Whose build it is: one at a time. */
  readonly tenant: string;
  /** Cancels the build. */
  readonly signal?: AbortSignal;
}

/** A target as one text, and all that had a say in it. */
export interface TargetBundle {
  /** Body of `async (__sallyport_register__) => { "use strict"; … }`: it holds no import or export statement. */
  readonly code: string;
  /** Source map of `code`. */
  readonly map: BundleMap;
  /** Files of the plugin that are in it or were read for it, relative and in order. */
  readonly inputs: readonly string[];
  /** package.json files that were consulted, relative and in order. */
  readonly packageFiles: readonly string[];
  /** Who imports what, in order. */
  readonly resolution: readonly ImportEdge[];
  /** Whether the target is known not to have the export; what is registered is then undefined. */
  readonly isExportMissing: boolean;
  /** What the bundler would warn of. */
  readonly warnings: readonly BundleMessage[];
}
