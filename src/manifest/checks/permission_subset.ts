/** A capability's own `permissions:` may only narrow what the plugin asks for (T24). */
import {
  type Grant,
  grantOf,
  includes,
  KINDS,
  type KindTable,
  layerOf,
  type PathContext,
  type PermissionRequest,
  permissionRequestSchemaFor,
} from "../../../permissions/mod.ts";
import { SURFACES } from "../../surfaces/mod.ts";
import { type FieldPath, type Finding, valueAt } from "../finding.ts";
import { isExtensionKey } from "../keyed.ts";
import { MANIFEST_LIMITS as LIMITS } from "../limits.ts";

/** Finds each kind of a capability's request that goes beyond the plugin's. */
export function permissionSubset(manifest: unknown, kinds: KindTable = KINDS): readonly Finding[] {
  const schema = permissionRequestSchemaFor(kinds);
  // A request as the schema reads it; undefined if it does not. An absent one asks for nothing.
  const requestAt = (path: FieldPath): PermissionRequest | undefined =>
    schema.safeParse(valueAt(manifest, path) ?? {}).data;
  const grantFor = (request: PermissionRequest): Grant =>
    grantOf(layerOf("capability", request, { ...NOWHERE, kinds }));
  const plugin = requestAt(["permissions"]);
  // A request that cannot be read is the schema's to report; compared with, it would only add noise.
  if (plugin === undefined) return [];
  const paths = subsetPaths(manifest);
  const entries = [["permissions"], ...paths].reduce(
    (sum, path) => sum + entryCount(valueAt(manifest, path)),
    0,
  );
  if (entries > LIMITS.permissionEntriesMax) {
    const message =
      `must not have more than ${LIMITS.permissionEntriesMax} entries, with all capabilities' own`;
    return [{ path: ["permissions"], message }];
  }
  const whole = grantFor(plugin);
  return paths.flatMap((path) => {
    const subset = requestAt(path) ?? {};
    return Object.entries(subset).filter(([kind]) => !isExtensionKey(kind)).flatMap(
      ([kind, entry]): Finding[] => {
        if (includes(whole, grantFor({ [kind]: entry }))) return [];
        return [{
          path: [...path, kind],
          message: "must not ask for more than the plugin's own permissions",
          hint: `add it to $.permissions.${kind}, or narrow it here`,
        }];
      },
    );
  });
}

/** Subsets stand in the entries of lists, whatever the surface. */
function subsetPaths(manifest: unknown): FieldPath[] {
  return Object.keys(SURFACES).flatMap((surface) => {
    const section = valueAt(manifest, ["capabilities", surface]);
    return Array.isArray(section)
      ? section.map((_, index) => ["capabilities", surface, index, "permissions"])
      : [];
  });
}

/** How many list items a request holds, on whatever level. */
function entryCount(request: unknown): number {
  if (typeof request !== "object" || request === null) return 0;
  const below = Object.values(request).reduce<number>((sum, value) => sum + entryCount(value), 0);
  return below + (Array.isArray(request) ? request.length : 0);
}

/** Both sides are read in the same made-up places, so only how the entries relate decides. */
const NOWHERE: PathContext = {
  cwd: "/.sallyport-subset/bundle",
  bundle: "/.sallyport-subset/bundle",
  data: "/.sallyport-subset/data",
  project: "/.sallyport-subset/project",
  home: "/.sallyport-subset/home",
};
