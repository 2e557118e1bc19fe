/** Records for tests. */
import { fingerprintOf, type Pins } from "../../src/trust/fingerprint.ts";
import { TRUST_ALGORITHM, type TrustRecord } from "../../src/trust/record.ts";
import { newLineage } from "../../src/trust/store.ts";

/** Pins of a plugin that is nowhere. */
export const PINS: Pins = { manifest: { name: "a" }, files: { "a.ts": "00" }, resolutions: {}, trees: {} };

/** A sound record of a plugin of this name. */
export function recordOf(name: string, more: Partial<TrustRecord> = {}): TrustRecord {
  return {
    tenant: "local",
    directory: `/plugins/${name}`,
    name,
    algorithm: TRUST_ALGORITHM,
    fingerprint: fingerprintOf(PINS).hash,
    grants: { net: ["a.example:443"] },
    exposed: [`plugin__${name}__go`],
    approver: "ada",
    approvedAt: "2026-01-02T03:04:05.678Z",
    lineage: newLineage(),
    ...more,
  };
}
