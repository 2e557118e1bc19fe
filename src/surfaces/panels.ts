/** Panels: views that a plugin draws for a person, of nodes that the host knows; what they offer to do are its commands. */
import type { z } from "zod";
import { capabilityName, descriptionText, targetText } from "../manifest/fields.ts";
import { keyed } from "../manifest/keyed.ts";
import { viewAnswer } from "../panels/view.ts";
import { slashId, type Surface, type TargetEntry, targetSurface } from "./surface.ts";

const entry: z.ZodType<TargetEntry> = keyed({
  name: capabilityName,
  target: targetText,
  description: descriptionText.exactOptional(),
});

/** The surface of panels. */
export const panels: Surface<readonly TargetEntry[]> = targetSurface({
  name: "panels",
  doc: "Views that a plugin draws for a person.",
  live: true,
  code: { isCallable: false, answer: viewAnswer },
  typedAs: "panel",
  entry,
  fullId: slashId,
});
