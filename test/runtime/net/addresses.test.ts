import { createServer } from "node:net";
import { expect, test } from "vitest";
import { rebind } from "./rebinding.ts";
import { listen, network, plugin, PUBLIC, serve } from "./support.ts";

const REFUSED = { name: "NotCapable", code: "ERR_NOT_CAPABLE", kind: "net" };

test("[T25] a name that leads to a private address is refused before anything is sent", async () => {
  await using server = await serve();
  const { net, dialed, lookups } = network({
    names: {
      "intern.example": ["127.0.0.1"],
      "mixed.example": [PUBLIC, "10.0.0.1"],
      "mapped.example": ["::ffff:7f00:1"],
    },
    route: () => server.port,
  });
  const granted = { net: ["intern.example:80", "mixed.example:80", "mapped.example:80"] };
  for (const name of ["intern.example", "mixed.example", "mapped.example"]) {
    const { fetch, denials } = plugin(granted, { net });
    const { error } = await fetch(`http://${name}/`);
    expect(error).toMatchObject({
      ...REFUSED,
      value: `http://${name}/`,
      message: `Requires net access to "http://${name}/"`,
    });
    expect(`${error!.message} ${error!.value}`).not.toMatch(/127|10\.0|7f00/);
    expect(denials[0]!.decision.reason).toMatch(/which is not public/);
  }
  expect(lookups).toEqual(["intern.example", "mixed.example", "mapped.example"]);
  expect(dialed).toEqual([]);
  expect(server.connections).toBe(0);

  const twin = plugin({ net: ["intern.example:80", "127.0.0.1:80"] }, { net });
  expect((await twin.fetch("http://intern.example/")).body).toBe("ok");
  expect(dialed).toEqual(["127.0.0.1:80"]);
  expect(server.seen[0]!.headers.host).toBe("intern.example");
});

test("a redirect to a private address is refused, the granted twin is followed", async () => {
  await using inner = await serve((_seen, response) => void response.end("inner"));
  await using outer = await serve((_seen, response) =>
    void response.writeHead(302, { location: `http://127.0.0.1:${inner.port}/admin?key=1` }).end()
  );
  const { net } = network({
    names: { "api.example": [PUBLIC] },
    route: (_address, port) => port === 80 ? outer.port : port,
  });
  const thief = plugin({ net: ["api.example:80"] }, { net });
  const { error } = await thief.fetch("http://api.example/r");
  expect(error).toMatchObject({ ...REFUSED, value: "http://api.example/r" });
  expect(`${error!.message} ${error!.value}`).not.toContain("127.0.0.1");
  expect(inner.connections).toBe(0);
  expect(outer.connections).toBe(1);
  expect(thief.decisions()).toEqual([
    "GET http://api.example:80/r granted",
    `GET http://${PUBLIC}:80/r granted`,
    `GET http://127.0.0.1:${inner.port}/admin denied`,
  ]);

  const twin = plugin({ net: ["api.example:80", `127.0.0.1:${inner.port}`] }, { net });
  expect(await twin.fetch("http://api.example/r")).toMatchObject({
    body: "inner",
    redirected: true,
    url: `http://127.0.0.1:${inner.port}/admin?key=1`,
  });
});

test("a name server that changes its answer changes nothing: each hop asks once and is pinned", async () => {
  await using server = await serve((seen, response) => {
    if (seen.url === "/") response.end("first");
    else response.writeHead(302, { location: "/" }).end();
  });
  let asked = 0;
  const { net, dialed, lookups } = network({
    names: { "rebind.example": () => asked++ === 0 ? [PUBLIC] : ["127.0.0.1"] },
    route: () => server.port,
  });
  const { fetch } = plugin({ net: ["rebind.example:80"] }, { net });
  expect((await fetch("http://rebind.example/")).body).toBe("first");
  expect(lookups).toEqual(["rebind.example"]);
  expect(dialed).toEqual([`${PUBLIC}:80`]);

  asked = 0;
  const { error } = await fetch("http://rebind.example/again");
  expect(error).toMatchObject(REFUSED);
  expect(dialed).toEqual([`${PUBLIC}:80`, `${PUBLIC}:80`]);
  expect(server.seen.map(({ url }) => url)).toEqual(["/", "/again"]);

  const twin = plugin({ net: ["rebind.example:80", "127.0.0.1:80"] }, { net });
  asked = 0;
  expect((await twin.fetch("http://rebind.example/again")).body).toBe("first");
});

