/** Where entries stand that watch what passes, or decide about it. */

/** A point at which something passes, and what an entry's answer counts for there. */
export interface Station {
  /** What passes, as the kinds `observe` and `intercept` spell it. */
  readonly point: string;
  /** What the entry is told: the name of an event or of a point. */
  readonly name: string;
  /** On which side of a call, for what stands on both. */
  readonly phase?: "before" | "after";
  /** Whether what passes is a call of somebody; else it is the embedder's word to all. */
  readonly isTargeted: boolean;
  /** Whether its answer counts, and a missing one stops what passes (T11); else it only watches. */
  readonly decides: boolean;
  /** Whether it is asked about a call that failed in the guest's own words as well, which it then may stop and not replace. */
  readonly seesFailures?: boolean;
  /** Whose turn it is at the point: lower ones are asked first. */
  readonly turn: number;
  /** Whether those of a turn are asked from the last to the first, as what lies around a call is left. */
  readonly isReversed?: boolean;
  /** Lower ones come first in their turn. */
  readonly priority: number;
  /** For which targets it is meant; absent is all. */
  readonly matcher?: string;
}

/** What passes before and after a call, by the word that its surface has for such calls. */
export function callPoints(noun: string): { readonly input: string; readonly output: string } {
  return { input: `${noun}.input`, output: `${noun}.output` };
}

/** Who is asked before whom, on the way in and on the way out. */
export const TURNS = {
  hooks: 0,
  guardrailsIn: 1,
  interceptorsIn: 2,
  interceptorsOut: 0,
  guardrailsOut: 1,
} as const;
