/** What is wrong with a text, in the shape that all reports have: file, line, column and field, all of it safe to print. */
import { display } from "../display.ts";
import type { YamlReading } from "../yaml.ts";
import { fieldName, type FieldPath, type Finding } from "./finding.ts";
import { MANIFEST_LIMITS as LIMITS } from "./limits.ts";

/** One thing that is wrong with a manifest or a document; `details.issues` of a ManifestError lists them. All text is safe to print. */
export interface ManifestIssue {
  /** The name that the caller gave the file. */
  readonly file: string;
  /** Counts from 1. */
  readonly line: number;
  /** Counts from 1, in UTF-16 units. */
  readonly column: number;
  /** The field: `$.capabilities.tools[0].target`; `$` for the file as a whole. */
  readonly path: string;
  /** What is wrong. */
  readonly message: string;
  /** The cure, where one is known. */
  readonly hint?: string;
}

/** Issues that are told, and how many more there are. */
export interface IssueReport {
  /** At most `issuesMax`. */
  readonly issues: readonly ManifestIssue[];
  /** What was left out. */
  readonly moreCount: number;
}

/** Puts together what the reader refused and what was found in the rest. */
export function reportIssues(file: string, reading: YamlReading, findings: readonly Finding[]): IssueReport {
  // What the reader refused has no value to judge, so a second complaint about it would be noise.
  const judged = findings.filter(({ path }) =>
    !reading.issues.some((issue) => issue.path.length > 0 && startsWith(path, issue.path))
  );
  const all = [
    ...reading.issues,
    ...judged.map((finding) => ({
      ...finding,
      ...(finding.isAboutKey === true ? reading.locateKey(finding.path) : reading.locate(finding.path)),
    })),
  ];
  const issues = all.slice(0, LIMITS.issuesMax).map((issue): ManifestIssue => ({
    file: display(file),
    line: issue.line,
    column: issue.column,
    path: fieldName(issue.path),
    message: display(issue.message),
    ...("hint" in issue && issue.hint !== undefined ? { hint: display(issue.hint) } : {}),
  }));
  return { issues, moreCount: all.length - issues.length };
}

/** One issue in a line, without its file. */
export function issueText({ line, column, path, message, hint }: ManifestIssue): string {
  return `line ${line}, column ${column}, ${path}: ${message}${hint === undefined ? "" : ` (${hint})`}`;
}

function startsWith(path: FieldPath, start: FieldPath): boolean {
  return start.every((step, index) => path[index] === step);
}
