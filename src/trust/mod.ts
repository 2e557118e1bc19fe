/** The door of trust: what is pinned, and whether what runs is what was pinned. */
export { type FileHashes, type Fingerprint, fingerprintOf, type Pins } from "./fingerprint.ts";
export { type CollectedPins, departureFrom, type PinRequest } from "./pins.ts";
export { type Approval, Approvals, onlyKey, type Standing } from "./approvals.ts";
export { withAnswers } from "./answers.ts";
export { grantsOf, type Narrowing } from "./grants.ts";
export type { TrustLimits } from "./limits.ts";
export { type StoredRecord, TRUST_ALGORITHM, type TrustKey, type TrustRecord } from "./record.ts";
export { unusable } from "./settings_file.ts";
export { newLineage, readSettings, settingsTrustStore, type TrustStore } from "./store.ts";
