/** What a tool says of its own effects, in one line for a person: hints, never rules. */
import { display } from "../display.ts";
import type { ToolAnnotations } from "../surfaces/mod.ts";

/** `readOnlyHint, destructiveHint: false`; null where it says nothing. */
export function annotationText(annotations: ToolAnnotations | undefined): string | null {
  const said = Object.entries(annotations ?? {}).map(([name, value]: [string, unknown]) =>
    value === true ? display(name) : `${display(name)}: ${display(JSON.stringify(value))}`
  );
  return said.length === 0 ? null : said.join(", ");
}
