/** One request and its response over a connection that is already there, by undici's HTTP/1.1 parser. */
import type { Socket } from "node:net";
import type { HttpAnswer, HttpContent, HttpHead } from "../powers.ts";

/** One hop. */
export interface Hop {
  /** Upper case. */
  readonly method: string;
  /** Where it goes; its fragment is not sent. */
  readonly url: URL;
  /** Headers and body. */
  readonly content: HttpContent;
  /** A connection to a checked address, used up by this. */
  readonly socket: Socket;
  /** Bytes of the response's head. */
  readonly headerBytesMax: number;
  /** Bytes of the response's body as it comes. */
  readonly bodyBytesMax: number;
  /** Whether the body is read. */
  readonly wantsBody: (head: HttpHead) => boolean;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** A body that is larger than it may be. */
export class BodyTooLarge extends Error {}

/** Sends and receives. Throws undici's errors, the signal's reason, or BodyTooLarge. The connection is closed after. */
export async function sendHop(hop: Hop): Promise<HttpAnswer> {
  const { url, method, content, socket, signal } = hop;
  // Loaded at the first request: a host whose plugins reach nothing does not pay for it.
  const { Client } = await import("undici");
  let isTaken = false;
  const client = new Client(url.origin, {
    connect: (_options, callback) => {
      // A second connection would be one that nobody checked.
      const error = isTaken ? Object.assign(new Error("closed"), { code: "ECONNRESET" }) : null;
      isTaken = true;
      // Later, as a real connection is: undici does not go on when it is called back at once.
      queueMicrotask(() => error === null ? callback(null, socket) : callback(error, null));
    },
    allowH2: false,
    useMilo: false,
    pipelining: 1,
    maxHeaderSize: hop.headerBytesMax,
    // The op's own deadline holds for all of it.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  try {
    return await new Promise<HttpAnswer>((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason as Error);
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) return onAbort();
      client.dispatch({
        method,
        path: url.pathname + url.search,
        headers: content.headers.flat(),
        body: content.body === null ? null : Buffer.from(content.body),
        // No connection is kept: the next one may be another plugin's.
        reset: true,
      }, receive(hop, resolve, reject));
    });
  } finally {
    client.destroy().catch(() => {});
    socket.destroy();
  }
}

function receive(hop: Hop, resolve: (answer: HttpAnswer) => void, reject: (error: Error) => void) {
  let head: HttpHead | null = null;
  let length = 0;
  const chunks: Buffer[] = [];
  return {
    // undici checks that a handler has it.
    onRequestStart: () => {},
    onResponseStart(
      _controller: unknown,
      status: number,
      headers: Readonly<Record<string, string | string[] | undefined>>,
      statusText = "",
    ) {
      if (status < 200) return;
      head = { status, statusText, headers: pairs(headers) };
      if (!hop.wantsBody(head)) resolve({ ...head, body: null });
    },
    onResponseData(controller: { abort(reason: Error): void }, chunk: Buffer) {
      length += chunk.byteLength;
      if (length <= hop.bodyBytesMax) return void chunks.push(chunk);
      const error = new BodyTooLarge();
      reject(error);
      controller.abort(error);
    },
    onResponseEnd() {
      if (head !== null) resolve({ ...head, body: Buffer.concat(chunks) });
    },
    onResponseError: (_controller: unknown, error: Error) => reject(error),
  };
}

function pairs(headers: Readonly<Record<string, string | string[] | undefined>>): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    [value ?? ""].flat().map((text): [string, string] => [name.toLowerCase(), text])
  );
}
