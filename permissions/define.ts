/** Kinds that an embedder adds: what is left out of a definition is filled in, the cautious way. */
import { UsageError } from "./error.ts";
import { type Kind, type KindTable, type PathContext, refuse, wordOf } from "./kind.ts";
import { kindIn, KINDS } from "./kinds/mod.ts";
import { parsePattern, type Pattern, patternAlgebra } from "./pattern_grammar.ts";

/** A kind without what has a default: no keys of its own, every entry grave, and `use NAME "value"` in refusals. */
export type KindDefinition<Entry = unknown, Value = unknown> =
  & Omit<Kind<Entry, Value>, "own" | "phrase" | "isGrave">
  & Partial<Pick<Kind<Entry, Value>, "own" | "phrase" | "isGrave">>;

/** A kind whose entries and values are words. */
export interface WordKindOptions {
  /** In manifests and, as `--allow-NAME`, on the command line. */
  readonly name: string;
  /** One sentence for help and reference pages. */
  readonly doc: string;
  /** What a word is called in messages: `a mailbox`. */
  readonly noun?: string;
  /** What a whole word looks like; without it, any text that is not empty. */
  readonly form?: RegExp;
  /** Entries as a manifest may have them, for reference pages. */
  readonly examples?: readonly string[];
  /** What using it is called after "may not"; null is the whole kind. */
  readonly phrase?: (value: string | null) => string;
  /** Whether approving an entry, or with true the whole kind, needs more than a `--yes`; always, without it. */
  readonly isGrave?: (entry: string | true) => boolean;
}

/**
 * Defines a kind of permission. Throws UsageError for a name that is no plain word, or a definition that lacks a part.
 *
 * @example
 * ```ts
 * const mail = definePermission(wordKind({ name: "mail", doc: "Sending mail from the named boxes." }));
 * await using host = await createHost({ permissions: [mail], ops: [sendMail] });
 * ```
 */
export function definePermission<Entry, Value>(definition: KindDefinition<Entry, Value>): Kind<Entry, Value> {
  const { name } = definition;
  const kind: Kind<Entry, Value> = {
    own: {},
    phrase: (value) => value === null ? `use all of ${name}` : `use ${name} "${value}"`,
    isGrave: () => true,
    ...definition,
  };
  refuseIncomplete(kind);
  return Object.freeze(kind);
}

/** A kind whose entries are exact words. Throws UsageError as `definePermission` does. */
export function wordKind(options: WordKindOptions): Kind<string, string> {
  const wordFrom = wordReader(options);
  return definePermission<string, string>({
    ...factsOf(options, (entry: string) => entry),
    parseEntry: wordFrom,
    parseValue: wordFrom,
    displayEntry: (entry) => entry,
    displayValue: (value) => value,
    covers: (entry, value) => entry === value,
    includes: (a, b) => a === b,
    meet: (a, b) => a === b ? a : null,
  });
}

/**
 * A kind whose entries are words, or the beginnings of words with one `*` at their end; `form` is that of a whole word.
 * Throws UsageError as `definePermission` does.
 */
export function patternKind(options: WordKindOptions): Kind<Pattern, string> {
  const wordFrom = wordReader(options);
  return definePermission<Pattern, string>({
    ...factsOf(options, patternAlgebra.displayEntry),
    ...patternAlgebra,
    parseEntry(given) {
      const pattern = parsePattern(wordOf(given, options.noun ?? "an entry"));
      // A beginning is no whole word, so there is no form that it must have.
      if (!pattern.isPrefix) wordFrom(given);
      return pattern;
    },
    parseValue: wordFrom,
  });
}

/** The built-in kinds and these. Throws UsageError where two would have one name. */
export function kindTable(kinds: readonly Kind[] = []): KindTable {
  if (kinds.length === 0) return KINDS;
  const table: Record<string, Kind> = { ...KINDS };
  for (const kind of kinds) {
    refuseIncomplete(kind);
    const { name } = kind;
    if (kindIn(table, name) !== undefined) {
      const owner = kindIn(KINDS, name) === undefined ? "another one" : "a built-in one";
      throw new UsageError(
        "ERR_USAGE",
        `Cannot add the permission "${name}": ${owner} has that name. Rename it`,
      );
    }
    table[name] = kind;
  }
  return Object.freeze(table);
}

/** Shared code calls these whatever the kind, so one that lacks any would fail in the middle of a decision. */
const METHODS = [
  "phrase",
  "parseEntry",
  "parseValue",
  "displayEntry",
  "displayValue",
  "covers",
  "includes",
  "meet",
  "isGrave",
] as const satisfies readonly (keyof Kind)[];

function refuseIncomplete<Entry, Value>(kind: Kind<Entry, Value>): void {
  const { name, doc, own } = kind;
  const why = typeof name !== "string" || !/^[a-z][a-zA-Z0-9]{0,31}$/.test(name) || name in {}
    ? "its name is 1 to 32 letters and digits, starts with a small letter, and is no member of every object"
    : /^(help|json|version)$|^(allow|deny)[A-Z]/.test(name)
    ? "its flags would be taken for others"
    : typeof doc !== "string" || doc === ""
    ? "it lacks doc"
    : typeof own !== "object" || own === null
    ? "it lacks own"
    : METHODS.filter((method) => typeof kind[method] !== "function").map((method) => `it lacks ${method}`)[0];
  if (why !== undefined) {
    throw new UsageError("ERR_USAGE", `Cannot define the permission ${JSON.stringify(name)}: ${why}`);
  }
}

function wordReader({ form, noun = "an entry" }: WordKindOptions): (given: unknown) => string {
  // A form that matches anywhere in a word, on one of its lines or only every other time would let in what nobody meant.
  const whole = form && new RegExp(`^(?:${form.source})$`, form.flags.replace(/[gmy]/g, ""));
  return (given) => {
    const word = wordOf(given, noun);
    return whole === undefined || whole.test(word) ? word : refuse(`"${word}" is not ${noun}`);
  };
}

function factsOf<Entry>(
  { name, doc, examples, phrase, isGrave }: WordKindOptions,
  display: (entry: Entry) => string,
): Pick<Kind<Entry>, "name" | "doc" | "examples"> & Partial<Pick<Kind<Entry>, "phrase" | "isGrave">> {
  return {
    name,
    doc,
    ...(examples === undefined ? {} : { examples }),
    ...(phrase === undefined ? {} : { phrase }),
    ...(isGrave === undefined ? {} : {
      isGrave: (entry: Entry | true, _context: PathContext) => isGrave(entry === true || display(entry)),
    }),
  };
}
