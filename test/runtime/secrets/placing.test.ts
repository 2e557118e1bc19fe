import { expect, test } from "vitest";
import { type PermissionRequest } from "../../../permissions/mod.ts";
import { type BundleFiles, type OwnedSecret, toOperator } from "../../../runtime/mod.ts";
import { network, plugin, PUBLIC, serve } from "../net/support.ts";

const VALUE = "s3cr3t/Value+of=the&owner";
const HEADER = `Bearer ${VALUE}`;
const ENTRY = { name: "KEY", host: "api.example.com:443", header: "authorization", format: "Bearer {}" };
const PERMISSIONS: PermissionRequest = { net: ["*:443"], secrets: [ENTRY] };
const OWNED: OwnedSecret = { name: "KEY", value: VALUE, hosts: ["api.example.com:443"], plugins: ["p"] };
const NAMES = { "api.example.com": [PUBLIC], "b.example.com": [PUBLIC] };
/** A plugin has files of its own; a script has none, and no name. */
const PLUGIN = { bundle: {} as BundleFiles };

/** Secrets as their owner has them at the moment of each question. */
function owner(...secrets: OwnedSecret[]) {
  return {
    secrets,
    source: { find: (name: string) => Promise.resolve(secrets.find((each) => each.name === name) ?? null) },
  };
}

function guest(
  { net }: Pick<ReturnType<typeof network>, "net">,
  { permissions = PERMISSIONS, secrets = [OWNED], principal = {} }: {
    readonly permissions?: PermissionRequest;
    readonly secrets?: readonly OwnedSecret[];
    readonly principal?: object;
  } = {},
) {
  const more = { secrets: owner(...secrets).source, principal: { ...PLUGIN, ...principal } };
  return plugin(permissions, { net }, more);
}

test("[T02] the broker places what its owner bound: the server gets it, and the audit names secret and host, never the value", async () => {
  await using server = await serve(undefined, true);
  const p = guest(network({ names: NAMES, route: () => server.port }));
  const answer = await p.fetch("https://api.example.com/x?q=1", { headers: { accept: "a/b" } });
  expect(answer).toMatchObject({ status: 200, body: "ok" });
  expect(server.seen[0]!.headers).toMatchObject({ authorization: HEADER, accept: "a/b" });
  expect(p.decisions()).toEqual([
    "GET https://api.example.com:443/x granted",
    `GET https://${PUBLIC}:443/x granted`,
    "KEY api.example.com:443 as authorization: Bearer {} granted",
  ]);
  expect(p.events.at(-1)).toMatchObject({ kind: "secrets", op: "fetch" });
  expect(JSON.stringify(p.events)).not.toContain("s3cr3t");
  await p.fetch("https://b.example.com/");
  expect(server.seen[1]!.headers).not.toHaveProperty("authorization");
});

test("[T02] the guest may not set that header on that host; elsewhere it is its own", async () => {
  await using server = await serve(undefined, true);
  const p = guest(network({ names: NAMES, route: () => server.port }));
  const headers = { Authorization: "Bearer mine", "x-other": "1", range: "bytes=0-3" };
  await p.fetch("https://api.example.com/", { headers });
  await p.fetch("https://b.example.com/", { headers });
  const [bound, other] = server.seen;
  expect(bound!.rawHeaders.filter((text) => /^authorization$/i.test(text)).length).toBe(1);
  // A part of a response may hold a part of the secret.
  expect(bound!.headers).not.toHaveProperty("range");
  expect(bound!.headers).toMatchObject({ authorization: HEADER, "x-other": "1" });
  expect(other!.headers).toMatchObject({ authorization: "Bearer mine", "x-other": "1", range: "bytes=0-3" });
});

test("[T02] header and format as the entry says, or without them a bearer token; in a header alone the value as it is", async () => {
  await using server = await serve(undefined, true);
  const net = network({ names: NAMES, route: () => server.port });
  const { name, host } = ENTRY;
  const forms = [{ name, host }, { name, host, header: "X-Api-Key" }, {
    name,
    host,
    header: "cookie",
    format: "k={}; a",
  }];
  for (const entry of forms) {
    const p = guest(net, { permissions: { net: ["*:443"], secrets: [entry] } });
    await p.fetch("https://api.example.com/");
  }
  expect(server.seen.map(({ headers }) => headers.authorization ?? headers["x-api-key"] ?? headers.cookie))
    .toEqual([HEADER, VALUE, `k=${VALUE}; a`]);
  const host0 = guest(net, { permissions: { net: ["*:443"], secrets: [{ name, host, header: "host" }] } });
  const { error } = await host0.fetch("https://api.example.com/");
  expect(error).toMatchObject({ code: "ERR_NOT_CAPABLE", kind: "secrets" });
  expect(host0.denials[0]!.decision.rule).toBe("secrets: no header of the connection");
});

