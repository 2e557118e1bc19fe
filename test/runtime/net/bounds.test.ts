import { createServer, type Socket } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { listen, network, type NetworkOptions, plugin, PUBLIC, serve } from "./support.ts";

const GRANT = { net: ["a.example:80"] };

function guest(port: number, limits: NetworkOptions["limits"] = {}) {
  const { net, dialed } = network({ names: { "a.example": [PUBLIC] }, route: () => port, limits });
  return { ...plugin(GRANT, { net }), dialed };
}

/** A server that says these bytes to whoever connects, whatever was asked. */
function raw(text: string | ((socket: Socket) => void)) {
  return listen(createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => typeof text === "string" ? socket.end(text) : text(socket));
  }));
}

test("a body of the bound passes, one byte more does not, chunked or not", async () => {
  for (const isChunked of [false, true]) {
    await using server = await serve((seen, response) => {
      const size = Number(seen.url.slice(1));
      response.writeHead(200, isChunked ? {} : { "content-length": size });
      if (isChunked) response.write("x");
      response.end("x".repeat(size - (isChunked ? 1 : 0)));
    });
    const { fetch } = guest(server.port, { responseBytesMax: 100_000 });
    expect((await fetch("http://a.example/100000")).body!.length).toBe(100_000);
    expect((await fetch("http://a.example/100001")).error).toMatchObject({
      name: "TypeError",
      message: "fetch failed: the response is larger than 100000 bytes",
    });
  }
});

test("an endless body ends at the bound", async () => {
  await using server = await serve((_seen, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write("x".repeat(65_536)));
    };
    response.on("drain", more);
    more();
  });
  const { fetch } = guest(server.port, { responseBytesMax: 1_000_000 });
  expect((await fetch("http://a.example/")).error).toMatchObject({
    message: expect.stringMatching(/larger than 1000000 bytes/),
  });
});

test("headers have a bound", async () => {
  await using server = await serve((seen, response) =>
    void response.writeHead(200, { "x-large": "x".repeat(Number(seen.url.slice(1))) }).end("ok")
  );
  const { fetch } = guest(server.port, { responseHeaderBytesMax: 4_096 });
  expect((await fetch("http://a.example/3000")).body).toBe("ok");
  expect((await fetch("http://a.example/5000")).error).toMatchObject({
    message: "fetch failed: the response's headers are larger than 4096 bytes",
  });
});

test("interim responses are passed over", async () => {
  await using server = await raw(
    "HTTP/1.1 103 Early Hints\r\nx-early: 1\r\n\r\nHTTP/1.1 200 OK\r\nx-late: 2\r\ncontent-length: 2\r\n\r\nok",
  );
  const { status, headers, body } = await guest(server.port).fetch("http://a.example/", {
    redirect: "manual",
  });
  expect({ status, headers, body }).toEqual({
    status: 200,
    headers: { "x-late": "2", "content-length": "2" },
    body: "ok",
  });
});

test("a flood of interim responses ends at the deadline", async () => {
  await using server = await raw((socket) => {
    const timer = setInterval(
      () => socket.write("HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n".repeat(10)),
      5,
    );
    socket.on("close", () => clearInterval(timer));
  });
  const { fetch } = guest(server.port, { fetchMs: 300 });
  expect((await fetch("http://a.example/")).error).toMatchObject({
    message: "fetch failed: it took longer than 300 ms",
  });
});

const TEXT = "text ".repeat(1_000);

test.each([
  ["gzip", gzipSync(TEXT)],
  ["x-gzip", gzipSync(TEXT)],
  ["deflate", deflateSync(TEXT)],
  ["deflate", deflateRawSync(TEXT)],
  ["br", brotliCompressSync(TEXT)],
  ["gzip, br", brotliCompressSync(gzipSync(TEXT))],
  ["identity", Buffer.from(TEXT)],
])("the coding %s is undone", async (coding, bytes) => {
  await using server = await serve((_seen, response) =>
    void response.writeHead(200, { "content-encoding": coding, "content-length": bytes.length }).end(bytes)
  );
  const answer = await guest(server.port).fetch("http://a.example/");
  expect(answer.body).toBe(TEXT);
  if (coding !== "identity") expect(answer.headers).not.toHaveProperty("content-encoding");
  expect(server.seen[0]!.headers["accept-encoding"]).toBe("gzip, deflate, br");
});

