/** In which state a plugin is, and the refusal that each state means. */
import { CapabilityError, CollisionError, TrustError, UsageError } from "../permissions/mod.ts";
import { isLive } from "./check_plugin.ts";
import { type NameFinding, withheldBy } from "./collisions.ts";
import { documentIssues, documentIssueText } from "./documents/own_documents.ts";
import { type LoadedPlugin, placeOf } from "./plugin.ts";
import { quoteArgument } from "./quote.ts";
import { type Capability, codeOf } from "./surfaces/mod.ts";
import type { Approval, Standing } from "./trust/mod.ts";

/** In which state a plugin is. */
export type PluginState =
  | "active"
  | "disabled"
  | "untrusted"
  | "changed"
  | "incompatible"
  | "invalid"
  | "collision"
  | "quarantined";

/** A standing as a row of a list has it. */
export function stateOf(standing: Standing): { state: PluginState; reason: string | null } {
  if (standing.state === "approved") return { state: "active", reason: null };
  return { state: standing.state, reason: standing.reason };
}

/** Trusted and unchanged since: else a TrustError says which it is not. */
export function approvalOf(plugin: LoadedPlugin, standing: Standing): Approval {
  if (standing.state === "approved") return standing.approval;
  throw standingError(plugin, standing);
}

/** The error for a plugin that may not run as it stands. */
export function standingError(
  plugin: LoadedPlugin,
  standing: Exclude<Standing, { readonly state: "approved" }>,
): TrustError {
  const details = { plugin: plugin.name, directory: plugin.source.directory };
  const cannot = `Cannot run plugin "${plugin.name}"`;
  const cure = lookAgain(placeOf(plugin));
  if (standing.state === "changed") {
    if (standing.changed.length > 0) return changedError(plugin, standing.changed);
    return new TrustError("ERR_TRUST_CHANGED", `${cannot}: ${standing.reason}. ${cure}`, {
      details: { ...details, changed: [] },
    });
  }
  if (standing.state === "disabled") {
    const { reason, isBlocked } = standing;
    const undo = isBlocked
      ? "Who blocked it may take it out of `blocked:` in the settings or the policy"
      : `Switch it on with \`sallyport enable ${quoteArgument(plugin.name)}\``;
    return new TrustError("ERR_TRUST_DISABLED", `${cannot}: ${reason}. ${undo}`, {
      details: { ...details, reason },
    });
  }
  const { reason, cause } = standing;
  if (cause !== null) {
    return new TrustError(
      "ERR_TRUST_UNKNOWN",
      `${cannot}: nothing is trusted while the trust records cannot be used. ${cause.message}`,
      { details: { ...details, store: cause.code }, cause },
    );
  }
  const why = reason === null
    ? "nobody has trusted it. Look at it, then approve its fingerprint"
    : `${reason}. ${cure}`;
  return new TrustError("ERR_TRUST_UNKNOWN", `${cannot}: ${why}`, { details });
}

/** What keeps a plugin from being used whoever trusts it, or null. Rivals are active plugins of its name. */
export function unusableState(
  plugin: LoadedPlugin,
  [rival]: readonly LoadedPlugin[],
): { state: PluginState; reason: string } | null {
  if (rival !== undefined) {
    return {
      state: "collision",
      reason: `"${placeOf(plugin)}" and "${placeOf(rival)}" have one name`,
    };
  }
  return plugin.incompatibleRange === null
    ? null
    : { state: "incompatible", reason: `it asks for Sallyport ${plugin.incompatibleRange}` };
}

/**
 * How a plugin stands beside the others: what is active and has a rival, or a name that it shares, is a collision; what is
 * not active takes part in none, and is told that it would (T23).
 */
export function standingAmong(
  plugin: LoadedPlugin,
  own: ReturnType<typeof stateOf>,
  rivals: readonly LoadedPlugin[],
  findings: readonly NameFinding[],
): ReturnType<typeof stateOf> {
  const directory = placeOf(plugin);
  const [rival] = rivals;
  if (own.state === "active") {
    const unusable = unusableState(plugin, rivals);
    if (unusable !== null) return unusable;
    const reasons = plugin.capabilities.flatMap(({ fullId }) => {
      const finding = withheldBy(findings, directory, fullId);
      return finding === null || finding.moment === "match" ? [] : [finding.message];
    });
    return reasons.length === 0 ? own : { state: "collision", reason: [...new Set(reasons)].join("\n") };
  }
  const would = [
    ...(rival === undefined ? [] : [`it would collide with "${placeOf(rival)}", which has its name`]),
    ...findings.filter(({ outcome, owners: [first] }) =>
      outcome === "would collide" && first?.directory === directory
    ).map(({ message }) => message),
  ];
  return would.length === 0 ? own : { ...own, reason: [own.reason, ...would].filter(isText).join("\n") };
}

/** The same with what keeps a plugin that waits for approval from being approved: its documents are looked at as it is found. */
export function withDocuments(
  plugin: LoadedPlugin,
  standing: ReturnType<typeof stateOf>,
): ReturnType<typeof stateOf> {
  if (standing.state !== "untrusted" && standing.state !== "changed") return standing;
  const broken = documentIssues(plugin).map(documentIssueText);
  return broken.length === 0
    ? standing
    : { ...standing, reason: [standing.reason, ...broken].filter(isText).join("\n") };
}

/** Throws CollisionError or TrustError for a plugin that cannot be used whoever trusts it. */
export function refuseUnusable(plugin: LoadedPlugin, rivals: readonly LoadedPlugin[]): void {
  const unusable = unusableState(plugin, rivals);
  if (unusable === null) return;
  const details = { plugin: plugin.name, ...unusable };
  if (unusable.state === "collision") {
    throw new CollisionError(
      "ERR_COLLISION",
      `Cannot use plugin "${plugin.name}": ${unusable.reason}. Disable or untrust one of them`,
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
export function refuseNotLive(capability: Capability): void {
  if (isLive(capability.surface)) return;
  throw new CapabilityError(
    "ERR_CAPABILITY_NOT_LIVE",
    `Cannot use "${capability.fullId}": this version lists surface "${capability.surface}" and cannot run it yet`,
    { details: { capability: capability.fullId, surface: capability.surface } },
  );
}

/** Throws UsageError for what the host alone runs, where it belongs; some of that may be read as a stream. */
export function refuseNotCallable({ fullId, surface }: Capability, isRead = false): void {
  const code = codeOf(surface);
  if (code?.isCallable === true || (isRead && code?.isStreamed === true)) return;
  throw new UsageError(
    "ERR_USAGE",
    `Cannot call "${fullId}": surface "${surface}" is not called by id; the host uses it where it belongs`,
    { details: { capability: fullId, surface } },
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
      lookAgain(placeOf(plugin))
    }`,
    { details: { plugin: plugin.name, changed } },
  );
}

/** What to do about a plugin that is not what was trusted. */
export function lookAgain(directory: string): string {
  const where = quoteArgument(directory);
  return `See it with \`sallyport check ${where}\`; if you agree, \`sallyport trust ${where}\``;
}

function isText(value: string | null): value is string {
  return value !== null;
}
