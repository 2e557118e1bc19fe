/** Panels: texts that a plugin draws for a person. */
import type { z } from "zod";
import { capabilityName, descriptionText, targetText } from "../manifest/fields.ts";
import { keyed } from "../manifest/keyed.ts";
import { slashId, type Surface, type TargetEntry, targetSurface } from "./surface.ts";

const entry: z.ZodType<TargetEntry> = keyed({
  name: capabilityName,
  target: targetText,
  description: descriptionText.exactOptional(),
});

/** The surface of panels. */
export const panels: Surface<readonly TargetEntry[]> = targetSurface({
  name: "panels",
  doc: "Texts that a plugin draws for a person.",
  live: false,
  entry,
  fullId: slashId,
});
