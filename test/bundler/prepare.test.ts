import { describe, expect, test } from "vitest";
import { matchesGlob } from "../../src/bundler/glob.ts";
import { depthOf, prepare } from "../../src/bundler/prepare.ts";

const prepared = (text: string, isModule = false) => String(prepare(Buffer.from(text), "js", isModule, 100));

describe("prepare", () => {
  test("[T29] every file ends with a source map comment that leads nowhere, and has no other", () => {
    for (
      const text of [
        "a",
        "a // x",
        "//# sourceMappingURL=data:x",
        "/*# sourceURL=x */",
        "/*\n @ sourceMappingURL=x*/",
      ]
    ) {
      const lines = prepared(text).split("\n");
      expect(lines.pop()).toBe("//# sourceMappingURL=none");
      expect(lines.join("\n")).not.toMatch(/[#@]\s*source/);
      expect(lines.join("\n")).toHaveLength(text.length); // lines and columns stay
    }
  });

  test("text, bytes and JSON are left as they are", () => {
    const bytes = Buffer.from("//# sourceMappingURL=x import.meta");
    expect(prepare(bytes, "text", true, 100)).toBe(bytes.toString());
    expect(prepare(bytes, "binary", true, 100)).toBe(bytes);
    expect(prepare(Buffer.from(`{"a": "//# sourceURL=x"}`), "json", true, 100)).toBe(
      `{"a": "//# sourceURL=x"}`,
    );
  });

  test("only a module that mentions import.meta is given its own", () => {
    expect(prepared("export const a = import.meta.url")).toContain("sallyport:meta");
    expect(prepared("import.meta", true)).toContain("sallyport:meta");
    for (const text of ["exports.a = 'import.meta'", "export const a = 1", "import('x'); // import.meta"]) {
      expect(prepared(text)).not.toContain("sallyport:meta");
    }
  });

  test("[T05] no text takes more than linear time", () => {
    const started = performance.now();
    for (const unit of ["\n", " ", "//", "// ", "//\n", "import ", "import.meta\n", "/*#", "//# "]) {
      prepared(`import.meta${unit.repeat(4_000_000 / unit.length)}`);
    }
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  test.each([
    ["", 0],
    ["()[]{}", 1],
    ["([{}])", 3],
    ["'((((' + \"((((\"", 0],
    ["'\\'((('", 0],
    ["'((\n((", 2],
    ["// ((((\n(", 1],
    ["/* (((( */ (", 1],
    ["/* never closed ((((", 0],
    ["`((((`", 0],
    ["`${(1)}`", 2],
    ["`${`${`${1}`}`}`", 3],
    ["`${{a: 1}}` + (`${1}(((`)", 2],
    ["`\\${((((`", 0],
    ["}}}))) (", 1],
  ])("[T05] depth of %j is %i", (text, depth) => expect(depthOf(text)).toBe(depth));

  test("[T05] depth is found in linear time", () => {
    const started = performance.now();
    for (const unit of ["[", "`${", "'", "/*", "}", "//", "\\"]) {
      depthOf(unit.repeat(4_000_000 / unit.length));
    }
    expect(performance.now() - started).toBeLessThan(3_000);
  });
});

test.each([
  ["*.css", "a/b.css", true],
  ["*.css", "a/b.js", false],
  ["./src/*.js", "src/a.js", true],
  ["./src/*.js", "src/deep/a.js", false],
  ["src/**/*.js", "src/deep/er/a.js", true],
  ["src/**", "src/a.js", true],
  ["**/x.js", "x.js", true],
  ["a?.js", "ab.js", true],
  ["a?.js", "a.js", false],
  ["{a,b}.js", "c.js", true], // not understood, so the module is kept
  ["[ab].js", "c.js", true],
])("glob %s on %s: %s", (glob, path, isMatch) => expect(matchesGlob(glob, path)).toBe(isMatch));

test("[T05] a glob made to backtrack does not", () => {
  const started = performance.now();
  expect(matchesGlob("**/**/**/**/" + "*a".repeat(50) + "b", `${"a/".repeat(200)}${"a".repeat(250)}`)).toBe(
    false,
  );
  expect(performance.now() - started).toBeLessThan(1_000);
});
