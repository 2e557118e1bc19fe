/** Every bound of the runtime in one table, each with its unit last in its name. */

/** What one isolate and each of its calls may use; a manifest asks, the tenant's policy caps. */
export interface GuestLimits {
  /** Heap of the isolate. */
  readonly memoryMb: number;
  /** Processor time of one call. */
  readonly cpuMs: number;
  /** Time from the start of a call to its end, waiting included. */
  readonly wallMs: number;
  /** Operations that one isolate may ask for, on average; it may save up two seconds' worth. */
  readonly opsPerSecondMax: number;
}

/** The defaults of the library; the command line lowers `wallMs`. */
export const GUEST_LIMITS: GuestLimits = Object.freeze({
  memoryMb: 64,
  cpuMs: 60_000,
  wallMs: 300_000,
  opsPerSecondMax: 25_000,
});

/** The least heap that the engine makes an isolate with. */
export const MEMORY_MB_MIN = 8;

/** The greatest values that a policy may grant. */
export const GUEST_LIMITS_MAX: GuestLimits = Object.freeze({
  memoryMb: 4_096,
  cpuMs: 3_600_000,
  wallMs: 3_600_000,
  opsPerSecondMax: 25_000,
});

/** Bounds of requests to other machines; per request unless they say otherwise. */
export interface NetLimits {
  /** Time from the op to its answer: look-ups, every hop and the body. */
  readonly fetchMs: number;
  /** One look-up of a name. */
  readonly dnsMs: number;
  /** One attempt to connect to one address, TLS included. */
  readonly connectMs: number;
  /** Addresses of one name that are looked at. */
  readonly addressesMax: number;
  /** A URL, in characters, before and after it is parsed. */
  readonly urlCharactersMax: number;
  /** Headers of a request, names and values. */
  readonly requestHeaderBytesMax: number;
  /** Body of a request. */
  readonly requestBytesMax: number;
  /** Head of a response. */
  readonly responseHeaderBytesMax: number;
  /** Body of a response, before and after decoding. */
  readonly responseBytesMax: number;
  /** How many times larger than its encoded form a decoded body may be; small ones are excepted. */
  readonly inflateRatioMax: number;
  /** Redirects followed. */
  readonly redirectsMax: number;
  /** Connections of one tenant at once; further requests wait. */
  readonly socketsPerTenant: number;
  /** Look-ups of one tenant at once, since the system serves only a few; further ones wait. */
  readonly lookupsPerTenant: number;
  /** Look-ups of one tenant, on average; a minute's worth may be saved up. */
  readonly dnsPerMinute: number;
}

/** The values in force. */
export const NET_LIMITS: NetLimits = Object.freeze({
  fetchMs: 60_000,
  dnsMs: 5_000,
  connectMs: 5_000,
  addressesMax: 16,
  urlCharactersMax: 8_192,
  requestHeaderBytesMax: 32_768,
  requestBytesMax: 4 * 1_048_576,
  responseHeaderBytesMax: 32_768,
  responseBytesMax: 8 * 1_048_576,
  inflateRatioMax: 100,
  redirectsMax: 20,
  socketsPerTenant: 16,
  lookupsPerTenant: 4,
  dnsPerMinute: 600,
});

/** Bounds of asking the operator; per isolate unless they say otherwise. */
export interface AskLimits {
  /** How long one question waits for its answer, which is then no; the deadline of the call stands still meanwhile. */
  readonly askMs: number;
  /** Questions; further ones are answered no. */
  readonly questionsMax: number;
  /** A value that is asked about; a longer one is answered no. */
  readonly questionBytesMax: number;
  /** What the code of an isolate may give up, one by one. */
  readonly revocationsMax: number;
}

/** The values in force. */
export const ASK_LIMITS: AskLimits = Object.freeze({
  askMs: 120_000,
  questionsMax: 100,
  questionBytesMax: 10_240,
  revocationsMax: 1_000,
});

