/** The small schemas that several parts of a manifest share. */
import { z } from "zod";
import { isPlainText } from "../display.ts";
import { MANIFEST_LIMITS as LIMITS } from "./limits.ts";
import { type Parsed, parseReference, parseTarget } from "./reference.ts";

/** A plugin's name, which is also the namespace of all it registers. */
export const PLUGIN_NAME: RegExp = /^[a-z0-9][a-z0-9-]{0,31}$/;

/** The name of a tool, command, provider, guardrail or panel. */
const CAPABILITY_NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

/** A plugin's name. */
export const pluginName: z.ZodType<string> = named(
  PLUGIN_NAME,
  "must be 1 to 32 lower-case letters, digits and dashes, and must not start with a dash",
);

/** A capability's name. */
export const capabilityName: z.ZodType<string> = named(
  CAPABILITY_NAME,
  "must be 1 to 64 letters, digits, dashes and underscores, and must start with a letter",
);

/** A target, `path:export`. */
export const targetText: z.ZodType<string> = parsed(parseTarget);

/** A reference to a file of the bundle. */
export function fileReference(extensions?: readonly string[]): z.ZodType<string> {
  return parsed((text) => parseReference(text, extensions));
}

/** One line that shows as it is, never empty. */
export function lineText(charsMax: number): z.ZodType<string> {
  return z.string().superRefine((text, context) => {
    if (text === "") context.addIssue("must not be empty");
    else if (text.length > charsMax) context.addIssue(`must have at most ${charsMax} characters`);
    else if (!isPlainText(text)) {
      context.addIssue("must be one line without control or invisible characters");
    }
  });
}

/** Words for people and models; may have several lines. What could harm a terminal is refused by the YAML reader. */
export const descriptionText: z.ZodType<string> = z.string().max(LIMITS.descriptionCharsMax, {
  error: `must have at most ${LIMITS.descriptionCharsMax} characters`,
});

/** A whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number): z.ZodType<number> {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.number({ error }).refine((value) => Number.isInteger(value) && value >= min && value <= max, {
    error,
  });
}

function named(pattern: RegExp, error: string): z.ZodType<string> {
  return z.string().regex(pattern, { error });
}

function parsed(parse: (text: string) => Parsed<unknown>): z.ZodType<string> {
  return z.string().superRefine((text, context) => {
    const result = parse(text);
    if (!result.ok) context.addIssue(result.reason);
  });
}
