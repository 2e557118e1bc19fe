/**
 * What a hook, guardrail or interceptor may say about what it was shown. It can only narrow what was decided: there is no
 * word for "allow" (T33).
 */
import { z } from "zod";
import { POINT_LIMITS } from "./limits.ts";

/** Lets it be, stops it, or puts something else in its place. */
export type Verdict =
  | { readonly decision: "continue" }
  | { readonly decision: "block"; readonly reason: string }
  | { readonly decision: "replace"; readonly value: unknown; readonly reason?: string };

/** The reason of who gives none. */
export const UNEXPLAINED = "the hook gave no reason";

const reason = z.string().transform(boundedReason);

/** Reads an answer. Nothing at all is `continue`; what has another shape, or a further key, is no verdict. */
export const verdictSchema: z.ZodType<Verdict> = z.preprocess(
  (answer) => answer ?? { decision: "continue" },
  z.discriminatedUnion("decision", [
    z.strictObject({ decision: z.literal("continue") }),
    // Whatever else it says, it says no: a slip in the rest must not become a missing answer, which a policy may let pass.
    z.object({
      decision: z.literal("block"),
      reason: z.string().catch(UNEXPLAINED).transform(boundedReason),
    }),
    z.strictObject({ decision: z.literal("replace"), value: z.json(), reason: reason.exactOptional() }),
  ]),
);

/** A plugin's words, cut to what is kept of them, between two characters. */
export function boundedReason(text: string): string {
  const bytes = Buffer.from(text.toWellFormed());
  let end: number = POINT_LIMITS.reasonBytesMax;
  if (bytes.byteLength <= end) return text;
  while ((bytes[end]! & 0xc0) === 0x80) end -= 1; // a character has one byte that is not of this form, its first
  return bytes.subarray(0, end).toString("utf8");
}
