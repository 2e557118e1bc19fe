/**
 * Where Sallyport answers otherwise than Deno, on purpose. A rule excuses nothing: it says what the one right answer is,
 * from what Deno itself answers to the two halves of the question or to the same question in Deno's own words.
 */
import { posix } from "node:path";
import type { DenoAnswer, DenoKind, Given } from "./deno.ts";
import { readEntry, readRequest } from "./rewording.ts";

/** Every difference, with its reason. */
export const RULES = {
  "deny-wins": "a deny that reaches the request refuses it, however specific the allow",
  "whole-kind": "a kind with a part carved out is not granted as a whole",
  "special-files": "/dev, /proc and /sys come with no entry, four harmless devices apart",
  "never-valid": "what is no value is refused even where everything is granted, and has one parser",
  "strict-hosts":
    "a port is digits, a vsock two numbers, IPv4 no zone, a label has up to 63 characters, a name 253, and an address neither names under it nor a dot at its end",
  "numeric-host":
    "127.1, 0x7f000001 and 2130706433 are the address that resolvers take them for, never a name",
  "u-labels": "names in other scripts are read, as their A-labels",
  "ipv6-range": "ranges of IPv6 are read",
  "empty-entry": "an empty entry is an error, whatever the kind",
  "any-host": "*:PORT is any public host",
  "methods": "METHOD URL is an entry and a request",
  "roots": "$word at the start of a path is a mapped folder, and an error where nobody mapped it",
  "sys-words": "one list of words: Deno's flags lack seven of Deno's own",
  "program-names":
    "a deny by name holds in any case, with any ending and off PATH; a deny by path for what lies there alone",
  "import-hosts": "there are no hosts that code is imported from without a grant",
} as const;

/** The name of a difference. */
export type RuleName = keyof typeof RULES;

/** What a question comes to. `readable` is an entry that Deno has no words for and Sallyport accepts. */
export type Outcome = "granted" | "denied" | "invalid-grant" | "invalid-request" | "readable";

/** One question under one set of flags. */
export interface Case {
  readonly kind: DenoKind;
  readonly allow: Given;
  readonly deny: Given;
  readonly request: string | null;
  readonly cwd: string;
  /** Where PATH has a program. */
  readonly which: (name: string) => string | undefined;
}

/** Deno's answers; undefined is that it did not start with the flags. */
export interface Answers {
  /** With the flags as they are. */
  readonly verbatim: DenoAnswer | undefined;
  /** With the allows alone, in Deno's own words. */
  readonly allowed: DenoAnswer | undefined;
  /** With everything allowed and the denies, in Deno's own words. */
  readonly spared: DenoAnswer | undefined;
  /** With no flags, in Deno's own words. */
  readonly bare: DenoAnswer;
}

/** The one right answer, and why it is not Deno's. */
export interface Prediction {
  readonly outcome: Outcome;
  /** Undefined where Deno's own answer is the right one. */
  readonly rule: RuleName | undefined;
}

/** Says what the right answer is. */
export function predict(question: Case, answers: Answers): Prediction {
  const { kind, allow, request, cwd } = question;
  const deno = outcomeOf(answers.verbatim);
  const as = (outcome: Outcome, rule?: RuleName): Prediction =>
    outcome === deno ? { outcome, rule: undefined } : { outcome, rule };
  const odd = entriesOf(question).map((entry) => readEntry(kind, entry));
  if (entriesOf(question).includes("")) return as("invalid-grant", "empty-entry");
  if (odd.some(({ rule }) => rule === "roots")) return as("invalid-grant", "roots");
  if (odd.some(({ rule }) => rule === "strict-hosts")) return as("invalid-grant", "strict-hosts");
  const beyond = odd.find(({ text }) => text === null);
  if (beyond !== undefined) return as("readable", beyond.rule);
  const rewritten = odd.find(({ rule }) => rule !== undefined)?.rule;
  if (answers.allowed === undefined || answers.spared === undefined) return as("invalid-grant", rewritten);
  if (request === null) {
    // The allows alone are partial where a program that may be run may not be written, which no flag says.
    const isWhole = allow !== null && answers.allowed !== "denied" && answers.spared === "granted";
    return as(
      isWhole ? "granted" : "denied",
      kind === "import" && allow === null ? "import-hosts" : "whole-kind",
    );
  }
  const asked = readRequest(kind, request);
  if (asked.rule === "roots") return as("invalid-request", "roots");
  if (asked.rule === "strict-hosts") return as("invalid-request", "strict-hosts");
  if (isNoValue(kind, request) || answers.bare === "invalid-request") {
    return as("invalid-request", "never-valid");
  }
  if (isSpecial(kind, request, cwd)) return as("denied", "special-files");
  if (allow === null) return as("denied", kind === "import" ? "import-hosts" : rewritten ?? asked.rule);
  const isDenied = isProgramNamed(question) ?? answers.spared === "denied";
  const isGranted = answers.allowed !== "denied" && !isDenied;
  const rule = isDenied !== (answers.spared === "denied")
    ? "program-names"
    : rewritten ?? asked.rule ?? (answers.spared === "denied" ? "deny-wins" : undefined);
  return as(isGranted ? "granted" : "denied", rule);
}

/** Entries as flags have them: split at commas. */
export function entriesOf({ allow, deny }: Pick<Case, "allow" | "deny">): readonly string[] {
  return [allow, deny].flatMap((given) => given === null || given === true ? [] : given)
    .flatMap((entry) => entry.split(","));
}

/** Deno's answer as an outcome. */
export function outcomeOf(answer: DenoAnswer | undefined): Outcome {
  return answer === undefined ? "invalid-grant" : answer === "partial" ? "granted" : answer;
}

/** What no program could be given, though Deno answers to it. */
function isNoValue(kind: DenoKind, text: string): boolean {
  if (kind === "net" || kind === "import") return /^[0-9.]+\/\d/.test(text);
  return text.includes("\0") || (kind === "env" && (text === "" || text.includes("=")));
}

/** Whether a deny by name reaches a program; undefined where that is not the question. */
function isProgramNamed({ kind, deny, request, cwd, which }: Case): boolean | undefined {
  if (kind !== "run" || request === null || deny === true) return undefined;
  const path = request.includes("/") ? posix.resolve(cwd, request) : which(request);
  const name = posix.basename(path ?? request).toLowerCase();
  const isNamed = entriesOf({ allow: null, deny }).filter((entry) => !entry.includes("/"))
    .some((entry) => name === entry.toLowerCase() || name.startsWith(`${entry.toLowerCase()}.`));
  return isNamed ? true : path === undefined ? false : undefined;
}

function isSpecial(kind: DenoKind, text: string, cwd: string): boolean {
  if (kind !== "read" && kind !== "write" && kind !== "ffi") return false;
  const path = posix.resolve(cwd, text);
  return /^\/(dev|proc|sys)(\/|$)/.test(path) && !/^\/dev\/(null|zero|random|urandom)$/.test(path);
}
