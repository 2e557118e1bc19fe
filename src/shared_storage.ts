/** Where one plugin's storage and data folder join capabilities that were kept apart by their permissions (T24). */
import { isDeepStrictEqual } from "node:util";
import type { PermissionRequest } from "../permissions/mod.ts";
import { capabilitiesOf, type Manifest } from "./manifest/mod.ts";
import { memberOf } from "./surfaces/surface.ts";
import { hasCode } from "./unit_of.ts";

/** Full ids of the capabilities between which data can flow though their permissions differ; empty is none. */
export function sharedStorage(manifest: Manifest): readonly string[] {
  const all = capabilitiesOf(manifest).filter(hasCode).map(({ fullId, raw }) => ({
    fullId,
    // The cast holds: the schema of the capability's surface has accepted it.
    request: (memberOf(raw, "permissions") ?? manifest.permissions) as PermissionRequest,
  }));
  const isWritten = all.some(({ request: { write } }) => namesData(write));
  const sharers = all.filter(({ request: { storage, write, read } }) =>
    storage !== undefined || namesData(write) || (isWritten && namesData(read))
  );
  const [first] = sharers;
  const isShared = sharers.some(({ request }) => !isDeepStrictEqual(request, first?.request));
  return isShared ? sharers.map(({ fullId }) => fullId) : [];
}

/** Whether entries of `read` or `write` may reach the plugin's data folder. */
function namesData(stated: PermissionRequest["read"]): boolean {
  return stated !== undefined && (stated === true || JSON.stringify(stated).includes("$data"));
}
