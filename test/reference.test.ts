/** The README's table of permission kinds is the one that the table of kinds gives, and its examples are entries. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { KINDS, type KindTable, kindTable, layerOf, wordKind } from "../permissions/mod.ts";
import { kindsTable, PAGE, withReference } from "../tools/reference.ts";

const page = readFileSync(PAGE, "utf8");

test("[R15] the table of kinds in the README is up to date: else run `npm run docs:reference`", () => {
  expect(withReference(page)).toBe(page);
});

test("a page that is stale, or lacks the marks, is noticed", () => {
  const stale = page.replace(KINDS.net.doc, "Something else.");
  expect(stale).not.toBe(page);
  expect(withReference(stale)).toBe(page);
  expect(() => withReference(page.replaceAll("<!-- kinds", "<!-- "))).toThrow("lacks the marks");
});

test("every example is an entry that a manifest may have, and only kinds without entries have none", () => {
  const places = { cwd: "/p", bundle: "/p", data: "/d", project: "/w", home: "/h" };
  for (const kind of Object.values<KindTable[string]>(KINDS)) {
    const { name, examples = [] } = kind;
    if (examples.length === 0) {
      expect(() => kind.parseEntry("x", places, "allow"), name).toThrow("it has no parts");
    } else expect(() => layerOf("manifest", { [name]: examples }, places), name).not.toThrow();
  }
});

test("a kind that an embedder adds has a row like any other", () => {
  const toy = wordKind({ name: "toy", doc: "Playing with the named toys.", examples: ["ball"] });
  const rows = kindsTable(kindTable([toy])).split("\n");
  expect(rows.at(-1)).toMatch(/^\| `toy` +\| Playing with the named toys\. +\| `"ball"` +\| always +\|$/);
  expect(kindsTable()).not.toContain("toy");
});
