/** Every bound of the runtime in one table, each with its unit last in its name. */

/** What one isolate and each of its calls may use; a manifest asks, the tenant's policy caps. */
export interface GuestLimits {
  /** Heap of the isolate. */
  readonly memoryMb: number;
  /** Processor time of one call. */
  readonly cpuMs: number;
  /** Time from the start of a call to its end, waiting included. */
  readonly wallMs: number;
}

/** The defaults of the library; the command line lowers `wallMs`. */
export const GUEST_LIMITS: GuestLimits = Object.freeze({ memoryMb: 64, cpuMs: 60_000, wallMs: 300_000 });

/** The greatest values that a policy may grant. */
export const GUEST_LIMITS_MAX: GuestLimits = Object.freeze({
  memoryMb: 4_096,
  cpuMs: 3_600_000,
  wallMs: 3_600_000,
});

/** Bounds that are the same for every plugin. */
export interface RuntimeLimits {
  /** Input of one call, as JSON text. */
  readonly inputBytesMax: number;
  /** Result of one call, as JSON text. */
  readonly resultBytesMax: number;
  /** Brackets open at once in a result. */
  readonly resultDepthMax: number;
  /** One op's arguments, as JSON text. */
  readonly opBytesMax: number;
  /** Ops of one isolate that have not been answered; the guest's `op()` itself rejects above it. */
  readonly opsInFlightMax: number;
  /** Ops that one call may ask for; above it the call ends. */
  readonly opsPerCallMax: number;
  /** Calls that one isolate serves at once. */
  readonly callsInFlightMax: number;
  /** Timers that one isolate may have waiting. */
  readonly timersMax: number;
  /** Longest delay of a timer. */
  readonly timerDelayMsMax: number;
  /** Console text of one call; what is above is dropped, and said. */
  readonly logBytesPerCallMax: number;
  /** Console lines of one call. */
  readonly logLinesPerCallMax: number;
  /** One file read by a plugin. */
  readonly fileBytesMax: number;
  /** Entries of one directory listed by a plugin. */
  readonly directoryEntriesMax: number;
  /** Symbolic links followed in one path. */
  readonly linksPerPathMax: number;
  /** File operations of one host that are under way at once, so that no plugin holds every thread. */
  readonly fileOpsInFlightMax: number;
  /** Code of one target after bundling. */
  readonly codeBytesMax: number;
  /** One frame between host and worker. */
  readonly frameBytesMax: number;
  /** Bytes that wait to be written to one worker; above it the worker is stopped. */
  readonly queuedBytesPerWorkerMax: number;
  /** The engine's own bound of one slice; behind the host's deadline, and the same for all, as the engine wants it. */
  readonly sliceMs: number;
  /** Time from the start of a worker process to its first word. */
  readonly workerStartMs: number;
  /** Time for a new isolate to be made and its platform evaluated. */
  readonly isolateStartMs: number;
  /** Between two looks at a worker's resident memory. */
  readonly residentPollMs: number;
  /** Resident memory above what a worker used when it became ready plus what its isolates may use. */
  readonly residentSlackMb: number;
  /** Between two pings of a worker. */
  readonly pingMs: number;
  /** A worker that has not answered a ping for this long is killed. */
  readonly pongMsMax: number;
  /** Between the order to dispose an isolate and the kill of a worker that has not done so. */
  readonly disposeMs: number;
  /** Time for a worker to end by itself when its host closes. */
  readonly workerCloseMs: number;
  /** Frames of one guest's stack that are reported. */
  readonly stackFramesMax: number;
  /** One frame of a guest's stack, and any other text of a guest's error. */
  readonly errorTextBytesMax: number;
  /** Denials that one call remembers in order to tell its caller. */
  readonly denialsPerCallMax: number;
  /** `value` of an audit event; the rest is told by its hash. */
  readonly auditValueBytesMax: number;
}

/** The values in force. */
export const RUNTIME_LIMITS: RuntimeLimits = Object.freeze({
  inputBytesMax: 8 * 1_048_576,
  resultBytesMax: 8 * 1_048_576,
  resultDepthMax: 512,
  opBytesMax: 8 * 1_048_576,
  opsInFlightMax: 1_024,
  opsPerCallMax: 50_000,
  callsInFlightMax: 64,
  timersMax: 1_000,
  timerDelayMsMax: 2_147_483_647,
  logBytesPerCallMax: 1_048_576,
  logLinesPerCallMax: 10_000,
  fileBytesMax: 8 * 1_048_576,
  directoryEntriesMax: 10_000,
  linksPerPathMax: 40,
  fileOpsInFlightMax: 3,
  codeBytesMax: 16 * 1_048_576,
  frameBytesMax: 32 * 1_048_576,
  queuedBytesPerWorkerMax: 64 * 1_048_576,
  sliceMs: 3_700_000,
  workerStartMs: 15_000,
  isolateStartMs: 10_000,
  residentPollMs: 50,
  residentSlackMb: 160,
  pingMs: 1_000,
  pongMsMax: 5_000,
  disposeMs: 500,
  workerCloseMs: 1_000,
  stackFramesMax: 50,
  errorTextBytesMax: 1_024,
  denialsPerCallMax: 256,
  auditValueBytesMax: 1_024,
});
