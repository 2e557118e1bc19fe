/** Guardrails: code that may stop what goes in or comes out. It can only narrow what policy decided (T33). */
import { z } from "zod";
import { capabilityName, descriptionText, targetText, wholeNumber } from "../manifest/fields.ts";
import { keyed } from "../manifest/keyed.ts";
import { MANIFEST_LIMITS as LIMITS } from "../manifest/limits.ts";
import { verdictSchema } from "../points/verdict.ts";
import { callPoints, type Station, TURNS } from "./stations.ts";
import { slashId, type Surface, type TargetEntry, targetSurface } from "./surface.ts";

/** One guardrail of a manifest. */
export interface GuardrailEntry extends TargetEntry {
  /** The points it watches: `tool.input`, `tool.output`, `prompt.input`. */
  readonly on: readonly string[];
  /** Lower ones come first. */
  readonly priority?: number;
}

const TOOL = callPoints("tool");

/** A point that nothing passes would guard nothing, in silence; so there are no others. */
const POINTS: Readonly<Record<string, Omit<Station, "name" | "decides" | "priority">>> = {
  [TOOL.input]: { point: TOOL.input, isTargeted: true, turn: TURNS.guardrailsIn },
  [TOOL.output]: { point: TOOL.output, isTargeted: true, turn: TURNS.guardrailsOut, seesFailures: true },
  "prompt.input": { point: "prompt.submit", isTargeted: false, turn: TURNS.guardrailsIn },
};

/** The points that a guardrail may name. */
export const GUARDED_POINTS: readonly string[] = Object.keys(POINTS);

const point = z.enum(GUARDED_POINTS, { error: `must be one of ${GUARDED_POINTS.join(", ")}` });

const entry: z.ZodType<GuardrailEntry> = keyed({
  name: capabilityName,
  target: targetText,
  description: descriptionText.exactOptional(),
  on: z.array(point).min(1, { error: "must name at least one point" }).max(LIMITS.entriesMax),
  priority: wholeNumber(-LIMITS.priorityMax, LIMITS.priorityMax).exactOptional(),
});

/** The surface of guardrails. */
export const guardrails: Surface<readonly GuardrailEntry[]> = targetSurface({
  name: "guardrails",
  doc: "Code that may stop what goes in or comes out.",
  live: true,
  code: { isCallable: false, answer: verdictSchema },
  standsAlone: true,
  entry,
  fullId: slashId,
  stations: ({ on, priority = 0 }) =>
    // The schema has accepted the names.
    [...new Set(on)].map((name) => ({ ...POINTS[name]!, name, decides: true, priority })),
});
