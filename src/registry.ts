/** Who offers which name. */
import { CapabilityError, CollisionError } from "../permissions/mod.ts";
import type { Capability } from "./surfaces/mod.ts";

/**
 * The capability of a full id or alias, or the only one of a bare name. Throws CapabilityError `ERR_CAPABILITY_UNKNOWN`
 * listing what there is, or CollisionError `ERR_NAME_AMBIGUOUS` listing the candidates.
 */
export function findCapability<Found extends Pick<Capability, "name" | "fullId" | "aliases">>(
  id: string,
  capabilities: readonly Found[],
): Found {
  const exact = capabilities.find(({ fullId, aliases }) => fullId === id || aliases.includes(id));
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
  const available = capabilities.map(({ fullId }) => fullId);
  throw new CapabilityError(
    "ERR_CAPABILITY_UNKNOWN",
    `Cannot find capability "${id}": ${
      available.length === 0 ? "there are none" : `there are ${available.join(", ")}`
    }`,
    { details: { name: id, available } },
  );
}
