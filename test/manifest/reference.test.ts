import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { parseReference, parseTarget } from "../../src/manifest/mod.ts";
import { targetText } from "../../src/manifest/fields.ts";
import { SURFACES } from "../../src/surfaces/mod.ts";

const ACCEPTED = [
  "a.md",
  "skills/weather/SKILL.md",
  "data/notes..md",
  "data/.hidden",
  ".hidden/a.md",
  "data/with space.txt",
  "data/a.b.c.tar.gz",
  "data/-dash.txt",
  "data/~tilde.txt",
  "data/résumé.md",
  "data/日本.txt",
  "data/console.txt",
  "data/com10.txt",
  "data/com0.txt",
  "data/auxiliary.md",
  "data/a.con",
  "100%.md",
  "50%zz.md",
  "a'b,c;d&e(f)+g=h@i#j.md",
  "docs/plugin.yaml",
];

const REFUSED = [
  "",
  "/",
  "/a.md",
  "//server/share/a.md",
  "..",
  "../a.md",
  "a/../b.md",
  "a/..",
  ".",
  "./a.md",
  "a/./b.md",
  "a//b.md",
  "a/",
  "...",
  ".../a.md",
  "a\\b.md",
  "..\\a.md",
  "\\\\server\\share",
  "\\\\?\\C:\\x",
  "C:/a.md",
  "c:a.md",
  "a.md:stream",
  "a.md::$DATA",
  "file:///etc/passwd",
  "https://example.com/a.md",
  "data:text/plain,x",
  "a\0.md",
  "a\nb.md",
  "a\tb.md",
  "a\x7fb.md",
  "a\x1b[2J.md",
  "a\u0085b.md",
  "a\u2028b.md",
  "a\u202eb.md",
  "a\u200bb.md",
  "a\ud800b.md",
  "a%2e.md",
  "%2E%2E/a.md",
  "a%00.md",
  "%252e/a.md",
  "~",
  "~/a.md",
  "~root/a.md",
  "$data/a.md",
  "$HOME/a.md",
  "*.md",
  "a/?.md",
  "a/[bc].md",
  "a/{b,c}.md",
  "!a.md",
  "a<b.md",
  "a>b.md",
  "a|b.md",
  'a"b.md',
  "a.md.",
  "a./b.md",
  "a.md ",
  "a /b.md",
  " a.md",
  "a/ ",
  "a.md\u00a0",
  "con",
  "CON.md",
  "a/prn.tar.gz",
  "Aux/a.md",
  "nul.txt",
  "nul .txt",
  "COM1",
  "com9.log",
  "lpt1.md",
  "LPT9",
  "COM¹.md",
  "lpt².md",
  "com³",
  "CONIN$",
  "conout$.md",
  "re\u0301sume\u0301.md",
  "plugin.yaml",
  "Plugin.YAML",
  `${"a".repeat(256)}.md`,
  `${"é".repeat(127)}.md`,
  `${"a/".repeat(300)}b.md`,
];

describe("[L05] references stay inside the bundle, by their text", () => {
  for (const text of ACCEPTED) {
    test(`accepted: ${text}`, () => expect(parseReference(text)).toEqual({ ok: true, value: text }));
  }
  for (const text of REFUSED) {
    test(`refused: ${JSON.stringify(text).slice(0, 60)}`, () => {
      const result = parseReference(text);
      expect(result.ok).toBe(false);
      // deno-lint-ignore no-control-regex
      if (!result.ok) expect(result.reason).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e]/);
    });
  }
  test("what is no string is refused, without being turned into one", () => {
    for (const value of [null, undefined, 42, ["a.md"], { toString: () => "a.md" }, new String("a.md")]) {
      expect(parseReference(value).ok).toBe(false);
      expect(parseTarget(value).ok).toBe(false);
    }
  });
  test("an extension is compared as it is, and is not the whole name", () => {
    expect(parseReference("a.md", [".md"]).ok).toBe(true);
    for (const text of ["a.MD", "a.txt", "md", "a/.md", "a.mdx", "agents"]) {
      expect(parseReference(text, [".md"]).ok).toBe(false);
    }
  });
});

