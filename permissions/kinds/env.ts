/** Environment variables, as the tenant's policy maps them; never the host's own. */
import { type Kind, refuse, wordOf } from "../kind.ts";
import { parsePattern, type Pattern, patternAlgebra } from "../pattern_grammar.ts";

/** The kind `env`: a name, or a prefix that ends in one `*`. A `*` alone is every name, one by one, and not the whole kind. */
export const env: Kind<Pattern, string> = {
  ...patternAlgebra,
  name: "env",
  doc: "Reading the named environment variables; a name may end in one *.",
  examples: ["API_URL", "APP_*"],
  own: {},
  phrase: (value) =>
    value === null ? "read the whole environment" : `read the environment variable "${value}"`,
  parseEntry: (given) => parsePattern(variableOf(given)),
  parseValue: (text) => variableOf(text),
  isGrave: () => true,
};

function variableOf(given: unknown): string {
  const name = wordOf(given, "the name of a variable");
  return name.includes("=") ? refuse(`the name of a variable holds no "="`) : name;
}
