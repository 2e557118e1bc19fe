/** Calling other capabilities. */
import { type Kind, refuse, wordOf } from "../kind.ts";
import { parsePattern, type Pattern, patternAlgebra } from "../pattern_grammar.ts";

/** The kind `call`: the full id of a capability, or a prefix of ids that ends in one `*`. */
export const call: Kind<Pattern, string> = {
  ...patternAlgebra,
  name: "call",
  doc: "Calling the named capabilities, by full id; an id may end in one *.",
  examples: ["plugin__notes__latest", "plugin__notes__*"],
  own: {},
  phrase: (value) => value === null ? "call every capability" : `call "${value}"`,
  parseEntry(given) {
    const pattern = parsePattern(wordOf(given, "an id"));
    if (pattern.text !== "") idOf(pattern.text);
    return pattern;
  },
  parseValue: (text) => idOf(wordOf(text, "an id")),
  isGrave: () => true,
};

function idOf(text: string): string {
  return /^[\w./:-]{1,256}$/.test(text) ? text : refuse(`"${text}" is no id of a capability`);
}
