/**
 * Every public enumeration: unions of words in the types of the public entries, and the tables whose keys are public. They grow
 * at the end: a word that is known keeps its place and its meaning. What was there is written in `test/enumerations.json`;
 * `--write` adds to it what is new, and never anything else.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { ERRORS, KINDS } from "../permissions/mod.ts";
import { GUARDED_POINTS } from "../src/surfaces/guardrails.ts";
import { eventFacts, HOOK_EVENTS, SURFACES } from "../src/surfaces/mod.ts";
import { ENTRIES, exportsOf } from "./api_report.ts";

/** Words by what they are words of: `PluginRow.state`. */
export type Enumerations = Readonly<Record<string, readonly string[]>>;

/** Where it is written what was there. */
export const COMMITTED = join(import.meta.dirname, "../test/enumerations.json");

/** What manifests say, and what `--json` prints without a type of the library. */
const PRINTED = [
  "src/audit/verify.ts",
  "src/doctor.ts",
  "src/surfaces/hooks.ts",
  "src/surfaces/guardrails.ts",
  "src/surfaces/interceptors.ts",
];

/** As the code has them. */
export function enumerations(): Enumerations {
  const found = new Map<string, readonly string[]>([
    // What a code means is which class and which exit code it has.
    ["ERRORS", Object.entries(ERRORS).map(([code, { name, exit }]) => `${code} ${name} ${exit}`)],
    ["GUARDED_POINTS", GUARDED_POINTS],
    // What an event means is what passes there, and whether a hook may stop it.
    [
      "HOOK_EVENTS",
      HOOK_EVENTS.map((event) => {
        const { point, decides } = eventFacts(event);
        return `${event} ${point} ${decides ? "decides" : "watches"}`;
      }),
    ],
    ["KINDS", Object.keys(KINDS)],
    ["SURFACES", Object.keys(SURFACES)],
  ]);
  const documented = [...Object.values(ENTRIES), ...PRINTED].flatMap(exportsOf).flatMap((
    { name, declarations },
  ) => declarations.map((declaration) => ({ name, declaration: declaration as unknown })));
  const shapes = new Map(documented.map(({ name, declaration }) => [name, propertiesOf(declaration)]));
  for (const { name, declaration } of documented) walk(declaration, name, { found, shapes });
  return Object.fromEntries([...found].sort(([a], [b]) => a < b ? -1 : 1));
}

/** What is not as it was: each a sentence. Nothing where words were only added, each at the end. */
export function breaches(before: Enumerations, after: Enumerations): readonly string[] {
  return Object.entries(before).flatMap(([name, words]) => {
    const now = Object.hasOwn(after, name) ? after[name]! : null;
    if (now === null) return [`${name} is gone`];
    return words.flatMap((word, place) =>
      now[place] === word ? [] : [
        `${name}: "${word}" ${now.includes(word) ? "has another place" : "is gone, or means something else"}`,
      ]
    );
  });
}

/** What Deno prints of a type, as far as it is read here. */
interface Documentation {
  readonly kind?: string;
  readonly name?: string;
  readonly value?: unknown;
  readonly string?: string;
  readonly number?: number;
  readonly typeName?: string;
  readonly tsType?: unknown;
}

interface Walk {
  /** What was found. */
  readonly found: Map<string, readonly string[]>;
  /** Properties of what is exported, by name. */
  readonly shapes: ReadonlyMap<string, readonly Documentation[]>;
}

function walk(value: unknown, path: string, to: Walk): void {
  if (Array.isArray(value)) return value.forEach((each) => walk(each, path, to));
  if (typeof value !== "object" || value === null) return;
  const { kind, name, typeName, value: members } = value as Documentation; // the cast is safe: each member is looked at
  // Names of properties are no words.
  if (typeName === "Pick" || typeName === "Omit") return;
  if (kind === "union" && Array.isArray(members)) {
    const words = members.flatMap((member) => wordsOf(member) ?? []);
    if (words.length > 1) to.found.set(path, words);
  }
  for (const [key, member] of Object.entries(value)) {
    if (key === "properties" && Array.isArray(member)) {
      for (const each of member as readonly Documentation[]) walk(each, `${path}.${each.name}`, to);
    } else if (key !== "jsDoc" && key !== "location") {
      walk(member, typeof name === "string" && key === "params" ? `${path}.${name}` : path, to);
    }
  }
  // Last, since what one member says there was found above.
  const told = kind === "union" && Array.isArray(members) ? tellers(members, to) : [];
  for (const [key, words] of told) to.found.set(`${path}.${key}`, words);
}

/** The words of a literal type or of a union of such; null for any other. */
function wordsOf(type: unknown): readonly string[] | null {
  const { kind, value } = type as Documentation; // the cast is safe: each member is looked at
  if (kind === "union" && Array.isArray(value)) {
    const words = value.map(wordsOf);
    return words.every((each) => each !== null) ? words.flat() : null;
  }
  if (kind !== "literal" || typeof value !== "object" || value === null) return null;
  const { string, number } = value as Documentation;
  return string !== undefined ? [string] : number === undefined ? null : [String(number)];
}

/** The properties by which members of a union are told apart: each of them has words there. */
function tellers(
  members: readonly unknown[],
  { shapes }: Walk,
): readonly (readonly [string, readonly string[]])[] {
  const told = members.map((member) => {
    const { kind, value } = member as Documentation;
    const { typeName } = Object(value) as Documentation;
    const properties = kind === "typeRef" ? shapes.get(typeName ?? "") ?? [] : propertiesOf(member);
    return new Map(properties.flatMap(({ name = "", tsType }) => {
      const words = tsType === undefined ? null : wordsOf(tsType);
      return words === null ? [] : [[name, words] as const];
    }));
  });
  const [first] = told;
  if (first === undefined || told.length < 2) return [];
  return [...first.keys()].filter((key) => told.every((each) => each.has(key)))
    .map((key) => [key, [...new Set(told.flatMap((each) => each.get(key)!))]] as const)
    .filter(([, words]) => words.length > 1);
}

/** Of an interface, or of a type that is written out. */
function propertiesOf(documented: unknown): readonly Documentation[] {
  const { def, value } = documented as { readonly def?: unknown; readonly value?: unknown };
  const { properties } = Object(def ?? value) as { readonly properties?: readonly Documentation[] };
  return properties ?? [];
}

if (import.meta.main) {
  const now = enumerations();
  if (process.argv.includes("--write")) {
    const before = JSON.parse(readFileSync(COMMITTED, "utf8")) as Enumerations; // its own form
    const found = breaches(before, now);
    if (found.length > 0) {
      for (const each of found) console.error(each);
      process.exitCode = 1;
    } else writeFileSync(COMMITTED, `${JSON.stringify(now, null, 2)}\n`);
  } else console.log(JSON.stringify(now, null, 2));
}
