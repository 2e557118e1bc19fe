/** From trust to a grant: what the manifest asks, cut down by what was approved and by the tenant's policy. */
import {
  type Grant,
  grantOf,
  includes,
  KINDS,
  type KindTable,
  type Layer,
  layerOf,
  NotCapableError,
  type PathContext,
  type PermissionRequest,
} from "../permissions/mod.ts";
import type { GrantedPlugin, TrustedPlugin } from "./plugin.ts";
import type { TenantPolicy } from "./policy.ts";
import { findPrograms } from "./programs.ts";
import { withRealPaths } from "./real_paths.ts";
import type { Capability } from "./surfaces/mod.ts";
import { memberOf } from "./surfaces/surface.ts";
import type { Narrowing } from "./trust/mod.ts";

/** How much of a request was approved. */
export interface Approved {
  /** Less than the manifest asks; absent is all of it. */
  readonly grants?: PermissionRequest | undefined;
  /** Cuts down the kinds that it mentions and leaves the others; relative paths start at `cwd`. */
  readonly flags?: Narrowing | undefined;
  /** The same, for all plugins of a tenant. */
  readonly narrowing?: Narrowing | undefined;
}

/**
 * Grants a trusted plugin. Throws NotCapableError when the manifest marks something as required that is cut, UsageError
 * when a policy's entry cannot be read.
 */
export function grantPlugin(
  plugin: TrustedPlugin,
  { grants, flags, narrowing }: Approved,
  policy: TenantPolicy,
  data: string,
  kinds: KindTable = KINDS,
): GrantedPlugin {
  const { grant, context } = layersOf(plugin, { grants, flags, narrowing }, policy, data, kinds);
  // The first layer is the manifest's.
  refuseCutRequirement(plugin, grant.layers[0]!, grant, kinds);
  return { ...plugin, grant, context };
}

/** What of a plugin decides about what it may be granted. */
export interface Approvable {
  /** Where it is. */
  readonly source: Pick<TrustedPlugin["source"], "directory">;
  /** What it asks for. */
  readonly manifest: Pick<TrustedPlugin["manifest"], "permissions">;
}

/** The same without a look at what is required, for telling what would be granted. */
export function layersOf(
  { source, manifest: { permissions } }: Approvable,
  { grants, flags, narrowing }: Approved,
  policy: TenantPolicy,
  data: string,
  kinds: KindTable = KINDS,
): Pick<GrantedPlugin, "grant" | "context"> {
  const which = findPrograms();
  const context = { ...contextOf(source.directory, policy, data, kinds), which };
  const manifest = withRealPaths(layerOf("manifest", permissions, context), context.bundle);
  const record = grants === undefined
    ? []
    : [withRealPaths(layerOf("record", grants, context), context.bundle)];
  const line = [flags, narrowing].flatMap((stated) =>
    stated === undefined || Object.keys(stated.permissions).length === 0
      ? []
      : [narrowingLayer(stated.permissions, { ...context, cwd: stated.cwd })]
  );
  const ceiling = withRealPaths(layerOf("policy", policy.permissions ?? {}, { ...context, cwd: "/" }));
  return { grant: grantOf(manifest, ...record, ...line, ceiling), context };
}

/** What one capability is granted: what its plugin is and, where it says which part of that it needs, no more (T24). */
export function grantCapability(
  { grant, context }: Pick<GrantedPlugin, "grant" | "context">,
  { raw }: Capability,
): Grant {
  const own = memberOf(raw, "permissions");
  if (own === undefined) return grant;
  // The cast holds: the schema of the capability's surface has accepted it.
  const layer = withRealPaths(layerOf("capability", own as PermissionRequest, context), context.bundle);
  return { ...grant, layers: [...grant.layers, layer] };
}

/** Flags on a plugin may narrow its request, never widen it: what no flag mentions is left to the other layers. */
function narrowingLayer(permissions: PermissionRequest, context: PathContext): Layer {
  const stated = withRealPaths(layerOf("flags", permissions, context));
  const kinds = Object.fromEntries(
    Object.keys(context.kinds ?? KINDS).map((kind) => {
      return [kind, { allow: true as const, isRequired: false, ...stated.kinds[kind] }];
    }),
  );
  return { ...stated, kinds };
}

/** Where a plugin's paths start. */
export function contextOf(
  bundle: string,
  policy: TenantPolicy,
  data: string,
  kinds: KindTable = KINDS,
): PathContext {
  return {
    cwd: bundle,
    bundle,
    data,
    kinds,
    ...(policy.home === undefined ? {} : { home: policy.home }),
    ...(policy.project === undefined ? {} : { project: policy.project }),
  };
}

function refuseCutRequirement(
  plugin: TrustedPlugin,
  manifest: Layer,
  grant: Grant,
  kinds: KindTable,
): void {
  for (const kind of Object.keys(kinds)) {
    const asked = manifest.kinds[kind];
    if (asked?.isRequired !== true) continue;
    if (includes(grant, grantOf({ ...manifest, kinds: { [kind]: asked } }))) continue;
    throw new NotCapableError(
      "ERR_NOT_CAPABLE",
      `Cannot use plugin "${plugin.name}": it requires ${kind}, and less than it asks for is granted. Grant what permissions.${kind} of its manifest lists`,
      {
        details: {
          kind,
          value: null,
          reason: "less is granted than is required",
          rule: `manifest permissions.${kind}.required`,
          remedy: `grant permissions.${kind}`,
        },
      },
    );
  }
}
