import { expect, test } from "vitest";
import { pinnedNet } from "../../../runtime/mod.ts";
import { network, plugin, PUBLIC, serve } from "./support.ts";

const MESSAGE = "fetch failed: no secure connection, the server's certificate or protocol is not accepted";

test("the certificate is checked against the name, not the address", async () => {
  await using server = await serve(undefined, true);
  const names = { "api.example.com": [PUBLIC], "evil.example": [PUBLIC] };
  const { net } = network({ names, route: () => server.port });
  const { fetch } = plugin({ net: ["*:443"] }, { net });
  expect((await fetch("https://api.example.com/")).body).toBe("ok");
  expect(server.seen[0]!.headers.host).toBe("api.example.com");
  expect((await fetch("https://evil.example/")).error).toMatchObject({ name: "TypeError", message: MESSAGE });
  expect(server.seen.length).toBe(1);
});

test("an address is checked against the certificate as well", async () => {
  await using server = await serve(undefined, true);
  const { net } = network({ route: () => server.port });
  const { fetch } = plugin({ net: true }, { net });
  expect((await fetch(`https://127.0.0.1:${server.port}/`)).body).toBe("ok");
  expect((await fetch(`https://127.0.0.2:${server.port}/`)).error).toMatchObject({ message: MESSAGE });
});

test("no variable of the environment turns it off", async () => {
  await using server = await serve(undefined, true);
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  try {
    const { fetch } = plugin({ net: true }, { net: pinnedNet() });
    expect((await fetch(`https://127.0.0.1:${server.port}/`)).error).toMatchObject({ message: MESSAGE });
    expect(server.seen).toEqual([]);
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  }
});

test("plain HTTP on a port of TLS, and the other way round, is a failure", async () => {
  await using secure = await serve(undefined, true);
  await using plain = await serve();
  const { fetch } = plugin({ net: true }, network());
  expect((await fetch(`https://127.0.0.1:${plain.port}/`)).error).toMatchObject({
    name: "TypeError",
    message: expect.stringMatching(/^fetch failed: /),
  });
  expect((await fetch(`http://127.0.0.1:${secure.port}/`)).error).toMatchObject({
    name: "TypeError",
    message: expect.stringMatching(/^fetch failed: /),
  });
});
