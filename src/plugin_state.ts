/** In which state a plugin is, and the refusal that each state means. */
import { isDeepStrictEqual } from "node:util";
import { CapabilityError, CollisionError, TrustError } from "../permissions/mod.ts";
import { isLive } from "./check_plugin.ts";
import type { LoadedPlugin } from "./plugin.ts";
import { quoteArgument } from "./quote.ts";
import type { Capability } from "./surfaces/mod.ts";
import type { Approval, Standing } from "./trust/mod.ts";

/** In which state a plugin is. */
export type PluginState = "active" | "untrusted" | "changed" | "incompatible" | "invalid" | "collision";

/** A standing as a row of a list has it. */
export function stateOf(standing: Standing): { state: PluginState; reason: string | null } {
  if (standing.state === "approved") return { state: "active", reason: null };
  return { state: standing.state, reason: standing.reason };
}

/** Trusted and unchanged since: else a TrustError says which it is not. */
export function approvalOf(plugin: LoadedPlugin, standing: Standing): Approval {
  if (standing.state === "approved") return standing.approval;
  const details = { plugin: plugin.name, directory: plugin.source.directory };
  if (standing.state === "changed") {
    if (standing.changed.length > 0) throw changedError(plugin, standing.changed);
    throw new TrustError(
      "ERR_TRUST_CHANGED",
      `Cannot run plugin "${plugin.name}": ${standing.reason}. ${lookAgain(plugin.source.directory)}`,
      { details: { ...details, changed: [] } },
    );
  }
  if (standing.cause !== null) {
    throw new TrustError(
      "ERR_TRUST_UNKNOWN",
      `Cannot run plugin "${plugin.name}": nothing is trusted while the trust records cannot be used. ${standing.cause.message}`,
      { details: { ...details, store: standing.cause.code }, cause: standing.cause },
    );
  }
  throw new TrustError(
    "ERR_TRUST_UNKNOWN",
    `Cannot run plugin "${plugin.name}": nobody has trusted it. Look at it, then approve its fingerprint`,
    { details },
  );
}

/** What keeps a plugin from being used whoever trusts it, or null. */
export function unusableState(
  plugin: LoadedPlugin,
  all: readonly LoadedPlugin[],
): { state: PluginState; reason: string } | null {
  const twin = all.find((other) => other !== plugin && other.name === plugin.name);
  if (twin !== undefined) {
    return {
      state: "collision",
      reason: `"${plugin.source.directory}" and "${twin.source.directory}" have one name`,
    };
  }
  return plugin.incompatibleRange === null
    ? null
    : { state: "incompatible", reason: `it asks for Sallyport ${plugin.incompatibleRange}` };
}

/** Throws CollisionError or TrustError for a plugin that cannot be used whoever trusts it. */
export function refuseUnusable(plugin: LoadedPlugin, all: readonly LoadedPlugin[]): void {
  const unusable = unusableState(plugin, all);
  if (unusable === null) return;
  const details = { plugin: plugin.name, ...unusable };
  if (unusable.state === "collision") {
    throw new CollisionError(
      "ERR_COLLISION",
      `Cannot use plugin "${plugin.name}": ${unusable.reason}. Rename or remove one of them`,
      { details },
    );
  }
  throw new TrustError(
    "ERR_TRUST_INCOMPATIBLE",
    `Cannot use plugin "${plugin.name}": ${unusable.reason}`,
    { details },
  );
}

/** Throws CapabilityError for what this version lists and cannot run. */
export function refuseNotLive(plugin: LoadedPlugin, capability: Capability): void {
  const what = !isLive(capability.surface)
    ? `surface "${capability.surface}"`
    : !isDeepStrictEqual(plugin.manifest.lifecycle, {})
    ? "lifecycle code"
    : null;
  if (what === null) return;
  throw new CapabilityError(
    "ERR_CAPABILITY_NOT_LIVE",
    `Cannot use "${capability.fullId}": this version lists ${what} and cannot run it yet`,
    { details: { capability: capability.fullId, surface: capability.surface } },
  );
}

/** The error for a capability that is not offered. */
export function notExposed(plugin: LoadedPlugin, { fullId }: Capability): CapabilityError {
  return new CapabilityError(
    "ERR_CAPABILITY_NOT_EXPOSED",
    `Cannot call "${fullId}": it is not exposed. Expose it with tenant.expose(["${fullId}"]), or trust plugin "${plugin.name}" again and expose what it offers`,
    { details: { capability: fullId } },
  );
}

/** The error for a plugin that is not what was trusted, naming what differs. */
export function changedError(plugin: LoadedPlugin, changed: readonly string[]): TrustError {
  return new TrustError(
    "ERR_TRUST_CHANGED",
    `Cannot run plugin "${plugin.name}": its files changed since it was trusted (${changed.join(", ")}). ${
      lookAgain(plugin.source.directory)
    }`,
    { details: { plugin: plugin.name, changed } },
  );
}

/** What to do about a plugin that is not what was trusted. */
export function lookAgain(directory: string): string {
  const where = quoteArgument(directory);
  return `See it with \`sallyport check ${where}\`; if you agree, \`sallyport trust ${where}\``;
}
