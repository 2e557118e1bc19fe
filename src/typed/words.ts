/** What a person types behind a name, as words. */

/**
 * Splits a text as a shell does, and expands nothing: words stand between spaces, single quotes keep all, double quotes and a
 * backslash keep what a shell would. What a shell would wait for, such as a second quote, is taken as it stands, since people
 * type apostrophes.
 */
export function splitWords(text: string): readonly string[] {
  return [...text.matchAll(WORD)].map(([word]) =>
    word.replaceAll(
      PART,
      (part, single?: string, double?: string, escaped?: string) =>
        single ?? double?.replaceAll(/\\(["\\$`])/g, "$1") ?? escaped ?? part,
    )
  );
}

/** Quoted parts, escaped characters, and anything else but spaces; each alternative begins with another character. */
const WORD = /(?:'[^']*'|"(?:\\[^]|[^"\\])*"|\\[^]|[^\s])+/g;
const PART = /'([^']*)'|"((?:\\[^]|[^"\\])*)"|\\([^])/g;
