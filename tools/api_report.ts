/**
 * The pages docs/API.md and docs/ERRORS.md, derived from the public entries and from the table of errors: prints them, or with
 * `--write` puts them in their place. An export is stable unless its docstring has the tag `@experimental`.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { ERRORS } from "../permissions/mod.ts";
import { markdownTable } from "./markdown_table.ts";

const ROOT = join(import.meta.dirname, "..");

/** Entries of the package, by how they are imported. */
export const ENTRIES = {
  "sallyport": "src/mod.ts",
  "sallyport/cli": "src/cli/public.ts",
  "sallyport/permissions": "permissions/mod.ts",
  "sallyport/plugin": "src/plugin_types.ts",
  "sallyport/testing": "src/testing/mod.ts",
} as const;

/** Pages by their path. */
export function pages(): Readonly<Record<string, string>> {
  return { "docs/API.md": apiPage(), "docs/ERRORS.md": errorsPage() };
}

/** One export, as far as it is read here. */
export interface Documented {
  readonly name: string;
  readonly declarations: readonly {
    readonly kind: string;
    readonly jsDoc?: { readonly doc?: string; readonly tags?: readonly { readonly kind: string }[] };
  }[];
}

function apiPage(): string {
  const parts = Object.entries(ENTRIES).map(([specifier, path]) => {
    const rows = exportsOf(path).map(({ name, declarations }) => {
      const [first] = declarations;
      const isExperimental = first?.jsDoc?.tags?.some(({ kind }) => kind === "experimental") === true;
      return [
        `\`${name}\``,
        first?.kind ?? "",
        isExperimental ? "experimental" : "stable",
        sentence(first?.jsDoc?.doc),
      ];
    });
    const table = markdownTable([["Export", "Kind", "Stability", "What it is"], ...rows]);
    return `## \`${specifier}\`\n\n${table}\n`;
  });
  return `# The public interface

Made by \`npm run docs:api\`; a test holds it to the code. A **stable** export changes only with the major version: names and
codes are not renamed, fields and members of unions are added at the end. An **experimental** one may change with any version.

${parts.join("\n")}`;
}

function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(([code, { name, exit, retryable, doc }]) => [
    `\`${code}\``,
    name,
    String(exit),
    retryable ? "yes" : "no",
    doc,
  ]);
  return `# Errors

Made by \`npm run docs:api\` from the table in \`permissions/error.ts\`; a test holds it to the code. Codes are added, none is
renamed or given another meaning.

${markdownTable([["Code", "Class", "Exit code", "Retryable", "Meaning"], ...rows])}
`;
}

/** All exports of one entry, in order of their names. */
export function exportsOf(path: string): readonly Documented[] {
  const text = execFileSync(join(ROOT, "node_modules/.bin/deno"), ["doc", "--json", path], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 64 * 1_048_576,
    stdio: ["ignore", "pipe", "ignore"],
  });
  // The cast is safe: this is the shape that the pinned Deno prints.
  const { nodes } = JSON.parse(text) as { nodes: Record<string, { symbols: readonly Documented[] }> };
  const symbols = Object.values(nodes).flatMap((node) => node.symbols);
  return symbols.toSorted((a, b) => a.name < b.name ? -1 : 1);
}

function sentence(doc = ""): string {
  const [first = ""] = /^[^]*?[.:](?=\s|$)|^[^]*$/.exec(doc.trim()) ?? [];
  return first.replaceAll(/\s+/g, " ").replaceAll("|", "\\|");
}

if (import.meta.main) {
  const isWriting = process.argv.includes("--write");
  for (const [path, text] of Object.entries(pages())) {
    if (isWriting) writeFileSync(join(ROOT, path), text);
    else console.log(text);
  }
}
