import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { check, checkAddress, type Decision, grantOf, layerOf } from "../../../permissions/mod.ts";
import { CheckedAddress, CheckedValue } from "../../../runtime/mod.ts";
import { network, PUBLIC, serve } from "./support.ts";

const CONTEXT = { cwd: "/" };
const GRANT = grantOf(layerOf("policy", { net: ["a.example", "b.example", "[2606:2800::]/32"] }, CONTEXT));
const CONTENT = { headers: [], body: null };

function decided(value: string): Decision {
  return check(GRANT, { kind: "net", value }, CONTEXT);
}

function addressed(value: string, address: string): Decision {
  return checkAddress(GRANT, { kind: "net", value }, address, CONTEXT);
}

test("[T25] only a granting decision becomes a proof, which tells the decided address in its one spelling", () => {
  const value = "GET http://a.example/x";
  expect(CheckedValue.fromDecision(decided(value)).value).toBe(value);
  expect(CheckedAddress.fromDecision(addressed(value, PUBLIC))).toMatchObject({ address: PUBLIC, of: value });
  expect(CheckedAddress.fromDecision(addressed(value, `::ffff:${PUBLIC}`)).address).toBe(PUBLIC);
  for (const peer of ["a.example:443", "a.example", value]) {
    expect(CheckedAddress.fromDecision(addressed(peer, "2606:2800:0:0::0001")).address).toBe("2606:2800::1");
  }
  expect(() => CheckedValue.fromDecision(decided("GET http://c.example/"))).toThrow(TypeError);
  expect(() => CheckedValue.fromDecision({ ...decided(value), asked: null })).toThrow(TypeError);
  expect(() => CheckedAddress.fromDecision(addressed(value, "10.0.0.1"))).toThrow(TypeError);
  // A decision about a name proves nothing about an address.
  expect(() => CheckedAddress.fromDecision(decided(value))).toThrow(TypeError);
  expect(() => CheckedAddress.fromDecision(decided("a.example:80"))).toThrow(TypeError);
});

test("[T25] the power takes no address that was checked for another request", async () => {
  await using server = await serve();
  const { net, dialed } = network({ route: () => server.port });
  const request = CheckedValue.fromDecision(decided("GET http://a.example/x"));
  const other = CheckedAddress.fromDecision(addressed("GET http://b.example/x", PUBLIC));
  const own = CheckedAddress.fromDecision(addressed("GET http://a.example/x", PUBLIC));
  const options = { wantsBody: () => true, signal: new AbortController().signal, lane: "a" };
  expect(() => net.send(request, [own, other], CONTENT, options)).toThrow(TypeError);
  expect(dialed).toEqual([]);
  expect((await net.send(request, [own], CONTENT, options)).status).toBe(200);
});

test("[T25] only the broker makes proofs, only one folder knows how to send", () => {
  const files = readdirSync("runtime", { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts")
  );
  const holding = (word: RegExp): string[] =>
    files.filter((name) => word.test(readFileSync(`runtime/${name}`, "utf8"))).sort();
  expect(holding(/\bChecked\w+\.fromDecision\(/)).toEqual(["broker.ts"]);
  expect(holding(/from "undici"|import\("undici"\)/)).toEqual(["powers/http_hop.ts"]);
});