/** Bounds of programs that plugins start; per program unless they say otherwise. */
export interface CommandLimits {
  /** From its start to its end, the sandbox's own included. */
  readonly wallMs: number;
  /** What it writes to its standard output; above it is stopped, and nothing of it is told. */
  readonly stdoutBytes: number;
  /** What it writes to its standard error. */
  readonly stderrBytes: number;
  /** Processes and threads at once, itself included. */
  readonly processes: number;
  /** Address space of each of its processes. */
  readonly addressSpaceMb: number;
  /** Files that each of its processes may have open. */
  readonly files: number;
  /** What its folder for temporary files holds, and the largest file that it writes. */
  readonly scratchMb: number;
  /** Arguments. */
  readonly argumentsMax: number;
  /** Arguments and environment together, as the system holds them. */
  readonly argumentBytesMax: number;
  /** Programs of one tenant at once; further ones wait. */
  readonly commandsPerTenant: number;
  /** The same for hooks that are programs: what guests start must not keep from answering what guards them. */
  readonly hooksPerTenant: number;
  /** How many of these one plugin's may be. */
  readonly hooksPerPlugin: number;
}

/** The values in force. */
export const COMMAND_LIMITS: CommandLimits = Object.freeze({
  wallMs: 60_000,
  stdoutBytes: 8 * 1_048_576,
  stderrBytes: 1_048_576,
  processes: 64,
  addressSpaceMb: 4_096,
  files: 256,
  scratchMb: 64,
  argumentsMax: 1_024,
  argumentBytesMax: 98_304,
  commandsPerTenant: 4,
  hooksPerTenant: 8,
  hooksPerPlugin: 2,
});

