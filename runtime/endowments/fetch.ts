/** The ops of `fetch`. Each hop is decided before its name is looked up, each address before anything is sent to it. */
import { z } from "zod";
import type { CheckedValue } from "../checked.ts";
import { cutBytes, cutText, type KnownValue } from "../known_value.ts";
import { NET_LIMITS } from "../limits.ts";
import { defineOp, type OpDefinition, type OpTools } from "../op.ts";
import { fetchFailed, type HttpAnswer } from "../powers.ts";
import type { PlacedSecret } from "../secrets.ts";
import {
  type HttpRequest,
  isRedirect,
  nextRequest,
  readBody,
  readHeaders,
  readUrl,
  requestLine,
  shownHeaders,
} from "./fetch_rules.ts";

type Redirect = "error" | "follow" | "manual";
type FetchArguments = [
  url: string,
  method: string,
  headers: string[],
  body: string | null,
  redirect: Redirect,
  key: number,
];

const key = z.number().int().nonnegative();
const fetchArguments = z.tuple([
  z.string().max(NET_LIMITS.urlCharactersMax),
  z.string().max(64),
  z.array(z.string().max(NET_LIMITS.requestHeaderBytesMax)).max(1_024),
  z.string().nullable(),
  z.enum(["error", "follow", "manual"]),
  key,
]);

/** The ops, in the order of their names. */
export const fetchOps: readonly OpDefinition[] = [
  defineOp<FetchArguments>({
    name: "fetch",
    args: fetchArguments,
    requires: ([url, method]) => [{
      kind: "net",
      value: requestLine(method, url, NET_LIMITS.urlCharactersMax),
    }],
    act: ([url, method, headers, body, redirect, key], tools) =>
      tools.cancellable(key, async (signal) => {
        const { limits } = tools.powers.net;
        const request = {
          method,
          url: readUrl(url, limits.urlCharactersMax),
          headers: readHeaders(headers, limits.requestHeaderBytesMax),
          body: readBody(body, method, limits.requestBytesMax),
        };
        const late = AbortSignal.timeout(limits.fetchMs);
        try {
          return await follow(request, redirect, tools, AbortSignal.any([signal, late]));
        } catch (error) {
          if (error !== late.reason) throw error;
          throw fetchFailed(`it took longer than ${limits.fetchMs} ms`);
        }
      }),
  }),
  defineOp<[key: number]>({
    name: "fetch_abort",
    args: z.tuple([key]),
    free: "it only ends what the same guest has begun",
    act: ([key], tools) => {
      tools.cancel(key);
      return Promise.resolve(null);
    },
  }),
];

async function follow(
  first: HttpRequest,
  redirect: Redirect,
  tools: OpTools,
  signal: AbortSignal,
): Promise<unknown> {
  const { limits } = tools.powers.net;
  let request = first;
  let [checked] = tools.granted;
  const placed: KnownValue[] = [];
  for (let hops = 0;; hops++) {
    checked ??= tools.authorizeValue(
      "net",
      requestLine(request.method, request.url.href, limits.urlCharactersMax),
    );
    // Before anything is made of it: where it redirects to must not hold what was sent.
    const answer = scrubbed(await exchange(request, checked, redirect, tools, signal, placed), placed);
    if (redirect === "manual" || !isRedirect(answer)) return shown(answer, request.url, hops > 0);
    if (redirect === "error") throw fetchFailed("the server redirects, and the request refuses that");
    if (hops >= limits.redirectsMax) throw fetchFailed(`more than ${limits.redirectsMax} redirects`);
    request = nextRequest(request, answer, limits.urlCharactersMax);
    checked = undefined;
  }
}

async function exchange(
  { headers, body }: HttpRequest,
  checked: CheckedValue,
  redirect: Redirect,
  tools: OpTools,
  signal: AbortSignal,
  placed: KnownValue[],
): Promise<HttpAnswer> {
  const { net } = tools.powers;
  const found = await net.resolve(checked, { signal, lane: tools.lane });
  if (found.length === 0) throw fetchFailed("the name has no address");
  // One that is refused refuses the request: which of several is used is not the guest's choice, nor its name server's.
  const addresses = found.map((address) => tools.authorizeAddress(checked, address));
  const secrets = await tools.secretsOf(checked, addresses);
  placed.push(...secrets.map(({ known }) => known));
  return await net.send(checked, addresses, { headers: withSecrets(headers, secrets), body }, {
    wantsBody: (head) => redirect === "manual" || !isRedirect(head),
    signal,
    lane: tools.lane,
  });
}

/** With what the broker places, in the stead of what the guest gave those headers. What it gave stays its own for other hosts. */
function withSecrets(
  headers: HttpRequest["headers"],
  secrets: readonly PlacedSecret[],
): HttpRequest["headers"] {
  if (secrets.length === 0) return headers;
  const taken = new Set([...secrets.map(({ header }) => header), ...PARTIAL]);
  return [
    ...headers.filter(([name]) => !taken.has(name)),
    ...secrets.map(({ header, text }) => [header, text] as const),
  ];
}

/** Headers that ask for a part of a response: it could hold a part of a secret, which nobody finds. */
const PARTIAL = ["range", "if-range"];

/**
 * An answer without the secrets that were sent for it. Its body is whole and decoded by now, so no border of a chunk hides
 * one; one in a coding that nobody here can undo could hide it.
 */
function scrubbed(answer: HttpAnswer, placed: readonly KnownValue[]): HttpAnswer {
  if (placed.length === 0) return answer;
  const { headers, statusText, body } = answer;
  const isCoded = headers.some(([name, value]) => name === "content-encoding" && value !== "identity");
  if (isCoded && body !== null && body.byteLength > 0) {
    throw fetchFailed("the response's content coding is unknown, so no secret could be sent for it");
  }
  return {
    ...answer,
    statusText: cutText(statusText, placed),
    headers: headers.map(([name, value]) => [cutText(name, placed), cutText(value, placed)] as const),
    body: body === null ? null : cutBytes(body, placed),
  };
}

function shown(answer: HttpAnswer, { href }: URL, isRedirected: boolean): unknown {
  const { status, statusText, body } = answer;
  return {
    status,
    statusText,
    headers: shownHeaders(answer),
    url: href,
    redirected: isRedirected,
    body: body === null ? "" : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("base64"),
  };
}