test.each<[string, readonly OwnedSecret[], object, string]>([
  ["nobody has set it", [], {}, "nobody has set it"],
  [
    "its owner bound it to another host",
    [{ ...OWNED, hosts: ["b.example.com:443"] }],
    {},
    "not bound it to api.example.com:443",
  ],
  [
    "its owner bound it to another port",
    [{ ...OWNED, hosts: ["api.example.com:8443"] }],
    {},
    "not bound it to api.example.com:443",
  ],
  ["its owner bound it to another plugin", [{ ...OWNED, plugins: ["q"] }], {}, "not bound it to this plugin"],
  [
    "its owner bound it to another plugin's directory",
    [{ ...OWNED, plugins: ["/a/p"] }],
    { place: "/b/p" },
    "not bound it to this plugin",
  ],
  [
    "a script bears the name of a plugin",
    [OWNED],
    { bundle: null, place: "/b/p" },
    "not bound it to this plugin",
  ],
])(
  "[T02] refused where %s, before anything is sent; the way out is the owner's",
  async (_case, secrets, principal, why) => {
    await using server = await serve(undefined, true);
    const net = network({ names: NAMES, route: () => server.port });
    const p = guest(net, { secrets, principal });
    const url = "https://api.example.com/";
    expect((await p.fetch(url)).error).toEqual({
      name: "NotCapable",
      code: "ERR_NOT_CAPABLE",
      kind: "secrets",
      value: url,
      message: `Requires secrets access to "${url}"`,
      denial: expect.any(String),
    });
    expect(net.dialed).toEqual([]);
    const error = toOperator(p.denials[0]!);
    expect(error.message).toContain(why);
    expect(error.details).toMatchObject({
      kind: "secrets",
      value: "KEY api.example.com:443 as authorization: Bearer {}",
      rule: `the owner's binding of secret "KEY"`,
      remedy: expect.stringContaining("sallyport secrets set KEY --host"),
    });
    expect(JSON.stringify(error.details) + error.message).not.toContain("s3cr3t");
    // Its twin, by the name of the plugin and by the place.
    const twin = guest(net, { secrets: [{ ...OWNED, plugins: ["p", "/b/p"] }], principal });
    expect((await twin.fetch(url)).status).toBe(200);
  },
);

test("[T02] an entry that somebody cut is refused with the rule; nothing that was not asked for is placed", async () => {
  await using server = await serve(undefined, true);
  const net = network({ names: NAMES, route: () => server.port });
  const cut = guest(net, { permissions: { net: ["*:443"], secrets: { allow: [ENTRY], deny: ["KEY"] } } });
  expect((await cut.fetch("https://api.example.com/")).error).toMatchObject({ kind: "secrets" });
  expect(cut.denials[0]!.decision.rule).toBe('manifest permissions.secrets.deny[0] "KEY"');
  for (const secrets of [true, [], [{ ...ENTRY, host: "b.example.com:443" }]] as const) {
    await guest(net, { permissions: { net: ["*:443"], secrets } }).fetch("https://api.example.com/");
    expect(server.seen.at(-1)!.headers).not.toHaveProperty("authorization");
  }
});

test("[T02] an entry without a host follows its owner: placed where that is bound, missed nowhere", async () => {
  await using server = await serve(undefined, true);
  const p = guest(network({ names: NAMES, route: () => server.port }), {
    permissions: { net: ["*:443"], secrets: ["KEY"] },
  });
  for (const host of ["api", "b"]) expect((await p.fetch(`https://${host}.example.com/`)).status).toBe(200);
  expect(server.seen.map(({ headers }) => headers.authorization)).toEqual([HEADER, undefined]);
});

test("[T02] https only, loopback apart: the address decides, not the name", async () => {
  await using server = await serve();
  const host = `127.0.0.1:${server.port}`;
  const owned = { ...OWNED, hosts: [host, "api.example.com:80", "localhost:80"] };
  const permissions = {
    net: [host, "api.example.com:80", "localhost:80"],
    secrets: [host, "api.example.com:80", "localhost:80"].map((host) => ({ ...ENTRY, host })),
  };
  const net = network({ names: { ...NAMES, localhost: ["127.0.0.1"] }, route: () => server.port });
  const p = guest(net, { permissions, secrets: [owned] });
  for (const url of [`http://${host}/`, "http://localhost/"]) expect((await p.fetch(url)).status).toBe(200);
  expect(server.seen.map(({ headers }) => headers.authorization)).toEqual([HEADER, HEADER]);
  expect((await p.fetch("http://api.example.com/")).error).toMatchObject({ kind: "secrets" });
  expect(p.denials[0]!.decision).toMatchObject({ rule: "secrets: https only", state: "denied" });
  expect(server.seen.length).toBe(2);
});

test("[T02] a redirect elsewhere does not carry it, one on the bound host does, and each hop is decided anew", async () => {
  await using server = await serve((seen, response) => {
    const next: Record<string, string> = {
      "/same": "/end",
      "/other": "https://b.example.com/end",
      "/there-and-back": "https://b.example.com/back",
      "/back": "https://api.example.com/end",
    };
    const location = next[seen.url];
    if (location === undefined) response.end("end");
    else response.writeHead(307, { location }).end();
  }, true);
  const p = guest(network({ names: NAMES, route: () => server.port }));
  const sent = async (path: string) => {
    server.seen.length = 0;
    expect((await p.fetch(`https://api.example.com${path}`)).body).toBe("end");
    return server.seen.map(({ headers }) => headers.authorization ?? null);
  };
  expect(await sent("/same")).toEqual([HEADER, HEADER]);
  expect(await sent("/other")).toEqual([HEADER, null]);
  expect(await sent("/there-and-back")).toEqual([HEADER, null, HEADER]);
  expect(p.events.filter(({ kind }) => kind === "secrets").length).toBe(2 + 1 + 2);
});

test("[T02] what its owner takes back is gone with the next hop, also of a request that is under way", async () => {
  const own = owner(OWNED);
  await using server = await serve((seen, response) => {
    if (seen.url !== "/leave") return void response.end("ok");
    own.secrets.length = 0;
    response.writeHead(302, { location: "/end" }).end();
  }, true);
  const net = network({ names: NAMES, route: () => server.port });
  const p = plugin(PERMISSIONS, net, { secrets: own.source, principal: PLUGIN });
  expect((await p.fetch("https://api.example.com/")).body).toBe("ok");
  expect((await p.fetch("https://api.example.com/leave")).error).toMatchObject({ kind: "secrets" });
  expect((await p.fetch("https://api.example.com/")).error).toMatchObject({ kind: "secrets" });
  expect(server.seen.length).toBe(2);
});
