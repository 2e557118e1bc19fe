/** The cases of Deno's grammar in test/cases/permissions.jsonl, by rule: where Sallyport differs, the rule that says so is here. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  check,
  checkAddress,
  type Decision,
  type Grant,
  grantOf,
  type KindName,
  layerOf,
  type PathContext,
  splitFlag,
  UsageError,
} from "../../permissions/mod.ts";

/** One case. */
export interface Row {
  readonly id: string;
  readonly kind: KindName;
  readonly allow: true | readonly string[] | null;
  readonly deny: true | readonly string[] | null;
  readonly cwd?: string;
  readonly request: string | null;
  readonly expect: "granted" | "denied" | "invalid-grant" | "invalid-request";
  readonly which?: Readonly<Record<string, string>>;
  readonly which_request?: Readonly<Record<string, string>>;
  readonly tags?: readonly string[];
}

type Outcome = Row["expect"];

/** All of them. */
export const ROWS: readonly Row[] = readFileSync(
  new URL("../cases/permissions.jsonl", import.meta.url),
  "utf8",
)
  .split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));

// What a resolver answers to the names in rows tagged `resolve`; numeric spellings need none.
const ADDRESSES: Readonly<Record<string, readonly string[]>> = { localhost: ["127.0.0.1", "::1"] };

/** The ways in which Sallyport answers otherwise than Deno, on purpose. */
const DIFFERENCES: readonly {
  readonly reason: string;
  applies(row: Row): boolean;
  readonly outcomes: readonly Outcome[];
}[] = [
  {
    reason: "deny always wins: a deny that reaches the request refuses it, however specific the allow",
    applies: (row) =>
      row.expect === "granted" && (has(row, "specific-allow") || liesInDeny(row)) &&
      outcomeOf({ ...row, allow: true }) === "denied",
    outcomes: ["denied"],
  },
  {
    reason: "special files come with no entry, terminals least of all",
    applies: (row) =>
      row.expect === "granted" && has(row, "special-file") &&
      !["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"].includes(row.request ?? ""),
    outcomes: ["denied"],
  },
  {
    reason: "any-host entries, ranges of IPv6 and names in other scripts can be read",
    applies: (row) => row.expect === "invalid-grant" && entriesOf(row).some(isOfOurGrammar),
    outcomes: ["granted", "denied"],
  },
  {
    reason: "names in other scripts can be asked for",
    applies: (row) => row.expect === "invalid-request" && isOfOurGrammar(row.request ?? ""),
    outcomes: ["granted", "denied"],
  },
];

/** What is wrong with Sallyport's answer to the case, or undefined. */
export function faultOf(row: Row): string | undefined {
  const outcome = outcomeOf(row);
  if ((differenceOf(row)?.outcomes ?? [row.expect]).includes(outcome)) return undefined;
  return `${row.id}: ${outcome}, not ${row.expect}: ${JSON.stringify(row)}`;
}

/** Whether Sallyport differs from Deno here, by a rule. */
export function isDifferent(row: Row): boolean {
  return differenceOf(row) !== undefined;
}

function differenceOf(row: Row): (typeof DIFFERENCES)[number] | undefined {
  return DIFFERENCES.find((candidate) => candidate.applies(row));
}

function outcomeOf(row: Row): Outcome {
  const cwd = row.cwd ?? "/srv/cwd";
  let grant: Grant;
  try {
    const sides = { ...side(row, "allow"), ...side(row, "deny") };
    grant = grantOf(layerOf("flags", { [row.kind]: { allow: [], ...sides } }, contextOf(cwd, row.which)));
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return "invalid-grant";
  }
  const context = contextOf(cwd, row.which_request ?? row.which);
  const requirement = { kind: row.kind, value: row.request, recursive: has(row, "recursive") };
  const decisions = [check(grant, requirement, context)];
  if (has(row, "resolve")) {
    const addresses = ADDRESSES[row.request?.split(":")[0] ?? ""] ?? [];
    decisions.push(...addresses.map((address) => checkAddress(grant, requirement, address, context)));
  }
  if (decisions.some(isMalformed)) return "invalid-request";
  return decisions.every((decision) => decision.state === "granted") ? "granted" : "denied";
}

function side(row: Row, effect: "allow" | "deny"): { readonly [effect: string]: true | readonly string[] } {
  const given = row[effect];
  if (given === null) return {};
  // The shorthand is the flags' alone.
  return {
    [effect]: given === true || !has(row, "bare-port")
      ? given
      : given.flatMap((entry) => splitFlag(row.kind, entry)),
  };
}

function contextOf(cwd: string, which: Readonly<Record<string, string>> | undefined): PathContext {
  return { cwd, which: (name) => which?.[name] };
}

/** Told by text alone, so that a deny that reaches too far is not excused. A few rows of sibling prefixes lack the tag. */
export function liesInDeny(row: Row): boolean {
  const deny = Array.isArray(row.deny) ? row.deny : [];
  return deny.some((entry) => entry.startsWith("/") && `${row.request}/`.startsWith(`${entry}/`));
}

function isMalformed(decision: Decision): boolean {
  return decision.rule.includes(" is malformed: ");
}

function entriesOf(row: Row): readonly string[] {
  return [row.allow, row.deny].flatMap((given) => Array.isArray(given) ? given : []);
}

function isOfOurGrammar(text: string): boolean {
  return /[^\0-\x7f]/.test(text) || /^\*:\d+$/.test(text) || /^\[?[0-9a-f]*:[0-9a-f:.]*\]?\/\d/i.test(text);
}

/** Whether the case bears the tag. */
export function has(row: Row, tag: string): boolean {
  return row.tags?.includes(tag) ?? false;
}
