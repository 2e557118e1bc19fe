/**
 * Reaching other machines. A name is asked for once, the connection goes to an address that was checked, and what is sent
 * follows from the text that was checked: nothing here decides, and nothing can be reached that was not decided.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { CheckedAddress, CheckedValue } from "../checked.ts";
import { NET_LIMITS, type NetLimits } from "../limits.ts";
import { fetchFailed, type HttpAnswer, type HttpContent, type NetPowers, PowerError } from "../powers.ts";
import { Rate } from "../rate.ts";
import { connectPinned, type Dial, dialDirectly } from "./connect.ts";
import { ACCEPT_ENCODING, decodeBody } from "./decode.ts";
import { BodyTooLarge, sendHop } from "./http_hop.ts";
import { Slots } from "./slots.ts";

/** Asks for all addresses of a name. */
export type Resolver = (name: string) => Promise<readonly string[]>;

/** What may be put in the place of the system; tests do. */
export interface NetOptions {
  /** Asks for addresses. */
  readonly resolve?: Resolver;
  /** Opens TCP connections. */
  readonly dial?: Dial;
  /** Certificates to trust instead of the runtime's own, PEM. */
  readonly ca?: string;
  /** Lower bounds. */
  readonly limits?: Partial<NetLimits>;
}

/** Net powers of one tenant. Nothing of the environment is used, so no proxy either. */
export function pinnedNet(options: NetOptions = {}): NetPowers {
  const { resolve = systemResolver, dial = dialDirectly, ca } = options;
  const limits = { ...NET_LIMITS, ...options.limits };
  const sockets = new Slots(limits.socketsPerTenant);
  const lookups = new Slots(limits.lookupsPerTenant);
  const lookupRate = new Rate(limits.dnsPerMinute / 60, limits.dnsPerMinute);
  return {
    limits,
    resolve: (request, { signal, lane }) =>
      failingPlainly(limits, signal, () => {
        const name = parseRequest(request).url.hostname.replace(/^\[(.*)\]$/, "$1");
        if (isIP(name) !== 0) return Promise.resolve([name]);
        if (!lookupRate.take()) throw tooManyLookups(limits);
        return lookups.take(lane, signal, async () => {
          const addresses = await within(limits.dnsMs, signal, resolve(name));
          return [...new Set(addresses)].slice(0, limits.addressesMax);
        });
      }),
    send: (request, addresses, content, { wantsBody, signal, lane }) => {
      refuseForeign(request, addresses);
      return failingPlainly(limits, signal, () =>
        sockets.take(lane, signal, async () => {
          const { method, url } = parseRequest(request);
          const { connectMs } = limits;
          const socket = await connectPinned(url, addresses, { dial, connectMs, ca, signal });
          const answer = await sendHop({
            method,
            url,
            content: withOwnHeaders(content),
            socket,
            headerBytesMax: limits.responseHeaderBytesMax,
            bodyBytesMax: limits.responseBytesMax,
            wantsBody,
            signal,
          });
          return await decoded(answer, limits);
        }));
    },
  };
}

async function systemResolver(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true, order: "verbatim" })).map(({ address }) => address);
}

/** The text that was checked is all that says where a request goes. */
function parseRequest({ value }: CheckedValue): { readonly method: string; readonly url: URL } {
  const space = value.indexOf(" ");
  return { method: value.slice(0, space), url: new URL(value.slice(space + 1)) };
}

function refuseForeign(request: CheckedValue, addresses: readonly CheckedAddress[]): void {
  if (addresses.some(({ of }) => of !== request.value)) {
    throw new TypeError("an address that was checked for another request");
  }
}

function withOwnHeaders({ headers, body }: HttpContent): HttpContent {
  const has = (name: string): boolean => headers.some(([given]) => given.toLowerCase() === name);
  const own: [string, string][] = [["accept-encoding", ACCEPT_ENCODING]];
  if (!has("accept")) own.push(["accept", "*/*"]);
  if (!has("user-agent")) own.push(["user-agent", "sallyport"]);
  return { headers: [...headers, ...own], body };
}

async function decoded(answer: HttpAnswer, limits: NetLimits): Promise<HttpAnswer> {
  if (answer.body === null) return answer;
  const codings = answer.headers.filter(([name]) => name === "content-encoding").flatMap(([, value]) =>
    value.toLowerCase().split(",").map((coding) => coding.trim())
  );
  const { bytes, isDecoded } = await decodeBody(answer.body, codings, {
    bytesMax: limits.responseBytesMax,
    ratioMax: limits.inflateRatioMax,
  });
  if (!isDecoded) return answer;
  // They told of the encoded form.
  const headers = answer.headers.filter(([name]) => name !== "content-encoding" && name !== "content-length");
  return { ...answer, headers, body: bytes };
}

async function within<Value>(ms: number, signal: AbortSignal, work: Promise<Value>): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(Object.assign(new Error("late"), { code: "ETIMEOUT" })), ms);
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** Turns every failure into one that a guest may know: a short reason, and no address that it did not write. */
async function failingPlainly<Value>(
  limits: NetLimits,
  signal: AbortSignal,
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error instanceof PowerError ? error : fetchFailed(reasonOf(error, limits));
  }
}

function tooManyLookups({ dnsPerMinute }: NetLimits): PowerError {
  return new PowerError(
    "LimitError",
    "ERR_LIMIT_RATE",
    `fetch failed: more than ${dnsPerMinute} names were looked up in a minute (dnsPerMinute)`,
  );
}

function reasonOf(error: unknown, limits: NetLimits): string {
  if (error instanceof BodyTooLarge) return tooLarge(limits);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ERR_BUFFER_TOO_LARGE") return `${tooLarge(limits)}, or expands too far`;
  if (code === "UND_ERR_HEADERS_OVERFLOW") {
    return `the response's headers are larger than ${limits.responseHeaderBytesMax} bytes`;
  }
  if (error instanceof Error && error.name === "HTTPParserError") return "the response is not HTTP";
  if (code.startsWith("Z_") || code.startsWith("ERR_BROTLI") || code.startsWith("ERR__ERROR")) {
    return "the response's content coding is damaged";
  }
  if (/^(ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_|DEPTH_|SELF_|ERR_CERT)|_CERT|CERTIFICATE/.test(code)) {
    return "no secure connection, the server's certificate or protocol is not accepted";
  }
  return REASONS[code] ?? "the connection failed";
}

function tooLarge(limits: NetLimits): string {
  return `the response is larger than ${limits.responseBytesMax} bytes`;
}

const REASONS: Readonly<Record<string, string>> = {
  EAI_AGAIN: "the name cannot be resolved now",
  ENODATA: "the name has no address",
  ENOTFOUND: "the name cannot be resolved",
  ETIMEOUT: "looking up the name took too long",
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was reset",
  EHOSTUNREACH: "the host is unreachable",
  ENETUNREACH: "the network is unreachable",
  ETIMEDOUT: "connecting took too long",
  UND_ERR_SOCKET: "the server closed the connection",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the response is cut short",
};
