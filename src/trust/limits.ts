/** Bounds of trust records and of the file that holds them, each with its unit last in its name. */

/** What records and their file may cost. */
export interface TrustLimits {
  /** Size of the settings file. */
  readonly settingsBytesMax: number;
  /** Nesting in it. */
  readonly settingsDepthMax: number;
  /** Values in it. */
  readonly settingsNodesMax: number;
  /** Trust records in it, broken ones included. */
  readonly recordsMax: number;
  /** Capabilities that one record exposes. */
  readonly exposedMax: number;
  /** Characters of each text in a record. */
  readonly textCharsMax: number;
  /** Size of one list of pins. */
  readonly pinsBytesMax: number;
  /** How long a writer waits for another one. */
  readonly lockWaitMs: number;
  /** Between two looks at a lock that somebody holds. */
  readonly lockPollMs: number;
  /** A file that was written more recently is read again even if its state looks the same. */
  readonly settledMs: number;
}

/** The defaults. */
export const TRUST_LIMITS: TrustLimits = Object.freeze({
  settingsBytesMax: 4 * 1_048_576,
  settingsDepthMax: 16,
  settingsNodesMax: 200_000,
  recordsMax: 2_000,
  exposedMax: 4_096,
  textCharsMax: 4_096,
  pinsBytesMax: 64 * 1_048_576,
  lockWaitMs: 10_000,
  lockPollMs: 10,
  settledMs: 1_000,
});
