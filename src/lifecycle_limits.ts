/** Bounds of starting and stopping plugins. */

/** Each with its unit last in its name. */
export interface LifecycleLimits {
  /** What one isolate may take to undo what it did: its `stop` code and its disposers together. */
  readonly stopMs: number;
  /** From then on, while many isolates stop one after the other, the rest stop at once. */
  readonly stopAllMs: number;
  /** Plugins that are started at the same time when many are. */
  readonly startersMax: number;
  /** What starting many plugins may take together. */
  readonly startAllMs: number;
  /** A plugin that takes longer than this to start gives its place among the starters to the next. */
  readonly stallMs: number;
}

/** The values in force. */
export const LIFECYCLE_LIMITS: LifecycleLimits = Object.freeze({
  stopMs: 2_000,
  stopAllMs: 10_000,
  startersMax: 4,
  startAllMs: 30_000,
  stallMs: 3_000,
});
