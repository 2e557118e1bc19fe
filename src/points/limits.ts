/** Every bound of hooks, guardrails and interceptors in one table; units last. */
export const POINT_LIMITS = {
  /** Why somebody stops what passes; the rest is cut. */
  reasonBytesMax: 1_024,
  /** What is repeated of the words of a program that failed. */
  failureCharsMax: 400,
  /** What is looked at of a program's words, all of it in the host's time. */
  stderrReadBytesMax: 16 * 1_024,
  /** From asking one that decides to its answer, its start included; what takes longer gives none, which blocks. */
  decideMs: 30_000,
  /** The same for all that decide about one call or event on one side of it; whoever is asked later gives none. */
  decideAllMs: 120_000,
  /** The same for one that only watches. */
  watchMs: 10_000,
  /** Events that wait for one plugin's watching code; further ones are dropped, and counted. */
  watchWaitingMax: 256,
  /** What these events hold, as JSON text. */
  watchWaitingBytesMax: 4 * 1_048_576,
  /** For how long it is remembered that somebody in force cannot answer: what is wrong may be over with the next look. */
  troubleRememberedMs: 250,
  /** Targets for which it is remembered who stands in their way. */
  targetsRememberedMax: 1_024,
  /** Fields of an event, as JSON text. */
  eventCharsMax: 1_048_576,
  /** Events that an embedder may add. */
  eventsMax: 256,
} as const;
