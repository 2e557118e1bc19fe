/**
 * What a call gives piece by piece, read by whoever made it. It is one call like any other, with its bounds, its approval and its
 * generation, that begins with the first reading. What nobody reads is not made: its guest waits.
 */
import { HostError, type SallyportError, TrustError } from "../permissions/mod.ts";
import {
  type Chunk,
  ChunkWindow,
  type Redactor,
  RUNTIME_LIMITS,
  type StreamSummary,
} from "../runtime/mod.ts";
import type { CallOptions } from "./run.ts";

/** What a caller may say about one stream. */
export interface StreamOptions extends CallOptions {
  /** Lowers how long it may lie unread, milliseconds. */
  readonly idleMs?: number;
}

/** What a stream works with. */
interface StreamParts {
  /** What is called, for messages. */
  readonly id: string;
  /** Cuts out what must not leave. */
  readonly redactor: Redactor;
  /** Makes the call; gives its value, or undefined where it was a stream. Called at the first reading. */
  readonly begin: (chunks: ChunkWindow, signal: AbortSignal) => Promise<unknown>;
}

/** A stream of one call. It is read once, by one reader. */
export class CallStream
  implements AsyncIterableIterator<Chunk, StreamSummary | undefined, unknown>, AsyncDisposable {
  readonly #parts: StreamParts;
  readonly #signal: AbortSignal | undefined;
  readonly #chunks: ChunkWindow;
  readonly #end = new AbortController();
  #ending: NodeJS.Timeout | undefined;
  #call: Promise<void> | null = null;
  /** Whether the call has ended, and nothing is left to be stopped. */
  #isSettled = false;
  #turn: Promise<unknown> = Promise.resolve();
  #isValue: boolean | null = null;
  #summary: StreamSummary | null = null;

  /** Use `tenant.stream`. */
  constructor(parts: StreamParts, { signal, idleMs }: Pick<StreamOptions, "signal" | "idleMs"> = {}) {
    this.#parts = parts;
    this.#signal = signal;
    const { id, redactor } = parts;
    this.#chunks = new ChunkWindow({ id, redactor, idleMs, onOver: (isAtOnce) => this.#stop(isAtOnce) });
  }

  /** What was read, once all of it was: of a stream that ended early, or was left, there is none. */
  get summary(): StreamSummary | null {
    return this.#summary;
  }

  /** Whether the call gave one value instead of a stream, which is then all that comes; null before anything is there. */
  get isValue(): boolean | null {
    return this.#isValue;
  }

  /** Itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next value: text, bytes or JSON. Throws what ended the stream, once all that came before was read. */
  next(): Promise<IteratorResult<Chunk, StreamSummary | undefined>> {
    const turn = this.#turn.then(() => this.#next());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Reads no further: the guest's cleanup runs, within a moment, and the call has ended when this settles. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#call ??= this.#never();
    if (this.#summary === null) this.#chunks.cancel(null);
    await this.#call;
    return { done: true, value: undefined };
  }

  /** The same, for a reader that failed. */
  async throw(error: unknown): Promise<IteratorReturnResult<undefined>> {
    await this.return();
    throw error;
  }

  /** The same, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async #next(): Promise<IteratorResult<Chunk, StreamSummary | undefined>> {
    this.#call ??= this.#begin();
    const taken = await this.#chunks.take();
    if (taken !== null) {
      this.#isValue ??= false;
      return { done: false, value: taken.chunk };
    }
    await this.#call;
    if (this.#isEnded) this.#summary ??= this.#chunks.summary;
    return { done: true, value: this.#summary ?? undefined };
  }

  get #isEnded(): boolean {
    return this.#isValue !== null && this.#chunks.isWhole;
  }

  async #begin(): Promise<void> {
    const onAbort = (): void => this.#chunks.cancel(cancelled(this.#parts.id));
    this.#signal?.addEventListener("abort", onAbort, { once: true });
    try {
      if (this.#signal?.aborted) return onAbort();
      const value = await this.#parts.begin(this.#chunks, this.#end.signal);
      this.#isSettled = true;
      this.#isValue = value !== undefined;
      if (value !== undefined) this.#chunks.end({ value });
    } catch (error) {
      this.#isSettled = true;
      // The cast holds: calls throw nothing else.
      const failure = error as SallyportError;
      // What nobody approves of any more is not read to its end.
      if (failure instanceof TrustError) this.#chunks.cancel(failure);
      else this.#chunks.fail(failure);
    } finally {
      this.#isSettled = true;
      clearTimeout(this.#ending);
      this.#signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Who leaves before they have begun has made no call. */
  async #never(): Promise<void> {
    this.#isSettled = true;
  }

  /** A guest that does not end by itself is ended. */
  #stop(isAtOnce: boolean): void {
    if (this.#isSettled) return;
    if (isAtOnce) this.#end.abort();
    else this.#ending = setTimeout(() => this.#end.abort(), RUNTIME_LIMITS.streamReturnMs);
  }
}

/** Reads a stream for what its guest does meanwhile: gives its one value, or what was read. */
export async function readWhole(stream: CallStream): Promise<unknown> {
  let last: unknown = null;
  for await (const value of stream) last = value;
  return stream.isValue === true ? last : stream.summary;
}

function cancelled(id: string): HostError {
  return new HostError("ERR_CALL_CANCELLED", `The stream of "${id}" was cancelled by its caller`);
}
