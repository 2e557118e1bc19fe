import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { parseYaml } from "../src/yaml.ts";

const LIMITS = { bytesMax: 262_144, depthMax: 64, nodesMax: 20_000 };

function read(text: string | Uint8Array, limits = LIMITS) {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  return parseYaml(bytes, { file: "plugin.yaml", limits });
}

function messages(text: string | Uint8Array): string[] {
  return read(text).issues.map((issue) =>
    `${issue.line}:${issue.column} ${issue.path.join("/")} ${issue.message}`
  );
}

/** One refused text, the words its diagnostic must hold, and a twin that is read. */
interface Twin {
  readonly title: string;
  readonly refused: string;
  readonly says: string;
  readonly accepted: string;
}

const TWINS: readonly Twin[] = [
  { title: "a raw control character", refused: "a: \x01", says: "U+0001", accepted: "a:\t1" },
  { title: "a raw C1 character", refused: "a: \x9b", says: "U+009B", accepted: "a: \xa0" },
  { title: "DEL", refused: "a: x\x7f", says: "U+007F", accepted: "a: x~" },
  { title: "a lone CR", refused: "# x\ra: 1", says: "U+000D", accepted: "# x\r\na: 1\r\n" },
  { title: "a line separator", refused: "# x\u2028a: 1", says: "U+2028", accepted: "# x\na: 1" },
  {
    title: "a bidirectional control",
    refused: "# \u202e\na: 1",
    says: "U+202E",
    accepted: "# العربية\na: 1",
  },
  { title: "a second BOM", refused: "\ufeff\ufeffa: 1", says: "U+FEFF", accepted: "\ufeffa: 1" },
  { title: "an escaped control", refused: 'a: "\\e[2J"', says: "U+001B", accepted: 'a: "\\t\\n"' },
  { title: "an escaped CR", refused: 'a: "x\\ry"', says: "U+000D", accepted: 'a: "x\\ny"' },
  { title: "an escaped bidi", refused: 'a: "\\u202e"', says: "U+202E", accepted: 'a: "\\u00e9"' },
  {
    title: "an escaped lone surrogate",
    refused: 'a: "\\ud83d"',
    says: "U+D83D",
    accepted: 'a: "\\U0001f44d"',
  },
  {
    title: "another YAML version",
    refused: "%YAML 1.1\n---\na: 1",
    says: "%YAML 1.2",
    accepted: "%YAML 1.2\n---\na: 1",
  },
  {
    title: "two version directives",
    refused: "%YAML 1.2\n%YAML 1.2\n---\na: 1",
    says: "only one directive",
    accepted: "%YAML 1.2\n---\na: 1\n...\n",
  },
  { title: "a TAG directive", refused: "%TAG ! x:\n---\na: 1", says: "%TAG", accepted: "---\na: 1" },
  { title: "an unknown directive", refused: "%FOO\n---\na: 1", says: "%FOO", accepted: "# %FOO\n---\na: 1" },
  {
    title: "a second document",
    refused: "a: 1\n---\nb: 1",
    says: "more than one",
    accepted: "a: 1\n...\n# end\n",
  },
  {
    title: "an empty second document",
    refused: "a: 1\n---\n",
    says: "more than one",
    accepted: "---\na: 1\n",
  },
  { title: "a duplicate key", refused: "a: 1\na: 2", says: "twice", accepted: "a: 1\nA: 2" },
  {
    title: "a duplicate by escape",
    refused: 'a: 1\n"\\x61": 2',
    says: "twice",
    accepted: 'a: 1\n"\\x62": 2',
  },
  {
    title: "a duplicate in a flow map",
    refused: "{a: 1, 'a': 2}",
    says: "twice",
    accepted: "{a: 1, 'b': 2}",
  },
  { title: "an anchor", refused: "a: &b 1", says: "anchor", accepted: 'a: "&b 1"' },
  { title: "an anchor on a map", refused: "a: &b\n  c: 1", says: "anchor", accepted: "a:\n  c: '&b'" },
  { title: "an anchor on a key", refused: "&b a: 1", says: "anchor", accepted: '"&b a": 1' },
  { title: "an anchor on nothing", refused: "a: &b", says: "anchor", accepted: "a: x&b" },
  { title: "an alias", refused: "a: *b", says: "alias", accepted: "a: '*b'" },
  {
    title: "an alias as a key",
    refused: "a: 1\n? *b\n: 2",
    says: "key must be a string",
    accepted: "a: 1\n? b\n: 2",
  },
  { title: "a merge key", refused: "a:\n  <<: {b: 1}", says: "merge", accepted: "a:\n  <: {b: 1}" },
  { title: "a quoted merge key", refused: 'x-a: {"<<": {}}', says: "merge", accepted: 'x-a: {"<": {}}' },
  { title: "a core tag", refused: "a: !!str 1", says: "tag", accepted: 'a: "!!str 1"' },
  { title: "a local tag", refused: "a: !x 1", says: "tag", accepted: "a: x!x" },
  { title: "the bare tag", refused: "a: ! 1", says: "tag", accepted: "a: '! 1'" },
  { title: "a verbatim tag", refused: "a: !<x> {}", says: "tag", accepted: "a: {}" },
  { title: "a tag on a key", refused: "!!str a: 1", says: "tag", accepted: "a: 1" },
  { title: "a tag on a list", refused: "a: !!set [b]", says: "tag", accepted: "a: [b]" },
  { title: "a tag on nothing", refused: "a: !!null", says: "tag", accepted: "a: null" },
  { title: "an integer key", refused: "1: a", says: "key must be a string", accepted: '"1": a' },
  { title: "a null key", refused: "~: a", says: "key must be a string", accepted: "'~': a" },
  {
    title: "a boolean key",
    refused: "x: {true: a}",
    says: "key must be a string",
    accepted: "x: {'true': a}",
  },
  { title: "a list as a key", refused: "? [a]\n: b", says: "key must be a string", accepted: "? a\n: b" },
  { title: "an absent key", refused: "{: b}", says: "key must be a string", accepted: "{'': b}" },
  {
    title: "__proto__",
    refused: "x-a: {__proto__: {b: 1}}",
    says: "__proto__",
    accepted: "x-a: {_proto_: {b: 1}}",
  },
  {
    title: "__proto__ by escape",
    refused: '"__prot\\x6f__": 1',
    says: "__proto__",
    accepted: "constructor: 1",
  },
  { title: "a newline in a key", refused: '"a\\nb": 1', says: "character", accepted: '"a b": 1' },
  {
    title: "an integer that loses digits",
    refused: "a: 9007199254740993",
    says: "digits",
    accepted: "a: 9007199254740991",
  },
  { title: "a hexadecimal one", refused: "a: 0xfffffffffffffff", says: "digits", accepted: "a: 0xff" },
  { title: "infinity", refused: "a: .inf", says: "finite", accepted: "a: 'inf'" },
  { title: "not a number", refused: "a: .nan", says: "finite", accepted: "a: nan" },
  { title: "a number past the largest", refused: "a: 1e999", says: "finite", accepted: "a: 1e99" },
  { title: "an open list", refused: "a: [b", says: "", accepted: "a: [b]" },
  { title: "a bad escape", refused: 'a: "\\q"', says: "escape", accepted: "a: '\\q'" },
  { title: "a tab as indentation", refused: "a:\n\tb: 1", says: "", accepted: "a:\n  b: 1" },
  { title: "nothing", refused: "", says: "empty", accepted: "a: 1" },
  { title: "a comment only", refused: "# x\n", says: "empty", accepted: "# x\na: 1" },
];

