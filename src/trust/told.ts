/** What a store says at one moment, and whom to ask for it: the store itself, or what it said once. */
import { isDeepStrictEqual } from "node:util";
import { HostError } from "../../permissions/mod.ts";
import { idOfKey, type StoredRecord, type TrustKey } from "./record.ts";
import type { TrustStore } from "./store.ts";

/** What a store says at one moment. */
export interface Told {
  readonly records: readonly StoredRecord[];
  readonly blocked: readonly string[];
}

/** Whom to ask for records: the store itself or, for a question about many plugins, what it said once. Throws as it does. */
export interface RecordView {
  /** The record of one plugin, or null. */
  get(key: TrustKey): Promise<StoredRecord | null>;
  /** Fingerprints that nobody may run. */
  blocked(): Promise<readonly string[]>;
}

/** Asks a store all of it. Throws HostError `ERR_STORE`. */
export async function tell(store: TrustStore | undefined, tenant: string): Promise<Told> {
  return { records: await store?.list(tenant) ?? [], blocked: await store?.blocked?.() ?? [] };
}

/** The store itself. One that does not know of links gives what was approved without one, which a link does not inherit. */
export function liveView(store: TrustStore | undefined): RecordView {
  return {
    get: async (key) => {
      const stored = await store?.get(key) ?? null;
      return stored !== null && keyOf(stored).link === key.link ? stored : null;
    },
    blocked: async () => await store?.blocked?.() ?? [],
  };
}

/** What the store says now. */
export async function toldView(store: TrustStore | undefined, tenant: string): Promise<RecordView> {
  try {
    const { records, blocked } = await tell(store, tenant);
    const byId = new Map(records.map((stored) => [idOfKey(keyOf(stored)), stored]));
    return { get: async (key) => byId.get(idOfKey(key)) ?? null, blocked: async () => blocked };
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    return { get: () => Promise.reject(error), blocked: () => Promise.reject(error) };
  }
}

/** A store that has not changed gives the same records again, so this is mostly a look at each. */
export function isSame(a: Told | string, b: Told | string): boolean {
  if (typeof a === "string" || typeof b === "string") return a === b;
  return isDeepStrictEqual(a.blocked, b.blocked) && a.records.length === b.records.length &&
    a.records.every((each, place) => each === b.records[place] || isDeepStrictEqual(each, b.records[place]));
}

/** For a question that a store which cannot be believed answers with nothing. */
export function ignoreStore(error: unknown): readonly never[] {
  if (error instanceof HostError) return [];
  throw error;
}

function keyOf(stored: StoredRecord): TrustKey {
  return stored.isSound ? stored.record : stored.key;
}
