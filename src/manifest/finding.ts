/** What is wrong with a manifest, before it is known where in the file that stands. */
import type { z } from "zod";
import { display } from "../display.ts";

/** Steps from the root of a manifest to a value. */
export type FieldPath = readonly (string | number)[];

/** One thing that is wrong. */
export interface Finding {
  readonly path: FieldPath;
  readonly message: string;
  /** The cure, where one is known. */
  readonly hint?: string;
  /** Whether the key itself is wrong, rather than its value. */
  readonly isAboutKey?: boolean;
}

/** Writes a path as the reports do: `$.capabilities.tools[0].target`. Keys of others are shown escaped. */
export function fieldName(path: FieldPath): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    return /^[A-Za-z_$][\w$-]*$/.test(step)
      ? `${text}.${display(step, { max: STEP_CHARS_MAX })}`
      : `${text}[${JSON.stringify(display(step, { max: STEP_CHARS_MAX }))}]`;
  }, "$");
}

/** Turns what zod found in `value` into findings; a union's are those of the branch that came nearest. */
export function findingsOf(error: z.core.$ZodError, value: unknown): Finding[] {
  return error.issues.flatMap((issue) => flatten(issue, [], value));
}

/** The value at a path, undefined if there is none. Own members only. */
export function valueAt(value: unknown, path: FieldPath): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, step)) return undefined;
    // The cast is safe: own members of any object may be read as unknown.
    current = (current as Record<string | number, unknown>)[step];
  }
  return current;
}

const STEP_CHARS_MAX = 64;

function flatten(issue: z.core.$ZodIssue, base: FieldPath, value: unknown): Finding[] {
  // YAML has no symbols, so no path holds one.
  const path = [...base, ...issue.path as FieldPath];
  if (issue.code === "invalid_union") {
    const branch = nearestBranch(issue.errors);
    if (branch !== undefined) return branch.flatMap((inner) => flatten(inner, path, value));
    if (issue.discriminator !== undefined && issue.path.at(-1) !== issue.discriminator) {
      path.push(issue.discriminator);
    }
  }
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({ path: [...path, key], message: `unknown key "${key}"` }));
  }
  if (valueAt(value, path) === undefined && issue.code !== "custom") {
    return [{ path, message: "is required" }];
  }
  const { hint, isAboutKey } = issue.code === "custom" ? issue.params ?? {} : {};
  return [{
    path,
    message: messageOf(issue, valueAt(value, path)),
    ...(typeof hint === "string" ? { hint } : {}),
    ...(isAboutKey === true ? { isAboutKey } : {}),
  }];
}

/** The branch whose complaints lie deepest: the author meant that one. None if every branch refuses the value itself. */
function nearestBranch(
  branches: readonly (readonly z.core.$ZodIssue[])[],
): readonly z.core.$ZodIssue[] | undefined {
  const depth = (branch: readonly z.core.$ZodIssue[]) =>
    Math.min(...branch.map((issue) => issue.path.length));
  const [best] = branches.filter((branch) => branch.length > 0 && depth(branch) > 0).sort((a, b) =>
    depth(b) - depth(a) || a.length - b.length
  );
  return best ?? (branches.length === 1 ? branches[0] : undefined);
}

function messageOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === "invalid_type" && issue.message.startsWith("Invalid input")) {
    const hint = issue.expected === "string" && (typeof value === "number" || typeof value === "boolean")
      ? "; put it in quotes"
      : "";
    return `must be ${NOUNS[issue.expected] ?? issue.expected}, not ${nounOf(value)}${hint}`;
  }
  if (issue.code === "too_big" && issue.origin === "array" && issue.message.startsWith("Too big")) {
    return `must have at most ${issue.maximum} entries`;
  }
  return issue.message;
}

const NOUNS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "a map",
  record: "a map",
};

function nounOf(value: unknown): string {
  if (value === null) return "empty";
  if (Array.isArray(value)) return "a list";
  return NOUNS[typeof value] ?? "nothing";
}
