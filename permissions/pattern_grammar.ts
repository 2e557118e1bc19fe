/** Names that may end in one `*`: environment variables and capability ids. A `*` anywhere else is an ordinary character. */
import type { Kind } from "./kind.ts";

/** An exact name, or all names that begin with it. */
export interface Pattern {
  /** The name, or what names begin with. */
  readonly text: string;
  /** Whether it ended in `*`. */
  readonly isPrefix: boolean;
}

/** What `env` and `call` have in common. */
export const patternAlgebra: Pick<
  Kind<Pattern, string>,
  "displayEntry" | "displayValue" | "covers" | "includes" | "meet"
> = {
  displayEntry: (entry) => entry.isPrefix ? `${entry.text}*` : entry.text,
  displayValue: (value) => value,
  covers: (entry, value) => entry.isPrefix ? value.startsWith(entry.text) : value === entry.text,
  includes,
  meet: (a, b) => includes(a, b) ? b : includes(b, a) ? a : null,
};

/** Reads a name with an optional `*` at its end. */
export function parsePattern(text: string): Pattern {
  const isPrefix = text.endsWith("*");
  return { text: isPrefix ? text.slice(0, -1) : text, isPrefix };
}

function includes(a: Pattern, b: Pattern): boolean {
  return a.isPrefix ? b.text.startsWith(a.text) : !b.isPrefix && a.text === b.text;
}
