/** Gathers the pins of a plugin by bundling its targets, and holds later bundles to them. */
import type { Bundler, BundleTarget, ImportEdge, TargetBundle } from "../bundler/mod.ts";
import type { PluginSource } from "../source.ts";
import type { FileHashes, Pins } from "./fingerprint.ts";

/** Whose pins, and what belongs to them. */
export interface PinRequest {
  /** The plugin. */
  readonly source: PluginSource;
  /** Its manifest, as it goes into the fingerprint. */
  readonly manifest: unknown;
  /** Every file that the manifest names, targets included. */
  readonly declared: readonly { readonly path: string }[];
  /** Every target of the manifest. */
  readonly targets: readonly BundleTarget[];
  /** Relative paths that the plugin may read and that are pinned as trees. */
  readonly trees: readonly string[];
  /** What bundles. */
  readonly bundler: Pick<Bundler, "bundle">;
  /** For whom. */
  readonly tenant: string;
  /** Cancels it. */
  readonly signal?: AbortSignal;
}

/** Pins, and what stands in their way. */
export interface CollectedPins {
  /** The pins; incomplete when something is missing. */
  readonly pins: Pins;
  /** Declared files and trees that are not there, in order; a plugin that misses one is not trusted. */
  readonly missing: readonly string[];
}

/**
 * Reads and bundles all that a manifest names. Throws a BundleError when a target cannot be bundled, a SourceError
 * when a file is there and cannot be used.
 */
export async function collectPins(request: PinRequest): Promise<CollectedPins> {
  const { source, bundler, tenant, signal } = request;
  const declared = unique(request.declared.map(({ path }) => path));
  const missing = [...declared, ...unique(request.trees)].filter((path) => source.kind(path) === "absent");
  const files = new Map<string, string>();
  const add = (path: string) => files.set(path, source.hash(path));
  const resolutions = new Map<string, readonly ImportEdge[]>();
  // Exports of one file share its graph, so each file is bundled once.
  for (const target of new Map(request.targets.map((target) => [target.path, target])).values()) {
    if (missing.includes(target.path)) continue;
    const bundle = await bundler.bundle({
      source,
      target,
      tenant,
      ...(signal === undefined ? {} : { signal }),
    });
    for (const path of [...bundle.inputs, ...bundle.packageFiles]) add(path);
    resolutions.set(target.path, bundle.resolution);
  }
  // After the bundles: a script's own file is opened as code, and only as that.
  for (const path of declared) if (!missing.includes(path)) add(path);
  const trees = request.trees.filter((path) => !missing.includes(path))
    .map((path): [string, FileHashes] => [path, Object.fromEntries(source.tree(path))]);
  const pins = {
    manifest: request.manifest,
    files: Object.fromEntries(files),
    resolutions: Object.fromEntries(resolutions),
    trees: Object.fromEntries(trees),
  };
  return { pins, missing: unique(missing) };
}

/**
 * The first way in which a bundle is not made of exactly what was pinned for its target, or null. Whoever runs a
 * bundle asks this first: the graph is part of what was trusted, not only the bytes.
 */
export function departureFrom(
  pins: Pins,
  source: PluginSource,
  target: BundleTarget,
  bundle: TargetBundle,
): string | null {
  const changed = [...bundle.inputs, ...bundle.packageFiles]
    .find((path) => !Object.hasOwn(pins.files, path) || pins.files[path] !== source.hash(path));
  if (changed !== undefined) return `"${changed}" is not as it was pinned`;
  const pinned = Object.hasOwn(pins.resolutions, target.path) ? pins.resolutions[target.path]! : [];
  const before = new Set(pinned.map(keyOf));
  const now = new Set(bundle.resolution.map(keyOf));
  const edge = bundle.resolution.find((edge) => !before.has(keyOf(edge))) ??
    pinned.find((edge) => !now.has(keyOf(edge)));
  return edge === undefined
    ? null
    : `"${edge.specifier}" in "${edge.importer}" leads elsewhere than when it was pinned`;
}

function keyOf({ importer, specifier, kind, path }: ImportEdge): string {
  return JSON.stringify([importer, specifier, kind, path]);
}

function unique(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)].sort();
}
