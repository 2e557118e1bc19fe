/** What the fetch standard, and we beyond it, demand of a request's URL, method, headers and redirects. Pure. */
import { fetchFailed, type HttpContent, type HttpHead, PowerError } from "../powers.ts";

/** A request before anything was decided. */
export interface HttpRequest extends HttpContent {
  /** Upper case. */
  readonly method: string;
  /** Without user, password and fragment. */
  readonly url: URL;
}

/** Bounds that these rules hold. */
export interface RequestBounds {
  /** A URL, in characters. */
  readonly urlCharactersMax: number;
  /** Names and values together. */
  readonly requestHeaderBytesMax: number;
  /** The body. */
  readonly requestBytesMax: number;
}

/**
 * The value that is checked for a request: `METHOD URL`. The path stands as it was written where parsing would hide what
 * it held. Throws a PowerError of the name `TypeError` for what is no request that may be sent.
 */
export function requestLine(method: string, text: string, urlCharactersMax: number): string {
  const url = readUrl(text, urlCharactersMax);
  const isPlain = /^https?:\/\//i.test(text);
  return `${readMethod(method)} ${isPlain ? text.replace(/#.*$/s, "") : url.href}`;
}

/** Reads a URL as the guest wrote it. Throws as `requestLine` does. */
export function readUrl(text: string, urlCharactersMax: number): URL {
  // Parsers strip these without a word, so what was written and what is sent would differ.
  // deno-lint-ignore no-control-regex
  if (/[\x00-\x1f\x7f]|^ | $/.test(text)) {
    throw invalid("the URL holds a control character, or a space at an end");
  }
  const url = URL.parse(text) ?? fail("the URL is not valid");
  if (url.username !== "" || url.password !== "") throw invalid("the URL holds a user or a password");
  url.hash = "";
  const problem = problemOf(url, urlCharactersMax);
  if (problem !== null) throw invalid(problem);
  return url;
}

/** Reads flat names and values; drops those that are the connection's own. Throws as `requestLine` does. */
export function readHeaders(flat: readonly string[], bytesMax: number): [name: string, value: string][] {
  const headers: [string, string][] = [];
  let bytes = 0;
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const name = flat[index]!.toLowerCase();
    const value = flat[index + 1]!;
    bytes += name.length + value.length + 4;
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) throw invalid("the name of a header is not valid");
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) throw invalid("the value of a header is not valid");
    if (!isOwnHeader(name)) headers.push([name, value]);
  }
  if (bytes > bytesMax) throw invalid(`the request's headers are larger than ${bytesMax} bytes`);
  return headers;
}

/** Reads a body. Throws as `requestLine` does. */
export function readBody(base64: string | null, method: string, bytesMax: number): Uint8Array | null {
  if (base64 === null) return null;
  if (method === "GET" || method === "HEAD") throw invalid(`a ${method} request has no body`);
  const bytes = Buffer.from(base64, "base64");
  if (bytes.byteLength > bytesMax) throw invalid(`the request's body is larger than ${bytesMax} bytes`);
  return bytes;
}

/** Whether a response redirects and says where to. */
export function isRedirect({ status, headers }: HttpHead): boolean {
  return [301, 302, 303, 307, 308].includes(status) && headers.some(([name]) => name === "location");
}

/** The request that a redirect asks for. Throws a PowerError of the name `TypeError` for one that leads nowhere we go. */
export function nextRequest(request: HttpRequest, head: HttpHead, urlCharactersMax: number): HttpRequest {
  const locations = head.headers.filter(([name]) => name === "location").map(([, value]) => value);
  const url = new Set(locations).size === 1 ? URL.parse(locations[0]!, request.url) : null;
  if (url === null) throw fetchFailed("a redirect leads to no valid URL");
  url.username = url.password = url.hash = "";
  const problem = problemOf(url, urlCharactersMax);
  if (problem !== null) throw fetchFailed(`a redirect was not followed: ${problem}`);
  const becomesGet = head.status === 303
    ? request.method !== "GET" && request.method !== "HEAD"
    : head.status <= 302 && request.method === "POST";
  const dropped = [
    ...(becomesGet ? BODY_HEADERS : []),
    ...(url.origin === request.url.origin ? [] : CREDENTIALS),
  ];
  return {
    method: becomesGet ? "GET" : request.method,
    url,
    headers: request.headers.filter(([name]) => !dropped.includes(name)),
    body: becomesGet ? null : request.body,
  };
}

/** What guests see of the headers: cookies are the server's word to a browser. */
export function shownHeaders({ headers }: HttpHead): string[] {
  return headers.filter(([name]) => name !== "set-cookie" && name !== "set-cookie2").flat();
}

function readMethod(method: string): string {
  if (!/^[A-Z]{1,32}$/.test(method)) throw invalid("a method is made of upper-case letters");
  if (["CONNECT", "TRACE", "TRACK"].includes(method)) throw invalid(`the method ${method} is forbidden`);
  return method;
}

function problemOf(url: URL, urlCharactersMax: number): string | null {
  if (url.protocol !== "http:" && url.protocol !== "https:") return "the scheme is neither http nor https";
  if (url.hostname.endsWith(".")) return "the host ends in a dot";
  if (url.href.length > urlCharactersMax) return `the URL is longer than ${urlCharactersMax} characters`;
  return null;
}

const BODY_HEADERS = ["content-encoding", "content-language", "content-location", "content-type"];
const CREDENTIALS = ["authorization", "cookie", "proxy-authorization"];

/** Names that frame the message or speak for the connection; the rest of the standard's list is a browser's concern. */
const FORBIDDEN = new Set([
  "accept-encoding",
  "connection",
  "content-length",
  "cookie2",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "set-cookie",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via",
  // A server that honours them sends another method than the one that was checked.
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
]);

/** Whether a header is the connection's own, lower case; nobody else may set it. */
export function isOwnHeader(name: string): boolean {
  return FORBIDDEN.has(name) || name.startsWith("proxy-") || name.startsWith("sec-");
}

function invalid(message: string): PowerError {
  return new PowerError("TypeError", "ERR_FETCH_INVALID", `Cannot fetch: ${message}`);
}

function fail(message: string): never {
  throw invalid(message);
}
