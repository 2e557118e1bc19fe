/** The door of the runtime: where guests run, and the one way out of them. */
export { type AuditEvent, type AuditSink, memoryAudit } from "./audit.ts";
export { type Answer, type Answered, type Asker, Asks, type Question } from "./ask.ts";
export {
  Broker,
  type BrokerOptions,
  type CallScope,
  type GrantHolder,
  type OpRequest,
  type Principal,
  type Use,
} from "./broker.ts";
export { CheckedAddress, CheckedPath, CheckedValue } from "./checked.ts";
export {
  type ConfinedOptions,
  type ConfinedProcess,
  type Confinement,
  type ConfinementDemand,
  type ConfinementPlan,
  planConfinement,
  type ProcessExit,
  startConfined,
} from "./confine.ts";
export { type Endowment, ENDOWMENTS } from "./endowments/mod.ts";
export { enginePath } from "./engine.ts";
export {
  failureToError,
  type GuestAnswer,
  guestConfig,
  type GuestFailure,
  GuestIsolate,
  type GuestLine,
  newDenialPrefix,
  type RunOptions,
} from "./guest_isolate.ts";
export { depthOfJson } from "./json_depth.ts";
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
export { WorkerPool } from "./pool.ts";
export {
  type CallOrigin,
  type CallPowers,
  type CommandOrder,
  type CommandOutcome,
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
  type LoadOrder,
  TARGET_HEAD,
} from "./protocol.ts";
export { Redactor, withoutShapes } from "./redact.ts";
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
export { encodeFrame, type Frame, FrameDecoder, joinParts, splitParts, textOf } from "./wire.ts";
export { type IsolateEvents, type WorkerEnd, type WorkerOptions, WorkerProcess } from "./worker_process.ts";
