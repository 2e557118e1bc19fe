/**
 * What a kind of permission is: a grammar for its entries and values, and an exact set algebra over them. Shared code
 * never asks which kind it holds; whatever differs between kinds is a method here.
 */
import { UsageError } from "./error.ts";

/** Where relative paths start and what `$data`, `$project`, `$home` and bare program names stand for. All paths are absolute. */
export interface PathContext {
  /** Relative entries and values start here; for a plugin this is its bundle. */
  readonly cwd: string;
  /** The plugin's own directory; absent for a script. */
  readonly bundle?: string;
  /** What `$data` stands for: the plugin's own writable space. */
  readonly data?: string;
  /** What `$project` stands for. */
  readonly project?: string;
  /** What `$home` stands for. */
  readonly home?: string;
  /** Where a program of this name is found on PATH. */
  readonly which?: (name: string) => string | undefined;
  /** The kinds that exist here; absent is the built-in ones. */
  readonly kinds?: KindTable;
}

/** The kinds that exist somewhere, by their names: the built-in ones, and those that an embedder adds. */
export interface KindTable {
  /** A kind by its name. */
  readonly [name: string]: Kind;
}

/** What an entry does; a kind may read the two differently, as `run` does. */
export type Effect = "allow" | "deny";

/** As much of a zod schema as the request's reader needs. */
export interface FieldSchema {
  /** Never throws; `error` is absent if the value fits. */
  safeParse(
    value: unknown,
  ): { readonly error?: { readonly issues: readonly { readonly message: string }[] } | undefined };
}

/**
 * One kind of permission. An entry is a set of values; `covers`, `includes` and `meet` are membership, set inclusion and
 * intersection, so that subset questions are answered exactly and never by matching text.
 */
export interface Kind<Entry = unknown, Value = unknown> {
  /** The word in manifests and, as `--allow-NAME`, on the command line. */
  readonly name: string;
  /** One sentence for help and reference pages. */
  readonly doc: string;
  /** Entries as a manifest may have them, for reference pages; none where `true` is all that can be asked for. */
  readonly examples?: readonly unknown[];
  /** Its values are absolute paths, so that the broker keeps them away from Sallyport's own state. */
  readonly namesPaths?: boolean;
  /** It is settled before code starts, so it cannot be asked for while it runs. */
  readonly isSettled?: boolean;
  /** Keys of the request's own object form, beside allow, deny, required and reason. */
  readonly own: Readonly<Record<string, FieldSchema>>;
  /** The entry that the own keys stand for, or undefined. */
  ownEntry?(object: Readonly<Record<string, unknown>>): unknown;
  /** What the own keys mean for whoever approves the request. */
  remark?(object: Readonly<Record<string, unknown>>): string | undefined;
  /** What using it is called after "may not": `read "./a"`; null is the whole kind. */
  phrase(value: string | null): string;
  /** Reads an entry. Throws UsageError with the reason alone as its message. */
  parseEntry(given: unknown, context: PathContext, effect: Effect): Entry;
  /** Why an entry that parses is no use in a plugin's manifest. */
  misplaced?(given: unknown): string | undefined;
  /** Reads a value that somebody wants to use. Throws UsageError with the reason alone as its message. */
  parseValue(text: string, context: PathContext): Value;
  /** The one spelling of an entry. `parseEntry` reads it back as the same entry, since trust records hold it. */
  displayEntry(entry: Entry): string;
  /** The one spelling of a value. */
  displayValue(value: Value): string;
  /** Whether the value is in the entry's set. */
  covers(entry: Entry, value: Value): boolean;
  /** Whether a deny of this entry reaches the value, where that is wider than `covers`. */
  touches?(entry: Entry, value: Value): boolean;
  /** Whether the entry lies inside what the value names, for acts on a whole tree. */
  lieBelow?(entry: Entry, value: Value): boolean;
  /** Whether holding the entry answers a request for the whole kind; without this only `true` does. */
  coversWhole?(entry: Entry): boolean;
  /** Reads an address that a value was resolved to as a value of its own; for kinds that are resolved. */
  addressOf?(value: Value, address: string): { readonly value: Value; readonly isPublic: boolean };
  /** Whether an entry lets the value lead to this address, which is not public. */
  reaches?(entry: Entry | true, value: Value, address: Value): boolean;
  /** Why no entry, not even `true`, ever grants this value. */
  refuses?(value: Value): string | undefined;
  /** What the entry stands for once links are followed, or null if that is nothing else. */
  twin?(entry: Entry, text: string, effect: Effect, real: (path: string) => string): Entry | null;
  /** Whether `a` holds every value of `b`. */
  includes(a: Entry, b: Entry): boolean;
  /** What both hold, or null if nothing. */
  meet(a: Entry, b: Entry): Entry | null;
  /** Whether approving it needs more than a `--yes`. */
  isGrave(entry: Entry | true, context: PathContext): boolean;
  /** The entry to suggest for a value that was refused, to a manifest or to the one who types a flag. */
  suggest?(text: string, isFlag: boolean): string;
  /** Entries that a flag's word stands for, where it is not itself one. */
  expandFlag?(text: string): readonly string[];
}

/** Refuses an entry or a value; callers add which one it was. */
export function refuse(reason: string): never {
  throw new UsageError("ERR_USAGE", reason);
}

/** The text of an entry, for the kinds whose entries are words. */
export function wordOf(given: unknown, noun: string): string {
  if (typeof given !== "string") refuse(`${noun} is text`);
  if (given === "") refuse(`${noun} is empty`);
  if (given.includes("\0")) refuse(`${noun} holds a NUL`);
  return given;
}

/** Whether the text has no character beyond ASCII. */
export function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}
