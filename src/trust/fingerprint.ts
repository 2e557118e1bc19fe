/**
 * The fingerprint of a plugin: one hash over its manifest, every file that it declares or imports, every package.json
 * that had a say, who imports what, and the trees that it may read (T06).
 */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { ImportEdge } from "../bundler/mod.ts";

/** Relative path → sha256 in hexadecimal. */
export type FileHashes = Readonly<Record<string, string>>;

/** What a fingerprint is made of. */
export interface Pins {
  /** The manifest as data; its spelling in YAML does not count. */
  readonly manifest: unknown;
  /** Files that are declared or imported, and the package.json files consulted. */
  readonly files: FileHashes;
  /** Path of each target → who imports what in it. */
  readonly resolutions: Readonly<Record<string, readonly ImportEdge[]>>;
  /** Each pinned read entry → the files below it. */
  readonly trees: Readonly<Record<string, FileHashes>>;
}

/** A fingerprint with what it covers. */
export interface Fingerprint extends Pins {
  /** Version of the form. */
  readonly v: 1;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly hash: string;
}

/** Makes the fingerprint; the order in which pins were gathered does not matter. */
export function fingerprintOf(pins: Pins): Fingerprint {
  const { manifest, files, trees } = pins;
  const hash = `sha256:${createHash("sha256").update(canonicalPins(pins)).digest("hex")}`;
  return { v: 1, hash, manifest, files, resolutions: sortedResolutions(pins), trees };
}

/** The text whose hash the fingerprint is. */
export function canonicalPins(pins: Pins): string {
  const { manifest, files, trees } = pins;
  const text = canonicalize({ v: 1, manifest, files, resolutions: sortedResolutions(pins), trees });
  if (text === undefined) throw new TypeError("a fingerprint is made of JSON values only");
  return text;
}

function sortedResolutions({ resolutions }: Pins): Pins["resolutions"] {
  return Object.fromEntries(
    Object.entries(resolutions).map(([target, edges]) => [target, [...edges].map(plainEdge).sort(byKey)]),
  );
}

function plainEdge({ importer, specifier, kind, path }: ImportEdge): ImportEdge {
  return { importer, specifier, kind, path };
}

function byKey(a: ImportEdge, b: ImportEdge): number {
  const [left, right] = [a, b].map(({ importer, specifier, kind, path }) =>
    JSON.stringify([importer, specifier, kind, path])
  );
  return left! < right! ? -1 : left! > right! ? 1 : 0;
}
