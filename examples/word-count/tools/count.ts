import { wordsOf } from "./words.ts";

interface Input {
  readonly text: string;
  readonly top?: number;
}

/** Counts the words of a text and tells the most frequent ones, ties in the order of first appearance. */
export function count({ text, top = 3 }: Input) {
  if (typeof text !== "string") throw new TypeError('the input needs a "text"');
  const counts = new Map<string, number>();
  for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const frequent = [...counts].sort((a, b) => b[1] - a[1]).slice(0, top);
  return {
    words: [...counts.values()].reduce((sum, n) => sum + n, 0),
    distinct: counts.size,
    top: frequent.map(([word, times]) => ({ word, times })),
  };
}