test("whatever a name server answers, and whenever: nothing private is ever connected to", async () => {
  const { attempts, answered, refused, escapes, trapped } = await rebind(120);
  expect(escapes).toEqual([]);
  expect(attempts).toBeGreaterThanOrEqual(120);
  expect(answered).toBeGreaterThan(10);
  expect(refused).toBeGreaterThan(40);
  expect(trapped).toBeGreaterThan(10);
});

test("denies of an address hold whatever name leads to it, entries with a method hold on every hop", async () => {
  await using server = await serve((seen, response) => {
    if (seen.url === "/v1/old") response.writeHead(307, { location: "/v1/new" }).end();
    else if (seen.url === "/v1/out") response.writeHead(307, { location: "/v2/x" }).end();
    else response.end(seen.method);
  });
  const { net } = network({ names: { "api.example": [PUBLIC] }, route: () => server.port });
  const denied = plugin({ net: { allow: true, deny: [`${PUBLIC}/32`] } }, { net });
  expect((await denied.fetch("http://api.example/v1/x")).error).toMatchObject(REFUSED);
  expect(server.connections).toBe(0);

  const { fetch } = plugin({ net: ["GET http://api.example/v1/"] }, { net });
  expect((await fetch("http://api.example/v1/old")).body).toBe("GET");
  for (const path of ["/v1/out", "/v2/x", "/v1/..%2fv2", "/v1/%2e%2e/v1/x", "/v1//x", "/v1\\..\\v1\\x"]) {
    expect((await fetch(`http://api.example${path}`)).error, path).toMatchObject(REFUSED);
  }
  expect((await fetch("http://api.example/v1/x", { method: "POST", body: "b" })).error).toMatchObject(
    REFUSED,
  );
  expect(server.seen.map(({ url }) => url)).toEqual(["/v1/old", "/v1/new", "/v1/out"]);
});

test("addresses are tried in their order, and only those that were found", async () => {
  await using server = await serve();
  const { net, dialed } = network({
    names: { "api.example": ["93.184.215.15", PUBLIC, PUBLIC] },
    route: (address) => address === PUBLIC ? server.port : undefined,
  });
  const { fetch } = plugin({ net: ["api.example:80"] }, { net });
  expect((await fetch("http://api.example/")).body).toBe("ok");
  expect(dialed).toEqual(["93.184.215.15:80", `${PUBLIC}:80`]);
});

test("nothing of the environment sends a request elsewhere", async () => {
  await using proxy = await listen(createServer((socket) => void socket.end()));
  await using server = await serve();
  const before = { ...process.env };
  const url = `http://127.0.0.1:${proxy.port}`;
  Object.assign(process.env, { HTTP_PROXY: url, http_proxy: url, ALL_PROXY: url, NODE_USE_ENV_PROXY: "1" });
  try {
    const { net } = network({ names: { "api.example": [PUBLIC] }, route: () => server.port });
    const { fetch } = plugin({ net: ["api.example:80"] }, { net });
    expect((await fetch("http://api.example/")).body).toBe("ok");
    expect(proxy.connections).toBe(0);
  } finally {
    for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "NODE_USE_ENV_PROXY"]) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
});

test("no connection is kept: each request has its own", async () => {
  await using server = await serve();
  const { net } = network({ names: { "api.example": [PUBLIC] }, route: () => server.port });
  const one = plugin({ net: ["api.example:80"] }, { net });
  const other = plugin({ net: ["api.example:80"] }, { net });
  for (const { fetch } of [one, other, one]) expect((await fetch("http://api.example/")).body).toBe("ok");
  expect(server.connections).toBe(3);
  expect(server.seen[0]!.headers.connection).toBe("close");
});
