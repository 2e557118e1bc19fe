/** What a schema cannot say: one file a check. Each looks at data that may be wrong elsewhere, and keeps to its own matter. */
import type { KindTable } from "../../../permissions/mod.ts";
import type { Finding } from "../finding.ts";
import { duplicateNames } from "./duplicate_names.ts";
import { hostRange } from "./host_range.ts";
import { missingTargets } from "./missing_targets.ts";
import { permissionSubset } from "./permission_subset.ts";

/** All checks by name; each takes the manifest as read from YAML, and the kinds of permission that exist. */
export const CHECKS: Readonly<Record<string, (manifest: unknown, kinds: KindTable) => readonly Finding[]>> = {
  duplicateNames,
  hostRange,
  missingTargets,
  permissionSubset,
};
