/**
 * Puts arguments into a prompt. One pass over the author's text: what an argument says is never looked at, so nobody's text
 * can call up another argument. Pure.
 */
import { LimitError } from "../../permissions/mod.ts";
import { DOCUMENT_LIMITS as LIMITS } from "./limits.ts";

/** What a prompt's placeholders stand for. */
export interface Substitutes {
  /** `$1`, `$2` and so on, and `$ARGUMENTS` all of them. */
  readonly words: readonly string[];
  /** `{{name}}` for declared arguments; one that was not given is the empty text. */
  readonly values: ReadonlyMap<string, string>;
}

/**
 * Replaces `$ARGUMENTS`, `$1` … and `{{name}}` of declared arguments; a backslash before one leaves it as it is. Throws
 * LimitError `ERR_LIMIT_SIZE` where the result would be too long.
 */
export function substitute(text: string, { words, values }: Substitutes): string {
  const parts: string[] = [];
  let length = 0;
  const add = (part: string): void => {
    length += part.length;
    if (length > LIMITS.promptCharsMax) throw tooLong();
    parts.push(part);
  };
  const allWords = words.join(" ");
  let from = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    const [whole, escape, all, digits, name] = match;
    const value = all !== undefined
      ? allWords
      : digits !== undefined
      ? words[Number(digits) - 1] ?? ""
      : values.get(name!);
    if (value === undefined) continue; // not declared, so it is the author's text
    add(text.slice(from, match.index));
    add(escape === "" ? value : whole.slice(1));
    from = match.index + whole.length;
  }
  add(text.slice(from));
  return parts.join("");
}

/** Names in double braces that are no declared argument, each once: probably misspelled. */
export function undeclaredNames(text: string, declared: readonly string[]): readonly string[] {
  const names = [...text.matchAll(PLACEHOLDER)].flatMap(([, escape, , , name]) =>
    name === undefined || escape !== "" || declared.includes(name) ? [] : [name]
  );
  return [...new Set(names)];
}

/** The name of an argument. */
export const ARGUMENT_NAME: RegExp = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

const PLACEHOLDER =
  /(\\?)(?:(\$ARGUMENTS)\b|\$([1-9][0-9]?)(?![0-9])|\{\{ ?([a-zA-Z][a-zA-Z0-9_-]{0,63}) ?\}\})/g;

function tooLong(): LimitError {
  const { promptCharsMax } = LIMITS;
  return new LimitError(
    "ERR_LIMIT_SIZE",
    `Cannot put the arguments into the prompt: it would have more than ${promptCharsMax} characters (promptCharsMax)`,
    { details: { promptCharsMax } },
  );
}
