/**
 * What files looked like when they were found to be what was approved (T27). Where all of them look the same, hashing them
 * again would most likely say the same: enough for a list that says so, and never for what runs.
 */
import { join } from "node:path";
import type { LoadedPlugin } from "../plugin.ts";
import { type FileStat, statOf } from "../source_file.ts";
import { VERSION } from "../version.ts";
import { TRUST_LIMITS } from "./limits.ts";

/**
 * Keeps how files looked; a store hands out only what was put into it by this user's Sallyport. No method throws: what cannot
 * be read is not there, what cannot be kept is found out again.
 */
export interface StatIndex {
  /** What was put under exactly this key, or null. */
  get(key: string): string | null;
  /** Keeps an entry; null forgets it. */
  put(key: string, entry: string | null): void;
  /** Called when a question has put all that it will; absent in an index that keeps each entry at once. */
  flush?(): void;
}

/**
 * The entry for a plugin whose bytes were just found to be those of a fingerprint; null for one that is on no disk, or was
 * written so recently that a later write may look the same.
 */
export function lookEntry({ source }: LoadedPlugin, fingerprint: string): string | null {
  const looks = source.looks();
  if (looks === null) return null;
  const settled = BigInt(Date.now() - TRUST_LIMITS.settledMs) * 1_000_000n;
  const files = [...looks].filter(([path]) => path !== MANIFEST);
  if (files.some(([, { ctimeNs, mtimeNs }]) => ctimeNs > settled || mtimeNs > settled)) return null;
  return JSON.stringify([
    VERSION,
    fingerprint,
    source.hash(MANIFEST),
    files.map(([path, stat]) => [path, textOf(stat)]),
  ]);
}

/** Whether a plugin looks as it did when its bytes were those of this fingerprint. Opens nothing but the manifest. */
export function looksAs({ source }: LoadedPlugin, fingerprint: string, entry: string | null): boolean {
  const [version, of, manifest, files] = partsOf(entry);
  return version === VERSION && of === fingerprint && manifest === source.hash(MANIFEST) &&
    Array.isArray(files) && files.every((file) => Array.isArray(file) && isAsBefore(source.directory, file));
}

/** The manifest was read, so its hash is known. */
const MANIFEST = "plugin.yaml";

function isAsBefore(directory: string, [path, look]: readonly unknown[]): boolean {
  if (typeof path !== "string") return false;
  const now = statOf(path === "." ? directory : join(directory, path));
  return now !== null && textOf(now) === look;
}

/** Of what is no entry, nothing. */
function partsOf(entry: string | null): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(entry ?? "null");
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

function textOf({ dev, ino, size, mtimeNs, ctimeNs }: FileStat): string {
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}
