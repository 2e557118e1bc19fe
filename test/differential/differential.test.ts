import process from "node:process";
import { beforeAll, describe, expect, test } from "vitest";
import { answer, compare, type Compared, judge } from "./compare.ts";
import { DENO_KINDS, type DenoAnswer, type DenoKind, type Given } from "./deno.ts";
import { type Answers, type Case, predict, type Prediction, type RuleName, RULES } from "./rules.ts";

const OUTCOMES = ["granted", "denied", "invalid-grant", "invalid-request"] as const;

describe.skipIf(process.platform !== "linux")("beside the real Deno", () => {
  let compared: readonly Compared[] = [];
  beforeAll(async () => {
    compared = await Array.fromAsync(compare(20_260_821, 640));
  }, 120_000);

  test("no answer differs from Deno's but by a rule, for any kind", () => {
    expect(compared.filter((one) => judge(one).form === "unexplained")).toEqual([]);
    for (const kind of DENO_KINDS) {
      const own = compared.filter(({ question }) => question.kind === kind);
      expect(own.length, kind).toBeGreaterThan(60);
      for (const state of ["granted", "denied"]) {
        expect(own.some(({ answers }) => answers.verbatim === state), `${kind} ${state}`).toBe(true);
      }
    }
  });

  test("every other answer to any of the questions would have been noticed", () => {
    for (const one of compared) {
      const isReadable = predict(one.question, one.answers).outcome === "readable";
      for (const outcome of OUTCOMES) {
        if (outcome === one.outcome || (isReadable && outcome !== "invalid-grant")) continue;
        expect(judge({ ...one, outcome }).form, JSON.stringify({ ...one, outcome })).toBe("unexplained");
      }
    }
  });
});

interface Example {
  readonly kind: DenoKind;
  readonly allow: Given;
  readonly deny?: Given;
  readonly request: string | null;
  /** Deno's answers, in the order of the interface; undefined is that it does not start. */
  readonly deno: readonly [
    verbatim: DenoAnswer | undefined,
    allowed?: DenoAnswer,
    spared?: DenoAnswer,
    bare?: DenoAnswer,
  ];
}

const YES = ["granted"] as const;
const NO = ["denied", "denied"] as const;

