/**
 * Shows text that somebody else wrote. Whatever could move a cursor, reorder a line or hide is shown as a visible escape,
 * so what a reader sees is what is there (T16). Everything not written by Sallyport passes this function on its way to a
 * terminal, a log or a message.
 */
import { stripVTControlCharacters } from "node:util";

/** How `display` shows a text. */
export interface DisplayOptions {
  /** Longest result in UTF-16 units, the note about what was left out aside; without it nothing is shortened. */
  readonly max?: number;
}

/**
 * Returns `text` with control, bidirectional, zero-width and other invisible characters, line separators and lone
 * surrogates written as `\u{1b}`. Line feeds and tabs are escaped as well: one text stays one line.
 *
 * @example
 * ```ts
 * display("safe\x1b[2J"); // "safe\\u{1b}[2J"
 * ```
 */
export function display(text: string, options: DisplayOptions = {}): string {
  const max = options.max ?? Infinity;
  // A character never gets shorter, so what lies past `max` need not be escaped only to be cut.
  const head = text.length > max ? text.slice(0, max + 1) : text;
  const shown = head.replace(INVISIBLE, escapeCharacter);
  if (head.length === text.length && shown.length <= max) return shown;
  return shorten(head, text.length, max);
}

/** The text without all that `display` would escape, and without sequences that terminals obey; line feeds are kept. */
export function withoutHidden(text: string): string {
  const lines = stripVTControlCharacters(withoutCommands(text)).replaceAll(/\r\n?|[\u2028\u2029]/g, "\n")
    .replaceAll(
      "\t",
      "  ",
    );
  return lines.split("\n").map((line) => line.replaceAll(INVISIBLE, "")).join("\n");
}

/**
 * Without operating system commands: whoever takes them away later looks from each beginning for an end, to the end of the text.
 * Something hidden stands in their place, so that no new one comes to be.
 */
function withoutCommands(text: string): string {
  if (!text.includes("\u001b]")) return text;
  return text.replaceAll(COMMAND, "\0").replaceAll("\u001b]", "\0]");
}

/** Whether a text shows as it is: nothing in it needs an escape. */
export function isPlainText(text: string): boolean {
  return text.search(INVISIBLE) === -1;
}

/** Writes the name of one character, `U+202E`, for a message about it. */
export function characterName(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

// deno-lint-ignore no-control-regex
const COMMAND = /\u001b\][^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)/g;
// Cc: C0, DEL, C1. Cf: bidirectional and zero-width. Cs: lone surrogates. The rest is ignored when drawn, or breaks lines.
const INVISIBLE =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2028\u2029]/gu;

function escapeCharacter(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** Cuts between characters, never inside an escape or a surrogate pair. */
function shorten(head: string, length: number, max: number): string {
  let shown = "";
  let used = 0;
  for (const character of head) {
    const next = character.replace(INVISIBLE, escapeCharacter);
    if (shown.length + next.length > max) break;
    shown += next;
    used += character.length;
  }
  return `${shown}… (${length - used} more)`;
}
