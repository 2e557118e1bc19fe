/**
 * Finds many texts in another one at once (Wu and Manber): most of what is searched is never read, because two characters that
 * stand in none of the texts rule out every place around them.
 */

/** Texts to look for. */
export interface FormSearch {
  /** Every place where one stands, those that touch or overlap included. */
  find(text: string): readonly [from: number, to: number][];
  /** The first place, from here on, at which the rest of the text is the beginning of one; -1 where there is none. */
  begunAtEnd(text: string, charsMin: number): number;
  /** Length of the longest. */
  readonly charsMax: number;
}

/** Prepares a search for texts of at least two characters each. */
export function formSearch(forms: readonly string[]): FormSearch {
  const charsMin = Math.min(...forms.map((form) => form.length));
  const charsMax = Math.max(0, ...forms.map((form) => form.length));
  const byHead = Map.groupBy(forms, (form) => pairAt(form, 0));
  const shifts = shiftsOf(forms, charsMin);
  return {
    charsMax,
    find(text) {
      const found: [number, number][] = [];
      for (let at = 0; at + charsMin <= text.length;) {
        const shift = shifts[pairAt(text, at + charsMin - 2)]!;
        if (shift > 0) {
          at += shift;
          continue;
        }
        for (const form of byHead.get(pairAt(text, at)) ?? []) {
          if (text.startsWith(form, at)) found.push([at, at + form.length]);
        }
        at += 1;
      }
      return found;
    },
    begunAtEnd(text, least) {
      for (let at = Math.max(0, text.length - charsMax); at + least <= text.length; at++) {
        const candidates = byHead.get(pairAt(text, at));
        if (candidates?.some((form) => form.startsWith(text.slice(at)))) return at;
      }
      return -1;
    },
  };
}

/** How far the window may move when it ends with a pair, by pair. Pairs that share a number share the least. */
function shiftsOf(forms: readonly string[], charsMin: number): Uint8Array {
  const shifts = new Uint8Array(PAIRS).fill(Math.max(1, Math.min(charsMin - 1, SHIFT_MAX)));
  for (const form of forms) {
    for (let at = 0; at + 2 <= charsMin; at++) {
      const pair = pairAt(form, at);
      shifts[pair] = Math.min(shifts[pair]!, charsMin - 2 - at);
    }
  }
  return shifts;
}

/** Small enough to stay at hand, large enough that few pairs share a number. */
const PAIRS = 16_384;
const SHIFT_MAX = 255;

/** Two characters as one small number; two pairs may share one. */
function pairAt(text: string, at: number): number {
  return (text.charCodeAt(at) ^ text.charCodeAt(at + 1) << 7) & PAIRS - 1;
}
