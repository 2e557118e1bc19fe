import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { network, plugin, PUBLIC, type Seen, serve, type TestServer } from "./support.ts";

interface Case {
  readonly id: string;
  readonly grant: readonly string[];
  readonly url: string;
  readonly expect: "allow" | "deny";
  readonly why: string;
  readonly resolves_to?: readonly string[];
  readonly redirect_to?: string | readonly string[];
  readonly status?: number;
  readonly method?: string;
  readonly headers_in?: Readonly<Record<string, string>>;
  readonly note?: string;
}

const KNOWN = new Set([
  ...["id", "grant", "url", "expect", "why", "feature", "note"],
  ...["resolves_to", "resolve_mode", "redirect_to", "status", "method", "headers_in"],
]);
const CASES = readFileSync(new URL("../../cases/requests.jsonl", import.meta.url), "utf8")
  .split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Case);
let plain: TestServer;
let secure: TestServer;
let current: { readonly row: Case; hops: number };

beforeAll(async () => {
  const answer = (_seen: Seen, response: import("node:http").ServerResponse): void => {
    const { row } = current;
    const chain = [row.redirect_to ?? []].flat();
    // A single target that leads to the same place again is a loop.
    const target = chain[current.hops] ?? (chain[0] === row.url ? chain[0] : undefined);
    current.hops += 1;
    if (target !== undefined) return void response.writeHead(302, { location: target }).end();
    response.writeHead(row.status ?? 200).end();
  };
  plain = await serve(answer);
  secure = await serve(answer, true);
});
afterAll(async () => {
  await plain[Symbol.asyncDispose]();
  await secure[Symbol.asyncDispose]();
});

test.each(CASES)("[T25] request $id is $expect: $why", async (row) => {
  current = { row, hops: 0 };
  const addresses = (row.resolves_to ?? ["PUBLIC"]).map((address) => address === "PUBLIC" ? PUBLIC : address);
  const { net, dialed } = network({
    names: new Proxy({}, { get: () => addresses }),
    route: (_address, port) => port === 443 ? secure.port : plain.port,
  });
  const { fetch } = plugin({ net: row.grant }, { net });
  const before = secure.seen.length + plain.seen.length;
  const { status, error } = await fetch(row.url, {
    ...(row.method === undefined ? {} : { method: row.method }),
    headers: row.headers_in ?? {},
  });
  const sent = [...plain.seen, ...secure.seen].length - before;
  if (row.note === "allow is correct only if the header is dropped") {
    expect(status).toBe(200);
    expect(secure.seen.at(-1)!.headers.host).toBe("api.example.com");
  } else if (row.expect === "allow") {
    expect(error).toBeUndefined();
    expect(status).toBe(row.status ?? 200);
    expect(sent).toBe(row.redirect_to === undefined ? 1 : 2);
  } else {
    expect(["NotCapable", "TypeError"]).toContain(error?.name);
    // A redirect is refused after the hops before it; its target is never reached.
    expect(sent).toBe(current.hops);
    expect(sent).toBe(
      row.redirect_to === undefined ? 0 : row.redirect_to === row.url ? 21 : [row.redirect_to].flat().length,
    );
    expect(new Set(dialed).size).toBe(Math.min(sent, 1));
  }
});

test("every row is run, and each of its fields is understood", () => {
  expect(CASES.length).toBeGreaterThan(100);
  expect(CASES.filter((row) => Object.keys(row).some((key) => !KNOWN.has(key)))).toEqual([]);
});