/** Bounds that are the same for every plugin. */
export interface RuntimeLimits {
  /** Input of one call, as JSON text. */
  readonly inputBytesMax: number;
  /** Brackets open at once in an input. */
  readonly inputDepthMax: number;
  /** Values in an input, each member and element counted. */
  readonly inputNodesMax: number;
  /** Result of one call, as JSON text. */
  readonly resultBytesMax: number;
  /** Brackets open at once in a result. */
  readonly resultDepthMax: number;
  /** Values in a result, each member and element counted: a value takes far more memory than its text. */
  readonly resultNodesMax: number;
  /** What a call answers when it fails, as JSON text. */
  readonly errorAnswerBytesMax: number;
  /** Brackets open at once in such an answer. */
  readonly errorAnswerDepthMax: number;
  /** One op's arguments, as JSON text. */
  readonly opBytesMax: number;
  /** Brackets open at once in one op's arguments. */
  readonly opDepthMax: number;
  /** Values in one op's arguments, each member and element counted. */
  readonly opNodesMax: number;
  /** Arguments of one isolate's ops that have not been answered; above it the call ends. */
  readonly opBytesInFlightMax: number;
  /** The answer to one op, as JSON text; escapes can make it larger than what was read. */
  readonly opAnswerBytesMax: number;
  /** Ops of one isolate that have not been answered; the guest's `op()` itself rejects above it. */
  readonly opsInFlightMax: number;
  /** Ops that one call may ask for; above it the call ends. */
  readonly opsPerCallMax: number;
  /** Calls that one isolate serves at once. */
  readonly callsInFlightMax: number;
  /** Calls of one tenant, on average, unless its policy says less; a second's worth may be saved up. */
  readonly callsPerSecondMax: number;
  /** Calls of one tenant that begin in a millisecond while other tenants make calls as well; further ones wait. */
  readonly callsPerMsBesideOthersMax: number;
  /** How long after another tenant's call a tenant counts as one beside others. */
  readonly besideOthersMs: number;
  /** Calls of one tenant that wait for their turn. */
  readonly callsWaitingMax: number;
  /** Plugins that one tenant may have; what is found beyond is not read. */
  readonly pluginsPerTenantMax: number;
  /** Descriptors that the work of one tenant may hold open: files, sockets and pipes of programs; the bounds of each add up to less. */
  readonly descriptorsPerTenantMax: number;
  /** Calls from plugin to plugin in one chain. */
  readonly callDepthMax: number;
  /** Streams of one tenant that are under way at once. */
  readonly streamsPerTenantMax: number;
  /** Values of one stream that nobody has taken yet; its guest then waits. */
  readonly streamChunksAheadMax: number;
  /** The same in bytes; one value more may be there. */
  readonly streamBytesAheadMax: number;
  /** One value of a stream: a text as UTF-8, bytes as they are, all else as JSON text. */
  readonly streamChunkBytesMax: number;
  /** All of one stream, or of one body. */
  readonly streamBytesMax: number;
  /** How long a stream waits for whoever reads it, with something there to be read. */
  readonly streamIdleMs: number;
  /** Time of a guest for its cleanup when nobody reads its stream any more. */
  readonly streamReturnMs: number;
  /** One piece of a body, in bytes or characters; what is larger is cut. */
  readonly bodyPieceBytesMax: number;
  /** Between two reports of one call's progress; of those in between the last is told. */
  readonly progressMsMin: number;
  /** The words in such a report; the rest is cut. */
  readonly progressMessageCharsMax: number;
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
  /** Entries of a tree that one operation removes or moves. */
  readonly treeEntriesMax: number;
  /** Directories below one another in such a tree; each is held open meanwhile. */
  readonly treeDepthMax: number;
  /** Entries below what no grant reaches that are looked at to find a file with several names; above it none is read. */
  readonly sealedEntriesMax: number;
  /** How long what was found out about other names is used. */
  readonly sealedRememberedMs: number;
  /** One key of a storage. */
  readonly storageKeyBytesMax: number;
  /** One value of a storage, as JSON text. */
  readonly storageValueBytesMax: number;
  /** Keys of one plugin's storage. */
  readonly storageKeysMax: number;
  /** What one plugin's storage holds, keys and values, whatever its grant says. */
  readonly storageBytesMax: number;
  /** What all storages of one tenant hold, as a file. */
  readonly storageBytesPerTenantMax: number;
  /** Symbolic links followed in one path. */
  readonly linksPerPathMax: number;
  /** File operations of one host that are under way at once, so that no plugin holds every thread. */
  readonly fileOpsInFlightMax: number;
  /** Code of one target after bundling. */
  readonly codeBytesMax: number;
  /** One frame between host and worker. */
  readonly frameBytesMax: number;
  /** Frames of one worker that are heard before anything else of the host's has its turn. */
  readonly framesPerTurnMax: number;
  /** Bytes that wait to be written to one worker; above it nothing that the worker says is read until it has taken them. */
  readonly queuedBytesPausedAt: number;
  /** Bytes that wait to be written to one worker; above it the worker is stopped. */
  readonly queuedBytesPerWorkerMax: number;
  /** A slice of guest code up to this counts as short. */
  readonly inlineSliceMsMax: number;
  /** Short slices one after the other, after which those of an isolate run inline where they may. */
  readonly inlineAfterSlices: number;
  /** An inline slice above this is one too long. */
  readonly inlineOverrunMs: number;
  /** Short inline slices that make up for one that was too long. */
  readonly inlineForgivenAfter: number;
  /** Inline slices that were too long, after which none of the isolate runs inline any more. */
  readonly inlineOverrunsMax: number;
  /** A worker that has not answered for this long may be running a slice inline: its processor time is looked at. */
  readonly blockedMs: number;
  /** Processor time that it may then go on to use while calls of several owners are under way in it. */
  readonly blockedBesideOthersMs: number;
  /** The same two where other plugins of the tenant are in the worker: they wait for each inline slice. */
  readonly inlineSharedSliceMsMax: number;
  /** An inline slice above this is one too long there. */
  readonly inlineSharedOverrunMs: number;
  /** All inline slices of one turn of the worker's loop there; further ones run apart. */
  readonly inlineSharedTurnMsMax: number;
  /** An isolate in which nothing ran for this long is collected once. */
  readonly tidyIdleMs: number;
  /** Between two looks for such. */
  readonly tidyLookMs: number;
  /** One whose heap holds more is left alone, since collecting it would take long. */
  readonly tidyHeapBytesMax: number;
  /** A target of no more text than this is compiled on the worker's own thread. */
  readonly inlineCompileCharsMax: number;
  /** How long the host stays awake for an answer that may come at once, microseconds. */
  readonly hostAwakeUsMax: number;
  /** How long a worker stays awake for what may follow at once on what it said, microseconds. */
  readonly workerAwakeUsMax: number;
  /** Owners of code that are remembered to be better not run inline. */
  readonly slowOwnersMax: number;
  /** Code from which on a cache is worth its way. */
  readonly cachedCodeBytesMin: number;
  /** How many times larger than its code a heap must be for all of it to be compiled at once. */
  readonly cachedCodeHeapRatioMin: number;
  /** Texts that wait for their cache to be made; further ones are asked for again when they are next loaded. */
  readonly compilesWaitingMax: number;
  /** From the loading of a text without a cache to the making of one, so that what is waited for comes first. */
  readonly compileDelayMs: number;
  /** One code cache. */
  readonly codeCacheBytesMax: number;
  /** Time from the start of a worker process to its first word. */
  readonly workerStartMs: number;
  /** Time for a new isolate to be made and its platform evaluated. */
  readonly isolateStartMs: number;
  /** Between two looks at a worker's resident memory. */
  readonly residentPollMs: number;
  /** Resident memory above what a worker used when it became ready plus what its isolates may use. */
  readonly residentSlackMb: number;
  /** Between two looks of a worker at the processor time of the calls that run in it. */
  readonly cpuPollMs: number;
  /** Between two pings of a worker. */
  readonly pingMs: number;
  /** A worker that has not answered a ping for this long is killed. */
  readonly pongMsMax: number;
  /** Between a guest's last answer and the end of all that its code does. */
  readonly settleMs: number;
  /** Between the order to dispose an isolate and the kill of a worker that has not done so. */
  readonly disposeMs: number;
  /** How often that is waited for, while the worker is given no processor time to do it in. */
  readonly disposeLooksMax: number;
  /** Time for a worker to end by itself when its host closes. */
  readonly workerCloseMs: number;
  /** Frames of one guest's stack that are reported. */
  readonly stackFramesMax: number;
  /** Mappings of a bundle that are read to tell where a guest's stack leads, as text. */
  readonly stackMapBytesMax: number;
  /** One frame of a guest's stack, and any other text of a guest's error. */
  readonly errorTextBytesMax: number;
  /** Failures of one isolate's lifecycle code, at its end, that are told. */
  readonly failuresToldMax: number;
  /** Denials that one call remembers in order to tell its caller. */
  readonly denialsPerCallMax: number;
  /** Granted decisions that are remembered for one isolate. */
  readonly decisionsRememberedMax: number;
  /** `value` of an audit event; the rest is told by its hash. */
  readonly auditValueBytesMax: number;
}

