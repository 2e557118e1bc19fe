import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRealm, type Realm } from "./realm.ts";
import { URL_CASES } from "./url_cases.ts";

const PARTS = [
  "href",
  "origin",
  "protocol",
  "username",
  "password",
  "host",
  "hostname",
  "port",
  "pathname",
  "search",
  "hash",
];
const DESCRIBE = `
  const describe = (input, base) => {
    let url;
    try { url = base === undefined ? new URL(input) : new URL(input, base); } catch (error) {
      return error instanceof TypeError ? "refused" : "wrong error";
    }
    return parts.map((part) => url[part]).concat(String(url.searchParams), String(url.searchParams.size));
  };
`;

let realm: Realm;
beforeAll(() => realm = createRealm());
afterAll(() => realm.dispose());

type Case = readonly [input: string, base?: string | undefined];

const native = new Function(
  "cases",
  "parts",
  `${DESCRIBE}; return cases.map(([i, b]) => describe(i, b ?? undefined));`,
);
const inNode = (cases: readonly Case[]): unknown[] => native(cases, PARTS);
const inGuest = (cases: readonly Case[]): unknown[] =>
  realm.run(`
    const parts = ${JSON.stringify(PARTS)}; ${DESCRIBE}
    return JSON.parse(${JSON.stringify(JSON.stringify(cases))}).map(([i, b]) => describe(i, b ?? undefined));
  `) as unknown[];

test("URL parses as Node does: hand-made cases", () => {
  expect(URL_CASES.length).toBeGreaterThanOrEqual(300);
  const [node, guest] = [inNode(URL_CASES), inGuest(URL_CASES)];
  const wrong = URL_CASES.map((given, index) => ({ given, node: node[index], guest: guest[index] }))
    .filter(({ node, guest }) => JSON.stringify(node) !== JSON.stringify(guest));
  expect(wrong).toEqual([]);
});

// ASCII only: a host outside of ASCII is refused on purpose, and "xn--" labels are not checked against IDNA's tables.
const piece = fc.constantFrom(
  ..."abcxyz019:/\\?#@[]%.&=+- |^`{}<>\"'\t\n!$*();,~_ABCDEF".split(""),
  "http:",
  "https://",
  "file:///",
  "ftp:",
  "ws:",
  "foo:",
  "mailto:",
  "//",
  "..",
  "./",
  "%2e",
  "%2E%2e",
  "0x",
  "127.1",
  "[::1]",
  "::",
  "C:",
  "C|/",
  "localhost",
  "example.com",
  ":80",
  ":443",
  "user:pw@",
  "%zz",
  "%41",
  "%00",
  "256",
  "0300",
  "4294967295",
);
const text = fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join(""));
const prefix = fc.constantFrom(
  "",
  "",
  "http://",
  "https:",
  "file:",
  "file:///",
  "foo:",
  "foo://",
  "ws://h",
  "http://u@h:1/",
  "blob:",
);
const bases = fc.constantFrom(
  undefined,
  "http://a:b@example.com:81/x/y?q#f",
  "file:///C:/x/y",
  "file://host/p/q",
  "foo://h/a/b",
  "foo:/a/b",
  "mailto:x",
);

test("URL parses as Node does: generated cases", () => {
  const cases = fc.sample(fc.tuple(fc.tuple(prefix, text).map((both) => both.join("")), bases), {
    numRuns: 4000,
    seed: 7,
  });
  const [node, guest] = [inNode(cases), inGuest(cases)];
  const wrong = cases.map((given, index) => ({ given, node: node[index], guest: guest[index] }))
    .filter(({ node, guest }) => JSON.stringify(node) !== JSON.stringify(guest));
  expect(wrong.slice(0, 12)).toEqual([]);
});

test("URL paths, queries and fragments outside of ASCII are encoded as Node does", () => {
  const word = fc.string({ unit: "binary", maxLength: 6 });
  const sample = fc.sample(fc.tuple(word, word, word), { numRuns: 300, seed: 3 });
  const cases = sample.flatMap(([a, b, c]): Case[] => [
    [`http://h/${a}?${b}#${c}`.replaceAll("\ud800", "")],
    [`http://h/x`.concat(encodeURIComponent(a.toWellFormed()))],
    [`foo:${a}?${b}`],
  ]);
  expect(inGuest(cases)).toEqual(inNode(cases));
});

