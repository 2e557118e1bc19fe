/** Text before it is YAML: decoding, characters that never stand in a document, and places in it. All of it is linear. */
import { characterName } from "./display.ts";

/** Where something stands in the file; both count from 1, columns in UTF-16 units. */
export interface TextPosition {
  /** The line. */
  readonly line: number;
  /** The column. */
  readonly column: number;
}

/** What is wrong, and where: an offset in UTF-16 units. */
export type Fault = readonly [offset: number, message: string];

// C0 without tab and line feed, DEL, C1, line separators, bidirectional controls, a byte order mark that isn't the first
// character, noncharacters; a CR only where no LF follows.
const FORBIDDEN =
  // deno-lint-ignore no-control-regex
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]|\r(?!\n)/gu;
/** The same for a value, where an escape may also make a lone surrogate, and CR is never a line end. */
export const FORBIDDEN_IN_VALUE: RegExp = new RegExp(`\\r|\\p{Cs}|${FORBIDDEN.source}`, "u");
const SCAN_ISSUES_MAX = 10;

/** Decodes UTF-8 and takes one byte order mark away; what stands before the first bad byte, if there is one. */
export function decode(bytes: Uint8Array): string | { readonly before: string } {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return { before: validPrefix(bytes) };
  }
}

/** The text before the first bad byte, by bisection: a streaming decoder accepts a prefix that is only cut short. */
function validPrefix(bytes: Uint8Array): string {
  const attempt = (end: number) => {
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, end), { stream: true });
    } catch {
      return undefined;
    }
  };
  let good = 0;
  let bad = bytes.length + 1;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (attempt(middle) === undefined) bad = middle;
    else good = middle;
  }
  return attempt(good) ?? "";
}

/** Finds characters that never stand in a document, comments included; each kind once. */
export function scan(text: string): Fault[] {
  const faults: Fault[] = [];
  const seen = new Set<string>();
  for (const match of text.matchAll(FORBIDDEN)) {
    if (seen.has(match[0])) continue;
    seen.add(match[0]);
    faults.push([match.index, `the character ${characterName(match[0])} is not allowed`]);
    if (faults.length >= SCAN_ISSUES_MAX) break;
  }
  return faults;
}

/** Finds line and column of an offset. */
export function lineFinder(text: string): (offset: number) => TextPosition {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}
