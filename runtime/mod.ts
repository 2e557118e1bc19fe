/** The door of the runtime: where guests run, and the one way out of them. */
export { type AuditEvent, type AuditSink, memoryAudit, writeTo } from "./audit.ts";
export { type Answer, type Answered, type Asker, Asks, type Question } from "./ask.ts";
export { type Body, BodyReader } from "./body_reader.ts";
export { Broker, type BrokerOptions } from "./broker.ts";
export type { BodySource, CallIo, Chunk, ChunkSink, Progress, ProgressSink } from "./call_io.ts";
export { CheckedAddress, CheckedPath, CheckedValue } from "./checked.ts";
export {
  type ConfinedOptions,
  type ConfinedProcess,
  type ProcessExit,
  type ProgramOptions,
  startConfined,
  startProgram,
} from "./confine.ts";
export {
  type Confinement,
  type ConfinementDemand,
  type ConfinementPlan,
  planConfinement,
} from "./confine_plan.ts";
export { ChunkWindow, type StreamSummary } from "./chunk_window.ts";
export { CodeCache, type CodeCacheStore } from "./code_cache.ts";
export { type Endowment, ENDOWMENTS } from "./endowments/mod.ts";
export { type Cordon, type CordonChoice, type CordonFacts } from "./cordon.ts";
export { type EarlyWorker, startEarly } from "./early.ts";
export { enginePath } from "./engine.ts";
export { afterTimers } from "./deadlines.ts";
export { failureToError, type GuestAnswer, type GuestFailure, readFailures } from "./guest_answer.ts";
export { guestConfig, newDenialPrefix } from "./guest_config.ts";
export { wallError } from "./guest_errors.ts";
export { GuestIsolate } from "./guest_isolate.ts";
export type { GuestLine, RunOptions } from "./guest_run.ts";
export { hasMoreNodes, isDeeper } from "./json_depth.ts";
export {
  ASK_LIMITS,
  type AskLimits,
  COMMAND_LIMITS,
  type CommandLimits,
  GUEST_LIMITS,
  GUEST_LIMITS_MAX,
  type GuestLimits,
  MEMORY_MB_MIN,
  NET_LIMITS,
  type NetLimits,
  type PoolLimits,
  poolLimits,
  REDACTION_LIMITS,
  type RedactionLimits,
  RUNTIME_LIMITS,
  type RuntimeLimits,
} from "./limits.ts";
export {
  type ArgumentSchema,
  type BundleFiles,
  defineOp,
  type DirectoryEntry,
  type FileFacts,
  type OpDefinition,
  type OpTools,
  type OwnPermissions,
  type OwnSpace,
  type PermissionState,
} from "./op.ts";
export { composePlatform } from "./platform.ts";
export { type IsolateRequest, type PoolOptions, WorkerPool } from "./pool.ts";
export {
  type CallOrigin,
  type CallPowers,
  type CommandOrder,
  type CommandOutcome,
  fetchFailed,
  type FilePowers,
  type HttpAnswer,
  type HttpContent,
  type HttpHead,
  type NetPowers,
  type PathAuthority,
  type PathTarget,
  PowerError,
  type Powers,
  type RunPowers,
  type StoragePowers,
  type VerifiedFile,
  type VerifiedProgram,
  type WriteOptions,
} from "./powers.ts";
export { diskFiles, type DiskOptions } from "./powers/files.ts";
export { rememberedJail, type RunOptionsOfTenant, sandboxedRun } from "./powers/run.ts";
export type { Jail } from "./powers/sandbox.ts";
export { SYSTEM_FACTS, type SystemFact } from "./powers/sys.ts";
export type { Dial } from "./powers/connect.ts";
export { type NetOptions, pinnedNet, type Resolver } from "./powers/net.ts";
export {
  type CreateOrder,
  type GoneReason,
  type GuestConfig,
  type GuestStage,
  type LoadOrder,
  TARGET_HEAD,
} from "./protocol.ts";
export type { CallScope, GrantHolder, OpRequest, Principal, Use } from "./principal.ts";
export { ProgressReports } from "./progress.ts";
export { Rate } from "./rate.ts";
export { Redactor, type TextParts, withoutShapes } from "./redact.ts";
export { type Denial, type GuestFacts, toGuest, toOperator } from "./refusal.ts";
export type { KnownValue } from "./known_value.ts";
export {
  type Bindings,
  isBound,
  namesOf,
  type OwnedSecret,
  type PlacedSecret,
  type SecretSource,
  type SecretUser,
} from "./secrets.ts";
export { Tenure } from "./tenure.ts";
export { encodeFrame, type Frame, FrameDecoder, FrameWriter, joinParts, splitParts, textOf } from "./wire.ts";
export { type IsolateOwner, type KillReason, ownerKey, type WorkerEnd } from "./worker_end.ts";
export type { IsolateEvents } from "./isolate_events.ts";
export { type WorkerOptions, WorkerProcess } from "./worker_process.ts";
