/** What grants, denials and requests are made of: few words, shared beginnings, and odd spellings of the same thing. */
import fc from "fast-check";
import type { DenoKind } from "./deno.ts";

/** What one kind's cells are made of. */
export interface Samples {
  /** Entries that Deno reads. */
  readonly entry: fc.Arbitrary<string>;
  /** Where a deny is read otherwise. */
  readonly deny?: fc.Arbitrary<string>;
  /** Requests, a few of them malformed. */
  readonly request: fc.Arbitrary<string>;
  /** Texts that are entries or requests at best. */
  readonly odd: fc.Arbitrary<string>;
}

/** Texts put together of a kind's own words. */
function of(...words: readonly string[]): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 5 }).map((parts) => parts.join(""));
}

const SEGMENTS = ["a", "b", "ab", "A", "..", ".", "", "*", "a.b", "~", "\u00e9", "e\u0301", "dev", "a b"];
const SPECIAL = [
  "/dev/null",
  "/dev/tty",
  "/dev",
  "/proc/self/environ",
  "/sys/x",
  "/dev/fd/3",
  "/devices",
  "/procs",
];

function paths(cwd: string): Samples {
  const relative = fc.array(fc.constantFrom(...SEGMENTS), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join("/")).filter((text) => text !== "");
  const path = fc.oneof(
    { weight: 4, arbitrary: relative },
    { weight: 4, arbitrary: relative.map((text) => `/${text}`) },
    { weight: 2, arbitrary: relative.map((text) => `${cwd}/${text}`) },
    { weight: 1, arbitrary: fc.constantFrom(...SPECIAL, "/", ".", "..", "//", cwd) },
  );
  return {
    entry: path,
    request: fc.oneof({ weight: 30, arbitrary: path }, fc.constantFrom("", "a\0b", "file:///a")),
    odd: of("/", ".", "a", "*", "~", "$data", "$home/", "$A", "$", ":", ",", "\\", "%2e", " ", "?", "\n"),
  };
}

const NAMES = [
  "localhost",
  "example.com",
  "a.example.com",
  "b.a.example.com",
  "EXAMPLE.com",
  "example.com.",
  "a",
];
const ADDRESSES = ["10.1.2.3", "10.1.2.5", "10.9.9.9", "127.0.0.1", "1.2.3.4", "255.255.255.255", "0.0.0.0"];
const SIXES = [
  "[::1]",
  "[::ffff:10.1.2.3]",
  "[0:0:0:0:0:0:0:1]",
  "[2001:db8::1]",
  "[2001:DB8:0::1]",
  "[fe80::1%eth0]",
];
const NUMERIC = ["127.1", "0x7f000001", "2130706433", "010.1.2.3", "999.0.88.1", "10.1.515"];
const WIDE = [
  "*.example.com",
  "*.a.example.com",
  "*.com",
  "*.localhost",
  "10.0.0.0/8",
  "10.1.2.0/24",
  "0.0.0.0/0",
  "10.1.2.3/32",
];
const SOCKETS = [
  "unix:/run/a",
  "unix:/run/./a",
  "unix:/run/b/../a",
  "unix:/run",
  "vsock:3:80",
  "vsock:3:443",
  "vsock:4:80",
];

