/** Bounds of the audit. */

/** Each with its unit last in its name. */
export interface AuditLimits {
  /** Between two checkpoints of a segment that grows. */
  readonly checkpointMs: number;
  /** Lines that wait to be written with the next one. */
  readonly pendingLinesMax: number;
  /** From a line's write to the moment at which the disk has it; trust, grants and revocations do not wait. */
  readonly syncMs: number;
  /** What one plugin's ops may add to the log; above it they are refused, and the host goes on. */
  readonly pluginBytesPerMinute: number;
  /** How long the same refusal, made again, is counted and not written. */
  readonly repeatMs: number;
  /** Kept free for what must still be written when the disk is full: ends of calls, revocations, crashes. */
  readonly reserveBytes: number;
  /** A segment that is verified, since it is read whole. */
  readonly segmentBytesMax: number;
  /** The end of a segment that is read to learn where it ended. */
  readonly tailBytesMax: number;
}

/** The values in force. */
export const AUDIT_LIMITS: AuditLimits = Object.freeze({
  checkpointMs: 1_000,
  pendingLinesMax: 128,
  syncMs: 100,
  pluginBytesPerMinute: 8 * 1_048_576,
  repeatMs: 1_000,
  reserveBytes: 262_144,
  segmentBytesMax: 1_073_741_824,
  tailBytesMax: 1_048_576,
});
