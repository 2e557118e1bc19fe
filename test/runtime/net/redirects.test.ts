import { expect, test } from "vitest";
import { network, plugin, PUBLIC, serve } from "./support.ts";

const NAMES = { "a.example": [PUBLIC], "b.example": [PUBLIC] };
const GRANT = { net: ["a.example:80", "b.example:80", "a.example:81"] };

/** A server that redirects `/` by this status to the location, and answers everything else with what it saw. */
async function redirecting(status: number, location: string, more: Readonly<Record<string, string>> = {}) {
  const server = await serve((seen, response) => {
    if (seen.url === "/") response.writeHead(status, { location, ...more }).end("not for the guest");
    else response.end(JSON.stringify(seen));
  });
  const { net } = network({ names: NAMES, route: () => server.port });
  return {
    server,
    fetch: plugin(GRANT, { net }).fetch,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

test.each(
  [
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [307, "POST", "POST"],
    [308, "POST", "POST"],
    [301, "PUT", "PUT"],
    [302, "DELETE", "DELETE"],
    [303, "PUT", "GET"],
    [303, "HEAD", "HEAD"],
    [301, "GET", "GET"],
  ] as const,
)("%i: %s is followed by %s", async (status, method, then) => {
  await using host = await redirecting(status, "/next");
  const hasBody = method === "POST" || method === "PUT";
  const answer = await host.fetch("http://a.example/", {
    method,
    headers: { "content-type": "text/x", "content-language": "de", "x-own": "1" },
    ...(hasBody ? { body: "payload" } : {}),
  });
  expect(answer).toMatchObject({ status: 200, redirected: true, url: "http://a.example/next" });
  const seen = host.server.seen[1]!;
  expect(seen.method).toBe(then);
  expect(seen.body).toBe(hasBody && then === method ? "payload" : "");
  const isRewritten = then !== method;
  expect(seen.headers["content-type"]).toBe(isRewritten ? undefined : "text/x");
  expect(seen.headers["content-language"]).toBe(isRewritten ? undefined : "de");
  expect(seen.headers["x-own"]).toBe("1");
});

const SECRETS = { authorization: "Bearer x", cookie: "a=b", "x-own": "1" };

test.each(
  [
    ["http://b.example/next", false],
    ["http://a.example:81/next", false],
    ["/next", true],
    ["http://user:password@a.example/next", true],
  ] as const,
)("a redirect to %s keeps credentials: %s", async (location, keeps) => {
  await using host = await redirecting(307, location);
  expect((await host.fetch("http://a.example/", { headers: SECRETS })).status).toBe(200);
  const { headers } = host.server.seen[1]!;
  expect(headers.authorization).toBe(keeps ? "Bearer x" : undefined);
  expect(headers.cookie).toBe(keeps ? "a=b" : undefined);
  expect(headers["x-own"]).toBe("1");
  expect(JSON.stringify(host.server.seen[1])).not.toContain("password");
});

test("redirect: manual shows it, error refuses it, follow is the default", async () => {
  await using host = await redirecting(302, "http://elsewhere.example/");
  const manual = await host.fetch("http://a.example/", { redirect: "manual" });
  expect(manual).toMatchObject({ status: 302, redirected: false, body: "not for the guest" });
  expect(manual.headers!.location).toBe("http://elsewhere.example/");
  const refused = await host.fetch("http://a.example/", { redirect: "error" });
  expect(refused.error).toMatchObject({
    name: "TypeError",
    message: expect.stringMatching(/^fetch failed: the server redirects/),
  });
  expect((await host.fetch("http://a.example/")).error).toMatchObject({ name: "NotCapable" });
  expect(host.server.seen.length).toBe(3);
});

test.each([
  "data:text/plain,x",
  "ftp://a.example/",
  "http://a.example./next",
  "http://",
  "file:///etc/passwd",
  `/${"x".repeat(9_000)}`,
])(
  "a redirect to %s is a failure, and leads nowhere",
  async (location) => {
    await using host = await redirecting(302, location);
    expect((await host.fetch("http://a.example/")).error).toMatchObject({
      name: "TypeError",
      message: expect.stringMatching(/^fetch failed: a redirect/),
    });
    expect(host.server.connections).toBe(1);
  },
);

test("two locations that differ are no redirect to either", async () => {
  await using server = await serve((_seen, response) =>
    void response.writeHead(302, [["location", "/one"], ["location", "/two"]].flat()).end()
  );
  const { net } = network({ names: NAMES, route: () => server.port });
  const { error } = await plugin(GRANT, { net }).fetch("http://a.example/");
  expect(error).toMatchObject({
    name: "TypeError",
    message: "fetch failed: a redirect leads to no valid URL",
  });
});

test("a loop ends at the bound, one hop less is followed", async () => {
  await using server = await serve((seen, response) => {
    const count = Number(seen.url.slice(1));
    if (count === 0) response.end("there");
    else response.writeHead(302, { location: `/${count - 1}` }).end();
  });
  const { net } = network({ names: NAMES, route: () => server.port, limits: { redirectsMax: 3 } });
  const { fetch } = plugin(GRANT, { net });
  expect((await fetch("http://a.example/3")).body).toBe("there");
  expect((await fetch("http://a.example/4")).error).toMatchObject({
    message: "fetch failed: more than 3 redirects",
  });
  expect(server.connections).toBe(8);
});

test("a downgrade to http is one more hop to be decided", async () => {
  await using plain = await serve((_seen, response) => void response.end("plain"));
  await using secure = await serve(
    (_seen, response) => void response.writeHead(302, { location: "http://api.example.com/" }).end(),
    true,
  );
  const { net } = network({
    names: { "api.example.com": [PUBLIC] },
    route: (_address, port) => port === 443 ? secure.port : plain.port,
  });
  expect((await plugin({ net: ["api.example.com:443"] }, { net }).fetch("https://api.example.com/")).error)
    .toMatchObject({ name: "NotCapable" });
  expect(plain.connections).toBe(0);
  const twin = plugin({ net: ["api.example.com:443", "api.example.com:80"] }, { net });
  expect((await twin.fetch("https://api.example.com/")).body).toBe("plain");
});
