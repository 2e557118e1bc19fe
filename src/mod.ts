/**
 * The public library: hosts, tenants, loaders, and the words in which they answer.
 *
 * @example
 * ```ts
 * await using host = await createHost({ confinement: "best" });
 * const tenant = host.tenant("acme", { plugins: ["./examples/word-count"] });
 * const { hash } = await tenant.fingerprint("word-count");
 * await tenant.trust("word-count", { fingerprint: hash, approver: "ada" });
 * await tenant.expose(["plugin__word-count__count"]);
 * await tenant.call("plugin__word-count__count", { text: "a b a" });
 * ```
 *
 * @module
 */
export * from "../permissions/mod.ts";
export {
  type Answer,
  type Answered,
  type ArgumentSchema,
  type Asker,
  type AuditEvent,
  type AuditSink,
  type Confinement,
  type ConfinementDemand,
  type ConfinementPlan,
  defineOp,
  type Denial,
  type GuestLimits,
  type GuestLine,
  type KnownValue,
  memoryAudit,
  type OpDefinition,
  type OpTools,
  type OwnedSecret,
  type PlacedSecret,
  PowerError,
  type Question,
  toOperator,
  type Use,
} from "../runtime/mod.ts";
export { jsonlAudit, type JsonlAuditOptions } from "./audit/jsonl.ts";
export type { PluginCheck } from "./check_plugin.ts";
export type { Discovery, KindEntry } from "./discovery.ts";
export type { Explanation } from "./explain.ts";
export { createHost, Host, type HostOptions } from "./host.ts";
export {
  directoryLoader,
  fixedLoader,
  type Loader,
  type LoaderRoot,
  type PluginLocation,
} from "./loaders/mod.ts";
export {
  type Capabilities,
  type Lifecycle,
  type LimitRequest,
  type Manifest,
  type ManifestIssue,
  parseManifest,
} from "./manifest/mod.ts";
export type { PluginState } from "./plugin_state.ts";
export type { TenantPolicy } from "./policy.ts";
export type { CallOptions } from "./runner.ts";
export type { Script, ScriptOptions } from "./script.ts";
export type { GrantPreview, PluginReview, ReviewedFile, ReviewedPackage, ReviewedPlugin } from "./review.ts";
export {
  type ApprovalOptions,
  type CapabilityRow,
  type PluginFacts,
  type PluginRow,
  Tenant,
  type TenantOptions,
  type TrustOptions,
} from "./tenant.ts";
export {
  fileSecretStore,
  memorySecretStore,
  type RequestedSecret,
  type SecretBinding,
  type SecretRow,
  type Secrets,
  type SecretStore,
} from "./secrets/mod.ts";
export type { ImportEdge, ImportKind } from "./bundler/mod.ts";
export {
  type FileHashes,
  type Fingerprint,
  type Narrowing,
  type Pins,
  settingsTrustStore,
  type StoredRecord,
  TRUST_ALGORITHM,
  type TrustKey,
  type TrustLimits,
  type TrustRecord,
  type TrustStore,
} from "./trust/mod.ts";
export { VERSION } from "./version.ts";
