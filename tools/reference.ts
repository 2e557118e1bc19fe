/**
 * The README's table of permission kinds, derived from the table of kinds: prints it, or with `--write` puts it between the
 * marks in README.md.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { isGrave, KINDS, type KindTable, type PathContext } from "../permissions/mod.ts";
import { markdownTable } from "./markdown_table.ts";

/** The page that has the table. */
export const PAGE = join(import.meta.dirname, "../README.md");

const BEGIN = "<!-- kinds: made by `npm run docs:reference` -->";
const END = "<!-- kinds: end -->";

/** The table of these kinds, as markdown that the formatter leaves as it is. */
export function kindsTable(kinds: KindTable = KINDS): string {
  const context = { ...PLUGIN, kinds };
  const rows = Object.values(kinds).map(({ name, doc, examples = [] }) => {
    // An entry that is no text, as secrets have them, is read like any other; `isGrave` is typed for the texts alone.
    const entries: readonly (string | true)[] = [true, ...examples as readonly string[]];
    const grave = entries.filter((entry) => isGrave(name, entry, context));
    return [`\`${name}\``, doc, examples.map(code).join(", ") || "none", graveText(grave, entries.length)];
  });
  return markdownTable([["Kind", "What it gates", "Entries, for example", "Grave"], ...rows]);
}

/** The page with its table as it must be now. Throws where the marks are not there. */
export function withReference(page: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`README.md lacks the marks ${BEGIN} and ${END}`);
  return `${page.slice(0, begin)}${BEGIN}\n\n${kindsTable()}\n\n${page.slice(end)}`;
}

const PLUGIN: PathContext = {
  cwd: "/plugin",
  bundle: "/plugin",
  data: "/data",
  project: "/project",
  home: "/home",
};

function graveText(grave: readonly unknown[], all: number): string {
  if (grave.length === 0) return "never";
  return grave.length === all ? "always" : grave.map(code).join(", ");
}

function code(entry: unknown): string {
  return `\`${JSON.stringify(entry)}\``;
}

if (import.meta.main) {
  if (process.argv.includes("--write")) writeFileSync(PAGE, withReference(readFileSync(PAGE, "utf8")));
  else console.log(kindsTable());
}