/** The values in force. */
export const RUNTIME_LIMITS: RuntimeLimits = Object.freeze({
  inputBytesMax: 8 * 1_048_576,
  inputDepthMax: 512,
  inputNodesMax: 1_000_000,
  resultBytesMax: 8 * 1_048_576,
  resultDepthMax: 512,
  resultNodesMax: 1_000_000,
  errorAnswerBytesMax: 512 * 1_024,
  errorAnswerDepthMax: 16,
  opBytesMax: 8 * 1_048_576,
  opDepthMax: 64,
  opNodesMax: 100_000,
  opBytesInFlightMax: 64 * 1_048_576,
  opAnswerBytesMax: 24 * 1_048_576,
  opsInFlightMax: 1_024,
  opsPerCallMax: 50_000,
  callsInFlightMax: 64,
  callsPerSecondMax: 50_000,
  callsPerMsBesideOthersMax: 8,
  besideOthersMs: 100,
  callsWaitingMax: 10_000,
  pluginsPerTenantMax: 1_000,
  descriptorsPerTenantMax: 256,
  callDepthMax: 8,
  streamsPerTenantMax: 256,
  streamChunksAheadMax: 16,
  streamBytesAheadMax: 262_144,
  streamChunkBytesMax: 1_048_576,
  streamBytesMax: 1_073_741_824,
  streamIdleMs: 60_000,
  streamReturnMs: 1_000,
  bodyPieceBytesMax: 131_072,
  progressMsMin: 50,
  progressMessageCharsMax: 1_024,
  timersMax: 1_000,
  timerDelayMsMax: 2_147_483_647,
  logBytesPerCallMax: 1_048_576,
  logLinesPerCallMax: 10_000,
  fileBytesMax: 8 * 1_048_576,
  directoryEntriesMax: 10_000,
  treeEntriesMax: 10_000,
  treeDepthMax: 64,
  sealedEntriesMax: 50_000,
  sealedRememberedMs: 1_000,
  storageKeyBytesMax: 512,
  storageValueBytesMax: 1_048_576,
  storageKeysMax: 10_000,
  storageBytesMax: 8 * 1_048_576,
  storageBytesPerTenantMax: 64 * 1_048_576,
  linksPerPathMax: 40,
  fileOpsInFlightMax: 3,
  codeBytesMax: 16 * 1_048_576,
  frameBytesMax: 32 * 1_048_576,
  framesPerTurnMax: 16,
  queuedBytesPausedAt: 32 * 1_048_576,
  queuedBytesPerWorkerMax: 64 * 1_048_576,
  inlineSliceMsMax: 10,
  inlineAfterSlices: 16,
  inlineOverrunMs: 50,
  inlineForgivenAfter: 64,
  inlineOverrunsMax: 3,
  inlineSharedSliceMsMax: 2,
  inlineSharedOverrunMs: 10,
  inlineSharedTurnMsMax: 10,
  tidyIdleMs: 500,
  tidyLookMs: 100,
  tidyHeapBytesMax: 8 * 1_048_576,
  inlineCompileCharsMax: 16_384,
  hostAwakeUsMax: 300,
  workerAwakeUsMax: 1_000,
  blockedMs: 600,
  blockedBesideOthersMs: 400,
  slowOwnersMax: 1_024,
  cachedCodeBytesMin: 4_096,
  cachedCodeHeapRatioMin: 16,
  compilesWaitingMax: 16,
  compileDelayMs: 500,
  codeCacheBytesMax: 16 * 1_048_576,
  workerStartMs: 15_000,
  isolateStartMs: 10_000,
  residentPollMs: 50,
  residentSlackMb: 160,
  cpuPollMs: 50,
  pingMs: 250,
  pongMsMax: 5_000,
  settleMs: 1_000,
  disposeMs: 500,
  disposeLooksMax: 4,
  workerCloseMs: 1_000,
  stackFramesMax: 50,
  stackMapBytesMax: 2 * 1_048_576,
  errorTextBytesMax: 1_024,
  failuresToldMax: 32,
  denialsPerCallMax: 256,
  decisionsRememberedMax: 256,
  auditValueBytesMax: 1_024,
});

