/** What flows between one call and whoever made it while it is under way. All of it is free: it is the call's own. */

/** One value of a stream: bytes stay bytes, everything else is JSON. */
export type Chunk = unknown;

/** Where a call's stream goes. */
export interface ChunkSink {
  /**
   * Takes the value at this place and settles when there is room for another one: false says that nobody takes any more.
   * Throws a PowerError for a value that may not be.
   */
  push(place: number, chunk: Chunk): Promise<boolean>;
  /** Settles when nothing is taken any more: true before the guest has ended by itself. */
  readonly left: Promise<boolean>;
}

/** Where a call's body comes from. */
export interface BodySource {
  /** The next piece, a text or bytes as base64 in a list, or null at the end. */
  read(signal: AbortSignal): Promise<string | readonly [base64: string] | null>;
}

/** How far a call says it is; all of it is the guest's word. */
export interface Progress {
  /** What is done, in whatever it counts. */
  readonly done: number;
  /** Of how much; null where it does not say. */
  readonly total: number | null;
  /** What it is at; not safe for a terminal. Null where it does not say. */
  readonly message: string | null;
}

/** Where a call's reports of its progress go. */
export interface ProgressSink {
  /** Settles when the next one may be told. */
  report(progress: Progress): Promise<void>;
}

/** What of this one call has. */
export interface CallIo {
  /** Takes its stream; absent where a value is wanted. */
  readonly chunks?: ChunkSink | undefined;
  /** What it reads piece by piece; absent is none. */
  readonly body?: BodySource | undefined;
  /** Hears how far it is; absent is nobody. */
  readonly progress?: ProgressSink | undefined;
}
