/** The pages about the public interface and the errors are what the code gives. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pages } from "../tools/api_report.ts";

const ROOT = join(import.meta.dirname, "..");

test("[A34] [R44] docs/API.md and docs/ERRORS.md are up to date: else run `npm run docs:api`", () => {
  for (const [path, text] of Object.entries(pages())) {
    expect(readFileSync(join(ROOT, path), "utf8").replaceAll(/\s+/g, " "), path).toBe(
      text.replaceAll(/\s+/g, " "),
    );
  }
});

test("[A34] every export is marked stable or experimental", () => {
  const rows = pages()["docs/API.md"]!.split("\n").filter((line) => line.startsWith("| `"));
  expect(rows.length).toBeGreaterThan(100);
  for (const row of rows) expect(row).toMatch(/^\| `\w+` +\| \w+ +\| (?:stable|experimental) +\| \S/);
});
