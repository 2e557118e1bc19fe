/** What a plugin used, by the newest segments of the audit. For people who look; whether the log is whole is not checked here. */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";

/** One thing that was used. */
export interface AuditedUse {
  /** The permission kind. */
  readonly kind: string;
  /** The value, as the audit has it; null is the whole kind. */
  readonly value: string | null;
  /** How often. */
  readonly count: number;
  /** When it was used last, in ISO 8601. */
  readonly last: string;
}

const SEGMENTS_MAX = 32;
const SEGMENT_BYTES_MAX = 1_048_576;
const USES_MAX = 200;

/**
 * Distinct uses of a plugin that were granted, in order of kind and value, from the ends of the newest segments of one
 * tenant: at most 32 MiB are read, and 200 uses told. A segment that cannot be read tells nothing.
 */
export function readUses(
  directory: string,
  { tenant, plugin, fingerprint }: {
    readonly tenant: string;
    readonly plugin: string;
    /** Only of these bytes; null is any of the name. */
    readonly fingerprint: string | null;
  },
): readonly AuditedUse[] {
  const uses = new Map<string, AuditedUse>();
  for (const path of newestSegments(join(directory, tenant))) {
    for (const line of endOf(path).split("\n")) {
      const use = useOf(line, plugin);
      if (use === null || (fingerprint !== null && use.fingerprint !== fingerprint)) continue;
      const key = JSON.stringify([use.kind, use.value]);
      const known = uses.get(key);
      if (known === undefined && uses.size >= USES_MAX) continue;
      const last = known !== undefined && known.last > use.last ? known.last : use.last;
      uses.set(key, { kind: use.kind, value: use.value, count: (known?.count ?? 0) + 1, last });
    }
  }
  return [...uses.values()].sort((a, b) => compare(a.kind, b.kind) || compare(a.value ?? "", b.value ?? ""));
}

/** The time stands first in their names. */
function newestSegments(directory: string): readonly string[] {
  try {
    const names = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
    return names.sort().reverse().slice(0, SEGMENTS_MAX).map((name) => join(directory, name));
  } catch {
    return []; // nothing was written yet
  }
}

function endOf(path: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, SEGMENT_BYTES_MAX));
    const length = readSync(file, bytes, 0, bytes.byteLength, size - bytes.byteLength);
    return bytes.subarray(0, length).toString("utf8");
  } catch {
    return "";
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function useOf(line: string, plugin: string): (AuditedUse & { readonly fingerprint: unknown }) | null {
  if (!line.includes('"granted"')) return null;
  let event: Readonly<Record<string, unknown>>;
  try {
    event = Object(JSON.parse(line)) as Readonly<Record<string, unknown>>;
  } catch {
    return null; // the first line of an end is half a line
  }
  const { type, kind, value = null, decision, time } = event;
  if (event.plugin !== plugin || decision !== "granted" || typeof kind !== "string") return null;
  // What was pushed counts as well; an answer at the prompt is no use yet.
  const isUse = type === "op" || (type === "grant" && String(event.op).endsWith("_push"));
  if (!isUse || (value !== null && typeof value !== "string") || typeof time !== "string") return null;
  return { kind, value, count: 1, last: time, fingerprint: event.fingerprint };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
