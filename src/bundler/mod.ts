/** The door of the bundler: plugin code to one text, from memory, in a process that may die of it. */
export { Bundler } from "./bundler.ts";
export type { BundlerOptions } from "./bundler.ts";
export type { BundleMessage } from "./failure.ts";
export { BUNDLE_LIMITS } from "./limits.ts";
export type { BundleLimits, BundlerPoolLimits, SourceLimits } from "./limits.ts";
export { PACKAGE_ABSENT } from "./specifier.ts";
export type { BundleMap } from "./source_map.ts";
export type { BundleRequest, BundleTarget, ImportEdge, ImportKind, TargetBundle } from "./types.ts";
