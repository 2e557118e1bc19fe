/** Every row of test/cases/manifests, by the rules of its README. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ManifestError } from "../../permissions/mod.ts";
import { type ManifestIssue, parseManifest } from "../../src/manifest/mod.ts";

interface Row {
  readonly file: string;
  readonly expect: "valid" | "invalid";
  readonly field: string | null;
  readonly field_alt?: readonly string[];
  readonly why: string;
}

const FOLDER = new URL("../cases/manifests/", import.meta.url);
const ROWS: readonly Row[] = readFileSync(new URL("index.jsonl", FOLDER), "utf8").trim().split("\n")
  .map((line) => JSON.parse(line));

/** `$` is anywhere; a parent of the field counts as the field. */
function fits(path: string, field: string): boolean {
  return field === "$" || path === field || field.startsWith(`${path}.`) || field.startsWith(`${path}[`);
}

function prototypes(): string {
  return [Object.prototype, Array.prototype, Function.prototype]
    .map((prototype) => Reflect.ownKeys(prototype).map(String).join()).join("|");
}

describe("conformance rows", () => {
  test("there are rows, of both kinds", () => {
    expect(ROWS.filter((row) => row.expect === "valid").length).toBeGreaterThan(5);
    expect(ROWS.filter((row) => row.expect === "invalid").length).toBeGreaterThan(50);
  });

  for (const row of ROWS) {
    test(`[L04] ${row.file}: ${row.expect}, ${row.why}`, () => {
      const bytes = readFileSync(new URL(row.file, FOLDER));
      const before = prototypes();
      const started = performance.now();
      let result: unknown;
      let thrown: unknown;
      try {
        result = parseManifest(bytes, { file: row.file });
      } catch (error) {
        thrown = error;
      }
      expect(performance.now() - started).toBeLessThan(1000);
      expect(prototypes()).toBe(before);
      expect(({} as Record<string, unknown>)["polluted"]).toBe(undefined);
      if (row.expect === "valid") {
        expect(thrown).toBe(undefined);
        expect(Object.isFrozen(result)).toBe(true);
        return;
      }
      expect(thrown).toBeInstanceOf(ManifestError);
      expect(result).toBe(undefined);
      const { message, details } = thrown as ManifestError;
      const issues = details["issues"] as readonly ManifestIssue[];
      const wanted = [row.field ?? "$", ...row.field_alt ?? []];
      expect(issues.some((issue) => wanted.some((field) => fits(issue.path, field))), message).toBe(true);
      expect(new Set(issues.map((issue) => `${issue.path} ${issue.message}`)).size).toBe(issues.length);
      // deno-lint-ignore no-control-regex
      const hidden = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;
      expect(message).not.toMatch(hidden);
      for (const issue of issues) {
        expect(issue.file).toBe(row.file);
        expect(issue.line).toBeGreaterThan(0);
        expect(issue.column).toBeGreaterThan(0);
        expect(`${issue.path}${issue.message}${issue.hint ?? ""}`).not.toMatch(hidden);
        expect(message).toContain(issue.path);
      }
    });
  }
});