describe("refused, with an accepted twin", () => {
  for (const { title, refused, says, accepted } of TWINS) {
    test(title, () => {
      const found = messages(refused);
      expect(found.join("\n")).toContain(says);
      expect(found.length).toBeGreaterThan(0);
      // deno-lint-ignore no-control-regex
      expect(found.join("")).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e]/);
      expect(messages(accepted)).toEqual([]);
    });
  }
});

test("invalid and overlong UTF-8 is refused where it stands", () => {
  const bytes = (text: string, ...more: number[]) =>
    Uint8Array.from([...new TextEncoder().encode(text), ...more]);
  expect(messages(bytes("a: 1\nb: é", 0xff))).toEqual(["2:5  the bytes are not valid UTF-8 from here on"]);
  expect(messages(bytes("a: ", 0xc0, 0xae))).toEqual(["1:4  the bytes are not valid UTF-8 from here on"]);
  expect(messages(bytes("a: ", 0xed, 0xa0, 0x80))[0]).toContain("not valid UTF-8");
  expect(messages(bytes("a: ", 0xe2, 0x82))[0]).toContain("not valid UTF-8");
  expect(messages(bytes("a: ", 0xe2, 0x82, 0xac))).toEqual([]);
});

test("values are those of the 1.2 core schema, as plain data without prototypes", () => {
  const { value } = read(
    "a: no\nb: 0o17\nc: 017\nd: [~, null, true, 1.5, -3]\ne: 2001-01-01\nf: {g: |\n  x\n  y\n}".replace(
      /\{g.*$/s,
      "1_000",
    ),
  );
  expect(value).toEqual({
    a: "no",
    b: 15,
    c: 17,
    d: [null, null, true, 1.5, -3],
    e: "2001-01-01",
    f: "1_000",
  });
  expect(Object.getPrototypeOf(value)).toBe(null);
});

test("both kinds of line end give one value", () => {
  const text = 'a: |\n  x\n  y\nb: "p\n  q"\nc: >\n  r\n  s\n';
  expect(read(text.replaceAll("\n", "\r\n")).value).toEqual(read(text).value);
});

test("places are those of values; of keys where there is no value; of the parent where there is neither", () => {
  const { locate } = read("a:\n  - b: 1\n    c:\n  - [x, {y: 2}]\n");
  expect(locate(["a", 0, "b"])).toEqual({ line: 2, column: 8 });
  expect(locate(["a", 0, "c"])).toEqual({ line: 3, column: 5 });
  expect(locate(["a", 1, 1, "y"])).toEqual({ line: 4, column: 13 });
  expect(locate(["a", 0, "zzz"])).toEqual({ line: 2, column: 5 });
  expect(locate(["nope", 3])).toEqual({ line: 1, column: 1 });
});

test("issues of a readable document carry the path of the fault", () => {
  expect(messages("a:\n  b: &x 1\n  c: !!str 2\n  c: 3\nd: 99999999999999999999")).toEqual([
    '2:9 a/b the anchor "&x" is not allowed: write the value out where it is needed',
    '3:12 a/c the tag "tag:yaml.org,2002:str" is not allowed',
    '4:3 a/c the key "c" is there twice',
    "5:4 d the integer is too large to be read without losing digits",
  ]);
});

test("size, depth and number of values are bounded, each with a twin at the bound", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  expect(messages(nested(LIMITS.depthMax))).toEqual([]);
  expect(messages(nested(LIMITS.depthMax + 3))[0]).toContain("deeper than 64");
  const padded = (bytes: number) => "a: 1 #".padEnd(bytes, "x");
  expect(messages(padded(LIMITS.bytesMax))).toEqual([]);
  expect(messages(padded(LIMITS.bytesMax + 1))[0]).toContain("at most 262144");
  const wide = (entries: number) => `[${"1,".repeat(entries)}]`;
  expect(messages(wide(LIMITS.nodesMax / 2 - 1))).toEqual([]);
  expect(messages(wide(LIMITS.nodesMax))[0]).toContain("more than 20000 values");
  expect(messages("#\n".repeat(10_000) + "a: 1")).toEqual([]);
  expect(messages("#\n".repeat(100_000) + "a: 1")[0]).toContain("too many lines");
});

