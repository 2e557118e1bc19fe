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
  /** Projects for which one record was approved. */
  readonly projectsMax: number;
  /** npm packages whose versions one record repeats. */
  readonly packagesMax: number;
  /** Characters of such a version. */
  readonly versionCharsMax: number;
  /** Characters of each text in a record. */
  readonly textCharsMax: number;
  /** Size of one list of pins. */
  readonly pinsBytesMax: number;
  /** How long it stays what a plugin kept whose trust was forgotten. */
  readonly retiredDataDays: number;
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
  projectsMax: 64,
  packagesMax: 256,
  versionCharsMax: 64,
  textCharsMax: 4_096,
  pinsBytesMax: 64 * 1_048_576,
  retiredDataDays: 30,
  lockWaitMs: 10_000,
  lockPollMs: 10,
  settledMs: 1_000,
});

/** How soon what happens to an approval reaches what runs under it (T14). */
export interface AuthorityLimits {
  /** Between two looks at the trust records and the secrets. */
  readonly storePollMs: number;
  /** Between two looks at the pinned files; a multiple of the former. */
  readonly sweepMs: number;
  /** A store that does not say in this time what is trusted counts as one that cannot be believed. */
  readonly revokeMs: number;
  /** A plugin that was not called for this long is looked at again when it is called, and not before. */
  readonly watchedMs: number;
}

/** The values in force; the rule wants half a second for the store, one for the files, two until calls have ended. */
export const AUTHORITY_LIMITS: AuthorityLimits = Object.freeze({
  storePollMs: 250,
  sweepMs: 500,
  revokeMs: 1_500,
  watchedMs: 5_000,
});
