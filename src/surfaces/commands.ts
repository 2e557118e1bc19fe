/** Commands: what a person starts by typing `/<plugin>:<name>` and perhaps some text. */
import { z } from "zod";
import { capabilityName, descriptionText, lineText, targetText } from "../manifest/fields.ts";
import { keyed } from "../manifest/keyed.ts";
import { MANIFEST_LIMITS as LIMITS } from "../manifest/limits.ts";
import { formValues } from "../panels/view.ts";
import type { CommandInput } from "../plugin_types.ts";
import { slashId, type Surface, targetSurface } from "./surface.ts";

/** One command of a manifest. */
export interface CommandEntry {
  /** Its name inside the plugin. */
  readonly name: string;
  /** The code, `path:export`. */
  readonly target: string;
  /** What it does, for people. */
  readonly description?: string;
  /** What may follow the name, as help shows it: `<topic>`. */
  readonly usage?: string;
}

const entry: z.ZodType<CommandEntry> = keyed({
  name: capabilityName,
  target: targetText,
  description: descriptionText.exactOptional(),
  usage: lineText(LIMITS.usageCharsMax).exactOptional(),
});

/** What a command is called with: what was typed behind its name, or what a form was filled in with. */
const input: z.ZodType<CommandInput> = z.strictObject({
  args: z.string(),
  argv: z.array(z.string()),
  values: formValues.exactOptional(),
});

/** The surface of commands. */
export const commands: Surface<readonly CommandEntry[]> = targetSurface({
  name: "commands",
  doc: "What a person starts by typing its name.",
  live: true,
  code: { isCallable: true, input },
  entry,
  fullId: slashId,
  typedAs: "command",
});
