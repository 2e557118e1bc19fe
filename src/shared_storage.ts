/** Where one plugin's storage and data folder join capabilities that were kept apart by their permissions (T24). */
import { isDeepStrictEqual } from "node:util";
import type { PermissionRequest } from "../permissions/mod.ts";
import { capabilitiesOf, type Manifest } from "./manifest/mod.ts";
import { memberOf } from "./surfaces/surface.ts";

/** Full ids of the capabilities between which data can flow though their permissions differ; empty is none. */
export function sharedStorage(manifest: Manifest): readonly string[] {
  const keepers = capabilitiesOf(manifest).filter(({ target }) => target !== undefined)
    .map(({ fullId, raw }) => ({
      fullId,
      // The cast holds: the schema of the capability's surface has accepted it.
      request: (memberOf(raw, "permissions") ?? manifest.permissions) as PermissionRequest,
    })).filter(({ request }) => keeps(request));
  const [first] = keepers;
  const isShared = keepers.some(({ request }) => !isDeepStrictEqual(request, first?.request));
  return isShared ? keepers.map(({ fullId }) => fullId) : [];
}

/** Whether it may leave something where the plugin's other capabilities find it. */
function keeps({ storage, write }: PermissionRequest): boolean {
  return storage !== undefined || (write !== undefined && JSON.stringify(write).includes("$data")) ||
    write === true;
}
