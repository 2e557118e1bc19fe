/** The door of trust: what is pinned, and whether what runs is what was pinned. */
export { type FileHashes, type Fingerprint, fingerprintOf, type Pins } from "./fingerprint.ts";
export { argvHashes, argvsOf, type HookArgv } from "./argv.ts";
export { type CollectedPins, departureFrom, type PinRequest } from "./pins.ts";
export {
  type Approval,
  Approvals,
  type ApprovedExposure,
  type Standing,
  type VerifyApproval,
} from "./approvals.ts";
export { onlyKey } from "./only_key.ts";
export { type RecordView } from "./told.ts";
export { withAnswers } from "./answers.ts";
export { grantsOf, type Narrowing } from "./grants.ts";
export { AUTHORITY_LIMITS, type TrustLimits } from "./limits.ts";
export {
  placeOfKey,
  type RecordChange,
  type StoredRecord,
  TRUST_ALGORITHM,
  type TrustKey,
  type TrustRecord,
} from "./record.ts";
export { type StatIndex } from "./stat_index.ts";
export { unusable } from "./settings_file.ts";
export {
  newLineage,
  readSettings,
  type Settings,
  settingsStore,
  settingsTrustStore,
  type TrustStore,
} from "./store.ts";
