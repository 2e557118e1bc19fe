import assert from "node:assert/strict";
import {
  check,
  checkAddress,
  describeRequest,
  grantOf,
  isPublicAddress,
  type KindRequest,
  layerOf,
  UsageError,
} from "../../../permissions/mod.ts";
import { test } from "../door.ts";
import { decide, grants, PLACES } from "../support.ts";

function table(entries: KindRequest, granted: readonly string[], refused: readonly string[]): void {
  for (const value of granted) {
    assert.equal(grants("net", entries, value), true, `${entries} should cover ${value}`);
  }
  for (const value of refused) {
    assert.equal(grants("net", entries, value), false, `${entries} should not cover ${value}`);
  }
}

test("names are whole, case is none, one dot at the end is none, ports are exact", () => {
  table(
    ["Example.com:443"],
    ["example.com:443", "EXAMPLE.com:443", "example.com.:443", "example.com:0443"],
    [
      "example.com:444",
      "example.com",
      "a.example.com:443",
      "example.com.evil.example:443",
      "evilexample.com:443",
      "example.com..:443",
    ],
  );
  table(["example.com"], ["example.com", "example.com:1"], ["example.co"]);
});

test("a leading *. is the name and all below it; elsewhere, and in a value, a * is an error", () => {
  table(["*.example.com:443"], ["example.com:443", "a.b.example.com:443"], [
    "aexample.com:443",
    "example.com.evil.example:443",
    "*.example.com:443",
  ]);
  for (const entry of ["*", "a*.example.com", "a.*.com", "**.com", "*.", "*.1.2.3.4"]) {
    assert.throws(() => layerOf("policy", { net: [entry] }, PLACES), UsageError, entry);
  }
});

test("addresses have one spelling: hex, octal, short, decimal, mapped and zoned ones are the same", () => {
  const loopback = [
    "127.0.0.1:80",
    "0x7f000001:80",
    "0x7f.1:80",
    "0177.0.0.1:80",
    "2130706433:80",
    "127.1:80",
    "[::ffff:127.0.0.1]:80",
    "[::ffff:7f00:1]:80",
    "①②⑦.0.0.1:80",
  ];
  for (const value of loopback) {
    assert.equal(decide("net", true, value).value, "127.0.0.1:80", value);
    assert.equal(grants("net", { allow: true, deny: ["127.0.0.1"] }, value), false, value);
    assert.equal(grants("net", ["127.0.0.0/8"], value), true, value);
  }
  assert.equal(decide("net", true, "[0:0:0:0:0:0:0:1]:80").value, "[::1]:80");
  assert.equal(decide("net", true, "[FE80::1%eth0]").value, "[fe80::1]");
  // Out of range, so a name, as in Deno.
  assert.equal(decide("net", true, "999.0.88.1").value, "999.0.88.1");
  assert.equal(grants("net", ["1.2.3.4"], "1.2.3.4.example"), false);
});

test("ranges of both families hold addresses and never names", () => {
  table(["10.0.0.0/8:443"], ["10.1.2.3:443"], ["11.0.0.1:443", "10.1.2.3:80", "10.1.2.3", "ten.example:443"]);
  for (const entry of ["[2001:db8::]/32", "[2001:db8::/32]", "2001:db8::/32", "[2001:DB8:1::]/32"]) {
    table([entry], ["[2001:db8::1]", "[2001:db8:ffff::1]:443"], ["[2001:db9::1]", "1.2.3.4"]);
  }
  table(["[2001:db8::]/32:443", "[2001:db8::/32]:443"], ["[2001:db8::1]:443"], ["[2001:db8::1]:80"]);
  table(["[::ffff:10.0.0.0]/104"], ["10.9.9.9"], ["11.0.0.1"]);
  for (
    const entry of [
      "10.0.0.0/33",
      "10.0.0.0/",
      "10.0.0.0/x",
      "10.0.0/8",
      "[2001:db8::]/129",
      "example.com/8",
      "[::ffff:1.2.3.4]/8",
    ]
  ) {
    assert.throws(() => layerOf("policy", { net: [entry] }, PLACES), UsageError, entry);
  }
  assert.equal(grants("net", true, "10.0.0.0/8"), false);
});