test("a bomb of any coding ends at the ratio or at the bound, an unknown coding stays as it is", async () => {
  const zeros = Buffer.alloc(50 * 1_048_576);
  const bombs: Readonly<Record<string, Buffer>> = {
    gzip: gzipSync(zeros),
    br: brotliCompressSync(zeros.subarray(0, 8 * 1_048_576)),
    "gzip, gzip": gzipSync(gzipSync(zeros)),
    "gzip, gzip, gzip": gzipSync(gzipSync(gzipSync("x"))),
    odd: Buffer.from("odd"),
  };
  await using server = await serve((seen, response) => {
    const coding = decodeURIComponent(seen.url.slice(1));
    response.writeHead(200, { "content-encoding": coding }).end(bombs[coding]);
  });
  const { fetch } = guest(server.port);
  for (const coding of ["gzip", "br", "gzip, gzip"]) {
    const { error } = await fetch(`http://a.example/${encodeURIComponent(coding)}`);
    expect(error, coding).toMatchObject({
      name: "TypeError",
      message: expect.stringMatching(/^fetch failed: the response is larger than/),
    });
  }
  expect((await fetch("http://a.example/odd")).body).toBe("odd");
  expect((await fetch("http://a.example/gzip%2C%20gzip%2C%20gzip")).headers).toHaveProperty(
    "content-encoding",
  );
});

test("a damaged coding is a failure", async () => {
  const bytes = gzipSync(TEXT);
  await using server = await serve((seen, response) =>
    void response.writeHead(200, { "content-encoding": "gzip" }).end(
      seen.url === "/cut" ? bytes.subarray(0, 40) : "not gzip",
    )
  );
  const { fetch } = guest(server.port);
  for (const path of ["/cut", "/other"]) {
    expect((await fetch(`http://a.example${path}`)).error).toMatchObject({
      message: "fetch failed: the response's content coding is damaged",
    });
  }
});

test.each([
  ["silent", (_socket: Socket) => {}],
  ["stops in its head", (socket: Socket) => void socket.write("HTTP/1.1 200 OK\r\ncontent-le")],
  [
    "stops in its body",
    (socket: Socket) => void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"),
  ],
  ["drips", (socket: Socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const timer = setInterval(() => socket.write("x"), 20);
    socket.on("close", () => clearInterval(timer));
  }],
])("a server that is %s ends at the deadline", async (_title, answer) => {
  await using server = await raw(answer);
  const begin = performance.now();
  const { fetch } = guest(server.port, { fetchMs: 400 });
  expect((await fetch("http://a.example/")).error).toMatchObject({
    message: "fetch failed: it took longer than 400 ms",
  });
  expect(performance.now() - begin).toBeLessThan(3_000);
});