const SIZE = LIMITS.bytesMax - 64;
const fill = (start: string, part: string, end = "") =>
  start + part.repeat(Math.floor((SIZE - start.length - end.length) / part.length)) + end;

/** Texts that make a careless reader slow: quadratic scans, deep recursion, an Error for each byte. */
const BOMBS: Readonly<Record<string, string>> = {
  "open lists": fill("", "["),
  "open maps": fill("", "{"),
  "nested dashes": fill("", "- "),
  "nested question marks": fill("", "? "),
  "nested colons": fill("a:", " b:"),
  "many keys": Array.from({ length: 20_000 }, (_, index) => `k${index}: 1`).join("\n"),
  "9,000 distinct keys": `{${Array.from({ length: 6_000 }, (_, index) => `k${index}: 1`).join(",")}}`,
  "an escaped text that never closes": fill('a: "', "\\u0061"),
  "bad escapes": fill('a: "', "\\q", '"'),
  "spaces in a text": fill('a: "x', " ", 'x"'),
  "folded spaces": fill('a: "', `${" ".repeat(400)}x\n `, '"'),
  "empty lines in a text": fill('a: "', "\n ", '"'),
  "empty lines in a block": fill("a: |\n", "\n"),
  "indentation in a block": fill("a: >\n", "  x\n x\n"),
  "single quotes": fill("a: '", "''"),
  comments: fill("a: 1\n", "#\n"),
  "comments in a list": fill("a: [\n", "#\n", "]"),
  documents: fill("", "---\n"),
  "document ends": fill("", "...\n"),
  directives: fill("", "%A\n"),
  anchors: fill("a: ", "&a "),
  tags: fill("a: ", "!<x> "),
  aliases: fill("a: [&a x,", "*a,", "]"),
  "alias growth": "a: &a [x]\n" +
    Array.from({ length: 60 }, (_, i) => `b${i}: &b${i} [*${i === 0 ? "a" : `b${i - 1}`},*a]`).join("\n"),
  "syntax errors": fill("", "]\n"),
  tabs: fill("a:\n", "\t"),
  digits: fill("a: ", "1"),
  "a long key": fill("", "a", ": 1"),
};

