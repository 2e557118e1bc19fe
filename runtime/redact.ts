/**
 * Cutting out what text must not repeat when it leaves (T35). Exact first: values that the tenant is known to hold, in the
 * encodings in which programs write them. Shapes second, for messages and logs alone: a shape also fits a hash or an id,
 * and a result or an audit value without those would be useless. No barrier against a guest that wants to hide a value
 * which it was given; secrets it is never given.
 */
import { createHash } from "node:crypto";
import { SallyportError } from "../permissions/mod.ts";
import {
  CUT,
  escapedRanges,
  type KnownValue,
  knownValue,
  MAY_BE_ESCAPED,
  merged,
  type Range,
  replaced,
} from "./known_value.ts";
import { REDACTION_LIMITS, RUNTIME_LIMITS } from "./limits.ts";
import { type FormSearch, formSearch } from "./search_forms.ts";

/** Reads one text that comes in parts, in their order. */
export interface TextParts {
  /** What may leave of the text by now. */
  next(part: string): string;
  /** The rest, when no further part comes. */
  rest(): string;
}

/** The text of one tenant, without what must not leave it. */
export class Redactor {
  readonly #known = new Map<string, KnownValue>();
  /** Looks for all forms at once; made when it is first needed after something new was learned. */
  #search: FormSearch | null = null;

  /** Remembers a value, until many newer ones are known. One that is too short to be told from a word is not. */
  know(value: string): void {
    if (value.length < REDACTION_LIMITS.knownCharsMin || this.#known.has(value)) return;
    const known = knownValue(value);
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= REDACTION_LIMITS.knownValuesMax) {
      this.#known.delete(oldest);
    }
    this.#known.set(value, known);
    this.#search = null;
  }

