/** The body of one call: what its caller gives piece by piece, handed to the guest as it asks for it. */
import type { BodySource } from "./call_io.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import { PowerError } from "./powers.ts";

/** What a caller may give as a body. */
export type Body = AsyncIterable<Uint8Array | string>;

/** Reads a body once, no faster than the guest does. */
export class BodyReader implements BodySource {
  readonly #body: Body;
  #iterator: AsyncIterator<unknown> | null = null;
  #rest: Uint8Array | string = "";
  #bytes = 0;
  #isOver = false;
  #lane: Promise<unknown> = Promise.resolve();

  /** Asks for nothing yet. */
  constructor(body: Body) {
    this.#body = body;
  }

  /** The next piece, cut to the bound. Throws a PowerError when the body fails, or holds more than it may. */
  read(signal: AbortSignal): Promise<string | readonly [base64: string] | null> {
    const turn = this.#lane.then(() => this.#read(signal));
    this.#lane = turn.catch(() => {});
    return turn;
  }

  /** Tells its maker that nobody reads on. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#rest = "";
    try {
      // One that nobody began to read may hold something all the same. Nobody waits for it any more.
      this.#iterator ??= this.#body[Symbol.asyncIterator]();
      void Promise.resolve(this.#iterator.return?.()).catch(() => {});
    } catch {
      // It cannot be read, so there is nothing to leave.
    }
  }

  async #read(signal: AbortSignal): Promise<string | readonly [base64: string] | null> {
    while (this.#rest.length === 0) {
      if (this.#isOver) return null;
      const step = await orEnd(this.#next(), signal);
      if (step.done === true) {
        this.#isOver = true;
        return null;
      }
      this.#take(step.value);
    }
    const [piece, rest] = halved(this.#rest);
    this.#rest = rest;
    return typeof piece === "string" ? piece : [Buffer.from(piece).toString("base64")];
  }

  async #next(): Promise<IteratorResult<unknown>> {
    try {
      this.#iterator ??= this.#body[Symbol.asyncIterator]();
      return await this.#iterator.next();
    } catch {
      this.#isOver = true;
      // Why is the caller's own affair, and no guest's.
      throw new PowerError("UnexpectedEof", "ERR_BODY_FAILED", "The body ended before it was whole");
    }
  }

  #take(piece: unknown): void {
    const { streamBytesMax } = RUNTIME_LIMITS;
    if (typeof piece !== "string" && !(piece instanceof Uint8Array)) {
      this.close();
      throw new PowerError("InvalidData", "ERR_BODY_FAILED", "The body holds what is neither text nor bytes");
    }
    this.#bytes += typeof piece === "string" ? Buffer.byteLength(piece) : piece.byteLength;
    if (this.#bytes > streamBytesMax) {
      this.close();
      throw new PowerError("LimitError", "ERR_LIMIT_SIZE", `The body has more than ${streamBytesMax} bytes`);
    }
    this.#rest = piece;
  }
}

/** What fits into one answer, and the rest; no character is cut in two. */
function halved<Piece extends Uint8Array | string>(piece: Piece): readonly [Piece, Piece] {
  const { bodyPieceBytesMax } = RUNTIME_LIMITS;
  if (piece.length <= bodyPieceBytesMax) return [piece, piece.slice(piece.length) as Piece];
  const isPair = typeof piece === "string" && /[\uD800-\uDBFF]/.test(piece[bodyPieceBytesMax - 1]!);
  const end = bodyPieceBytesMax - (isPair ? 1 : 0);
  // The cast holds: a part of a text is a text, and of bytes bytes.
  const part = (from: number, to?: number): Piece =>
    (typeof piece === "string" ? piece.slice(from, to) : piece.subarray(from, to)) as Piece;
  return [part(0, end), part(end)];
}

/** Whoever makes the body may take for ever; the call does not. */
async function orEnd<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(new PowerError("Interrupted", "ERR_CALL_ENDED", "The call has ended"));
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, ended]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
