/** Reaching other machines, and sockets of this one. */
import { isLoopback, isPublicRange, parseAddress } from "../address.ts";
import {
  displayEndpoint,
  type Endpoint,
  endpointIncludes,
  endpointMeet,
  isGraveHost,
  isLocalName,
  parseEndpoint,
  parsePeer,
} from "../host_grammar.ts";
import { type Kind, refuse, wordOf } from "../kind.ts";
import {
  displayPart,
  parseUrlPart,
  partIncludes,
  partTouches,
  prefixOf,
  type UrlPart,
} from "../url_grammar.ts";

/** Hosts and a port; with a method and a path where the entry, or the request, names them. */
export interface NetEntry extends Endpoint {
  /** Null is every method and path. */
  readonly part: UrlPart | null;
}

/** The kind `net`. */
export const net: Kind<NetEntry, NetEntry> = {
  name: "net",
  doc:
    "Reaching the named hosts: HOST[:PORT], *.HOST, addresses, CIDR ranges, *:PORT for any public host, METHOD URL-PREFIX.",
  examples: [
    "api.example.com:443",
    "*.example.com",
    "10.0.0.0/8",
    "*:443",
    "GET https://api.example.com/v1/",
  ],
  own: {},
  // A query may hold what no report should repeat.
  phrase: (value) => value === null ? "reach every host" : `reach "${value.replace(/[?#].*$/s, "")}"`,
  parseEntry(given) {
    const text = wordOf(given, "a host");
    const url = parseUrlPart(text);
    if (url === undefined) return { ...parseEndpoint(text), part: null };
    return { ...parseEndpoint(url.endpoint), part: prefixOf(url.part, text) };
  },
  parseValue(text) {
    const url = parseUrlPart(wordOf(text, "a host"));
    return url === undefined
      ? { ...parsePeer(text), part: null }
      : { ...parsePeer(url.endpoint), part: url.part };
  },
  displayEntry: display,
  displayValue: display,
  covers: includes,
  touches: (entry, value) => endpointIncludes(entry, value) && partTouches(entry.part, value.part),
  includes,
  meet(a, b) {
    const endpoint = endpointMeet(a, b);
    if (endpoint === null) return null;
    if (partIncludes(a.part, b.part)) return { ...endpoint, part: b.part };
    return partIncludes(b.part, a.part) ? { ...endpoint, part: a.part } : null;
  },
  addressOf(value, address) {
    const range = parseAddress(address.replace(/^\[(.*)\]$/, "$1")) ?? refuse(`"${address}" is no address`);
    return {
      value: { ...value, host: { form: "range", range, isPublicOnly: false } },
      isPublic: isPublicRange(range),
    };
  },
  // A name never leads to the machine or its neighbours, unless it says so itself: the name server's word is not the grant's.
  reaches(entry, value, address) {
    if (entry === true || includes(entry, address)) return true;
    const { host } = entry;
    if (host.form !== "name" && host.form !== "under") return false;
    return isLocalName(host.name) && includes(entry, value) && address.host.form === "range" &&
      isLoopback(address.host.range);
  },
  // Host and port: the URL of one request is not what a person would want to grant next, nor always an entry.
  suggest: (text) => parseUrlPart(text)?.endpoint ?? text,
  isGrave: (entry) => entry === true || isGraveHost(entry.host),
  // Deno's shorthand; files write the three out.
  expandFlag: (text) =>
    /^:\d+$/.test(text) ? ["0.0.0.0", "127.0.0.1", "localhost"].map((host) => host + text) : [text],
};

function includes(a: NetEntry, b: NetEntry): boolean {
  return endpointIncludes(a, b) && partIncludes(a.part, b.part);
}

function display(entry: NetEntry): string {
  const endpoint = displayEndpoint(entry);
  return entry.part === null ? endpoint : displayPart(entry.part, endpoint);
}
