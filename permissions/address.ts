/** Addresses and ranges of both families as plain data, and which of them are public. */
import ipaddr from "ipaddr.js";

/** All addresses that share their first bits; a single address shares all of them. */
export interface Range {
  /** Four or sixteen bytes; those past `bits` are zero. */
  readonly bytes: readonly number[];
  /** How many leading bits count. */
  readonly bits: number;
}

/** Reads an address without brackets; undefined if it is none. Zone ids are dropped, IPv4-mapped addresses are IPv4. */
export function parseAddress(text: string): Range | undefined {
  const bare = text.replace(/%[\w.~-]+$/, "");
  if (isFourParts(bare)) return single(ipaddr.IPv4.parse(bare).toByteArray());
  if (!/^[0-9a-f:.]+$/i.test(bare) || !bare.includes(":") || !ipaddr.IPv6.isValid(bare)) return undefined;
  const address = ipaddr.IPv6.parse(bare);
  return single(
    address.isIPv4MappedAddress() ? address.toIPv4Address().toByteArray() : address.toByteArray(),
  );
}

/** Reads `10.0.0.0/8` and `2001:db8::/32`; undefined if it is no range. */
export function parseRange(text: string): Range | undefined {
  const [, host = "", digits = ""] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const address = parseAddress(host);
  if (address === undefined) return undefined;
  // A mapped address lost its first 96 bits when it became IPv4.
  const bits = Number(digits) - (host.includes(":") && address.bytes.length === 4 ? 96 : 0);
  if (bits < 0 || bits > address.bytes.length * 8) return undefined;
  return { bytes: address.bytes.map((byte, index) => byte & maskOf(index, bits)), bits };
}

/** Whether every address of `b` is one of `a`. */
export function rangeIncludes(a: Range, b: Range): boolean {
  return a.bytes.length === b.bytes.length && a.bits <= b.bits &&
    a.bytes.every((byte, index) => byte === ((b.bytes[index] ?? 0) & maskOf(index, a.bits)));
}

/** Whether no address of the range is reserved, local, private, a documentation or a metadata address. */
export function isPublicRange(range: Range): boolean {
  return !RESERVED.some((block) => rangeIncludes(block, range) || rangeIncludes(range, block));
}

/** Whether the text is an address, of either family, that is public: not loopback, private, link-local or otherwise reserved. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && isPublicRange(address);
}

/** Whether every address of the range is one of the reserved ones. */
export function isReservedRange(range: Range): boolean {
  return RESERVED.some((block) => rangeIncludes(block, range));
}

/** Whether the range is one loopback address, or several. */
export function isLoopback(range: Range): boolean {
  return LOOPBACK.some((block) => rangeIncludes(block, range));
}

/** `10.0.0.0/8`, `[2001:db8::]/32`, or without the length for a single address. */
export function displayRange(range: Range): string {
  const address = ipaddr.fromByteArray([...range.bytes]);
  const host = address instanceof ipaddr.IPv6 ? `[${address.toRFC5952String()}]` : address.toString();
  return range.bits === range.bytes.length * 8 ? host : `${host}/${range.bits}`;
}

/** Whether the text is a dotted quad in range, without leading zeros, which some parsers take for octal. */
function isFourParts(text: string): boolean {
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(text) &&
    text.split(".").every((part) => String(Number(part)) === part && Number(part) < 256);
}

function single(bytes: number[]): Range {
  return { bytes, bits: bytes.length * 8 };
}

function maskOf(index: number, bits: number): number {
  const kept = Math.max(0, Math.min(8, bits - index * 8));
  return (0xff << (8 - kept)) & 0xff;
}

function blocks(...texts: readonly string[]): readonly Range[] {
  return texts.map((text) => parseRange(text)).filter((range) => range !== undefined);
}

const LOOPBACK = blocks("127.0.0.0/8", "::1/128");

// The IANA special-purpose registries; of IPv6 only 2000::/3 is global unicast, so the rest is named as three blocks.
// 168.63.129.16 looks public and is a cloud's metadata service.
const RESERVED = blocks(
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "::/3",
  "4000::/2",
  "8000::/1",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
);
