/** Bounds of checking values by plugins' schemas. */
export const VALIDATOR_LIMITS: Readonly<{ schemaWallMs: number; schemaIssuesMax: number }> = Object.freeze({
  /** Time of one check, in milliseconds. */
  schemaWallMs: 1_000,
  /** Issues that are told of one value. */
  schemaIssuesMax: 20,
});
