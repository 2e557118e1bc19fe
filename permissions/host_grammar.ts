/**
 * Hosts as `net`, `import` and `secrets` understand them: names, leading wildcards, addresses and ranges, any public host,
 * sockets; each with or without a port. One spelling each: lower case, A-labels, canonical addresses.
 */
import {
  displayRange,
  isPublicRange,
  isReservedRange,
  parseAddress,
  parseRange,
  type Range,
  rangeIncludes,
} from "./address.ts";
import { isAscii, refuse } from "./kind.ts";
import { normalize } from "./path_grammar.ts";

/** A set of hosts. */
export type Host =
  | { readonly form: "name"; readonly name: string }
  | { readonly form: "under"; readonly name: string }
  | { readonly form: "range"; readonly range: Range; readonly isPublicOnly: boolean }
  | { readonly form: "any" }
  | { readonly form: "unix"; readonly path: string }
  | { readonly form: "vsock"; readonly cid: number };

/** A set of hosts at one port, or at any. */
export interface Endpoint {
  /** The hosts. */
  readonly host: Host;
  /** The port; null is any. */
  readonly port: number | null;
}

/** Reads an entry: wildcards, ranges and any-host are allowed. */
export function parseEndpoint(text: string): Endpoint {
  if (text.startsWith("vsock:")) return parseVsock(text);
  if (text.startsWith("unix:")) return { host: parseUnix(text.slice(5)), port: null };
  if (/^https?:\/\//i.test(text)) {
    refuse(
      'it is a URL; write the host and port ("example.com:443"), or a method before it ("GET https://…")',
    );
  }
  const { host, port } = splitPort(text);
  if (host !== "*") return { host: parseHost(host), port };
  return port === null
    ? refuse('"*" alone is no host; write "*:443", or true for the whole kind')
    : { host: { form: "any" }, port };
}

/** Reads a value: one host, one port or none. */
export function parsePeer(text: string): Endpoint {
  const peer = parseEndpoint(text);
  if (!isSingle(peer.host)) refuse("a value names one host, not several");
  return peer;
}

/** The one spelling. */
export function displayEndpoint(endpoint: Endpoint): string {
  const { host, port } = endpoint;
  if (host.form === "vsock") return `vsock:${host.cid}:${port}`;
  return port === null ? displayHost(host) : `${displayHost(host)}:${port}`;
}

/** Whether every host and port of `b` is one of `a`. A value without a port stands for "some port", which only "any" holds. */
export function endpointIncludes(a: Endpoint, b: Endpoint): boolean {
  return (a.port === null || a.port === b.port) && hostIncludes(a.host, b.host);
}

/** What both hold. */
export function endpointMeet(a: Endpoint, b: Endpoint): Endpoint | null {
  if (a.port !== null && b.port !== null && a.port !== b.port) return null;
  const host = hostMeet(a.host, b.host);
  return host === null ? null : { host, port: a.port ?? b.port };
}

/** Whether the host leads, or may lead, to the machine itself or its neighbours, or to everywhere. */
export function isGraveHost(host: Host): boolean {
  if (host.form === "range") return !host.isPublicOnly && !isPublicRange(host.range);
  if (host.form === "name") return isLocalName(host.name);
  // "*.com" is any host in all but name.
  return host.form !== "under" || isLocalName(host.name) || !host.name.includes(".");
}

/** Whether a name is by standard the machine itself. */
export function isLocalName(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost");
}

function isSingle(host: Host): boolean {
  return host.form === "name" || host.form === "unix" || host.form === "vsock" ||
    (host.form === "range" && host.range.bits === host.range.bytes.length * 8);
}

function hostIncludes(a: Host, b: Host): boolean {
  if (a.form === "any") {
    if (b.form === "range") return b.isPublicOnly || isPublicRange(b.range);
    return b.form === "any" || ((b.form === "name" || b.form === "under") && !isLocalName(b.name));
  }
  if (a.form === "under") {
    return (b.form === "name" || b.form === "under") && (b.name === a.name || b.name.endsWith(`.${a.name}`));
  }
  if (a.form === "name") return b.form === "name" && a.name === b.name;
  if (a.form === "unix") return b.form === "unix" && a.path === b.path;
  if (a.form === "vsock") return b.form === "vsock" && a.cid === b.cid;
  return b.form === "range" && rangeIncludes(a.range, b.range) &&
    (!a.isPublicOnly || b.isPublicOnly || isPublicRange(b.range));
}

function hostMeet(a: Host, b: Host): Host | null {
  if (hostIncludes(a, b)) return b;
  if (hostIncludes(b, a)) return a;
  // What is left are ranges of which only the public part is common.
  if (a.form === "any" && b.form === "range") return publicPart(b.range);
  if (b.form === "any" && a.form === "range") return publicPart(a.range);
  if (a.form !== "range" || b.form !== "range") return null;
  if (rangeIncludes(a.range, b.range)) return publicPart(b.range);
  return rangeIncludes(b.range, a.range) ? publicPart(a.range) : null;
}