/** For each rule a question that it decides, with the answer, and neighbours that it must leave alone. */
const EXAMPLES: Readonly<Record<RuleName, readonly [Example, Prediction["outcome"], readonly Example[]]>> = {
  "deny-wins": [
    { kind: "read", allow: ["/a/b"], deny: ["/a"], request: "/a/b", deno: ["granted", "granted", "denied"] },
    "denied",
    [
      { kind: "read", allow: ["/a/b"], deny: ["/ab"], request: "/a/b", deno: YES },
      { kind: "read", allow: ["/a"], deny: ["/a/b"], request: "/a/b", deno: ["denied", "granted", "denied"] },
    ],
  ],
  "whole-kind": [
    { kind: "env", allow: true, deny: ["A"], request: null, deno: ["partial", "granted", "partial"] },
    "denied",
    [
      { kind: "env", allow: true, deny: null, request: null, deno: YES },
      { kind: "env", allow: true, deny: ["A"], request: "B", deno: YES },
    ],
  ],
  "special-files": [
    { kind: "read", allow: true, request: "/dev/../proc/1/mem", deno: YES },
    "denied",
    ["/dev/null", "/devices", "/process", "/a/dev/tty", "dev", "/dev/../a"].map((request) => ({
      kind: "read",
      allow: true,
      request,
      deno: YES,
    })),
  ],
  "never-valid": [
    { kind: "env", allow: true, request: "A=B", deno: YES },
    "invalid-request",
    [
      { kind: "env", allow: true, request: "A-B", deno: YES },
      { kind: "read", allow: true, request: "A=B", deno: YES },
      { kind: "net", allow: true, request: "10.0.0.8", deno: YES },
      {
        kind: "net",
        allow: ["a"],
        request: "a b",
        deno: ["invalid-request", "invalid-request", "granted", "invalid-request"],
      },
    ],
  ],
  "strict-hosts": [
    { kind: "net", allow: ["a:+1"], request: "a:1", deno: YES },
    "invalid-grant",
    ["a:1", `${"a".repeat(63)}:1`, "[fe80::1%eth0]", "vsock:1:2", "*.999.0.88.1"].map((entry) => ({
      kind: "net",
      allow: [entry],
      request: "a",
      deno: NO,
    })),
  ],
  "numeric-host": [
    { kind: "net", allow: ["127.1"], request: "127.0.0.1", deno: ["denied", "granted", "granted"] },
    "granted",
    ["127.0.0.1", "a127.1a", "999.0.88.1", "a.b1"].map((entry) => ({
      kind: "net",
      allow: [entry],
      request: "a",
      deno: NO,
    })),
  ],
  "u-labels": [
    {
      kind: "net",
      allow: ["b\u00fccher.example"],
      request: "xn--bcher-kva.example",
      deno: [undefined, "granted", "granted"],
    },
    "granted",
    [
      { kind: "net", allow: ["BUCHER.example"], request: "a", deno: NO },
      { kind: "net", allow: ["b\u00fc cher"], request: "a", deno: [undefined] },
      { kind: "read", allow: ["b\u00fccher"], request: "a", deno: NO },
    ],
  ],
  "ipv6-range": [
    { kind: "net", allow: ["[2001:db8::]/32:443"], request: "a", deno: [undefined] },
    "readable",
    ["[2001:db8::]/129", "[2001:db8::/32", "[1.2.3.4]/8", "[::]/0:65536", "2001:db8::", "[::/x]"].map(
      (entry) => ({ kind: "net", allow: [entry], request: "a", deno: [undefined] }),
    ),
  ],
  "empty-entry": [
    { kind: "run", allow: true, deny: [",/"], request: "a", deno: YES },
    "invalid-grant",
    [{ kind: "run", allow: true, deny: ["/"], request: "a", deno: YES }],
  ],
  "any-host": [
    { kind: "net", allow: ["*:443"], request: "a", deno: [undefined] },
    "readable",
    ["*", "*:", "*:65536", "*.:443", "**:443"].map((entry) => ({
      kind: "net",
      allow: [entry],
      request: "a",
      deno: [undefined],
    })),
  ],
  "methods": [
    {
      kind: "net",
      allow: ["a:443"],
      request: "GET https://a/v1",
      deno: ["invalid-request", "granted", "granted"],
    },
    "granted",
    ["get https://a/", "GET ftp://a/", "GET https://", "https://a/"].map((request) => ({
      kind: "net",
      allow: ["a:443"],
      request,
      deno: ["invalid-request", "invalid-request", "granted", "invalid-request"],
    })),
  ],
  "roots": [
    { kind: "read", allow: ["$home/x"], request: "a", deno: NO },
    "invalid-grant",
    ["$HOME/x", "./$home", "$", "a$home"].map((entry) => ({
      kind: "read",
      allow: [entry],
      request: "a",
      deno: NO,
    })),
  ],
  "sys-words": [
    { kind: "sys", allow: ["umask"], request: "umask", deno: [undefined] },
    "readable",
    [
      { kind: "sys", allow: ["Umask"], request: "uid", deno: [undefined] },
      { kind: "sys", allow: ["uid"], request: "umask", deno: NO },
    ],
  ],
  "program-names": [
    { kind: "run", allow: true, deny: ["tool"], request: "TOOL", deno: YES },
    "denied",
    [
      { kind: "run", allow: true, deny: ["tool"], request: "tools", deno: YES },
      { kind: "run", allow: true, deny: ["tool"], request: "/bin/other", deno: YES },
      {
        kind: "run",
        allow: true,
        deny: ["/bin"],
        request: "/bin/tool",
        deno: ["denied", "granted", "denied"],
      },
    ],
  ],
  "import-hosts": [
    { kind: "import", allow: null, request: "esm.sh:443", deno: YES },
    "denied",
    [
      { kind: "import", allow: ["esm.sh"], request: "esm.sh:443", deno: YES },
      { kind: "import", allow: null, request: "a", deno: NO },
    ],
  ],
};

test.for(Object.entries(EXAMPLES))(
  "%s decides its own case, and none of its neighbours'",
  ([rule, example]) => {
    const [own, outcome, neighbours] = example;
    expect(predicted(own)).toEqual({ outcome, rule });
    expect(isRight(own)).toBe(true);
    expect(neighbours.length).toBeGreaterThan(0);
    for (const neighbour of neighbours) {
      expect(predicted(neighbour).rule, JSON.stringify(neighbour)).toBe(undefined);
      expect(isRight(neighbour), JSON.stringify(neighbour)).toBe(true);
    }
  },
);

test("every rule has its reason", () => {
  expect(Object.keys(EXAMPLES)).toEqual(Object.keys(RULES));
});

function questionOf({ kind, allow, deny = null, request }: Example): Case {
  return { kind, allow, deny, request, cwd: "/srv", which: () => undefined };
}

function answersOf({ deno }: Example): Answers {
  const [
    verbatim,
    allowed = verbatim,
    spared = verbatim === undefined ? undefined : "granted",
    bare = "denied",
  ] = deno;
  return { verbatim, allowed, spared, bare };
}

function predicted(example: Example): Prediction {
  return predict(questionOf(example), answersOf(example));
}

/** Whether what is foretold is what Sallyport answers. */
function isRight(example: Example): boolean {
  const question = questionOf(example);
  return judge({ question, answers: answersOf(example), outcome: answer(question) }).form !== "unexplained";
}
