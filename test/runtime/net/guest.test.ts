import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { diskFiles, type Powers } from "../../../runtime/mod.ts";
import { Bench } from "../harness.ts";
import { network, PUBLIC, type Seen, serve, type TestServer } from "./support.ts";

let server: TestServer;
let bench: Bench;
let dialed: readonly string[];

beforeAll(async () => {
  server = await serve((seen: Seen, response) => {
    if (seen.url === "/slow") return;
    if (seen.url === "/json") {
      response.writeHead(200, { "content-type": "application/json" }).end('{"a":[1,"\u00e9"]}');
    } else if (seen.url === "/gzip") {
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("unpacked"));
    } else if (seen.url === "/large") response.end("x".repeat(7_000_000));
    else if (seen.url === "/gone") response.writeHead(404, "Not Here").end("gone");
    else if (seen.url === "/intern") response.writeHead(302, { location: "http://127.0.0.1:9/" }).end();
    else response.end(JSON.stringify([seen.method, seen.url, seen.body]));
  });
  const net = network({
    names: { "api.example": [PUBLIC], "intern.example": ["10.0.0.1"] },
    route: (address) => address === PUBLIC ? server.port : undefined,
  });
  dialed = net.dialed;
  bench = new Bench({ powers: { files: diskFiles(), net: net.net } as Powers }); // no guest here has a space of its own
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const PERMISSIONS = { net: ["api.example:80", "intern.example:80"] };

test("a guest fetches: JSON, text, bytes, what was packed, what was not found", async () => {
  const { value } = await bench.once(
    `async () => {
      const json = await fetch("http://api.example/json");
      const post = await fetch(new Request("http://api.example/echo", { method: "POST", body: new URLSearchParams({ a: "b" }) }));
      const gone = await fetch("http://api.example/gone");
      const bytes = await (await fetch(new URL("http://api.example/gone"))).bytes();
      return [json.headers.get("content-type"), await json.json(), await post.json(), gone.status, gone.ok, gone.statusText, bytes.length,
        await (await fetch("http://api.example/gzip")).text(), (await (await fetch("http://api.example/large")).text()).length];
    }`,
    { permissions: PERMISSIONS },
  );
  expect(value).toEqual([
    ...[
      "application/json",
      { a: [1, "\u00e9"] },
      ["POST", "/echo", "a=b"],
      404,
      false,
      "Not Here",
      4,
      "unpacked",
      7_000_000,
    ],
  ]);
});

test("[T18] a refusal is NotCapable, tells the guest its own spelling, and becomes the caller's when it escapes", async () => {
  const before = dialed.length;
  for (const url of ["http://other.example/?k=1", "http://intern.example/", "http://127.0.0.1:1/"]) {
    const caught = await bench.once(
      `async () => { try { await fetch(${
        JSON.stringify(url)
      }); } catch (e) { return [e instanceof Deno.errors.NotCapable, e.code, e.kind, e.value, e.message]; } }`,
      { permissions: PERMISSIONS },
    );
    expect(caught.value).toEqual([true, "ERR_NOT_CAPABLE", "net", url, `Requires net access to "${url}"`]);
    expect(caught.denials.length).toBe(1);
    const escaped = await bench.once(`() => fetch(${JSON.stringify(url)})`, { permissions: PERMISSIONS });
    expect(escaped.code).toBe("ERR_NOT_CAPABLE");
    expect(escaped.error!.message).not.toContain("k=1");
  }
  expect(dialed.length).toBe(before);
  const redirect = await bench.once(
    `async () => { try { await fetch("http://api.example/intern"); } catch (e) { return JSON.stringify([e, e.message, e.value]); } }`,
    { permissions: PERMISSIONS },
  );
  expect(redirect.value).not.toContain("127.0.0.1");
  expect(redirect.denials[0]!.decision.remedy).toContain('net: ["127.0.0.1:9"]');
  expect(dialed.length).toBe(before + 1);
});

test("a failure of the network is a TypeError of the guest's own realm, with a code", async () => {
  const failed = await bench.once(
    `async () => { try { await fetch("http://unknown.example/"); } catch (e) { return [e instanceof TypeError, e.name, e.code, e.message, "" + e.stack.includes("node:")]; } }`,
    { permissions: { net: ["unknown.example:80"] } },
  );
  expect(failed.value).toEqual([
    true,
    "TypeError",
    "ERR_FETCH_FAILED",
    "fetch failed: the name cannot be resolved",
    "false",
  ]);
});

test("aborting rejects at once, ends the connection, and leaves nothing for a script to wait for", async () => {
  const open = (): Promise<number> =>
    new Promise((resolve) => server.server.getConnections((_error, count) => resolve(count)));
  const { value, tookMs } = await bench.once(
    `async () => {
      const timed = await fetch("http://api.example/slow", { signal: AbortSignal.timeout(100) }).catch((e) => e.name);
      const controller = new AbortController();
      const pending = fetch("http://api.example/slow", { signal: controller.signal }).catch((e) => e);
      setTimeout(() => controller.abort("mine"), 50);
      return [timed, await pending];
    }`,
    { permissions: PERMISSIONS, config: { isScript: true } },
  );
  expect(value).toEqual(["TimeoutError", "mine"]);
  expect(tookMs).toBeLessThan(5_000);
  await expect.poll(open).toBe(0);
  const late = await bench.once(`() => fetch("http://api.example/slow")`, {
    permissions: PERMISSIONS,
    wallMs: 500,
  });
  expect(late.code).toBe("ERR_LIMIT_WALL");
  await expect.poll(open).toBe(0);
});

test("a host outside of ASCII is mapped by the host", async () => {
  const { value } = await bench.once(
    `async () => { try { await fetch("http://\uff41\uff50\uff49.example/x"); return "sent"; } catch (e) { return e.message; } }`,
    { permissions: PERMISSIONS },
  );
  expect(value).toBe("sent");
});

test("bodies that are not there yet say so", async () => {
  const { value } = await bench.once(
    `async () => {
      const stream = { getReader() {} };
      const r = await fetch("http://api.example/x");
      try { await fetch("http://api.example/x", { method: "POST", body: stream }); } catch (e) { return [e.name, e.message, r.body]; }
    }`,
    { permissions: PERMISSIONS },
  );
  expect(value).toEqual([
    "TypeError",
    "A body is text, URLSearchParams or bytes; streams, Blob and FormData are not there yet",
    null,
  ]);
});

test("what is granted is audited before it is sent, hop by hop", async () => {
  const from = bench.decisions().length;
  await bench.once(`async () => { await fetch("http://api.example/x?token=1"); }`, {
    permissions: PERMISSIONS,
  });
  expect(bench.decisions().slice(from)).toEqual([
    "net GET http://api.example:80/x granted",
    `net GET http://${PUBLIC}:80/x granted`,
  ]);
});
