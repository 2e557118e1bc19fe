/**
 * Reads the shape of a request into statements. One reader serves the schema, the layers and the displays, so that none of
 * them can understand a request differently.
 */
import { z } from "zod";
import {
  type Effect,
  type FieldSchema,
  type Kind,
  type KindTable,
  type PathContext,
  refuse,
} from "./kind.ts";
import { KINDS } from "./kinds/mod.ts";

/** One side of one kind's request. */
export interface Statement {
  /** The kind. */
  readonly kind: Kind;
  /** Whether it is asked for or carved out. */
  readonly effect: Effect;
  /** The whole kind, or entries. */
  readonly given: true | readonly StatedEntry[];
  /** Why, in the author's words. */
  readonly reason: string | undefined;
  /** Whether the plugin is useless without it. */
  readonly isRequired: boolean;
  /** What the kind's own keys mean for whoever approves it. */
  readonly remark: string | undefined;
}

/** An entry that nobody has read yet. */
export interface StatedEntry {
  /** As written. */
  readonly given: unknown;
  /** Where it stands in the request. */
  readonly path: readonly (string | number)[];
}

/** A fault in the shape of a request. */
export interface RequestIssue {
  /** Where it stands in the request. */
  readonly path: readonly (string | number)[];
  /** What is wrong there. */
  readonly message: string;
}

/** Splits a request into statements, without reading entries; finds every fault of its shape. */
export function readRequest(
  request: unknown,
  table: KindTable = KINDS,
): { readonly statements: Statement[]; readonly issues: RequestIssue[] } {
  const statements: Statement[] = [];
  const issues: RequestIssue[] = [];
  if (!isMapping(request)) {
    return { statements, issues: [{ path: [], message: "permissions are a mapping of kinds" }] };
  }
  for (const key of Object.keys(request)) {
    if (!Object.hasOwn(table, key) && !key.startsWith("x-")) {
      issues.push({
        path: [key],
        message: `"${key}" is no kind of permission; ${Object.keys(table).join(", ")} are`,
      });
    }
  }
  for (const kind of Object.values(table)) {
    const given = Object.hasOwn(request, kind.name) ? request[kind.name] : undefined;
    if (given !== undefined) readKind(kind, given, statements, issues);
  }
  return { statements, issues };
}

/** Why an entry cannot be read, or undefined. */
export function problemOf(
  kind: Kind,
  given: unknown,
  effect: Effect,
  context: PathContext,
  isManifest: boolean,
): string | undefined {
  try {
    if (typeof given === "string" && given.length > ENTRY_CHARS_MAX) {
      refuse(`it is longer than ${ENTRY_CHARS_MAX} characters`);
    }
    kind.parseEntry(given, context, effect);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return isManifest && effect === "allow" ? kind.misplaced?.(given) : undefined;
}

/** Stands for all contexts where only the grammar matters. */
export const NEUTRAL: PathContext = {
  cwd: "/plugin",
  bundle: "/plugin",
  data: "/data",
  project: "/project",
  home: "/home",
};

const ENTRIES_MAX = 1000;
const ENTRY_CHARS_MAX = 4096;
const REASON_CHARS_MAX = 1024;

const common = {
  required: z.boolean(),
  reason: z.string().max(REASON_CHARS_MAX),
};

const PLAIN = { reason: undefined, isRequired: false, remark: undefined };

function readKind(kind: Kind, given: unknown, statements: Statement[], issues: RequestIssue[]): void {
  const { name } = kind;
  if (given === true || Array.isArray(given)) {
    const side = readSide(given, [name], issues);
    if (side !== undefined) statements.push({ ...PLAIN, kind, effect: "allow", given: side });
    return;
  }
  if (!isMapping(given)) {
    issues.push({ path: [name], message: "it is true, a list of entries, or a mapping with allow and deny" });
    return;
  }
  if (!checkKeys(kind, given, issues)) return;
  const facts = {
    kind,
    reason: typeof given["reason"] === "string" ? given["reason"] : undefined,
    isRequired: given["required"] === true,
    remark: kind.remark?.(given),
  };
  const own = kind.ownEntry?.(given);
  const allow = own === undefined
    ? readSide(given["allow"], [name, "allow"], issues)
    : [{ given: own, path: [name] }];
  const deny = readSide(given["deny"], [name, "deny"], issues);
  if (own !== undefined && Array.isArray(given["allow"])) {
    issues.push({ path: [name, "allow"], message: "it is said twice; leave the list out" });
  }
  if (own === undefined && given["allow"] === undefined && given["deny"] === undefined) {
    issues.push({ path: [name], message: "it says neither allow nor deny, so it asks for nothing" });
  }
  if (allow !== undefined) statements.push({ ...facts, effect: "allow", given: allow });
  if (deny !== undefined) statements.push({ ...facts, effect: "deny", given: deny });
}

function checkKeys(
  kind: Kind,
  given: Readonly<Record<string, unknown>>,
  issues: RequestIssue[],
): boolean {
  const shape: Readonly<Record<string, FieldSchema>> = { ...common, ...kind.own };
  const before = issues.length;
  for (const [key, value] of Object.entries(given)) {
    if (key === "allow" || key === "deny" || key.startsWith("x-") || value === undefined) continue;
    const problem = Object.hasOwn(shape, key)
      ? shape[key]?.safeParse(value).error?.issues[0]?.message
      : `"${key}" is no key here; allow, deny, ${Object.keys(shape).join(", ")} are`;
    if (problem !== undefined) issues.push({ path: [kind.name, key], message: problem });
  }
  return issues.length === before;
}

function readSide(
  side: unknown,
  path: readonly string[],
  issues: RequestIssue[],
): true | readonly StatedEntry[] | undefined {
  if (side === true || side === undefined) return side;
  if (!Array.isArray(side)) issues.push({ path, message: "it is true or a list of entries" });
  else if (side.length > ENTRIES_MAX) {
    issues.push({ path, message: `it has more than ${ENTRIES_MAX} entries` });
  } else return side.map((given: unknown, index) => ({ given, path: [...path, index] }));
  return undefined;
}

function isMapping(given: unknown): given is Readonly<Record<string, unknown>> {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}