describe("[L15] a target is path:export", () => {
  test("both parts come back", () => {
    expect(parseTarget("tools/search.ts:webSearch")).toEqual({
      ok: true,
      value: { path: "tools/search.ts", exportName: "webSearch" },
    });
    for (const name of ["default", "_a", "$", "a1", "async", "of", "get", "then", "prototype"]) {
      expect(parseTarget(`a.js:${name}`).ok, name).toBe(true);
    }
    for (const extension of ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"]) {
      expect(parseTarget(`a.${extension}:run`).ok, extension).toBe(true);
    }
  });

  test("zero colons and two are refused", () => {
    for (
      const text of [
        "a.ts",
        "a.ts:b:c",
        "a.ts::b",
        ":a.ts:b",
        "node:fs:readFileSync",
        "C:/a.ts:b",
        "",
        ":",
        "::",
      ]
    ) {
      expect(parseTarget(text).ok, text).toBe(false);
    }
  });

  test("an export that every object has, a reserved word and what is no identifier are refused", () => {
    for (const name of Object.getOwnPropertyNames(Object.prototype)) {
      expect(parseTarget(`a.ts:${name}`).ok, name).toBe(false);
    }
    for (
      const name of [
        "",
        "1a",
        "a.b",
        "a-b",
        "a b",
        "a\n",
        " a",
        "class",
        "await",
        "a[0]",
        "naïve",
        "a".repeat(129),
      ]
    ) {
      expect(parseTarget(`a.ts:${name}`).ok, name).toBe(false);
    }
  });

  test("a file that holds no code is refused", () => {
    for (const path of ["a.json", "a.md", "a", "a.wasm", "a.node", "a.TS", ".ts", "plugin.yaml", "a.sh"]) {
      expect(parseTarget(`${path}:run`).ok, path).toBe(false);
    }
  });
});

test("[L15] the schema and the parser accept and refuse the same targets, on every surface that has some", () => {
  const word = fc.constantFrom(
    "a",
    "tools",
    "t.ts",
    "t.js",
    "run",
    ":",
    "::",
    "/",
    "//",
    "..",
    ".",
    "\\",
    "C:",
    "%2e",
    "~",
    "*",
    "con",
    "COM1",
    "nul.ts",
    " ",
    "\0",
    "\n",
    "\u202e",
    "default",
    "constructor",
    "toString",
    "class",
    "é.ts",
    "e\u0301.ts",
    "$",
    "x.md",
  );
  const shaped = fc.tuple(fc.array(word, { maxLength: 4 }), fc.array(word, { maxLength: 2 }))
    .map(([path, name]) => `${path.join("/")}:${name.join("")}`);
  const good = fc.tuple(
    fc.array(fc.stringMatching(/^[a-z]{1,5}$/), { maxLength: 3 }),
    fc.stringMatching(/^[a-zA-Z_]{1,6}$/),
  ).map(([folders, name]) => `${[...folders, "t.ts"].join("/")}:${name}`);
  const text = fc.oneof(
    fc.array(word, { maxLength: 7 }).map((parts) => parts.join("")),
    shaped,
    good,
    fc.string(),
  );
  let accepted = 0;
  fc.assert(
    fc.property(text, (target) => {
      const expected = parseTarget(target).ok;
      if (expected) accepted++;
      expect(targetText.safeParse(target).success).toBe(expected);
      expect(SURFACES.tools.section.safeParse([{ name: "t", target }]).success).toBe(expected);
      expect(SURFACES.interceptors.section.safeParse([{ point: "tool.call", target }]).success).toBe(
        expected,
      );
      const hooks = [{ type: "module", target }];
      expect(SURFACES.hooks.section.safeParse({ Stop: [{ hooks }] }).success).toBe(expected);
    }),
    { numRuns: 2000 },
  );
  // Otherwise the comparison would hold for a parser that refuses everything.
  expect(accepted).toBeGreaterThan(100);
});
