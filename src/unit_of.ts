/** From a granted plugin to how one of its capabilities runs. */
import { join } from "node:path";
import canonicalize from "canonicalize";
import { longForm } from "../permissions/mod.ts";
import type { Tenure } from "../runtime/mod.ts";
import { bundleFiles } from "./bundle_files.ts";
import type { BundleTarget } from "./bundler/mod.ts";
import { grantCapability } from "./grant_plugin.ts";
import type { OwnSpaces } from "./own_spaces.ts";
import type { GrantedPlugin } from "./plugin.ts";
import { changedError } from "./plugin_state.ts";
import { limitsOf, type TenantPolicy } from "./policy.ts";
import { parseTarget, type Target } from "./manifest/mod.ts";
import { type Capability, surfaceOf } from "./surfaces/mod.ts";
import { memberOf } from "./surfaces/surface.ts";
import { type Approval, departureFrom } from "./trust/mod.ts";
import type { Unit, UnitLifecycle } from "./unit.ts";

/** What units are made with. */
export interface UnitParts {
  /** The ceiling. */
  readonly policy: TenantPolicy;
  /** What plugins keep between calls. */
  readonly spaces: OwnSpaces;
}

/** How the capability runs under this approval, until the tenure is over. */
export function unitOf(
  plugin: GrantedPlugin,
  capability: Capability,
  { grants, flags }: Approval,
  tenure: Tenure,
  { policy, spaces }: UnitParts,
): Unit {
  const lifecycle = lifecycleOf(plugin, capability);

  const isHere = isIn(capability);
  const target = bundleTargetOf(capability.target) ?? lifecycle?.activate ?? null;
  if (target === null) throw new TypeError(`capability "${capability.fullId}" has no target`);
  const isMutable = longForm(plugin.manifest.permissions.read).mutable === true;
  return {
    // An approval of less must not meet the isolate of an approval of more.
    key: JSON.stringify([
      plugin.fingerprint.hash,
      plugin.lineage,
      capability.target === undefined ? [ownPermissions(capability)] : capability.fullId,
      grants,
      flags,
    ]),
    plugin: plugin.name,
    title: `Plugin "${plugin.name}"`,
    source: plugin.source,
    capabilities: plugin.capabilities.filter(isHere).map(({ fullId }) => fullId),
    target,
    ...(capability.target === undefined ? { entry: nameIn(capability) } : {}),
    ...(lifecycle === undefined ? {} : { lifecycle }),
    declaredIn: join(plugin.source.directory, "plugin.yaml"),
    fingerprint: plugin.fingerprint.hash,
    verify: (bundle, of) => {
      const departure = departureFrom(plugin.fingerprint, plugin.source, of, bundle);
      if (departure !== null) throw changedError(plugin, [departure]);
    },
    grant: grantCapability(plugin, capability),
    tenure,
    isAlone: plugin.capabilities.some(({ surface }) => standsAlone(surface)),
    context: plugin.context,
    place: plugin.source.directory,
    bundle: bundleFiles(plugin.source, isMutable, new Set(Object.keys(plugin.fingerprint.files))),
    own: spaces.spaceOf(plugin.lineage),
    environment: policy.environment ?? {},
    limits: limitsOf(plugin.manifest.limits, policy),
  };
}

/**
 * Lifecycle code as it runs in the isolate of a capability. What has a target has an isolate to itself; what lifecycle code registers shares one with what is granted the same, and with
 * nothing else (T24).
 */
function lifecycleOf(
  { manifest, capabilities }: GrantedPlugin,
  capability: Capability,
): UnitLifecycle | undefined {
  const [activate, stop] = [manifest.lifecycle.activate, manifest.lifecycle.stop].map((text) => {
    const target = parseTarget(text);
    return target.ok ? bundleTargetOf(target.value) : null;
  });
  if (activate == null && stop == null) return undefined;
  const isHere = isIn(capability);
  return {
    activate: activate ?? null,
    stop: stop ?? null,
    names: Object.fromEntries(
      capabilities.map((each) => [
        nameIn(each),
        !isRegistered(each) ? "target" : isHere(each) ? "here" : "elsewhere",
      ]),
    ),
  };
}

/** Whether code of the bundle is behind a capability: its target, or what lifecycle code registers. */
export function hasCode(capability: Capability): boolean {
  return capability.target !== undefined || isRegistered(capability);
}

/** Whether another capability is in the isolate of this one. */
function isIn(capability: Capability): (each: Capability) => boolean {
  const own = ownPermissions(capability);
  return (each) =>
    capability.target === undefined
      ? isRegistered(each) && ownPermissions(each) === own
      : each.fullId === capability.fullId;
}

function isRegistered({ surface, target }: Capability): boolean {
  return target === undefined && surfaceOf(surface)?.isRegistered === true;
}

function ownPermissions({ raw }: Capability): string {
  return canonicalize(memberOf(raw, "permissions") ?? null) ?? "";
}

function nameIn({ surface, name }: Capability): string {
  return `${surface} ${name}`;
}

function bundleTargetOf(target: Target | undefined): BundleTarget | null {
  return target === undefined ? null : { path: target.path, export: target.exportName };
}

function standsAlone(surface: string): boolean {
  return surfaceOf(surface)?.standsAlone === true;
}