  /** A text without the known values. */
  text(text: string): string {
    return replaced(text, this.#ranges(text), () => CUT);
  }

  /** A JSON value without the known values, in names as well: for results. The same one where it holds none. */
  value<Value>(value: Value): Value {
    // The cast holds: texts stay texts, and everything else stays.
    return this.#known.size === 0 ? value : mapTexts(value, (text) => this.text(text)) as Value;
  }

  /** The same for the value of a JSON text, which tells without a walk through the value that it holds none. */
  parsed<Value>(text: string, value: Value): Value {
    if (this.#known.size === 0) return value;
    // Without a backslash each text of the value stands in the whole as it is.
    if (!text.includes("\\") && this.#ranges(text).length === 0) return value;
    return this.value(value);
  }

  /** A message or a stack without the known values and what has a credential's shape. */
  message(text: string): string {
    // One that is too long was cut by the guest's platform, maybe within a value.
    const wasCut = text.length >= RUNTIME_LIMITS.errorTextBytesMax && text.endsWith(ELLIPSIS);
    const [rest, end] = wasCut ? [text.slice(0, -1), ELLIPSIS] : [text, ""];
    const ranges = [...this.#ranges(rest), ...(wasCut ? this.#begunAtEnd(rest) : [])];
    return withoutShapes(replaced(rest, merged(ranges), () => CUT)) + end;
  }

  /** A text for the audit: what was cut is told by its hash, so that two events can be seen to be about one thing. */
  evidence(text: string): string {
    return replaced(text, this.#ranges(text), hashOf);
  }

  /** The same for an audit event. */
  event<Value>(value: Value): Value {
    // The cast holds: texts stay texts, and everything else stays.
    return this.#known.size === 0 ? value : mapTexts(value, (text) => this.evidence(text)) as Value;
  }

  /** An error for the caller; the same one where nothing is cut. */
  error(error: SallyportError): SallyportError {
    const message = this.message(error.message);
    // The cast holds: an object with its texts changed is one.
    const details = mapTexts(error.details, (text, key) => {
      return MESSAGE_FIELDS.has(key) ? this.message(text) : this.text(text);
    }) as typeof error.details;
    const cause = error.cause instanceof Error ? error.cause.stack ?? error.cause.message : "";
    if (message === error.message && details === error.details && this.message(cause) === cause) return error;
    // The cast holds: all classes of the table have one constructor. What led to it may repeat what was cut.
    return new (error.constructor as typeof SallyportError)(error.code, message, { details });
  }

  /**
   * Reads the console lines of one call in their order. A value that begins in one line and ends in the next is cut out of
   * both: the end of a line that could begin a value is cut at once, since nobody waits for the line after it.
   */
  lines(): (text: string) => string {
    let before = "";
    return (text) => {
      const joined = before + text;
      const start = before.length;
      before = joined.slice(-this.#searched().charsMax || joined.length);
      const ranges = merged([...this.#ranges(joined), ...this.#begunAtEnd(joined)])
        .map(([from, to]): Range => [Math.max(0, from - start), to - start])
        .filter(([, to]) => to > 0);
      return withoutShapes(replaced(text, ranges, () => CUT));
    };
  }

  /**
   * Reads the parts of a result: what lies across two of them is cut out of both. With `holds`, the end of a part that could
   * begin a value waits for the next one to tell; else it has left by then, and the value is cut short.
   */
  parts(holds: boolean): TextParts {
    let before = "";
    let held = "";
    const read = (part: string, holdsNow: boolean): string => {
      if (this.#known.size === 0 && held === "") return part;
      const joined = before + held + part;
      const start = before.length;
      const [[begun] = [joined.length]] = holdsNow ? this.#begunAtEnd(joined) : [];
      const end = Math.max(start, begun);
      const ranges = this.#ranges(joined)
        .map(([from, to]): Range => [Math.max(from, start) - start, Math.min(to, end) - start])
        .filter(([from, to]) => to > from);
      before = joined.slice(0, end).slice(-this.#searched().charsMax || end);
      held = joined.slice(end);
      return replaced(joined.slice(start, end), ranges, () => CUT);
    };
    return { next: (part) => read(part, holds), rest: () => read("", false) };
  }

  #ranges(text: string): readonly Range[] {
    if (text.length < REDACTION_LIMITS.knownCharsMin || this.#known.size === 0) return [];
    const found: Range[] = [...this.#searched().find(text)];
    if (MAY_BE_ESCAPED.test(text)) {
      for (const known of this.#known.values()) found.push(...escapedRanges(text, known));
    }
    return merged(found);
  }

  /** The longest end of the text with which a form of a value begins. */
  #begunAtEnd(text: string): readonly Range[] {
    const at = this.#searched().begunAtEnd(text, REDACTION_LIMITS.begunCharsMin);
    return at === -1 ? [] : [[at, text.length]];
  }

  #searched(): FormSearch {
    this.#search ??= formSearch([...this.#known.values()].flatMap((each) => each.forms));
    return this.#search;
  }
}

/** What has a credential's shape, by the name under which people know it. Certificates are no secret, private keys are. */
const CREDENTIAL_SHAPES: Readonly<Record<string, RegExp>> = {
  // Each begins where a word does and eats all that it looked at, so a hostile text costs no more than its length.
  github: /(?<![A-Za-z0-9])(?:gh[opsur]_[A-Za-z0-9]{16,}|github_pat_\w{20,})/g,
  openai: /(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,}/g,
  aws: /(?<![A-Za-z0-9])A(?:KI|SI)A[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  jwt: /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  pem: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[^]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g,
  // What ends in "{}" is how a secret is written, as a remedy spells it, and not one.
  authorization:
    /(?<=\bauthorization["']?[ \t]{0,8}[:=][ \t]{0,8}\[?["']?)(?![^\r\n"',]{0,64}\{\})[^\s"',\[][^\r\n"',]{0,8191}/gi,
};

/** A message without what has a credential's shape; a SHA-256, a UUID or a name has none. Never for results. */
export function withoutShapes(text: string): string {
  return Object.values(CREDENTIAL_SHAPES).reduce((rest, shape) => rest.replace(shape, CUT), text);
}

/** An audit value of the kind `net`: a query may hold what no log should keep, and so may a user's part. */
export function withoutQuery(value: string): string {
  return value.replace(/(\/\/)[^/?#]*@/, "$1").replace(/[?#].+$/s, "");
}

const ELLIPSIS = "\u2026";

/** Details of errors that are text for people. */
const MESSAGE_FIELDS = new Set(["message", "guestStack", "issues", "problems", "reason"]);

function hashOf(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

/** A JSON value with its texts changed, `key` being the name of the nearest member; the same one where none is. */
export function mapTexts(value: unknown, change: (text: string, key: string) => string, key = ""): unknown {
  if (typeof value === "string") return change(value, key);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapTexts(item, change, key));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const names = Object.keys(value);
  const mapped: [string, unknown][] = [];
  let isSame = true;
  for (const name of names) {
    // The cast holds: it is the name of an own member.
    const item = (value as Record<string, unknown>)[name];
    const [newName, newItem] = [change(name, ""), mapTexts(item, change, name)];
    isSame &&= newName === name && newItem === item;
    mapped.push([newName, newItem]);
  }
  return isSame ? value : Object.fromEntries(mapped);
}
