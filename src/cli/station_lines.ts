/** Where a hook, guardrail or interceptor stands, a line each for a person. */
import { display } from "../display.ts";
import type { Station } from "../surfaces/mod.ts";

/** `stands at PreToolUse, and decides; for web_.*`; none where it stands nowhere. */
export function stationLines(stations: readonly Station[] | undefined): readonly string[] {
  return (stations ?? []).map(({ name, phase, decides, matcher }) =>
    `stands at ${display(name)}${phase === undefined ? "" : ` (${phase})`}, and ${
      decides ? "decides" : "watches"
    }${matcher === undefined ? "" : `; for ${display(matcher)}`}`
  );
}
