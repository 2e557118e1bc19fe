/**
 * What a person's own settings say of the command line's policy: `policy:` of `settings.yaml`, beside the trust records and
 * believed as they are (T36). It is the only file that may weaken anything (T34).
 */
import { z } from "zod";
import { type KindTable, type PermissionRequest, permissionRequestSchemaFor } from "../permissions/mod.ts";
import { PLUGIN_NAME } from "./manifest/fields.ts";
import type { TenantPolicy } from "./policy.ts";
import { type Settings, unusable } from "./trust/mod.ts";

const schemaFor = (kinds: KindTable) =>
  z.strictObject({
    permissions: permissionRequestSchemaFor(kinds).exactOptional(),
    unconfinedCommands: z.literal("allow").exactOptional(),
    calls: z.strictObject({ attenuate: z.boolean().exactOptional() }).exactOptional(),
    onNoAnswer: z.record(z.string().regex(PLUGIN_NAME), z.literal("continue")).exactOptional(),
  });

/** The part of the policy that the settings state. Throws HostError `ERR_STORE` where they state it wrongly. */
export function settingsPolicy(
  { path, value }: Settings,
  kinds: KindTable,
): Pick<TenantPolicy, "permissions" | "unconfinedCommands" | "calls" | "onNoAnswer"> {
  if (value["policy"] === undefined) return {};
  const result = schemaFor(kinds).safeParse(value["policy"]);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = ["policy", ...issue?.path ?? []].join(".");
  throw unusable(path, `${where}: ${issue?.message ?? "it is wrong"}`, "Correct it by hand");
}

/** Everything, but for what is stated; a kind of which only a deny is stated keeps the rest. */
export function ceilingOf(stated: PermissionRequest, kinds: KindTable): PermissionRequest {
  return Object.fromEntries(
    Object.keys(kinds).map((kind) => {
      const own = stated[kind];
      const isOpen = typeof own === "object" && own !== null && !Array.isArray(own) && !("allow" in own);
      return [kind, own === undefined ? true : isOpen ? { allow: true, ...own } : own];
    }),
  );
}
