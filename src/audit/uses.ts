/** What a plugin used, by the newest segments of the audit. For people who look; whether the log is whole is not checked here. */
import { newestEvents, type WrittenEvent } from "./read.ts";

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
  for (const event of newestEvents(directory, tenant, '"granted"')) {
    const use = useOf(event, plugin);
    if (use === null || (fingerprint !== null && use.fingerprint !== fingerprint)) continue;
    const key = JSON.stringify([use.kind, use.value]);
    const known = uses.get(key);
    if (known === undefined && uses.size >= USES_MAX) continue;
    const last = known !== undefined && known.last > use.last ? known.last : use.last;
    uses.set(key, { kind: use.kind, value: use.value, count: (known?.count ?? 0) + 1, last });
  }
  return [...uses.values()].sort((a, b) => compare(a.kind, b.kind) || compare(a.value ?? "", b.value ?? ""));
}

function useOf(
  event: WrittenEvent,
  plugin: string,
): (AuditedUse & { readonly fingerprint: unknown }) | null {
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