test("[T28] *:PORT is any public host: names, public addresses, and never the machine or its neighbours", () => {
  table(
    ["*:443"],
    ["example.com:443", "8.8.8.8:443", "[2606:4700::1111]:443"],
    [
      "example.com:80",
      "example.com",
      "localhost:443",
      "x.localhost:443",
      "127.0.0.1:443",
      "10.0.0.1:443",
      "169.254.169.254:443",
      "[::1]:443",
      "[fd00::1]:443",
      "unix:/run/x",
    ],
  );
});

test("[T28] names in other scripts are mapped to A-labels when they are read, and displayed as both", () => {
  const ascii = "xn--bcher-kva.example:443";
  for (
    const [entry, value] of [["bücher.example:443", ascii], [ascii, "BÜCHER.example:443"], [
      "*.bücher.example:443",
      `a.${ascii}`,
    ]] as const
  ) {
    assert.equal(grants("net", [entry], value), true, entry);
  }
  assert.equal(grants("net", ["key.example"], "\u212aey.example"), true);
  assert.equal(grants("net", ["api.example"], "\u0430pi.example"), false);
  assert.equal(describeRequest({ net: ["bücher.example:443"] })[0]?.display, `bücher.example:443 (${ascii})`);
  for (
    const entry of [
      "bü%63her.example",
      "bü cher.example",
      "bücher.example/x",
      "bücher@evil.example",
      "\u00ad",
    ]
  ) {
    assert.throws(() => layerOf("policy", { net: [entry] }, PLACES), UsageError, entry);
  }
});

test("[T28] a method and a path prefix cover whole segments of exactly that", () => {
  table(
    ["GET https://api.example.com/v1/"],
    [
      "GET https://api.example.com/v1",
      "GET https://API.example.com:443/v1/a?q=..%2f",
      "GET https://api.example.com/v1/",
      "GET https://api.example.com/x/../v1/a",
    ],
    [
      "POST https://api.example.com/v1/a",
      "GET http://api.example.com/v1/a",
      "GET https://api.example.com:8443/v1/a",
      "GET https://api.example.com/v10",
      "GET https://api.example.com/V1/a",
      "GET https://api.example.com/v1/../admin",
      "GET https://evil.example/v1/",
      "api.example.com:443",
    ],
  );
  table(["api.example.com:443"], ["GET https://api.example.com/any/%2e%2e"], ["GET http://api.example.com/"]);
});

test("[T28] a path that servers read in more than one way is under no prefix, and under every deny of one", () => {
  const host = "GET https://api.example.com";
  for (
    const path of ["/v1/%2e%2e/x", "/v1/..%2Fx", "/v1/a%5cb", "/v1/a\\b", "/v1//x", "//v1/x", "/v1/..;/x"]
  ) {
    assert.equal(grants("net", [`${host}/v1/`, `${host}/`], host + path), false, path);
    assert.equal(grants("net", { allow: true, deny: [`${host}/admin/`] }, host + path), false, path);
    assert.throws(() => layerOf("policy", { net: [host + path] }, PLACES), UsageError, path);
  }
  assert.equal(grants("net", { allow: true, deny: [`${host}/admin/`] }, `${host}/v1/x`), true);
  // A bare connection could carry the denied request.
  assert.equal(grants("net", { allow: true, deny: [`${host}/admin/`] }, "api.example.com:443"), false);
  for (
    const entry of [
      `${host}/v1/?q`,
      `${host}/v1/#x`,
      "get https://a.example/",
      "GET https://u:p@a.example/",
      "https://a.example/",
      "GET ftp://a.example/",
    ]
  ) {
    assert.throws(() => layerOf("policy", { net: [entry] }, PLACES), UsageError, entry);
  }
});

test("sockets: unix by exact absolute path, vsock by CID and port", () => {
  table(["unix:/run/./x.sock"], ["unix:/run/x.sock"], ["unix:/run/x.sock/y", "unix:/run", "unix:x.sock"]);
  table(["vsock:3:80"], ["vsock:3:80"], ["vsock:4:80", "vsock:3:81"]);
  // -1 is a number like any other, 4294967295: it covers no CID but itself.
  table(["vsock:-1:80"], ["vsock:-1:80", "vsock:4294967295:80"], ["vsock:3:80", "vsock:-1:81"]);
});

