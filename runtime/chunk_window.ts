/**
 * What a stream's guest has given and its reader has not taken yet: a few values and no more, since the guest waits for its
 * turn. Nothing that a guest says is believed: values are counted, and one that is out of order ends the stream.
 */
import { createHash } from "node:crypto";
import { GuestError, LimitError, type SallyportError } from "../permissions/mod.ts";
import type { Chunk, ChunkSink } from "./call_io.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import { PowerError } from "./powers.ts";
import { redactChunks } from "./redact_chunks.ts";
import type { Redactor } from "./redact.ts";

/** What was read of a stream, for whoever wants to compare. */
export interface StreamSummary {
  /** Values. */
  readonly chunks: number;
  /** Their bytes: texts as UTF-8, bytes as they are, all else as JSON text. */
  readonly bytes: number;
  /** Hash of those bytes one after the other, in hexadecimal. */
  readonly sha256: string;
}

/** How a window is made. */
export interface ChunkWindowOptions {
  /** Cuts out what must not leave. */
  readonly redactor: Redactor;
  /** Whose stream it is, for messages. */
  readonly id: string;
  /** Told once, when the guest must end: at once, or as soon as it has cleaned up. */
  readonly onOver: (isAtOnce: boolean) => void;
  /** How long it waits for its reader; absent is the bound of all. */
  readonly idleMs?: number | undefined;
}

/** The values of one stream on their way. */
export class ChunkWindow implements ChunkSink {
  readonly #options: ChunkWindowOptions;
  readonly #redaction: ReturnType<typeof redactChunks>;
  readonly #hash = createHash("sha256");
  readonly #waiting: { readonly chunk: Chunk; readonly encoded: Uint8Array }[] = [];
  #aheadBytes = 0;
  #given = 0;
  #givenBytes = 0;
  #taken = 0;
  #takenBytes = 0;
  #isPushing = false;
  /** Its reader takes no more. */
  #isLeft = false;
  /** Nothing is taken of the guest any more. */
  #isOver = false;
  #end: { readonly error: SallyportError | null } | null = null;
  #isTold = false;
  #wakeReader: (() => void) | null = null;
  #wakeGuest: (() => void) | null = null;
  #idle: NodeJS.Timeout | undefined;
  readonly #leaving = Promise.withResolvers<boolean>();
  /** What each value is held to; absent is nothing. Throws for one that does not fit. */
  check: ((chunk: Chunk) => Promise<void>) | undefined;

  /** Holds nothing yet. */
  constructor(options: ChunkWindowOptions) {
    this.#options = options;
    this.#redaction = redactChunks(options.redactor);
  }

  /** Settles when nothing is taken any more: true before the guest has ended by itself. */
  get left(): Promise<boolean> {
    return this.#leaving.promise;
  }

  /** What the stream ended with, if not well. */
  get error(): SallyportError | null {
    return this.#end?.error ?? null;
  }

  /** How many values the guest has given. */
  get given(): number {
    return this.#given;
  }

  /** Whether the guest ended well and all that it gave was taken. */
  get isWhole(): boolean {
    return this.#end?.error === null && this.#waiting.length === 0 && !this.#isLeft;
  }

  /** What the reader has taken so far. */
  get summary(): StreamSummary {
    return {
      chunks: this.#taken,
      bytes: this.#takenBytes,
      sha256: this.#hash.copy().digest("hex"),
    };
  }

