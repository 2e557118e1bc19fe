/**
 * A plugin's patterns for the names of capabilities (T19): run in linear time, anchored at both ends, against the full id and
 * against the bare name, so that neither spelling of a call passes by.
 */
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { MANIFEST_LIMITS as LIMITS } from "../manifest/limits.ts";

/** Whether a capability is meant. */
export type Matcher = (target: { readonly fullId: string; readonly name: string }) => boolean;

/** Stands for every name; no pattern begins with a quantifier, so it means nothing else. */
const ALL = "*";

/** Reads a matcher; absent is all. Throws a TypeError that says what is wrong with it. */
export function matcherOf(text: string | undefined): Matcher {
  if (text === undefined || text === ALL) return () => true;
  const pattern = compile(text);
  if (pattern.programSize() > LIMITS.matcherStepsMax) {
    throw new TypeError(`must not be larger than ${LIMITS.matcherStepsMax} steps`);
  }
  return ({ fullId, name }) => pattern.matches(fullId) || pattern.matches(name);
}

/** What is wrong with a matcher, as the end of "it …"; null where it can be read. */
export function matcherProblem(text: string): string | null {
  try {
    matcherOf(text);
    return null;
  } catch (error) {
    return error instanceof TypeError ? error.message : String(error);
  }
}

function compile(text: string): RE2JS {
  const counted = [...text.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].map(([, least, most]) => Number(most || least));
  // Repetitions are written out before anything can be measured.
  if (counted.reduce((sum, each) => sum + each, 0) > LIMITS.matcherStepsMax) {
    throw new TypeError(`must not repeat more than ${LIMITS.matcherStepsMax} times in all`);
  }
  try {
    return engine().compile(text);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : String(error);
    throw new TypeError(`must be a pattern in RE2 syntax: ${why}`);
  }
}

/** Loaded for the first matcher there is: most plugins have none, and it is large. */
function engine(): typeof RE2JS {
  // The cast holds: the package says so in its types.
  return (createRequire(import.meta.url)("re2js") as { readonly RE2JS: typeof RE2JS }).RE2JS;
}