test("URL setters change what Node's do", () => {
  const starts = [
    "http://u:p@h:81/p/q?s#f",
    "https://h/",
    "file:///C:/x",
    "file://host/x",
    "foo://h/a",
    "foo:/a",
    "mailto:x",
    "ws://h:80",
    "foo://u@h:1/",
    "mailto:x  #f",
  ];
  const values = [
    "",
    "x",
    "http",
    "https:",
    "ftp",
    "file",
    "foo",
    "9z",
    "a b",
    "h2:99",
    "h2:",
    ":99",
    "[::1]:7",
    "65536",
    "443",
    "80abc",
    "/a/../b",
    "a?b#c",
    "?",
    "#",
    "?k=v w",
    "#x y",
    "u@v",
    "\\x\\y",
    "..",
    "ex%41mple",
    "1.2",
    "C|/d",
    "a\tb",
    "//x",
    "localhost",
    "a:b",
  ];
  const script = `
    const out = [];
    for (const start of starts) for (const part of parts) for (const value of values) {
      const url = new URL(start);
      url.searchParams;
      try { url[part] = value; } catch (error) { out.push(start, part, value, error.name); continue; }
      out.push([start, part, value, url.href, url.host, url.pathname, String(url.searchParams)].join(" | "));
    }
    return out;
  `;
  const parts = PARTS.filter((part) => part !== "origin");
  const given = `const starts = ${JSON.stringify(starts)}, values = ${JSON.stringify(values)}, parts = ${
    JSON.stringify(parts)
  };`;
  const node = new Function(given + script)() as string[];
  const guest = realm.run(given + script) as string[];
  expect(guest.length).toBeGreaterThan(2000);
  expect(guest.filter((line, index) => line !== node[index])).toEqual(
    node.filter((line, index) => line !== guest[index]),
  );
});

test("a host outside of ASCII is refused and says why", () => {
  expect(realm.run(`new URL("http://b\u00fccher.example/")`)).toMatch(/^threw TypeError: .*xn-- form/);
  expect(realm.run(`return URL.canParse("http://b\u00fccher.example/")`)).toBe(false);
  expect(realm.run(`return new URL("http://xn--bcher-kva.example/\u00fc").href`)).toBe(
    "http://xn--bcher-kva.example/%C3%BC",
  );
  expect(realm.run(`return new URL("foo://b\u00fccher/").host`)).toBe("b%C3%BCcher");
});

test("URL.parse and URL.canParse", () => {
  expect(
    realm.run(
      `return [URL.parse("x"), URL.parse("x", "http://h").href, URL.canParse("x"), URL.canParse("/x", "foo://h")]`,
    ),
  )
    .toEqual([null, "http://h/x", false, true]);
});

test("URLSearchParams behaves as Node's", () => {
  const script = `
    const out = [];
    const p = new URLSearchParams("?a=1&b=%C3%BC&a=2&c&=e&%41+b=c+d&%zz=%ff");
    out.push(p.toString(), p.size, p.get("a"), p.getAll("a"), p.has("a", "2"), p.has("a", "3"), p.get("A b"), p.get("none"));
    p.append("x y", "&=+~*!'()-._"); p.set("a", "9"); p.delete("c"); p.delete("b", "no");
    out.push(p.toString(), [...p], [...p.keys()], [...p.values()], p.entries().next().value);
    p.sort(); out.push(p.toString());
    out.push(new URLSearchParams([["b", "1"], ["a", "2"], ["b", "0"]]).toString());
    out.push(new URLSearchParams({ a: 1, b: null }).toString(), new URLSearchParams(new Map([["k", "v"]])).toString());
    out.push(new URLSearchParams(p).toString() === p.toString());
    const seen = []; p.forEach((v, k, o) => seen.push(k + v + (o === p))); out.push(seen);
    const u = new URL("http://h/?a=1#f"); u.searchParams.append("b", "\u00fc"); out.push(u.href);
    u.search = "?z=1"; out.push(u.searchParams.get("z")); u.searchParams.delete("z"); out.push(u.href);
    u.href = "http://i/?q=2"; out.push(u.searchParams.toString());
    out.push(Object.prototype.toString.call(p), Object.prototype.toString.call(p.keys()), Object.keys(URL.prototype).join());
    for (const bad of [[["a"]], [["a", "b", "c"]], ["ab", 1], [null]]) {
      try { new URLSearchParams(bad); out.push("accepted"); } catch (e) { out.push(e.name); }
    }
    return out;
  `;
  const node = new Function(script)() as unknown[];
  const guest = realm.run(script) as unknown[];
  const keys = (list: unknown) => String(list).split(",").sort();
  const at = node.findIndex((item) => String(item).includes("href,"));
  expect(keys(guest[at])).toEqual(keys(node[at]));
  expect(guest.toSpliced(at, 1)).toEqual(JSON.parse(JSON.stringify(node)).toSpliced(at, 1));
});

test("lone surrogates become replacement characters", () => {
  expect(realm.run(`return new URLSearchParams({ a: "\\ud800x" }).get("a")`)).toBe("\ufffdx");
  expect(realm.run(`return new URLSearchParams({ a: "\\ud83d\\ude00" }).get("a")`)).toBe("\ud83d\ude00");
});

test("URL members demand a real URL", () => {
  expect(realm.run(`Object.getOwnPropertyDescriptor(URL.prototype, "href").get.call({})`)).toMatch(
    /^threw TypeError/,
  );
  expect(realm.run(`URLSearchParams.prototype.get.call(Object.create(URLSearchParams.prototype), "a")`))
    .toMatch(/^threw TypeError/);
  expect(realm.run(`new URLSearchParams("a=1").keys().next.call({})`)).toMatch(/^threw TypeError/);
  expect(realm.run(`new URL()`)).toMatch(/^threw TypeError/);
});