function hosts(): Samples {
  const port = fc.constantFrom("", "", ":80", ":443", ":0", ":65535");
  const single = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...NAMES) },
    { weight: 4, arbitrary: fc.constantFrom(...ADDRESSES) },
    { weight: 3, arbitrary: fc.constantFrom(...SIXES) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(...NUMERIC, "a_b.example.com", "-a.example.com", "xn--bcher-kva.example"),
    },
  );
  const withPort = (host: fc.Arbitrary<string>) => fc.tuple(host, port).map(([a, b]) => a + b);
  return {
    entry: fc.oneof(
      { weight: 4, arbitrary: withPort(single) },
      { weight: 4, arbitrary: withPort(fc.constantFrom(...WIDE)) },
      { weight: 1, arbitrary: fc.constantFrom(...SOCKETS, "vsock:-1:80", "esm.sh", "jsr.io:443") },
    ),
    request: fc.oneof(
      { weight: 20, arbitrary: withPort(single) },
      { weight: 2, arbitrary: fc.constantFrom(...SOCKETS) },
      { weight: 1, arbitrary: fc.constantFrom("esm.sh:443", "deno.land:443", "jsr.io:443", "esm.sh") },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          "b\u00fccher.example",
          "B\u00dcCHER.example:80",
        ),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          "",
          ":80",
          "*.example.com",
          "a b",
          "a:",
          "::1",
          "vsock:-1:80",
          "10.0.0.0/8",
        ),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          "GET https://example.com/v1",
          "POST http://10.1.2.3/",
          "GET https://a.example.com:80/x",
        ),
      },
    ),
    odd: fc.oneof(
      of(
        "a",
        "A",
        ".",
        "..",
        "*",
        "*.",
        ":",
        "80",
        "0",
        "1",
        "-",
        "_",
        " ",
        "/",
        "[",
        "]",
        "::",
        "::1",
        "%",
        "10.1.2.3",
        "\u00fc",
        "@",
        "+",
      ),
      withPort(
        fc.constantFrom(
          "*",
          "[::1",
          "::1]",
          "[1.2.3.4]",
          "1.2.3.4.",
          "127.1.",
          "*.1.2.3.4",
          "a..b",
          ".a",
          "a.",
          "b\u00fccher.example",
          "*.b\u00fccher.example",
          "a".repeat(63),
          "a".repeat(64),
          "a.".repeat(127) + "b",
          "a,b",
          "a/8",
          "10.0.0.0/33",
          "10.0.0.0/-1",
          "1.2.3/8",
          "[::]/0",
          "2001:db8::/32",
          "[2001:db8::]/32",
          "[2001:db8::/32]",
          "[2001:db8::]/129",
          "10.1.2.3/08",
        ),
      ),
      withPort(
        fc.constantFrom("*", "[2001:db8::]/32", "[2001:db8::/32]", "[::]/0", "b\u00fccher.example", "127.1"),
      ),
      fc.constantFrom(
        "http://a",
        "HTTPS://a:1",
        "unix:a",
        "unix:",
        "unix:/",
        "vsock:1",
        "vsock:1:2:3",
        "vsock:x:1",
        "vsock:1:70000",
        "vsock:5000000000:1",
        "a:65536",
        "a:-1",
        "a:+1",
        "a:080",
        "a:x",
        "GET https://a.example/v1",
        "POST http://a.example:81/",
        ":8080",
      ),
    ),
  };
}

function variables(): Samples {
  const name = of("A", "B", "_", "a");
  return {
    entry: fc.oneof(
      { weight: 5, arbitrary: name },
      { weight: 4, arbitrary: name.map((text) => `${text}*`) },
      fc.constant("*"),
    ),
    request: fc.oneof(
      { weight: 20, arbitrary: name },
      fc.constantFrom("", "A=B", "A\0", "A*", "*", "NO_COLOR", "PATH"),
    ),
    odd: of("A", "*", "=", "_", " ", "a", "\u00e9", ",", "."),
  };
}

const WORDS = [
  "hostname",
  "osRelease",
  "loadavg",
  "uid",
  "gid",
  "cpus",
  "homedir",
  "statfs",
  "userInfo",
  "username",
];

function facts(): Samples {
  const known = fc.constantFrom(...WORDS);
  return {
    entry: known,
    request: fc.oneof(
      { weight: 12, arbitrary: known },
      fc.constantFrom("umask", "ca", "setuid", "Hostname", "x", "", " uid"),
    ),
    odd: fc.constantFrom(
      "inspector",
      "setegid",
      "seteuid",
      "setgid",
      "setuid",
      "ca",
      "umask",
      "Uid",
      "uid ",
      "x",
      "*",
      "uid,gid",
      "constructor",
    ),
  };
}

function programs(cwd: string): Samples {
  const bin = cwd.replace(/\/a\/b$/, "/bin");
  const known = fc.constantFrom(
    "tool",
    "git",
    "other",
    "absent",
    `${bin}/tool`,
    `${bin}/git`,
    `${bin}/../more/tool`,
    "../../bin/tool",
    "./x",
    "/usr/x/tool",
  );
  return {
    entry: fc.oneof({ weight: 8, arbitrary: known }, fc.constantFrom("TOOL", "Git", bin, "tool.old", "x/y")),
    // Not among the allows of a whole world: Deno quietly denies writing what may be run, and all below.
    deny: fc.constantFrom("tool", "git", "TOOL", "tool.old", "tool.", bin, "../..", "/", "x/y", "."),
    request: fc.oneof(
      { weight: 16, arbitrary: known },
      fc.constantFrom(
        "TOOL",
        "Tool.old",
        "git.exe",
        `${bin}/Tool.old`,
        `${bin}/x/tool`,
        "x/tool",
        "",
        "tool/",
      ),
    ),
    // No letters beyond ASCII: Deno 2.9 panics where one stands at the length of a denied name.
    odd: fc.oneof(
      { weight: 4, arbitrary: of("tool", "git", "/", ".", "..", " ", "*", "$home/", "$", "x", ",") },
      { weight: 2, arbitrary: fc.constantFrom(",tool", "git,", "tool,,x", "tool,git") },
    ),
  };
}

/** By kind; paths are below and around a working directory. */
export const SAMPLES: Readonly<Record<DenoKind, (cwd: string) => Samples>> = {
  read: paths,
  write: paths,
  ffi: paths,
  net: hosts,
  import: hosts,
  env: variables,
  sys: facts,
  run: programs,
};
