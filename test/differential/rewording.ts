/** The same question in Deno's own words, where Sallyport's grammar has more of them. */
import { isIPv4, isIPv6 } from "node:net";
import { domainToASCII } from "node:url";
import type { DenoKind } from "./deno.ts";
import type { RuleName } from "./rules.ts";

/** What a text means in Deno's grammar. */
export interface Meaning {
  /** Null if Deno has no words for it. */
  readonly text: string | null;
  /** Why it is written otherwise. */
  readonly rule?: RuleName;
}

/** An entry in Deno's words. Texts that neither can read stay as they are. */
export function readEntry(kind: DenoKind, text: string): Meaning {
  if (kind === "sys") return MISSING_WORDS.includes(text) ? { text: null, rule: "sys-words" } : { text };
  if (kind !== "net" && kind !== "import") return readPath(kind, text);
  const port = /^\*:(\d{1,5})$/.exec(text)?.[1];
  if (port !== undefined && Number(port) < 65536) return { text: null, rule: "any-host" };
  if (isRangeOfIPv6(text)) return { text: null, rule: "ipv6-range" };
  if (kind === "net" && REQUEST.test(text)) return { text: null, rule: "methods" };
  return readHost(text);
}

/** A request in Deno's words. */
export function readRequest(kind: DenoKind, text: string): Meaning {
  if (kind === "sys") return { text };
  if (kind !== "net" && kind !== "import") return readPath(kind, text);
  const url = kind === "net" ? REQUEST.exec(text) : null;
  if (url === null) return readHost(text);
  const [, scheme, host, port] = url;
  return { text: `${host}:${port ?? (scheme === "https" ? 443 : 80)}`, rule: "methods" };
}

const MISSING_WORDS: readonly string[] = [
  "inspector",
  "setegid",
  "seteuid",
  "setgid",
  "setuid",
  "ca",
  "umask",
];

// As far as the samples go.
const REQUEST = /^[A-Z]+ (https?):\/\/([a-z0-9.-]+)(?::(\d+))?\/[a-z0-9/]*$/;

function readPath(kind: DenoKind, text: string): Meaning {
  if (kind === "env") return { text };
  return (kind === "run" ? /^\$[a-z]+\// : /^\$[a-z]+(\/|$)/).test(text)
    ? { text: null, rule: "roots" }
    : { text };
}

function readHost(text: string): Meaning {
  if (/^vsock:[^:]*:[^:]*:/.test(text)) return { text, rule: "strict-hosts" };
  if (text.startsWith("unix:") || text.startsWith("vsock:")) return { text };
  const [, star = "", host = "", rest = ""] = /^(\*\.)?([^:[\]/]*)((?::.*)?)$/s.exec(text) ?? [];
  if (/[^\0-\x7f]/.test(host)) {
    const ascii = domainToASCII(host);
    return ascii === "" || /[\s%\\?#@<>^|]/.test(host)
      ? { text }
      : { text: star + ascii + rest, rule: "u-labels" };
  }
  const labels = host.replace(/\.$/, "").split(".");
  if (
    rest.startsWith(":+") || /^[0-9.]+%/.test(host) || labels.join(".").length > 253 ||
    labels.some(({ length }) => length > 63)
  ) {
    return { text, rule: "strict-hosts" };
  }
  if (!/^([\w-]+\.)*(\d+|0x[0-9a-f]*)\.?$/i.test(host)) return { text };
  const address = URL.parse(`http://${host}/`)?.hostname ?? "";
  if (star !== "" || host.endsWith(".")) return isIPv4(address) ? { text, rule: "strict-hosts" } : { text };
  return isIPv4(address) && address !== host ? { text: address + rest, rule: "numeric-host" } : { text };
}

function isRangeOfIPv6(text: string): boolean {
  const [, bracketed, bare, inner, bits, port = "0"] =
    /^(?:\[([^[\]/%]+)\]\/(\d{1,3})|\[([^[\]/%]+)\/(\d{1,3})\])(?::(\d{1,5}))?$/.exec(text) ??
      /^(?:([0-9a-f:.]+)\/(\d{1,3}))$/i.exec(text) ?? [];
  return isIPv6(bracketed ?? inner ?? "") && Number(bare ?? bits) <= 128 && Number(port) < 65536;
}
