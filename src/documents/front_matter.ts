/** Cuts a Markdown text into what it says of itself and what it is. Looks at lines only; nothing is parsed here. */

/** The two parts of a text. */
export interface SplitText {
  /** From the first line to the end of the front matter, its closing line left out; null where there is none. */
  readonly head: string | null;
  /** What comes after it. */
  readonly body: string;
  /** Lines before the body. */
  readonly headLines: number;
  /** Whether front matter begins and never ends. */
  readonly isUnclosed: boolean;
}

/** Front matter begins in the first line or not at all; its places are those of the file, since the head starts with it. */
export function splitFrontMatter(text: string): SplitText {
  const whole = { head: null, body: text, headLines: 0, isUnclosed: false };
  if (!FENCE.test(lineAt(text, 0))) return whole;
  let lines = 1;
  for (let at = nextLine(text, 0); at < text.length; at = nextLine(text, at), lines++) {
    if (!FENCE.test(lineAt(text, at))) continue;
    const end = nextLine(text, at);
    return { head: text.slice(0, at), body: text.slice(end), headLines: lines + 1, isUnclosed: false };
  }
  return { ...whole, isUnclosed: true };
}

const FENCE = /^---[ \t]*\r?$/;

function lineAt(text: string, start: number): string {
  const end = text.indexOf("\n", start);
  return text.slice(start, end === -1 ? text.length : end);
}

function nextLine(text: string, start: number): number {
  const end = text.indexOf("\n", start);
  return end === -1 ? text.length : end + 1;
}
