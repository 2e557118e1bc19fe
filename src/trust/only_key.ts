/** Whose approval a word means. */
import { CollisionError, TrustError } from "../../permissions/mod.ts";
import { placeOfKey, type TrustKey } from "./record.ts";

/** The one key that is meant. Throws TrustError where there is none, CollisionError where there are several. */
export function onlyKey(what: string, keys: readonly TrustKey[]): TrustKey {
  const [key, ...others] = keys;
  if (key === undefined) {
    throw new TrustError(
      "ERR_TRUST_UNKNOWN",
      `Cannot take trust back from "${what}": nobody has trusted it`,
      {
        details: { plugin: what },
      },
    );
  }
  if (others.length === 0) return key;
  const candidates = keys.map(placeOfKey).sort();
  throw new CollisionError(
    "ERR_NAME_AMBIGUOUS",
    `Cannot tell which "${what}" is meant: ${candidates.join(", ")} have a trust record. Name the directory`,
    { details: { name: what, candidates } },
  );
}
