/**
 * Frames between the host and a child process: nothing but bytes and JSON crosses. The decoder trusts nothing; a frame
 * longer than its bound is an error that the reader answers by killing the process.
 *
 * Layout, little endian: u32 length of what follows | u8 type | u32 isolate | u32 id | payload. What belongs to a call
 * beside its own number has the call's in front of its payload, as a u32.
 */
import process from "node:process";

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
const CALL_BYTES = 4;
/** The most bytes that one character of a string becomes. */
const BYTES_PER_UNIT_MAX = 3;
/** Frames are written into pieces of memory of this size; a larger one gets memory of its own. */
const SLAB_BYTES = 65_536;
/** A reader should not wait for the last of many frames before it begins with the first. */
const FRAMES_PER_WRITE_MAX = 16;

/** Encodes one frame; text is sent as UTF-8. With `call`, the payload begins with the number of a call. */
export function encodeFrame(
  type: number,
  isolate: number,
  id: number,
  payload: Uint8Array | string,
  call?: number,
): Buffer {
  const head = HEADER_BYTES + (call === undefined ? 0 : CALL_BYTES);
  const length = typeof payload === "string" ? Buffer.byteLength(payload) : payload.byteLength;
  const frame = Buffer.allocUnsafe(head + length);
  putFrame(frame, 0, type, isolate, id, payload, call);
  return frame;
}

/** Writes a frame into memory that has room for it, and gives where it ends. */
function putFrame(
  into: Buffer,
  at: number,
  type: number,
  isolate: number,
  id: number,
  payload: Uint8Array | string,
  call: number | undefined,
): number {
  let end = at + HEADER_BYTES;
  if (call !== undefined) end = into.writeUInt32LE(call, end);
  if (typeof payload === "string") end += into.write(payload, end, "utf8");
  else {
    into.set(payload, end);
    end += payload.byteLength;
  }
  into.writeUInt32LE(end - at - 4, at);
  into[at + 4] = type;
  into.writeUInt32LE(isolate, at + 5);
  into.writeUInt32LE(id, at + 9);
  return end;
}

/** Gathers the frames of one turn of the event loop, so that they are written at once. */
export class FrameWriter {
  readonly #write: (bytes: Buffer) => void;
  readonly #flush = (): void => this.flush();
  #slab: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  #frames = 0;
  #isScheduled = false;

  /** `write` gets what is to be sent; it may keep it. */
  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  /** Adds a frame; it is sent when this turn ends, or as soon as there are many. */
  send(type: number, isolate: number, id: number, payload: Uint8Array | string, call?: number): void {
    const bytesMax = HEADER_BYTES + CALL_BYTES +
      (typeof payload === "string" ? payload.length * BYTES_PER_UNIT_MAX : payload.byteLength);
    if (bytesMax > SLAB_BYTES / 2) {
      this.flush();
      this.#write(encodeFrame(type, isolate, id, payload, call));
      return;
    }
    if (this.#end + bytesMax > this.#slab.byteLength) {
      this.flush();
      // Never written to again once it is sent: the system may not have taken it yet.
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.#start = this.#end = 0;
    }
    this.#end = putFrame(this.#slab, this.#end, type, isolate, id, payload, call);
    if (++this.#frames >= FRAMES_PER_WRITE_MAX) return this.flush();
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Runs when the promises that are settled by now have been followed up.
    process.nextTick(this.#flush);
  }

  /** Sends what was gathered. */
  flush(): void {
    this.#isScheduled = false;
    if (this.#frames === 0) return;
    const bytes = this.#slab.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#frames = 0;
    this.#write(bytes);
  }
}

/** Puts a JSON header and raw bytes, of one or several bodies, into one payload. */
export function joinParts(header: unknown, ...bodies: readonly (Uint8Array | string)[]): Buffer {
  const head = Buffer.from(JSON.stringify(header));
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32LE(head.byteLength, 0);
  return Buffer.concat([
    length,
    head,
    ...bodies.map((body) => typeof body === "string" ? Buffer.from(body) : body),
  ]);
}

/** Takes apart what `joinParts` made; throws a RangeError when it made none of this. */
export function splitParts(payload: Uint8Array): { readonly header: unknown; readonly body: Buffer } {
  const bytes = asBuffer(payload);
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
  return asBuffer(frame.payload).toString("utf8");
}

/** The call in front of a payload; throws a RangeError when there is none. */
export function callOf(frame: Frame): number {
  return asBuffer(frame.payload).readUInt32LE(0);
}

/** The text behind the call. */
export function textBehindCall(frame: Frame): string {
  return asBuffer(frame.payload).toString("utf8", CALL_BYTES);
}

/** The same memory; the decoder's payloads are such already. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Cuts a stream of chunks into frames. */
export class FrameDecoder {
  readonly #frameBytesMax: number;
  /** The frame that has begun, or its header while its length is not known; memory for the whole of it. */
  #begun: Buffer | null = null;
  #filled = 0;

  /** `frameBytesMax` bounds the whole frame, header included. */
  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax;
  }

  /**
   * Takes one chunk and gives the frames that it completes, which may lie in the chunk's own memory. Throws a RangeError on
   * a length out of bounds.
   */
  push(chunk: Uint8Array): Frame[] {
    const bytes = asBuffer(chunk);
    const frames: Frame[] = [];
    let at = this.#begun === null ? 0 : this.#goOn(bytes, frames);
    while (bytes.byteLength - at >= HEADER_BYTES) {
      const size = this.#sizeAt(bytes, at);
      if (bytes.byteLength - at < size) break;
      frames.push(frameAt(bytes, at, size));
      at += size;
    }
    if (at < bytes.byteLength) this.#begin(bytes, at);
    return frames;
  }

  /** Copied once, however many chunks the frame comes in: nothing but its declared bytes is ever held. */
  #begin(bytes: Buffer, at: number): void {
    const isHeaderKnown = bytes.byteLength - at >= HEADER_BYTES;
    this.#begun = Buffer.allocUnsafeSlow(isHeaderKnown ? this.#sizeAt(bytes, at) : HEADER_BYTES);
    this.#filled = bytes.copy(this.#begun, 0, at);
  }

  /** Fills what has begun, and gives how much of the chunk that took. */
  #goOn(bytes: Buffer, frames: Frame[]): number {
    let at = 0;
    for (let begun = this.#begun; begun !== null; begun = this.#begun) {
      const taken = bytes.copy(begun, this.#filled, at);
      at += taken;
      this.#filled += taken;
      if (this.#filled < begun.byteLength) return at;
      const size = this.#sizeAt(begun, 0);
      if (size === begun.byteLength) {
        frames.push(frameAt(begun, 0, size));
        this.#begun = null;
      } else {
        this.#begun = Buffer.allocUnsafeSlow(size);
        begun.copy(this.#begun);
      }
    }
    return at;
  }

  #sizeAt(bytes: Buffer, at: number): number {
    const length = bytes.readUInt32LE(at);
    if (length < FIXED_BYTES || length + 4 > this.#frameBytesMax) {
      throw new RangeError(
        `a frame declares ${length} bytes; between ${FIXED_BYTES} and ${this.#frameBytesMax} are allowed`,
      );
    }
    return length + 4;
  }
}

function frameAt(bytes: Buffer, at: number, size: number): Frame {
  return {
    type: bytes[at + 4]!,
    isolate: bytes.readUInt32LE(at + 5),
    id: bytes.readUInt32LE(at + 9),
    payload: bytes.subarray(at + HEADER_BYTES, at + size),
  };
}
