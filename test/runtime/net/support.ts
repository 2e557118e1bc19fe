/** A network of its own for tests: a resolver that is a table, and connections that all end at loopback servers. */
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { readFileSync } from "node:fs";
import { grantOf, layerOf, type PermissionRequest } from "../../../permissions/mod.ts";
import {
  Broker,
  type BrokerOptions,
  type Denial,
  diskFiles,
  ENDOWMENTS,
  type GuestFacts,
  memoryAudit,
  type NetLimits,
  newDenialPrefix,
  pinnedNet,
  type Powers,
  type Principal,
} from "../../../runtime/mod.ts";

/** An address that the rules call public; nothing here ever connects to it. */
export const PUBLIC = "93.184.215.14";

const CERT = readFileSync(new URL("./fixtures/cert.pem", import.meta.url), "utf8");
const KEY = readFileSync(new URL("./fixtures/key.pem", import.meta.url), "utf8");

/** A request as a server saw it. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

/** A loopback server that counts. */
export interface TestServer extends AsyncDisposable {
  readonly port: number;
  readonly server: Server;
  connections: number;
  readonly seen: Seen[];
}

/** What a server answers; nothing is an empty 200. */
export type Answer = (seen: Seen, response: ServerResponse) => void;

/** Starts an HTTP server, or one over TLS. */
export async function serve(answer: Answer = (_seen, response) => void response.end("ok"), isTls = false) {
  const seen: Seen[] = [];
  const listener = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = "";
    for await (const chunk of request.setEncoding("latin1")) body += chunk;
    const { method = "", url = "", headers, rawHeaders } = request;
    seen.push({ method, url, headers, rawHeaders, body });
    answer(seen.at(-1)!, response);
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void =>
    void listener(request, response).catch(() => {});
  return await listen(isTls ? createHttps({ cert: CERT, key: KEY }, onRequest) : createHttp(onRequest), seen);
}

/** Starts listening on loopback; every connection is counted and ended at the end. */
export async function listen(server: Server, seen: Seen[] = [], host = "127.0.0.1"): Promise<TestServer> {
  const open = new Set<Socket>();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const started: TestServer = {
    port: (server.address() as AddressInfo).port, // it listens on a port
    server,
    connections: 0,
    seen,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  server.on("connection", (socket: Socket) => {
    started.connections += 1;
    open.add(socket.on("error", () => {}));
    socket.on("close", () => open.delete(socket));
  });
  return started;
}

/** How a test network is set up. */
export interface NetworkOptions {
  /** Addresses by name; a function is asked at every look-up. */
  readonly names?: Readonly<Record<string, readonly string[] | (() => readonly string[])>>;
  /** Port of the loopback server that stands behind an address and port; all others refuse. */
  readonly route?: (address: string, port: number) => number | undefined;
  readonly limits?: Partial<NetLimits>;
}

/** Net powers that record what was asked for and where a connection was opened. */
export function network({ names = {}, route = (_address, port) => port, limits = {} }: NetworkOptions = {}) {
  const lookups: string[] = [];
  const dialed: string[] = [];
  const net = pinnedNet({
    limits,
    ca: CERT,
    resolve: (name) => {
      lookups.push(name);
      const found = names[name];
      if (found === undefined) {
        return Promise.reject(
          Object.assign(new Error(`getaddrinfo ${name} at 10.9.8.7`), { code: "ENOTFOUND" }),
        );
      }
      return Promise.resolve(typeof found === "function" ? found() : found);
    },
    dial: (address, port) => {
      dialed.push(address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`);
      return connect({ host: "127.0.0.1", port: route(address, port) ?? 1 });
    },
  });
  return { net, lookups, dialed };
}

/** What the op was told. */
export interface FetchInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly redirect?: string;
  readonly key?: number;
}

/** What the op answered. */
export interface FetchAnswer {
  readonly status?: number;
  readonly statusText?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly redirected?: boolean;
  readonly body?: string;
  readonly error?: GuestFacts;
}

/** A broker over a network, on behalf of one plugin. */
export function plugin(
  permissions: PermissionRequest,
  powers: Pick<Powers, "net">,
  more: Pick<BrokerOptions, "secrets" | "redactor"> & { readonly principal?: Partial<Principal> } = {},
) {
  const audit = memoryAudit();
  const context = { cwd: "/nonexistent" };
  const denials: Denial[] = [];
  const broker = new Broker({
    ops: ENDOWMENTS.flatMap(({ ops }) => ops),
    audit,
    powers: { files: diskFiles(), ...powers },
    sealed: () => [],
    secrets: more.secrets,
    redactor: more.redactor,
  });
  const principal: Principal = {
    tenant: "t",
    plugin: "p",
    title: 'Plugin "p"',
    fingerprint: null,
    confinement: "test",
    grant: grantOf(layerOf("manifest", permissions, context)),
    context,
    bundle: null,
    denialPrefix: newDenialPrefix(),
    ...more.principal,
  } as Principal; // no part of these tests has a space of its own
  let ops = 0;
  const dispatch = async (name: string, args: readonly unknown[], signal: AbortSignal) => {
    const text = JSON.stringify([name, args]);
    const scope = { id: "call", signal, deny: (denial: Denial) => void denials.push(denial) };
    return JSON.parse(await broker.dispatch({ principal, scope, op: ++ops, text })) as
      | { readonly ok: true; readonly value: Record<string, unknown> }
      | { readonly ok: false; readonly error: GuestFacts };
  };
  return {
    denials,
    events: audit.events,
    /** Decisions in their order, as `value decision`. */
    decisions: () => audit.events.map(({ value, decision }) => `${value} ${decision}`),
    abort: (key: number) => dispatch("fetch_abort", [key], new AbortController().signal),
    /** Calls the op as the guest's `fetch` would. */
    async fetch(
      url: string,
      { method = "GET", headers = {}, body, redirect = "follow", key = 0 }: FetchInit = {},
      signal = new AbortController().signal,
    ): Promise<FetchAnswer> {
      const encoded = body === undefined ? null : Buffer.from(body, "latin1").toString("base64");
      const args = [url, method, Object.entries(headers).flat(), encoded, redirect, key];
      const answer = await dispatch("fetch", args, signal);
      if (!answer.ok) return { error: answer.error };
      const { value } = answer;
      const flat = value.headers as string[]; // names and values, by the op's own shape
      return {
        ...value,
        headers: Object.fromEntries(flat.flatMap((name, at) => at % 2 === 0 ? [[name, flat[at + 1]!]] : [])),
        body: Buffer.from(value.body as string, "base64").toString("latin1"),
      };
    },
  };
}
