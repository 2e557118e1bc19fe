/** Bounds of checking values by plugins' schemas. */
export const VALIDATOR_LIMITS: Readonly<
  { schemaWallMs: number; schemaIssuesMax: number; schemaIsolatesMax: number; schemaChecksWaitingMax: number }
> = Object.freeze({
  /** Time of one check, from its own start, in milliseconds. */
  schemaWallMs: 1_000,
  /** Issues that are told of one value. */
  schemaIssuesMax: 20,
  /** Plugins whose isolate is kept; the one that was used least recently ends. */
  schemaIsolatesMax: 8,
  /** Checks of one plugin that wait for one another. */
  schemaChecksWaitingMax: 256,
});
