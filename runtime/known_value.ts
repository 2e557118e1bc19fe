/**
 * Finding a value in text, in the encodings in which programs write values: what was sent to a server comes back as it is,
 * in base64, in a URL, in JSON or in HTML.
 */
import { REDACTION_LIMITS } from "./limits.ts";

/** What stands where something was cut. */
export const CUT = "[redacted]";

/** A value with its forms, ready to be looked for. */
export interface KnownValue {
  /** The value. */
  readonly value: string;
  /** Texts in which it is written: itself, base64 at each of three offsets, base64url, hexadecimal, JSON, percent. */
  readonly forms: readonly string[];
  /** The value with any of its characters escaped, as in URLs, JSON and HTML; none for one that is too long. */
  readonly escaped: readonly RegExp[];
}

/** Prepares a value to be looked for. */
export function knownValue(value: string): KnownValue {
  const bytes = Buffer.from(value);
  const hex = bytes.toString("hex");
  const percent = encodeURIComponent(value.toWellFormed());
  const base64 = [0, 1, 2].flatMap((offset) => base64At(bytes, offset));
  const forms = new Set([
    value,
    JSON.stringify(value).slice(1, -1),
    percent,
    percent.replace(/%../g, (escape) => escape.toLowerCase()),
    hex,
    hex.toUpperCase(),
    ...base64,
    ...base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
  ]);
  const isShort = value.length <= REDACTION_LIMITS.secretCharsMax;
  // Whether a backslash is doubled is the same for the whole text: two ways to read each of many would take for ever.
  const backslashes = value.includes("\\") ? ["\\\\", "\\\\\\\\"] : [""];
  const escaped = isShort
    ? backslashes.map((one) =>
      new RegExp([...value].map((each) => escapedCharacter(each, one)).join(""), "g")
    )
    : [];
  return { value, forms: [...forms], escaped };
}

/** A text without these values in any of their forms; one that holds none is given back as it is. */
export function cutText(text: string, known: readonly KnownValue[]): string {
  return replaced(text, merged(known.flatMap((each) => rangesOf(text, each))), () => CUT);
}

/** The same for bytes, whole: a value that came in two chunks is one by then. The values are ASCII. */
export function cutBytes(bytes: Uint8Array, known: readonly KnownValue[]): Uint8Array {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  const cut = cutText(text, known);
  return cut === text ? bytes : Buffer.from(cut, "latin1");
}

/** A part of a text. */
export type Range = readonly [from: number, to: number];

function rangesOf(text: string, known: KnownValue): Range[] {
  const found = MAY_BE_ESCAPED.test(text) ? escapedRanges(text, known) : [];
  for (const form of known.forms) {
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + form.length)) {
      found.push([at, at + form.length]);
    }
  }
  return found;
}

/** Where the value stands with some of its characters escaped. */
export function escapedRanges(text: string, { escaped }: KnownValue): Range[] {
  return escaped.flatMap((each) =>
    [...text.matchAll(each)].map(({ index, 0: { length } }): Range => [index, index + length])
  );
}

/** What every escape begins with. */
export const MAY_BE_ESCAPED = /[%\\&+]/;

/** The same parts in their order, none of them touching another. */
export function merged(ranges: readonly Range[]): readonly Range[] {
  if (ranges.length < 2) return ranges;
  const result: Range[] = [];
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    const last = result.at(-1);
    if (last === undefined || from > last[1]) result.push([from, to]);
    else result[result.length - 1] = [last[0], Math.max(last[1], to)];
  }
  return result;
}

/** The text with parts of it, in their order, replaced. */
export function replaced(
  text: string,
  ranges: readonly Range[],
  replacement: (part: string) => string,
): string {
  let result = "";
  let done = 0;
  for (const [from, to] of ranges) {
    result += text.slice(done, from) + replacement(text.slice(from, to));
    done = to;
  }
  return result + text.slice(done);
}

/** Texts in which bytes appear in the base64 of something that holds them this many bytes, modulo three, from its start. */
function base64At(bytes: Uint8Array, offset: number): string[] {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
  // What surrounds the bytes has a part in the characters at both ends.
  const inner = text.slice(offset === 0 ? 0 : offset + 1, Math.floor((offset + bytes.length) * 8 / 6));
  return offset === 0 ? [inner, text, text.replace(/=+$/, "")] : [inner];
}

function escapedCharacter(character: string, backslash: string): string {
  const code = character.codePointAt(0)!;
  const literal = character === "\\" ? backslash : character.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
  const ways = [literal, [...Buffer.from(character)].map((byte) => `%${hexDigits(byte, 2)}`).join("")];
  if (code <= 0xffff) ways.push(`\\\\u${hexDigits(code, 4)}`);
  if (/[A-Za-z0-9]/.test(character)) return `(?:${ways.join("|")})`;
  ways.push(`&#0{0,4}${code};`, `&#[xX]0{0,4}${hexDigits(code, 1)};`);
  const name = HTML_NAMES[character];
  if (name !== undefined) ways.push(`&${name};`);
  if (character === " ") ways.push("\\+");
  if (code < 0x80 && character !== "\\") ways.push(`\\\\${literal}`);
  return `(?:${ways.join("|")})`;
}

const HTML_NAMES: Readonly<Record<string, string>> = {
  "&": "amp",
  "<": "lt",
  ">": "gt",
  '"': "quot",
  "'": "apos",
};

function hexDigits(code: number, length: number): string {
  const digits = code.toString(16).padStart(length, "0");
  return digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