function publicPart(range: Range): Host | null {
  return isReservedRange(range) ? null : { form: "range", range, isPublicOnly: !isPublicRange(range) };
}

function displayHost(host: Host): string {
  if (host.form === "range") return displayRange(host.range) + (host.isPublicOnly ? " (public part)" : "");
  if (host.form === "any") return "*";
  if (host.form === "unix") return `unix:${host.path}`;
  if (host.form === "vsock") return `vsock:${host.cid}`;
  return host.form === "under" ? `*.${host.name}` : host.name;
}

function splitPort(text: string): { readonly host: string; readonly port: number | null } {
  // "[::1]:80", "[2001:db8::]/32:443" and "[2001:db8::/32]:443"
  const bracketed = /^\[([^[\]]*)\](\/\d+)?(?::(.*))?$/s.exec(text);
  if (bracketed !== null) {
    const [, inside = "", length = "", port] = bracketed;
    if (!inside.includes(":")) refuse("brackets hold an IPv6 address");
    return { host: inside + length, port: port === undefined ? null : parsePort(port) };
  }
  if (parseRange(text) !== undefined) return { host: text, port: null };
  const colon = text.indexOf(":");
  if (colon < 0) return { host: text, port: null };
  if (colon === 0 && /^:\d+$/.test(text)) refuse(`"${text}" has no host; only a flag may leave it out`);
  if (parseAddress(text) !== undefined) refuse(`IPv6 addresses are written in brackets: "[${text}]"`);
  return { host: text.slice(0, colon), port: parsePort(text.slice(colon + 1)) };
}

function parsePort(text: string): number {
  if (!/^\d{1,10}$/.test(text) || Number(text) > 65535) refuse(`"${text}" is no port; ports are 0 to 65535`);
  return Number(text);
}

function parseHost(text: string): Host {
  if (text === "") refuse("the host is empty");
  if (text.includes("/")) {
    const range = parseRange(text) ?? refuse(`"${text}" is no range of addresses`);
    return { form: "range", range, isPublicOnly: false };
  }
  if (text.includes(":")) {
    const range = parseAddress(text) ?? refuse(`"${text}" is no IPv6 address`);
    return { form: "range", range, isPublicOnly: false };
  }
  if (!text.startsWith("*.")) return parseName(text);
  const parent = parseName(text.slice(2));
  return parent.form === "name"
    ? { form: "under", name: parent.name }
    : refuse("an address has no names under it");
}

function parseName(text: string): Host {
  const mapped = toAscii(text);
  const name = mapped.endsWith(".") ? mapped.slice(0, -1) : mapped;
  const labels = name.split(".");
  if (name.length > 253 || !labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label))) {
    refuse(`"${text}" is no host name`);
  }
  const address = numericAddress(labels.at(-1) ?? "", name);
  if (address === undefined) return { form: "name", name };
  if (mapped !== name) refuse("an address does not end in a dot");
  return { form: "range", range: address, isPublicOnly: false };
}

/** U-labels become A-labels by UTS 46, as every URL parser does it; the rest is lower-cased. */
function toAscii(text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  if (/[\s%/\\?#@:[\]<>^|]/.test(text)) refuse(`"${text}" is no host name`);
  return URL.parse(`http://${text}/`)?.hostname ?? refuse(`"${text}" is no host name`);
}

/** URL parsers and resolvers read `0x7f000001`, `127.1` and `2130706433` as addresses, so these are no names here either. */
function numericAddress(lastLabel: string, name: string): Range | undefined {
  if (!/^(\d+|0x[0-9a-f]*)$/.test(lastLabel)) return undefined;
  const hostname = URL.parse(`http://${name}/`)?.hostname;
  return hostname === undefined ? undefined : parseAddress(hostname);
}

// As a socket address it is "any" to listen on; as an entry it is that one number, and covers no other.
const CID_ANY = 0xffffffff;

function parseVsock(text: string): Endpoint {
  const [, cid, port] = /^vsock:(-1|\d{1,10}):(\d{1,10})$/.exec(text) ??
    refuse('vsock entries are "vsock:CID:PORT"');
  if (Number(cid) > 0xffffffff || Number(port) > 0xffffffff) refuse("CID and port of a vsock have 32 bits");
  return { host: { form: "vsock", cid: cid === "-1" ? CID_ANY : Number(cid) }, port: Number(port) };
}

function parseUnix(path: string): Host {
  if (!path.startsWith("/")) refuse("a unix socket is named by an absolute path");
  return { form: "unix", path: normalize(path) };
}
