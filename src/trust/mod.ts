/** The door of trust: what is pinned, and whether what runs is what was pinned. */
export { type FileHashes, type Fingerprint, fingerprintOf, type Pins } from "./fingerprint.ts";
export { type CollectedPins, collectPins, departureFrom, type PinRequest } from "./pins.ts";
