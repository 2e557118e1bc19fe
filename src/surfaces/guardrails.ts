/** Guardrails: code that may stop what goes in or comes out. It can only narrow what policy decided (T33). */
import { z } from "zod";
import { capabilityName, descriptionText, targetText } from "../manifest/fields.ts";
import { keyed } from "../manifest/keyed.ts";
import { MANIFEST_LIMITS as LIMITS } from "../manifest/limits.ts";
import { slashId, type Surface, type TargetEntry, targetSurface } from "./surface.ts";

/** One guardrail of a manifest. */
export interface GuardrailEntry extends TargetEntry {
  /** The points it watches: `tool.input`, `tool.output`. */
  readonly on: readonly string[];
}

const point = z.string().regex(/^[a-z]{1,32}\.(?:input|output)$/, {
  error: "must be a point such as tool.input or tool.output",
});

const entry: z.ZodType<GuardrailEntry> = keyed({
  name: capabilityName,
  target: targetText,
  description: descriptionText.exactOptional(),
  on: z.array(point).min(1, { error: "must name at least one point" }).max(LIMITS.entriesMax),
});

/** The surface of guardrails. */
export const guardrails: Surface<readonly GuardrailEntry[]> = targetSurface({
  name: "guardrails",
  doc: "Code that may stop what goes in or comes out.",
  live: false,
  standsAlone: true,
  entry,
  fullId: slashId,
});
