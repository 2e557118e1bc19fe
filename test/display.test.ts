import { expect, test } from "vitest";
import fc from "fast-check";
import { characterName, display, isPlainText, withoutHidden } from "../src/display.ts";

test("[T16] control, bidirectional, zero-width and line characters are shown as escapes", () => {
  expect(display("\x1b[2J")).toBe("\\u{1b}[2J");
  expect(display("a\rb\nc\td")).toBe("a\\u{d}b\\u{a}c\\u{9}d");
  expect(display("\x00\x7f\x9b")).toBe("\\u{0}\\u{7f}\\u{9b}");
  expect(display("a\u202eb\u2066c\u061cd")).toBe("a\\u{202e}b\\u{2066}c\\u{61c}d");
  expect(display("a\u200bb\u200dc\ufeffd\u2060e\u00adf")).toBe(
    "a\\u{200b}b\\u{200d}c\\u{feff}d\\u{2060}e\\u{ad}f",
  );
  expect(display("a\u2028b\u2029c\u0085d")).toBe("a\\u{2028}b\\u{2029}c\\u{85}d");
  expect(display("\ud800x\udc00")).toBe("\\u{d800}x\\u{dc00}");
  expect(display("a\u{e0041}\u3164\uffff")).toBe("a\\u{e0041}\\u{3164}\\u{ffff}");
});

test("[T16] ordinary text of any script shows as it is", () => {
  for (const text of ["", "plain", "résumé 日本 العربية", "👍 \\ “quotes”", "a b"]) {
    expect(display(text)).toBe(text);
    expect(isPlainText(text)).toBe(true);
  }
  expect(isPlainText("a\x1bb")).toBe(false);
});

test("[T16] whatever goes in, nothing invisible comes out, and doing it twice changes nothing", () => {
  const anyUnit = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 })
    .map((units) => String.fromCharCode(...units));
  fc.assert(fc.property(anyUnit, fc.integer({ min: 0, max: 60 }), (text, max) => {
    for (const shown of [display(text), display(text, { max })]) {
      // deno-lint-ignore no-control-regex
      expect(shown).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/);
      expect(shown.isWellFormed()).toBe(true);
      expect(display(shown)).toBe(shown);
    }
  }));
});

test("a shortened text says how much is left out and never ends inside an escape or a pair", () => {
  expect(display("abcdef", { max: 4 })).toBe("abcd… (2 more)");
  expect(display("abcdef", { max: 6 })).toBe("abcdef");
  expect(display("a\x1bb", { max: 4 })).toBe("a… (2 more)");
  expect(display("a👍b", { max: 2 })).toBe("a… (3 more)");
  expect(display("a👍b", { max: 4 })).toBe("a👍b");
  expect(display("x".repeat(10_000_000), { max: 10 })).toBe("xxxxxxxxxx… (9999990 more)");
});

test("a character is named by its code point", () => {
  expect(characterName("\x1b")).toBe("U+001B");
  expect(characterName("\u202e")).toBe("U+202E");
});

test("without what hides: nothing is left that would be escaped but line feeds, and words stay", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    for (const line of withoutHidden(text).split("\n")) expect(isPlainText(line)).toBe(true);
  }));
  fc.assert(fc.property(fc.string({ unit: fc.constantFrom(..."abc <>/éß日👍\n") }), (text) => {
    expect(withoutHidden(text)).toBe(text);
  }));
  // Looking for the end of each took minutes.
  for (const begun of ["\x1b]", "\x1b\x1b]\x07]", "\x1b\x1b]]", "\x1b]0;"]) {
    expect(isPlainText(withoutHidden(begun.repeat(250_000)))).toBe(true);
  }
  expect(withoutHidden("a\x1b]0;t\x1b\\b\x1b]c\x1b]d")).toBe("ab]c]d");
  expect(withoutHidden("a\x1b[1mb\x1b]8;;http://x\x07c\r\nd\te\u2028f\rg")).toBe("abc\nd  e\nf\ng");
});
