/** Connections to checked addresses and to nothing else. The name is only for the certificate and the Host header. */
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { CheckedAddress } from "../checked.ts";

/** Opens a TCP connection to an address; replaced by tests that must not leave the machine. */
export type Dial = (address: string, port: number) => Socket;

/** The system's own connections. */
export const dialDirectly: Dial = (host, port) => connect({ host, port });

/** What a connection needs to know. */
export interface ConnectOptions {
  /** Opens TCP connections. */
  readonly dial: Dial;
  /** Milliseconds for one attempt, TLS included. */
  readonly connectMs: number;
  /** Further authorities to trust, beside the runtime's own. */
  readonly ca?: string | undefined;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** Tries the addresses one after the other. Throws the last failure. */
export async function connectPinned(
  url: URL,
  addresses: readonly CheckedAddress[],
  options: ConnectOptions,
): Promise<Socket> {
  let failure: unknown = new Error("there is no address");
  for (const { address } of addresses) {
    try {
      return await attempt(url, address, options);
    } catch (error) {
      options.signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}

function attempt(url: URL, address: string, options: ConnectOptions): Promise<Socket> {
  const { dial, connectMs, signal } = options;
  const isTls = url.protocol === "https:";
  const raw = dial(address, Number(url.port || (isTls ? 443 : 80)));
  const socket = isTls ? overTls(raw, url, options) : raw;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail(timedOut()), connectMs);
    const onAbort = (): void => fail(signal.reason);
    const settle = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      for (const end of [raw, socket]) end.off("error", fail).off("close", onClose);
    };
    const fail = (error: unknown): void => {
      settle();
      for (const end of [raw, socket]) end.on("error", () => {}).destroy();
      reject(error as Error);
    };
    const onClose = (): void => fail(Object.assign(new Error("closed"), { code: "ECONNRESET" }));
    for (const end of [raw, socket]) end.on("error", fail).on("close", onClose);
    socket.once(isTls ? "secureConnect" : "connect", () => {
      settle();
      // Whoever takes the connection listens for errors; until then one must not end the process.
      for (const end of [raw, socket]) end.on("error", () => {});
      resolve(socket.setNoDelay(true));
    });
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}

function overTls(raw: Socket, url: URL, { ca }: ConnectOptions): Socket {
  const name = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return connectTls({
    socket: raw,
    // An address is no server name in TLS; as `host` the certificate is checked against it all the same.
    ...(isIP(name) === 0 ? { servername: name } : { host: name }),
    ALPNProtocols: ["http/1.1"],
    // Said aloud because an environment variable would turn it off.
    rejectUnauthorized: true,
    minVersion: "TLSv1.2",
    ...(ca === undefined ? {} : { ca }),
  });
}

function timedOut(): Error {
  return Object.assign(new Error("timed out"), { code: "ETIMEDOUT" });
}