/** Bounds of what is cut out of text that leaves. */
export interface RedactionLimits {
  /**
   * The shortest value that is looked for. Shorter ones (`true`, `8080`, `en_US`) are parts of ordinary text: cutting them
   * would eat what a reader needs, and one that a guest can guess tells it, by being cut, that the guess was right.
   */
  readonly knownCharsMin: number;
  /** Values that one tenant's text is searched for; the oldest is forgotten above it. */
  readonly knownValuesMax: number;
  /** How much of a value must stand at the end of a console line to be taken for the beginning of one. */
  readonly begunCharsMin: number;
  /** The longest secret. */
  readonly secretCharsMax: number;
  /** Secrets of one tenant. */
  readonly secretsPerTenantMax: number;
}

/** The values in force. */
export const REDACTION_LIMITS: RedactionLimits = Object.freeze({
  knownCharsMin: 8,
  knownValuesMax: 1_024,
  begunCharsMin: 4,
  secretCharsMax: 4_096,
  secretsPerTenantMax: 256,
});

/** Bounds of the workers of one host. */
export interface PoolLimits {
  /** Workers that serve plugins; whoever needs one more waits until another tenant's, or plugin's, has nothing to do. */
  readonly workersPerHostMax: number;
  /** Workers of one tenant. */
  readonly workersPerTenantMax: number;
  /** Workers of one host that are started at once; further ones wait until one has said its first word. */
  readonly workersStartingMax: number;
  /** Workers that are tried for one isolate, while each ends before it is made. */
  readonly isolateAttemptsMax: number;
  /** Isolates in one worker. */
  readonly isolatesPerWorkerMax: number;
  /** Isolates of one tenant; above it the one that was used least recently ends. */
  readonly isolatesPerTenantMax: number;
  /** Blank isolates that are kept ready in a worker that several plugins share, and in the spare one. */
  readonly blanksShared: number;
  /** Blank isolates that are kept ready in the worker of one plugin. */
  readonly blanksOwn: number;
  /** Between the taking of a blank isolate and the making of the next one, so that the plugin starts first. */
  readonly blankDelayMs: number;
  /** Between the taking of the spare worker and the start of the next one. */
  readonly spareDelayMs: number;
  /** An isolate that was not called for this long ends; the next call starts another. */
  readonly idleIsolateMs: number;
  /** A worker in which no call was under way for this long, and nothing is left to call, ends. */
  readonly idleWorkerMs: number;
  /** Age at which a worker takes no new isolate any more and ends when its last call has. */
  readonly workerAgeMsMax: number;
  /** Isolates made in one worker after which the same happens: the system's allocator gives little back. */
  readonly isolatesMadePerWorkerMax: number;
  /** Resident memory above a worker's own at which the same happens, beside what each isolate in it may keep. */
  readonly recycleMb: number;
  /** What each isolate may keep by that count. */
  readonly recyclePerIsolateMb: number;
  /** Between two looks at what is idle, old or large. */
  readonly sweepMs: number;
  /** The same while somebody waits for a worker. */
  readonly sweepWantedMs: number;
}

