/** Words for a shell: what a message tells a person to paste must mean what it says. */

/** The word as a POSIX shell reads it back, single-quoted where it needs to be. */
export function quoteArgument(word: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