test.each([
  ["garbage", "hello\r\n\r\n", /is not HTTP|closed the connection/],
  [
    "two lengths",
    "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
    /is not HTTP|cut short/,
  ],
  [
    "a length and chunks",
    "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    /is not HTTP|cut short/,
  ],
  ["a body cut short", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", /closed the connection|cut short/],
  [
    "an upgrade nobody asked for",
    "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
    /^fetch failed: /,
  ],
  ["nothing", "", /closed the connection/],
])("a server that says %s is a failure without the address", async (_title, text, message) => {
  await using server = await raw(text);
  const { error } = await guest(server.port).fetch("http://a.example/");
  expect(error).toMatchObject({
    name: "TypeError",
    code: "ERR_FETCH_FAILED",
    message: expect.stringMatching(message),
  });
  expect(error!.message).not.toContain(PUBLIC);
  expect(server.connections).toBe(1);
});

test("a header named like a thing of the language is a header", async () => {
  await using server = await raw(
    "HTTP/1.1 200 OK\r\n__proto__: a\r\nconstructor: b\r\n__proto__: c\r\ncontent-length: 2\r\n\r\nok",
  );
  const { body } = await guest(server.port).fetch("http://a.example/");
  expect(body).toBe("ok");
  expect(({} as Record<string, unknown>).a).toBeUndefined();
});

test("failures of the network are told in few words, without what the guest did not write", async () => {
  const { net } = network({ names: { "a.example": [PUBLIC], "empty.example": [] } });
  const { fetch } = plugin({ net: ["*:80"] }, { net });
  const reasons: Record<string, string> = {};
  for (const name of ["a.example", "empty.example", "unknown.example"]) {
    reasons[name] = (await fetch(`http://${name}/`)).error!.message;
  }
  expect(reasons).toEqual({
    "a.example": "fetch failed: the connection was refused",
    "empty.example": "fetch failed: the name has no address",
    "unknown.example": "fetch failed: the name cannot be resolved",
  });
});

test("a look-up and a connection that hang have bounds of their own", async () => {
  const { net } = network({
    names: { "a.example": () => new Promise(() => {}) as never },
    limits: { dnsMs: 100 },
  });
  const { fetch } = plugin(GRANT, { net });
  expect((await fetch("http://a.example/")).error!.message).toBe(
    "fetch failed: looking up the name took too long",
  );
});

test("sockets of one tenant are counted: a request waits for its turn, or leaves the queue", async () => {
  let open = 0;
  let most = 0;
  await using server = await serve((_seen, response) => {
    most = Math.max(most, ++open);
    setTimeout(() => {
      open -= 1;
      response.end("ok");
    }, 50);
  });
  const { fetch } = guest(server.port, { socketsPerTenant: 2 });
  const leaving = new AbortController();
  const answers = Promise.all(Array.from({ length: 6 }, () => fetch("http://a.example/")));
  const left = fetch("http://a.example/left", {}, leaving.signal);
  setTimeout(() => leaving.abort(), 20);
  expect((await answers).map(({ body }) => body)).toEqual(Array(6).fill("ok"));
  expect((await left).error).toBeDefined();
  expect(most).toBe(2);
  expect(server.seen.map(({ url }) => url)).not.toContain("/left");
});

test("what the guest gives up, and the end of its call, end the connection", async () => {
  await using server = await raw(() => {});
  const { fetch, abort } = guest(server.port);
  for (const stop of ["key", "call"]) {
    const call = new AbortController();
    const pending = fetch("http://a.example/", { key: 7 }, call.signal);
    await expect.poll(() => server.connections).toBe(stop === "key" ? 1 : 2);
    const ended = new Promise((resolve) => server.server.getConnections((_error, count) => resolve(count)));
    expect(await ended).toBe(1);
    if (stop === "key") await abort(7);
    else call.abort();
    expect((await pending).error).toBeDefined();
    await expect.poll(() =>
      new Promise((resolve) => server.server.getConnections((_error, count) => resolve(count)))
    ).toBe(0);
  }
  expect(await abort(99)).toEqual({ ok: true, value: null });
});

test("[T39] names are looked up so often and no more; addresses need no look-up", async () => {
  await using server = await serve((_seen, response) => void response.end("ok"));
  const { net } = network({
    names: { "a.example": [PUBLIC] },
    route: () => server.port,
    limits: { dnsPerMinute: 2 },
  });
  const { fetch } = plugin({ net: ["a.example:80", `${PUBLIC}:80`] }, { net });
  for (let i = 0; i < 2; i++) expect((await fetch("http://a.example/")).body).toBe("ok");
  expect((await fetch("http://a.example/")).error).toMatchObject({
    name: "LimitError",
    code: "ERR_LIMIT_RATE",
    message: expect.stringContaining("dnsPerMinute"),
  });
  expect((await fetch(`http://${PUBLIC}/`)).body).toBe("ok");
});
