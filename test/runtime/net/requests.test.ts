import { expect, test } from "vitest";
import { network, plugin, PUBLIC, serve } from "./support.ts";

const GRANT = { net: ["a.example:80", "*.example:80"] };

async function echo() {
  const server = await serve((seen, response) => void response.end(JSON.stringify(seen)));
  const { net, dialed } = network({ names: { "a.example": [PUBLIC] }, route: () => server.port });
  return {
    server,
    dialed,
    ...plugin(GRANT, { net }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

test("headers that frame the message or speak for the connection are dropped, the others are sent", async () => {
  await using host = await echo();
  const dropped = [
    ...[
      "Host",
      "Connection",
      "Content-Length",
      "Transfer-Encoding",
      "Upgrade",
      "TE",
      "Trailer",
      "Expect",
      "Keep-Alive",
      "Via",
    ],
    ...[
      "Proxy-Authorization",
      "Proxy-Connection",
      "Sec-Fetch-Mode",
      "Accept-Encoding",
      "HTTP2-Settings",
      "X-HTTP-Method-Override",
    ],
  ];
  const answer = await host.fetch("http://a.example/p?q=1#f", {
    method: "POST",
    headers: {
      ...Object.fromEntries(dropped.map((name) => [name, "evil"])),
      "X-Own": "1",
      Cookie: "a=b",
      "User-Agent": "mine",
    },
    body: "payload",
  });
  expect(answer.status).toBe(200);
  const [seen] = host.server.seen;
  expect(seen!.url).toBe("/p?q=1");
  expect(JSON.stringify(seen)).not.toContain("evil");
  expect(seen!.headers).toMatchObject({
    host: "a.example",
    connection: "close",
    "content-length": "7",
    "x-own": "1",
    cookie: "a=b",
    "user-agent": "mine",
    accept: "*/*",
  });
});

test.each(["a\r\nx-evil: 1", "a\nb", "a\rb", "a\0b", "a\x7fb", "a\u20acb"])(
  "the header value %j is refused",
  async (value) => {
    await using host = await echo();
    const { error } = await host.fetch("http://a.example/", { headers: { "x-own": value } });
    expect(error).toMatchObject({ name: "TypeError", message: expect.stringMatching(/value of a header/) });
    expect((await host.fetch("http://a.example/", { headers: { "x-own": "\ta \x80\xff" } })).status).toBe(
      200,
    );
    expect(host.server.connections).toBe(1);
  },
);

test.each(["", "a b", "a:b", "a\r\nb", "\u00e4", "x\0"])("the header name %j is refused", async (name) => {
  await using host = await echo();
  expect((await host.fetch("http://a.example/", { headers: { [name]: "1" } })).error).toMatchObject({
    name: "TypeError",
  });
  expect(host.dialed).toEqual([]);
});

test.each(["CONNECT", "TRACE", "TRACK", "patch", "GET /evil", "GET\r\nx: y", "", "M-SEARCH"])(
  "the method %j is refused",
  async (method) => {
    await using host = await echo();
    expect((await host.fetch("http://a.example/", { method })).error).toMatchObject({ name: "TypeError" });
    expect((await host.fetch("http://a.example/", { method: "PATCH" })).status).toBe(200);
    expect(host.server.connections).toBe(1);
  },
);

test.each([
  "http://user@a.example/",
  "http://:pw@a.example/",
  "http://a.example./",
  "http://a.example/\tx",
  "http://a.exa\nmple/",
  " http://a.example/",
  "http://a.example/ ",
  "ws://a.example/",
  "unix:/run/x.sock",
  "/relative",
  `http://a.example/${"x".repeat(8_200)}`,
  `http://a.example/${"\u00e4".repeat(3_000)}`,
])("the URL %j is refused before anything is decided", async (url) => {
  await using host = await echo();
  expect((await host.fetch(url)).error).toMatchObject({ name: "TypeError" });
  expect(host.denials).toEqual([]);
  expect(host.decisions()).toEqual([]);
  expect(host.dialed).toEqual([]);
});

test("a body of GET, one that is too large, and headers that are too large are refused", async () => {
  await using host = await echo();
  expect((await host.fetch("http://a.example/", { body: "x" })).error).toMatchObject({
    message: expect.stringMatching(/has no body/),
  });
  const large = "x".repeat(4 * 1_048_576);
  expect((await host.fetch("http://a.example/", { method: "POST", body: `${large}x` })).error).toMatchObject({
    message: expect.stringMatching(/body is larger/),
  });
  expect((await host.fetch("http://a.example/", { headers: { a: "x".repeat(32_768) } })).error).toMatchObject(
    {
      message: expect.stringMatching(/headers are larger/),
    },
  );
  expect(host.dialed).toEqual([]);
  expect((await host.fetch("http://a.example/", { method: "POST", body: large })).status).toBe(200);
  expect(host.server.seen[0]!.body.length).toBe(large.length);
});

test("cookies of the server are not the guest's", async () => {
  await using server = await serve((_seen, response) =>
    void response.writeHead(200, { "set-cookie": ["a=1", "b=2"], "x-own": "1", "x-two": ["a", "b"] }).end()
  );
  const { net } = network({ names: { "a.example": [PUBLIC] }, route: () => server.port });
  const { headers } = await plugin(GRANT, { net }).fetch("http://a.example/");
  expect(headers).toMatchObject({ "x-own": "1" });
  expect(JSON.stringify(headers)).not.toMatch(/cookie|a=1/);
});

test("the audit and the operator's message hold no query, the guest's refusal its own spelling", async () => {
  await using host = await echo();
  const { error } = await host.fetch("http://other.invalid/p?token=secret");
  expect(error).toMatchObject({ name: "NotCapable", value: "http://other.invalid/p?token=secret" });
  const [denial] = host.denials;
  expect(host.decisions()).toEqual(["GET http://other.invalid:80/p denied"]);
  expect(denial!.decision.remedy).toBe(
    'Its author adds the line net: ["other.invalid:80"] under permissions in plugin.yaml.',
  );
  expect(`${denial!.decision.rule} ${denial!.decision.reason}`).not.toContain("secret");
});
