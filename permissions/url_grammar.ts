/**
 * `GET https://api.example.com/v1/`: a method and a path prefix on top of a host. Prefixes match the path as URL parsers
 * serialise it, by whole segments; a path that servers read in more than one way is never under a prefix.
 */
import { refuse } from "./kind.ts";

/** What an entry or a value says beyond host and port. */
export interface UrlPart {
  /** Upper case. */
  readonly method: string;
  /** `http:` or `https:`. */
  readonly scheme: string;
  /** Serialised by the URL parser; as an entry, a prefix of whole segments without a slash at its end. */
  readonly path: string;
}

/** Splits `METHOD URL` into its host with port and the rest; undefined if the text is not of that form. */
export function parseUrlPart(
  text: string,
): { readonly endpoint: string; readonly part: UrlPart } | undefined {
  const [, method, address = ""] = /^([A-Z]+) (https?:\/\/.+)$/is.exec(text) ?? [];
  if (method === undefined) return undefined;
  if (method !== method.toUpperCase()) refuse("methods are upper case");
  const url = URL.parse(address) ?? refuse(`"${address}" is no URL`);
  if (url.username !== "" || url.password !== "") refuse("a URL here carries no user or password");
  const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
  // The URL parser drops what a path hides ("/v1/../x", "\\"), so what was written is looked at as well.
  const written = address.slice(address.indexOf("//") + 2).split(/[?#]/)[0] ?? "";
  const path = isClear(written.replace(/^[^/\\]*/, "")) && isClear(url.pathname) ? url.pathname : HIDDEN;
  return { endpoint: `${url.hostname}:${port}`, part: { method, scheme: url.protocol, path } };
}

/** Reads an entry; query and fragment are no part of one. */
export function prefixOf(part: UrlPart, text: string): UrlPart {
  if (/[?#]/.test(text)) refuse("an entry has no query and no fragment");
  if (part.path === HIDDEN) refuse("the path holds an encoded or empty segment");
  return { ...part, path: part.path.replace(/\/$/, "") };
}

/** Whether every request under `b` is one under `a`. */
export function partIncludes(a: UrlPart | null, b: UrlPart | null): boolean {
  if (a === null) return true;
  return b !== null && a.method === b.method && a.scheme === b.scheme &&
    (b.path === a.path || b.path.startsWith(`${a.path}/`));
}

/** Whether a deny of `a` reaches the value `b`: a connection without a known request might send any, a hidden path might be any. */
export function partTouches(a: UrlPart | null, b: UrlPart | null): boolean {
  if (a === null || b === null || partIncludes(a, b)) return true;
  return a.method === b.method && a.scheme === b.scheme && b.path === HIDDEN;
}

/** Method and URL without the host, for display. */
export function displayPart(part: UrlPart, endpoint: string): string {
  return `${part.method} ${part.scheme}//${endpoint}${
    part.path === HIDDEN ? "/?" : part.path === "" ? "/" : part.path
  }`;
}

// Stands for a path that servers disagree about. It begins with no slash, so it is under no prefix.
const HIDDEN = "?";

function isClear(path: string): boolean {
  return !/%2e|%2f|%5c|\\|\/\/|\/\.{1,2};/i.test(path);
}
