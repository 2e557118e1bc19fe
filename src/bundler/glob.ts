/** Matches the globs of `sideEffects` in linear memory and bounded time: they come from the plugin. */

const PATTERN_CHARS_MAX = 128;
const UNDERSTOOD = /^[^[\]{}()!]*$/;

/**
 * Whether a glob covers a path relative to the package; `*` and `?` stay in one segment, `**` does not. Says yes to
 * what it does not understand, because that keeps the module.
 */
export function matchesGlob(glob: string, path: string): boolean {
  if (glob.length > PATTERN_CHARS_MAX || !UNDERSTOOD.test(glob)) return true;
  const pattern = glob.replace(/^\.?\//, "");
  const anchored = pattern.includes("/") ? pattern : `**/${pattern}`;
  return matchesSegments(anchored.split("/"), path.split("/"));
}

function matchesSegments(patterns: readonly string[], names: readonly string[]): boolean {
  // reached[i]: the patterns so far can end before names[i]. One row per pattern, so no backtracking.
  let reached = names.map(() => false);
  reached.unshift(true);
  for (const pattern of patterns) {
    const next = reached.map(() => false);
    for (let i = 0; i < reached.length; i++) {
      if (pattern === "**") next[i] = reached[i]! || (i > 0 && next[i - 1]!);
      else if (i > 0 && reached[i - 1]!) next[i] = matchesName(pattern, names[i - 1]!);
    }
    reached = next;
  }
  return reached.at(-1)!;
}

function matchesName(pattern: string, name: string): boolean {
  let reached = new Array<boolean>(name.length + 1).fill(false);
  reached[0] = true;
  for (const char of pattern) {
    const next = new Array<boolean>(name.length + 1).fill(false);
    for (let i = 0; i <= name.length; i++) {
      if (char === "*") next[i] = reached[i]! || (i > 0 && next[i - 1]!);
      else if (i > 0 && reached[i - 1]!) next[i] = char === "?" || char === name[i - 1];
    }
    reached = next;
  }
  return reached[name.length]!;
}
