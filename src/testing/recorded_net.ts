/** The network of a test: what was recorded answers, and nothing else does. What may be asked for is decided before, as ever. */
import { isIP } from "node:net";
import { UsageError } from "../../permissions/mod.ts";
import { fetchFailed, type HttpAnswer, NET_LIMITS, type NetPowers } from "../../runtime/mod.ts";

/** One request and its answer. */
export interface RecordedFetch {
  /** `https://…`, or with its method `POST https://…`. */
  readonly request: string;
  /** What the plugin gets. */
  readonly response: RecordedResponse;
}

/** A recorded answer. */
export interface RecordedResponse {
  /** Absent is 200. */
  readonly status?: number;
  /** By name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A text, bytes, or any other value, which is sent as JSON; absent is an empty body. */
  readonly body?: unknown;
}

/** One request that a plugin made. */
export interface MadeFetch {
  /** Upper case. */
  readonly method: string;
  /** Where it went. */
  readonly url: string;
  /** Names and values, as the plugin gave them, and the secrets that were placed for it. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** What was sent; null is nothing. */
  readonly body: Uint8Array | null;
}

/** What answers, and what was asked. */
export interface RecordedNet {
  /** For a host. */
  readonly net: NetPowers;
  /** Every request that was let through, in order. */
  readonly made: readonly MadeFetch[];
}

/**
 * Answers from a recording: of several answers to one request the first comes first, and the last again and again. Throws
 * UsageError for a request that is no URL.
 */
export function recordedNet(fetches: readonly RecordedFetch[]): RecordedNet {
  const answers = Map.groupBy(fetches, ({ request }) => lineOf(request));
  const made: MadeFetch[] = [];
  const net: NetPowers = {
    limits: NET_LIMITS,
    resolve: ({ value }) => Promise.resolve([addressOf(urlOf(value).hostname)]),
    send: async ({ value }, _addresses, { headers, body }, { wantsBody }) => {
      const [method = "", href = ""] = value.split(" ");
      made.push({ method, url: href, headers, body });
      const recorded = answers.get(lineOf(value)) ?? [];
      const response = (recorded.length > 1 ? recorded.shift() : recorded[0])?.response;
      if (response === undefined) throw fetchFailed(`no answer is recorded for ${method} ${href}`);
      const head = headOf(response);
      return await Promise.resolve({ ...head, body: wantsBody(head) ? bytesOf(response.body) : null });
    },
  };
  return { net, made };
}

/** `METHOD URL` as the broker writes it, without what is never sent. */
function lineOf(request: string): string {
  const method = /^([A-Za-z]+) /.exec(request)?.[1] ?? "GET";
  const url = urlOf(request);
  url.hash = "";
  return `${method.toUpperCase()} ${url.href}`;
}

function urlOf(request: string): URL {
  const text = request.slice(request.indexOf(" ") + 1);
  const url = URL.parse(text);
  if (url !== null) return url;
  throw new UsageError(
    "ERR_USAGE",
    `Cannot record a fetch of "${request}": it is no URL, such as https://api.example.com/v1`,
  );
}

/** A name is public unless it says itself that it is this machine; an address is its own. */
function addressOf(hostname: string): string {
  const bare = hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(bare) !== 0) return bare;
  return /(?:^|\.)localhost$/.test(bare) ? "127.0.0.1" : PUBLIC_ADDRESS;
}

function headOf({ status = 200, headers = {}, body }: RecordedResponse): Omit<HttpAnswer, "body"> {
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const isTyped = given.some(([name]) => name === "content-type");
  const type = isTyped || typeof body === "string" || body instanceof Uint8Array || body === undefined
    ? []
    : [["content-type", "application/json"] as const];
  return { status, statusText: "", headers: [...given, ...type] };
}

function bytesOf(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return new TextEncoder().encode(
    body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body),
  );
}

/** Where no test ever goes: it only has to be public. */
const PUBLIC_ADDRESS = "93.184.215.14";