  /** Takes the guest's next value; false where nobody wants one. Throws a PowerError for a value that may not be. */
  async push(place: number, chunk: Chunk): Promise<boolean> {
    if (this.#isOver) return false;
    if (this.#isPushing || place !== this.#given) {
      this.fail(outOfOrder(this.#options.id), true);
      return false;
    }
    this.#isPushing = true;
    this.#given += 1;
    try {
      this.#refuseLarge(encodedOf(chunk).byteLength);
      try {
        await this.check?.(chunk);
      } catch (error) {
        // The cast holds: what a value is held to throws nothing else.
        this.fail(error as SallyportError);
        return false;
      }
      for (const each of this.#redaction.next(chunk)) this.#put(each);
      await this.#room();
    } finally {
      this.#isPushing = false;
    }
    return !this.#isOver;
  }

  /** The next value for the reader, or null at the end. Throws what the stream ended with, once all before it was taken. */
  async take(): Promise<{ readonly chunk: Chunk } | null> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        this.#aheadBytes -= next.encoded.byteLength;
        this.#taken += 1;
        this.#takenBytes += next.encoded.byteLength;
        this.#hash.update(next.encoded);
        this.#watch();
        if (this.#hasRoom) this.#wakeGuest?.();
        return { chunk: next.chunk };
      }
      if (this.#end?.error && !this.#isTold) {
        this.#isTold = true;
        throw this.#end.error;
      }
      if (this.#end !== null) return null;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wakeReader = resolve;
      await promise;
    }
  }

  /** The guest has ended well, and given so many values; or gave one value instead of a stream. */
  end(how: { readonly streamed: number } | { readonly value: Chunk }): void {
    if (this.#isOver) return this.#over(null);
    if ("value" in how) this.#put(how.value);
    else if (how.streamed !== this.#given || this.#isPushing) {
      return this.fail(outOfOrder(this.#options.id), true);
    }
    for (const each of this.#redaction.rest()) this.#put(each);
    this.#leaving.resolve(false);
    this.#over(null);
  }

  /** The stream ends with an error, unless it has ended. */
  fail(error: SallyportError, isAtOnce = false): void {
    if (this.#end !== null) return;
    this.#over(error);
    this.#options.onOver(isAtOnce);
  }

  /** Nobody reads on: what is there is dropped, and the guest is told at its next value. */
  cancel(error: SallyportError | null, isAtOnce = false): void {
    const hadEnded = this.#end !== null;
    this.#isLeft = true;
    this.#waiting.length = 0;
    this.#aheadBytes = 0;
    this.#end = { error };
    this.#over(error);
    if (!hadEnded) this.#options.onOver(isAtOnce);
  }

  #over(error: SallyportError | null): void {
    this.#isOver = true;
    this.#end ??= { error };
    this.#leaving.resolve(true);
    clearTimeout(this.#idle);
    this.#wakeReader?.();
    this.#wakeGuest?.();
  }

  #put(chunk: Chunk): void {
    const encoded = encodedOf(chunk);
    this.#waiting.push({ chunk, encoded });
    this.#aheadBytes += encoded.byteLength;
    this.#watch();
    this.#wakeReader?.();
  }

  get #hasRoom(): boolean {
    return this.#waiting.length < RUNTIME_LIMITS.streamChunksAheadMax &&
      this.#aheadBytes < RUNTIME_LIMITS.streamBytesAheadMax;
  }

  async #room(): Promise<void> {
    while (!this.#isOver && !this.#hasRoom) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wakeGuest = resolve;
      await promise;
    }
  }

  #refuseLarge(bytes: number): void {
    const { streamChunkBytesMax, streamBytesMax } = RUNTIME_LIMITS;
    this.#givenBytes += bytes;
    const row = bytes > streamChunkBytesMax
      ? "streamChunkBytesMax"
      : this.#givenBytes > streamBytesMax
      ? "streamBytesMax"
      : null;
    if (row === null) return;
    const what = row === "streamChunkBytesMax" ? "one of its values" : "it";
    const more = `${what} has more than ${RUNTIME_LIMITS[row]} bytes (${row})`;
    this.fail(
      new LimitError("ERR_LIMIT_SIZE", `Cannot read the stream of "${this.#options.id}": ${more}`, {
        details: { [row]: RUNTIME_LIMITS[row] },
      }),
    );
    throw new PowerError("LimitError", "ERR_LIMIT_SIZE", `Cannot give this value: ${more}`);
  }

  /** A reader that comes no more must not keep a guest, and what it has given, until the call's own bound. */
  #watch(): void {
    clearTimeout(this.#idle);
    if (this.#waiting.length === 0 || this.#isOver) return;
    const idleMs = Math.min(this.#options.idleMs ?? Infinity, RUNTIME_LIMITS.streamIdleMs);
    this.#idle = setTimeout(() => this.cancel(unread(this.#options.id, idleMs)), idleMs);
    this.#idle.unref();
  }
}

function encodedOf(chunk: Chunk): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  return Buffer.from(typeof chunk === "string" ? chunk : JSON.stringify(chunk) ?? "null");
}

function outOfOrder(id: string): GuestError {
  return new GuestError(
    "ERR_RESULT_INVALID",
    `Cannot read the stream of "${id}": its values came out of order, or not all of them`,
  );
}

function unread(id: string, idleMs: number): LimitError {
  return new LimitError(
    "ERR_LIMIT_WALL",
    `Nobody read the stream of "${id}" for ${idleMs} ms (streamIdleMs), so it was ended`,
    { details: { streamIdleMs: idleMs } },
  );
}
