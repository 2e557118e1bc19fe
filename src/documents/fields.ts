/** The small schemas that several documents share. */
import { z } from "zod";
import { lineText } from "../manifest/fields.ts";
import { DOCUMENT_LIMITS as LIMITS } from "./limits.ts";

/** A name or title in one line. */
export const titleText: z.ZodType<string> = lineText(LIMITS.titleCharsMax);

/** Any other single line, a full id or bare name of something among them: opaque, never a path. */
export const lineValue: z.ZodType<string> = lineText(LIMITS.lineCharsMax);

/** A text of some length, never empty. */
export function wordingText(charsMax: number): z.ZodType<string> {
  return z.string().min(1, { error: "must not be empty" }).max(charsMax, {
    error: `must have at most ${charsMax} characters`,
  });
}

/** What every document may say of itself. Its file gives it its name; one that it states is that. */
export const COMMON = {
  name: titleText.exactOptional(),
  title: titleText.exactOptional(),
  description: wordingText(LIMITS.descriptionCharsMax).exactOptional(),
} as const;

/** One line, or a list of lines: how documents name tools. */
export const namesList: z.ZodType<string | readonly string[]> = z.union([
  lineValue,
  z.array(lineValue).max(LIMITS.entriesMax),
], { error: "must be one line, or a list of lines" });

/** A colour, and nothing else that a style sheet might take for more. */
export const colorText: z.ZodType<string> = z.string().regex(
  /^#(?:[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})$/,
  { error: 'must be a colour such as "#1e1e2e"' },
);

/** Names that an author gives, each with a value. */
export function namedValues<Value>(value: z.ZodType<Value>, max: number): z.ZodType<Record<string, Value>> {
  return z.record(
    z.string().regex(/^[a-zA-Z][a-zA-Z0-9_.-]{0,63}$/, {
      error: "must have names of letters, digits, dots, dashes and underscores",
    }),
    value,
  ).refine((values) => Object.keys(values).length <= max, { error: `must have at most ${max} entries` });
}