describe("[L04] a pathological file is answered within a second", () => {
  for (const [title, text] of Object.entries(BOMBS)) {
    test(title, () => {
      const started = performance.now();
      read(text);
      expect(performance.now() - started).toBeLessThan(1000);
    });
  }
});

test("[L04] a file with a hundred thousand faults lists a few, not all", () => {
  expect(read(BOMBS["bad escapes"] ?? "").issues.length).toBeLessThanOrEqual(20);
});

test("whatever the bytes are, reading never throws and changes no prototype", () => {
  const before = Object.getOwnPropertyNames(Object.prototype).join();
  const piece = fc.constantFrom(
    ..."a b 1 ~ : - ? , [ ] { } # & * ! | > ' \" % @ ` \\ \n \t --- ... << __proto__ constructor".split(" "),
    ": ",
    "- ",
    "\n",
    "\n  ",
    "\r",
    '"\\x',
    "!!js/function",
    "&a",
    "*a",
    "%YAML 1.2\n---\n",
    "\u2028",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const { value, issues, locate } = read(pieces.join(""));
      expect(value !== undefined || issues.length > 0).toBe(true);
      expect(locate(["a", 0]).line).toBeGreaterThan(0);
    }),
    { numRuns: 2000 },
  );
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => void read(bytes)), { numRuns: 500 });
  expect(Object.getOwnPropertyNames(Object.prototype).join()).toBe(before);
  expect(({} as Record<string, unknown>)["b"]).toBe(undefined);
});
