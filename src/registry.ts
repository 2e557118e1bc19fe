/** Who offers which name. */
import { CapabilityError, CollisionError } from "../permissions/mod.ts";
import { didYouMean } from "./did_you_mean.ts";
import type { Capability } from "./surfaces/mod.ts";

/**
 * The capability of a full id or alias, or the only one of a bare name. Throws CapabilityError `ERR_CAPABILITY_UNKNOWN`
 * listing what there is, or CollisionError `ERR_NAME_AMBIGUOUS` listing the candidates.
 */
export function findCapability<
  Found extends Pick<Capability, "name" | "fullId" | "aliases"> & Partial<Pick<Capability, "target">>,
>(
  id: string,
  capabilities: readonly Found[],
): Found {
  const all = capabilities.filter(({ fullId, aliases }) => fullId === id || aliases.includes(id));
  // A document may have the id of what is run; who asks by the id alone wants to run it.
  const exact = all.find(({ target }) => target !== undefined) ?? all[0];
  if (exact !== undefined) return exact;
  const named = capabilities.filter(({ name }) => name === id);
  const ids = named.map(({ fullId }) => fullId);
  if (named.length > 1) {
    throw new CollisionError(
      "ERR_NAME_AMBIGUOUS",
      `Cannot tell which "${id}" is meant: ${ids.join(", ")} have that name. Use the full id`,
      { details: { name: id, candidates: ids } },
    );
  }
  const [only] = named;
  if (only !== undefined) return only;
  // Whoever types a name wants to know what can be typed.
  const typed = id.startsWith("/") ? capabilities.flatMap(({ aliases }) => aliases) : [];
  const available = typed.length > 0 ? typed : capabilities.map(({ fullId }) => fullId);
  const meant = didYouMean(id, [...available, ...capabilities.map(({ name }) => name)]);
  throw new CapabilityError(
    "ERR_CAPABILITY_UNKNOWN",
    `Cannot find capability "${id}": ${
      available.length === 0 ? "there are none" : `there are ${available.join(", ")}`
    }${meant === null ? "" : `. Did you mean "${meant}"?`}`,
    { details: { name: id, available } },
  );
}
