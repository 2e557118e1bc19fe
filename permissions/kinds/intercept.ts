/** Changing what passes between others. */
import type { Kind } from "../kind.ts";
import { type Traffic, trafficAlgebra } from "../traffic_grammar.ts";

/** The kind `intercept`: a point, and whose calls. */
export const intercept: Kind<Traffic, Traffic> = {
  ...trafficAlgebra,
  name: "intercept",
  doc: "Changing the named plugins' traffic at the named points: POINT [PLUGIN or ID].",
  examples: ["tool.input notes", "tool.output plugin__notes__latest"],
  phrase: (value) => value === null ? "intercept everything" : `intercept "${value}"`,
};
