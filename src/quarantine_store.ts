/** Where it is kept which plugins are quarantined: a restart must not let them run again (T11). */
import { z } from "zod";
import { ownedJson } from "./stores/owned_json.ts";
import { TRUST_LIMITS } from "./trust/limits.ts";

/** One plugin, as it was approved, that is not run any more. */
export interface QuarantineRecord {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Name of the plugin. */
  readonly plugin: string;
  /** `sha256:…` of what killed workers; other bytes are another plugin. */
  readonly fingerprint: string;
  /** How many it killed. */
  readonly deaths: number;
  /** When it killed the last one, in ISO 8601. */
  readonly since: string;
}

/** A place for such records. */
export interface QuarantineStore {
  /** All of them. */
  list(): Promise<readonly QuarantineRecord[]>;
  /** Adds one. */
  put(record: QuarantineRecord): Promise<void>;
  /** Takes away those of a plugin; false when there was none. */
  remove(tenant: string, plugin: string): Promise<boolean>;
}

/** Keeps them for this process alone. */
export function memoryQuarantineStore(): QuarantineStore {
  let records: readonly QuarantineRecord[] = [];
  return {
    list: async () => records,
    async put(record) {
      records = withRecord(records, record);
    },
    async remove(tenant, plugin) {
      const before = records.length;
      records = without(records, tenant, plugin);
      return records.length < before;
    },
  };
}

interface Content {
  readonly v: 1;
  readonly quarantined: readonly QuarantineRecord[];
}

const content: z.ZodType<Content> = z.strictObject({
  v: z.literal(1),
  quarantined: z.array(z.strictObject({
    tenant: z.string(),
    plugin: z.string(),
    fingerprint: z.string(),
    deaths: z.number(),
    since: z.string(),
  })),
});

/** Keeps them in `quarantine.json` in the directory `home`. Nothing is read or made before it is asked. */
export function fileQuarantineStore(home: string): QuarantineStore {
  const file = ownedJson<Content>({
    home,
    name: "quarantine.json",
    schema: content,
    empty: { v: 1, quarantined: [] },
    writer: "Sallyport",
    cure: "Remove what is about plugins that are gone",
    limits: TRUST_LIMITS,
  });
  return {
    list: async () => file.read().quarantined,
    put: (record) =>
      file.change(({ quarantined }) => ({ v: 1, quarantined: withRecord(quarantined, record) })),
    async remove(tenant, plugin) {
      // A file that is not there is not made to hold nothing.
      const { length } = file.read().quarantined;
      if (without(file.read().quarantined, tenant, plugin).length === length) return false;
      await file.change(({ quarantined }) => ({ v: 1, quarantined: without(quarantined, tenant, plugin) }));
      return true;
    },
  };
}

function withRecord(
  records: readonly QuarantineRecord[],
  record: QuarantineRecord,
): readonly QuarantineRecord[] {
  const { tenant, plugin, fingerprint } = record;
  const others = records.filter((other) =>
    other.tenant !== tenant || other.plugin !== plugin || other.fingerprint !== fingerprint
  );
  return [...others, record];
}

function without(
  records: readonly QuarantineRecord[],
  tenant: string,
  plugin: string,
): readonly QuarantineRecord[] {
  return records.filter((record) => record.tenant !== tenant || record.plugin !== plugin);
}
