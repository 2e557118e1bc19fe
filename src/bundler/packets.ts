/**
 * The packets in which esbuild's own program speaks: a length, a number, and one value. What it says is not trusted, so
 * every length is held against what has arrived.
 */

/** What a packet may hold. */
export type PacketValue =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | readonly PacketValue[]
  | { readonly [key: string]: PacketValue };

/** One packet. */
export interface Packet {
  /** The same in a request and in its answer. */
  readonly id: number;
  /** Whether it wants an answer. */
  readonly isRequest: boolean;
  /** What it says. */
  readonly value: PacketValue;
}

/** Values inside values. */
const DEPTH_MAX = 32;
const [NULL, BOOLEAN, NUMBER, TEXT, BYTES, LIST, RECORD] = [0, 1, 2, 3, 4, 5, 6];

/** Writes one packet. */
export function encodePacket({ id, isRequest, value }: Packet): Uint8Array {
  const parts: Uint8Array[] = [];
  const number = (each: number): void => {
    const bytes = Buffer.allocUnsafe(4);
    bytes.writeInt32LE(each | 0);
    parts.push(bytes);
  };
  const long = (bytes: Uint8Array): void => {
    number(bytes.byteLength);
    parts.push(bytes);
  };
  const tag = (kind: number | undefined): void => void parts.push(Uint8Array.of(kind!));
  const write = (each: PacketValue): void => {
    if (each === null) tag(NULL);
    else if (typeof each === "boolean") parts.push(Uint8Array.of(BOOLEAN!, Number(each)));
    else if (typeof each === "number") tag(NUMBER), number(each);
    else if (typeof each === "string") tag(TEXT), long(Buffer.from(each));
    else if (each instanceof Uint8Array) tag(BYTES), long(each);
    else if (Array.isArray(each)) {
      tag(LIST);
      number(each.length);
      each.forEach(write);
    } else {
      const entries = Object.entries(each);
      tag(RECORD);
      number(entries.length);
      for (const [key, item] of entries) long(Buffer.from(key)), write(item);
    }
  };
  number(id << 1 | Number(!isRequest));
  write(value);
  const head = Buffer.allocUnsafe(4);
  head.writeUInt32LE(parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  return Buffer.concat([head, ...parts]);
}

/** Puts packets together again from the pieces in which they arrive. */
export class PacketReader {
  readonly #bytesMax: number;
  #pieces: Buffer[] = [];
  #byteLength = 0;

  /** `bytesMax` bounds one packet. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Takes the next piece and gives the contents of all packets that are whole; throws a RangeError for one out of bounds. */
  push(chunk: Buffer): Buffer[] {
    this.#pieces.push(chunk);
    this.#byteLength += chunk.byteLength;
    const packets: Buffer[] = [];
    for (let wanted = this.#wanted(); this.#byteLength >= wanted; wanted = this.#wanted()) {
      const all = this.#joined();
      packets.push(all.subarray(4, wanted));
      this.#pieces = [all.subarray(wanted)];
      this.#byteLength -= wanted;
    }
    return packets;
  }

  /** Bytes of the next packet with its length; Infinity while that has not arrived. */
  #wanted(): number {
    if (this.#byteLength < 4) return Infinity;
    const first = this.#pieces[0]!;
    const length = (first.byteLength >= 4 ? first : this.#joined()).readUInt32LE();
    if (length > this.#bytesMax) throw new RangeError("a packet is too large");
    return 4 + length;
  }

  #joined(): Buffer {
    if (this.#pieces.length > 1) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0]!;
  }
}

/** Reads one packet; throws a RangeError for what is none. */
export function decodePacket(bytes: Buffer): Packet {
  let at = 0;
  const skip = (count: number): number => {
    if (count < 0 || count > bytes.byteLength - at) throw new RangeError("a packet is cut short");
    at += count;
    return at - count;
  };
  const number = (): number => bytes.readInt32LE(skip(4));
  const long = (): Buffer => {
    const length = number();
    const start = skip(length);
    return bytes.subarray(start, start + length);
  };
  const count = (): number => {
    const items = number();
    // Each item takes a byte at least.
    if (items < 0 || items > bytes.byteLength - at) throw new RangeError("a packet is cut short");
    return items;
  };
  const read = (depth: number): PacketValue => {
    if (depth > DEPTH_MAX) throw new RangeError("a packet is nested too deeply");
    const kind = bytes[skip(1)];
    if (kind === NULL) return null;
    if (kind === BOOLEAN) return bytes[skip(1)] !== 0;
    if (kind === NUMBER) return number();
    if (kind === TEXT) return long().toString("utf8");
    if (kind === BYTES) return long();
    if (kind === LIST) return Array.from({ length: count() }, () => read(depth + 1));
    if (kind !== RECORD) throw new RangeError("a packet holds what is no value");
    const record: Record<string, PacketValue> = Object.create(null);
    for (let left = count(); left > 0; left--) {
      const key = long().toString("utf8");
      record[key] = read(depth + 1);
    }
    return record;
  };
  const id = number();
  const value = read(0);
  if (at !== bytes.byteLength) throw new RangeError("a packet goes on behind its end");
  return { id: id >>> 1, isRequest: (id & 1) === 0, value };
}
