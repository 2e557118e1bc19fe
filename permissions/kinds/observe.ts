/** Seeing what passes between others: hooks, events and guardrails receive only what this covers. */
import type { Kind } from "../kind.ts";
import { type Traffic, trafficAlgebra } from "../traffic_grammar.ts";

/** The kind `observe`: a point, and whose calls. */
export const observe: Kind<Traffic, Traffic> = {
  ...trafficAlgebra,
  name: "observe",
  doc: "Seeing the named plugins' traffic at the named points: POINT [PLUGIN or ID].",
  examples: ["tool.input notes", "tool.output plugin__notes__latest", "prompt.submit"],
  phrase: (value) => value === null ? "observe everything" : `observe "${value}"`,
};
