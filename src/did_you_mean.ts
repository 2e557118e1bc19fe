/** Which name somebody who mistyped one may have meant. */
import { distance } from "fastest-levenshtein";

/** The nearest of the names, or null where none is near. */
export function didYouMean(word: string, names: Iterable<string>): string | null {
  if (word.length > LONGEST_TYPO) return null;
  const plain = word.trim().toLowerCase();
  const [best] = [...names]
    .map((name) => ({ name, edits: distance(plain, name.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits);
  return best !== undefined && best.edits <= Math.max(1, Math.floor(best.name.length / 3)) ? best.name : null;
}

const LONGEST_TYPO = 64;
