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
  type Body,
  type CallIo,
  type Chunk,
  type Confinement,
  type ConfinementDemand,
  type ConfinementPlan,
  type Cordon,
  type CordonChoice,
  type CordonFacts,
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
  type PoolLimits,
  PowerError,
  type Progress,
  type Question,
  type StreamSummary,
  toOperator,
  type Use,
} from "../runtime/mod.ts";
export { jsonlAudit, type JsonlAuditOptions } from "./audit/jsonl.ts";
export type { NameFinding, NameOwner, NamesBySurface } from "./collisions.ts";
export type { StaticUse } from "./static_uses.ts";
export type { CollisionMoment, ToolAnnotations, TypedKind } from "./surfaces/mod.ts";
export type { CheckedTarget, PluginCheck } from "./check_plugin.ts";
export type {
  ArgvChange,
  ChangeKind,
  Escalation,
  FileChange,
  ImportChange,
  PackageChange,
  PackageVersions,
  PermissionChange,
  PinDiff,
  PluginDiff,
} from "./diff.ts";
export type { ValueChange } from "./diff_values.ts";
export type { Discovery, KindEntry } from "./discovery.ts";
export type { DocumentStyle, FrontMatter } from "./documents/format.ts";
export type {
  AppliedStyle,
  Document,
  DocumentIdentity,
  DocumentOptions,
  DocumentRow,
  Documents,
  PromptArguments,
  ResolvedReference,
  Theme,
  ThemeFile,
} from "./documents/types.ts";
export type { Explanation } from "./explain.ts";
export { createHost, Host, type HostOptions } from "./host.ts";
export {
  directoryLoader,
  fixedLoader,
  instancesLoader,
  type Loader,
  type LoaderRoot,
  npmLoader,
  type NpmLoaderOptions,
  type PluginFiles,
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
export { memoryQuarantineStore, type QuarantineRecord, type QuarantineStore } from "./quarantine_store.ts";
export type {
  DormantExposure,
  Plan,
  PlannedCapability,
  PlannedCut,
  PlannedPlugin,
  PlanProblem,
  PlanRequest,
} from "./plan.ts";
export { type PanelTextOptions, renderText } from "./panels/text.ts";
export type { Panels, RenderedPanel, RenderOptions } from "./panels/panels.ts";
export type { View } from "./panels/view.ts";
export type { Commands, TypedEntry, TypedText } from "./typed/commands.ts";
export type { PluginState } from "./plugin_state.ts";
export type { DeadMatcher } from "./points/dead_matchers.ts";
export type { ThroughCall } from "./through_calls.ts";
export type { CallPolicy, TenantPolicy } from "./policy.ts";
export type { CallOptions } from "./run.ts";
export { type Resource, resourcePath, type ResourceRoot, ResourceRoots } from "./resources/mod.ts";
export type { Script, ScriptOptions } from "./script.ts";
export type { ReviewedPackage } from "./npm_packages.ts";
export type { FormerTrust, GrantPreview, PluginReview, ReviewedFile, ReviewedPlugin } from "./review.ts";
export type {
  Snapshot,
  SnapshotEntry,
  SnapshotFailure,
  SnapshotLifecycle,
  SnapshotPlugin,
} from "./snapshot.ts";
export type { Handle } from "./handles.ts";
export type { Emitted, EmittedEvent, HookDiagnostic } from "./points/emit.ts";
export type { WatchStats } from "./points/watchers.ts";
export type { CallStream, StreamOptions } from "./call_stream.ts";
export type { HostProvider, ProviderOptions, ProviderRow, Providers } from "./providers.ts";
export type { LifecycleLimits } from "./lifecycle_limits.ts";
export type { PluginResources } from "./plugin_resources.ts";
export type { ActivateAllOptions, ActivateOptions, PluginProgress, StartedPlugin } from "./tenant_starts.ts";
export { Tenant } from "./tenant.ts";
export type {
  ApprovalOptions,
  CapabilityRow,
  PluginFacts,
  PluginRow,
  ResolvedName,
  TenantOptions,
  TrustOptions,
} from "./tenant_types.ts";
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
  type RecordChange,
  settingsTrustStore,
  type StatIndex,
  type StoredRecord,
  TRUST_ALGORITHM,
  type TrustKey,
  type TrustLimits,
  type TrustRecord,
  type TrustStore,
  type VerifyApproval,
} from "./trust/mod.ts";
export type { CacheStore } from "./stores/cache.ts";
export { diskCache, type DiskCacheOptions } from "./stores/disk_cache.ts";
export { fileStatIndex, type FileStatIndexOptions } from "./stores/stat_index.ts";
export type { CacheLimits } from "./stores/limits.ts";
export { VERSION } from "./version.ts";
export type { RetiredData } from "./retired_data.ts";
export type { Enabled, PruneOptions } from "./tenant_switches.ts";
export type { Station, SurfaceName } from "./surfaces/mod.ts";
