/** The stages of a plugin before any of its code runs: each takes the last one's type and adds to it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import semver from "semver";
import {
  type Grant,
  type KindTable,
  ManifestError,
  type PathContext,
  SallyportError,
} from "../permissions/mod.ts";
import { PluginSource } from "./source.ts";
import { SourceError } from "./source_file.ts";
import { capabilitiesOf, type Manifest, parseManifest } from "./manifest/mod.ts";
import type { PluginLocation } from "./loaders/mod.ts";
import type { Capability } from "./surfaces/mod.ts";
import type { Fingerprint } from "./trust/mod.ts";
import { VERSION } from "./version.ts";

/** A plugin whose manifest was read and found valid. */
export interface LoadedPlugin {
  /** Its name, the namespace of all it offers. */
  readonly name: string;
  /** Where it is. */
  readonly location: PluginLocation;
  /** What it declares. */
  readonly manifest: Manifest;
  /** All that it offers. */
  readonly capabilities: readonly Capability[];
  /** Its files, as they were when they were first looked at. */
  readonly source: PluginSource;
  /** The range of versions that it asks for, when this Sallyport is outside it. */
  readonly incompatibleRange: string | null;
}

/** A plugin whose bytes somebody approved. */
export interface TrustedPlugin extends LoadedPlugin {
  /** The pins that were approved. */
  readonly fingerprint: Fingerprint;
  /** Who approved them. */
  readonly approver: string;
  /** Names its data folder and its storage. */
  readonly lineage: string;
}

/** A trusted plugin with what it may do. */
export interface GrantedPlugin extends TrustedPlugin {
  /** Request, record and policy together. */
  readonly grant: Grant;
  /** Where its paths start. */
  readonly context: PathContext;
}

/** A plugin that cannot be used at all, with the reason. */
export interface InvalidPlugin {
  /** Where it is. */
  readonly location: PluginLocation;
  /** Why. */
  readonly error: SallyportError;
}

/**
 * Reads and validates one plugin; nothing of it is imported or run. Throws ManifestError `ERR_MANIFEST_NOT_FOUND`,
 * `_SYNTAX` or `_INVALID`.
 */
export function loadPlugin(
  location: PluginLocation,
  kinds?: KindTable,
  events: readonly string[] = [],
): LoadedPlugin {
  const source = openSource(location);
  const manifest = parseManifest(readManifest(source, location.directory), {
    file: join(location.directory, "plugin.yaml"),
    ...(kinds === undefined ? {} : { kinds }),
    events,
  });
  refuseLeavingFiles(manifest, source, location.directory);
  return {
    name: manifest.name,
    location: { ...location, directory: source.directory },
    manifest,
    capabilities: capabilitiesOf(manifest),
    source,
    incompatibleRange: incompatibleRange(manifest),
  };
}

/** Where a plugin is seen, which tells it from every other one: the link that led to it, else its real directory. */
export function placeOf({ location: { link }, source }: LoadedPlugin): string {
  return link ?? source.directory;
}

/** Whether a path names an archive, which is never a plugin (R14). */
export function isArchive(path: string): boolean {
  return /\.(zip|tgz|tar|tar\.gz)$/i.test(path);
}

function openSource({ directory, files }: PluginLocation): PluginSource {
  if (files !== undefined) return PluginSource.inMemory(directory, files);
  if (isArchive(directory)) {
    throw new ManifestError(
      "ERR_MANIFEST_NOT_FOUND",
      `Cannot use "${directory}": an archive is not a plugin. Unpack it first`,
    );
  }
  if (!existsSync(directory)) {
    throw new ManifestError(
      "ERR_MANIFEST_NOT_FOUND",
      `Cannot find plugin "${directory}": there is no such directory`,
    );
  }
  try {
    return PluginSource.open(directory);
  } catch (cause) {
    throw new ManifestError(
      "ERR_MANIFEST_NOT_FOUND",
      `Cannot open plugin "${directory}": it is not a directory`,
      { cause },
    );
  }
}

function readManifest(source: PluginSource, directory: string): Uint8Array {
  try {
    return source.bytes("plugin.yaml");
  } catch (cause) {
    const why = cause instanceof SourceError && cause.reason !== "absent"
      ? cause.message
      : "it holds no plugin.yaml";
    throw new ManifestError("ERR_MANIFEST_NOT_FOUND", `Cannot use "${directory}" as a plugin: ${why}`, {
      cause,
    });
  }
}

/** A reference is lexically inside the bundle; a link on its way may still lead out (L05). */
function refuseLeavingFiles(manifest: Manifest, source: PluginSource, directory: string): void {
  const issues = capabilitiesOf(manifest).flatMap(({ files, at }) =>
    files.flatMap((path) => {
      try {
        source.kind(path);
        return [];
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        return [{ file: join(directory, "plugin.yaml"), path: fieldOf(at), message }];
      }
    })
  );
  if (issues.length === 0) return;
  throw new ManifestError(
    "ERR_MANIFEST_INVALID",
    `Cannot use "${join(directory, "plugin.yaml")}":\n${
      issues.map(({ path, message }) => `  ${path}: ${message}`).join("\n")
    }`,
    { details: { issues } },
  );
}

function fieldOf(at: readonly (string | number)[]): string {
  return "$" + at.map((key) => typeof key === "number" ? `[${key}]` : `.${key}`).join("");
}

function incompatibleRange({ sallyport }: Manifest): string | null {
  if (sallyport === undefined || semver.satisfies(VERSION, sallyport, { includePrerelease: true })) {
    return null;
  }
  return sallyport;
}