test("flags' shorthands and odd spellings are errors of an entry", () => {
  const bad = [
    ":8080",
    "",
    "a b",
    "a..b",
    ".a",
    "a:",
    "a:x",
    "a:65536",
    "a:-1",
    "a:+1",
    "[::1",
    "::1",
    "[a]:1",
    "[1.2.3.4]",
    "1.2.3.4.",
    "a/b",
    "a@b",
    "a,b",
    "vsock:1",
    "a\0b",
    `${"a".repeat(64)}.example`,
  ];
  for (const entry of bad) {
    assert.throws(() => layerOf("policy", { net: [entry] }, PLACES), UsageError, entry);
  }
  for (const entry of ["a_b.example", "-a.example", "a:0", "a:65535", "localhost"]) {
    assert.doesNotThrow(() => layerOf("policy", { net: [entry] }, PLACES), entry);
  }
});

test("which addresses are public", () => {
  for (const address of ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8"]) {
    assert.equal(isPublicAddress(address), true, address);
  }
  const reserved = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.31.0.1",
    "192.0.0.8",
    "192.168.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "fe80::1",
    "febf::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::7f00:1",
    "2002:7f00:1::",
    "2001:db8::1",
    "2001::1",
    "example.com",
    "",
  ];
  for (const address of reserved) assert.equal(isPublicAddress(address), false, address);
});

test("a name leads to public addresses only, unless a grant names the address, localhost or everything", () => {
  const lead = (net: KindRequest, value: string, address: string) => {
    return checkAddress(grantOf(layerOf("policy", { net }, PLACES)), { kind: "net", value }, address, PLACES)
      .state === "granted";
  };
  assert.equal(lead(["a.example:443"], "a.example:443", "8.8.8.8"), true);
  for (
    const address of ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fe80::1%eth0"]
  ) {
    assert.equal(lead(["a.example:443"], "a.example:443", address), false, address);
    assert.equal(lead(["*:443"], "a.example:443", address), false, address);
    assert.equal(lead(true, "a.example:443", address), true, address);
  }
  assert.equal(lead(["a.example:443", "10.0.0.0/8:443"], "a.example:443", "10.0.0.1"), true);
  assert.equal(lead(["a.example:443", "10.0.0.0/8:80"], "a.example:443", "10.0.0.1"), false);
  assert.equal(lead(["localhost:80"], "localhost:80", "127.0.0.1"), true);
  assert.equal(lead(["localhost:80"], "localhost:80", "10.0.0.1"), false);
  assert.equal(lead(["127.0.0.1:80"], "127.0.0.1:80", "127.0.0.1"), true);
  // Denies of addresses hold for names, and what was not granted stays so.
  assert.equal(lead({ allow: ["a.example"], deny: ["8.8.8.8"] }, "a.example:443", "8.8.8.8"), false);
  assert.equal(lead({ allow: true, deny: ["8.8.0.0/16:80"] }, "a.example:443", "8.8.8.8"), true);
  assert.equal(lead(["b.example"], "a.example:443", "8.8.8.8"), false);
  assert.equal(lead(true, "a.example:443", "not an address"), false);
});

test("every layer must name an address that is not public", () => {
  const [named, whole, name] = [["a.example", "10.0.0.1"], true, ["a.example"]] as const;
  const lead = (...all: readonly KindRequest[]) => {
    const grant = grantOf(...all.map((net) => layerOf("policy", { net }, PLACES)));
    assert.equal(check(grant, { kind: "net", value: "a.example:1" }, PLACES).state, "granted");
    return checkAddress(grant, { kind: "net", value: "a.example:1" }, "10.0.0.1", PLACES).state;
  };
  assert.equal(lead(named, whole), "granted");
  assert.equal(lead(named, name), "denied");
  assert.equal(lead(name, whole), "denied");
});

test("imports have hosts and ports, and no methods", () => {
  assert.equal(grants("import", ["a.example:443"], "a.example:443"), true);
  assert.equal(grants("import", ["a.example:443"], "b.example:443"), false);
  assert.throws(() => layerOf("policy", { import: ["GET https://a.example/"] }, PLACES), UsageError);
});
