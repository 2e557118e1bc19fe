/**
 * Frames between the host and a child process: nothing but bytes and JSON crosses. The decoder trusts nothing; a frame
 * longer than its bound is an error that the reader answers by killing the process.
 *
 * Layout, little endian: u32 length of what follows | u8 type | u32 isolate | u32 id | payload.
 */

/** One message on the pipe. */
export interface Frame {
  /** What the message is; each protocol has its own table of numbers. */
  readonly type: number;
  /** The isolate that it concerns; 0 when it concerns the process. */
  readonly isolate: number;
  /** The call, op or build that it belongs to; 0 when none. */
  readonly id: number;
  /** UTF-8 text, or bytes. */
  readonly payload: Uint8Array;
}

const HEADER_BYTES = 13;
const FIXED_BYTES = HEADER_BYTES - 4;

/** Encodes one frame; text is sent as UTF-8. */
export function encodeFrame(type: number, isolate: number, id: number, payload: Uint8Array | string): Buffer {
  const length = typeof payload === "string" ? Buffer.byteLength(payload) : payload.byteLength;
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  frame.writeUInt32LE(FIXED_BYTES + length, 0);
  frame.writeUInt8(type, 4);
  frame.writeUInt32LE(isolate, 5);
  frame.writeUInt32LE(id, 9);
  if (typeof payload === "string") frame.write(payload, HEADER_BYTES, "utf8");
  else frame.set(payload, HEADER_BYTES);
  return frame;
}

/** Puts a JSON header and raw bytes into one payload. */
export function joinParts(header: unknown, body: Uint8Array | string): Buffer {
  const head = Buffer.from(JSON.stringify(header));
  const tail = typeof body === "string" ? Buffer.from(body) : body;
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32LE(head.byteLength, 0);
  return Buffer.concat([length, head, tail]);
}

/** Takes apart what `joinParts` made; throws a RangeError when it made none of this. */
export function splitParts(payload: Uint8Array): { readonly header: unknown; readonly body: Buffer } {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const end = bytes.byteLength < 4 ? Infinity : 4 + bytes.readUInt32LE(0);
  if (end > bytes.byteLength) throw new RangeError("a payload is shorter than its header says");
  return { header: parseHeader(bytes.toString("utf8", 4, end)), body: bytes.subarray(end) };
}

function parseHeader(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new RangeError("a payload's header is not JSON", { cause });
  }
}

/** Payload as text. */
export function textOf(frame: Frame): string {
  return Buffer.from(frame.payload.buffer, frame.payload.byteOffset, frame.payload.byteLength).toString(
    "utf8",
  );
}

/** Cuts a stream of chunks into frames. */
export class FrameDecoder {
  readonly #frameBytesMax: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** `frameBytesMax` bounds the whole frame, header included. */
  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax;
  }

  /** Takes one chunk and gives the frames that it completes. Throws a RangeError on a length out of bounds. */
  push(chunk: Uint8Array): Frame[] {
    this.#chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    this.#bytes += chunk.byteLength;
    const frames: Frame[] = [];
    for (let size = this.#nextSize(); size > 0 && this.#bytes >= size; size = this.#nextSize()) {
      frames.push(parse(this.#take(size)));
    }
    return frames;
  }

  /** Bytes of the next frame with its header, or 0 while its header is incomplete. */
  #nextSize(): number {
    if (this.#bytes < HEADER_BYTES) return 0;
    if (this.#chunks[0]!.byteLength < HEADER_BYTES) this.#chunks = [Buffer.concat(this.#chunks)];
    const length = this.#chunks[0]!.readUInt32LE(0);
    if (length < FIXED_BYTES || length + 4 > this.#frameBytesMax) {
      throw new RangeError(
        `a frame declares ${length} bytes; between ${FIXED_BYTES} and ${this.#frameBytesMax} are allowed`,
      );
    }
    return length + 4;
  }

  #take(size: number): Buffer {
    // Joining only when the frame is complete keeps a slow large frame from being copied once per chunk.
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#bytes -= size;
    this.#chunks = this.#bytes > 0 ? [all.subarray(size)] : [];
    return all.subarray(0, size);
  }
}

function parse(bytes: Buffer): Frame {
  return {
    type: bytes.readUInt8(4),
    isolate: bytes.readUInt32LE(5),
    id: bytes.readUInt32LE(9),
    payload: bytes.subarray(HEADER_BYTES),
  };
}
