/** From trust to a grant: what the manifest asks, cut down by what was approved and by the tenant's policy. */
import {
  type Grant,
  grantOf,
  includes,
  KIND_NAMES,
  type Layer,
  layerOf,
  NotCapableError,
  type PathContext,
  type PermissionRequest,
} from "../permissions/mod.ts";
import type { GrantedPlugin, TrustedPlugin } from "./plugin.ts";
import type { TenantPolicy } from "./policy.ts";
import { withRealPaths } from "./real_paths.ts";
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
): GrantedPlugin {
  const context = contextOf(plugin.source.directory, policy, data);
  const manifest = withRealPaths(layerOf("manifest", plugin.manifest.permissions, context), context.bundle);
  const record = grants === undefined
    ? []
    : [withRealPaths(layerOf("record", grants, context), context.bundle)];
  const line = [flags, narrowing].flatMap((stated) =>
    stated === undefined ? [] : [narrowingLayer(stated.permissions, { ...context, cwd: stated.cwd })]
  );
  const ceiling = withRealPaths(layerOf("policy", policy.permissions ?? {}, { ...context, cwd: "/" }));
  const grant = grantOf(manifest, ...record, ...line, ceiling);
  refuseCutRequirement(plugin, manifest, grant);
  return { ...plugin, grant, context };
}

/** Flags on a plugin may narrow its request, never widen it: what no flag mentions is left to the other layers. */
function narrowingLayer(permissions: PermissionRequest, context: PathContext): Layer {
  const stated = withRealPaths(layerOf("flags", permissions, context));
  const kinds = Object.fromEntries(
    KIND_NAMES.map((kind) => [kind, { allow: true, isRequired: false, ...stated.kinds[kind] }]),
  );
  return { source: "flags", kinds };
}

/** Where a plugin's paths start. */
export function contextOf(bundle: string, policy: TenantPolicy, data: string): PathContext {
  return {
    cwd: bundle,
    bundle,
    data,
    ...(policy.home === undefined ? {} : { home: policy.home }),
    ...(policy.project === undefined ? {} : { project: policy.project }),
  };
}

function refuseCutRequirement(plugin: TrustedPlugin, manifest: Layer, grant: Grant): void {
  for (const kind of KIND_NAMES) {
    const asked = manifest.kinds[kind];
    if (asked?.isRequired !== true) continue;
    if (includes(grant, grantOf({ source: "manifest", kinds: { [kind]: asked } }))) continue;
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