/** The bounds for a machine. What a plugin's own worker keeps resident is taken to be 96 MiB, and an idle isolate 8. */
export function poolLimits(machine: { readonly cpus: number; readonly memoryBytes: number }): PoolLimits {
  const megabytes = machine.memoryBytes / 1_048_576;
  const workersPerHostMax = clamp(Math.floor(megabytes / 2 / 96), 4, 32 * machine.cpus);
  return Object.freeze({
    workersPerHostMax,
    workersPerTenantMax: Math.max(3, Math.ceil((workersPerHostMax * 3) / 4)),
    workersStartingMax: clamp(machine.cpus, 2, 8),
    isolateAttemptsMax: 3,
    isolatesPerWorkerMax: 256,
    isolatesPerTenantMax: clamp(Math.floor(megabytes / 4 / 8), 32, 1_024),
    blanksShared: clamp(machine.cpus, 2, 4),
    blanksOwn: 1,
    blankDelayMs: 5,
    spareDelayMs: 20,
    idleIsolateMs: 300_000,
    idleWorkerMs: 60_000,
    workerAgeMsMax: 3_600_000,
    isolatesMadePerWorkerMax: 2_000,
    recycleMb: 256,
    recyclePerIsolateMb: 16,
    sweepMs: 1_000,
    sweepWantedMs: 25,
  });
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
