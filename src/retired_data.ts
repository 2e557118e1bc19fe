/**
 * What plugins kept whose trust was forgotten (T13). Nothing reaches it any more: whoever is trusted anew starts an empty one.
 * It stays for a while, for its owner to find, and here stands since when.
 */
import { z } from "zod";
import { ownedJson } from "./stores/owned_json.ts";
import { TRUST_LIMITS } from "./trust/limits.ts";

/** What one lineage left behind. */
export interface RetiredData {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Names the folder and the rows. */
  readonly lineage: string;
  /** Name of the plugin. */
  readonly name: string;
  /** Where it was. */
  readonly directory: string;
  /** When its trust was forgotten, in ISO 8601. */
  readonly since: string;
}

/** A place for such notes. Methods throw HostError `ERR_STORE`. */
export interface RetiredStore {
  /** Those of one tenant. */
  list(tenant: string): readonly RetiredData[];
  /** Adds one; the oldest is forgotten above the bound. */
  add(data: RetiredData): Promise<void>;
  /** Takes away those that are meant. */
  remove(isMeant: (data: RetiredData) => boolean): Promise<void>;
}

/** When it is removed, in milliseconds since the epoch. */
export function expiryOf({ since }: Pick<RetiredData, "since">): number {
  return Date.parse(since) + TRUST_LIMITS.retiredDataDays * DAY_MS;
}

const DAY_MS = 86_400_000;

interface Content {
  readonly v: 1;
  readonly retired: readonly RetiredData[];
}

const content: z.ZodType<Content> = z.strictObject({
  v: z.literal(1),
  retired: z.array(z.strictObject({
    tenant: z.string(),
    // A path is made of it, and all below that is removed.
    lineage: z.string().regex(/^[0-9a-f]{32}$/),
    name: z.string(),
    directory: z.string(),
    since: z.iso.datetime(),
  })),
});

/** Keeps them in `retired.json` in the directory `home`. Nothing is read or made before it is asked. */
export function fileRetiredStore(home: string): RetiredStore {
  const file = ownedJson<Content>({
    home,
    name: "retired.json",
    schema: content,
    empty: { v: 1, retired: [] },
    writer: "Sallyport",
    cure: "Remove what is about plugins that are gone",
    limits: TRUST_LIMITS,
  });
  return {
    list: (tenant) => file.read().retired.filter((each) => each.tenant === tenant),
    add: (data) =>
      file.change(({ retired }) => ({
        v: 1,
        retired: [...retired.filter(({ lineage }) => lineage !== data.lineage), data].slice(
          -TRUST_LIMITS.recordsMax,
        ),
      })),
    async remove(isMeant) {
      // A file that is not there is not made to hold nothing.
      if (!file.read().retired.some(isMeant)) return;
      await file.change(({ retired }) => ({ v: 1, retired: retired.filter((each) => !isMeant(each)) }));
    },
  };
}
