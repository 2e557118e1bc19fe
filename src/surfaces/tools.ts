/** Tools: functions that a model or a program calls with one JSON object. */
import { z } from "zod";
import {
  KINDS,
  type KindTable,
  type PermissionRequest,
  permissionRequestSchemaFor,
} from "../../permissions/mod.ts";
import { capabilityName, descriptionText, lineText, PLUGIN_NAME, targetText } from "../manifest/fields.ts";
import { type JsonSchema, jsonSchema } from "../manifest/json_schema.ts";
import { keyed } from "../manifest/keyed.ts";
import { MANIFEST_LIMITS as LIMITS } from "../manifest/limits.ts";
import { type Capability, memberOf, type Surface, targetSurface } from "./surface.ts";

/** What a tool says about its own effects. A hint to people and models, never a rule. */
export interface ToolAnnotations {
  /** A name for people. */
  readonly title?: string;
  /** It changes nothing. */
  readonly readOnlyHint?: boolean;
  /** What it changes may be lost. */
  readonly destructiveHint?: boolean;
  /** Doing it twice is as doing it once. */
  readonly idempotentHint?: boolean;
  /** It deals with the world outside. */
  readonly openWorldHint?: boolean;
}

/** One tool of a manifest. */
export interface ToolEntry {
  /** Its name inside the plugin. */
  readonly name: string;
  /** The code, `path:export`; may be left out where `lifecycle.activate` registers it. */
  readonly target?: string;
  /** What it does, for people and models. */
  readonly description?: string;
  /** JSON Schema of the input, always of an object. Absent: any object. */
  readonly input?: JsonSchema;
  /** JSON Schema of the result. */
  readonly output?: JsonSchema;
  /** A subset of the plugin's request; the tool then runs under nothing more. */
  readonly permissions?: PermissionRequest;
  /** Which other plugins may call it: names of plugins, full ids of their tools, or `any`. Absent: none. */
  readonly callers?: "any" | readonly string[];
  /** What it says about its own effects. */
  readonly annotations?: ToolAnnotations;
}

const FULL_ID = /^plugin__[a-z0-9][a-z0-9-]{0,31}__[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

const caller = z.string().refine((id) => PLUGIN_NAME.test(id) || FULL_ID.test(id), {
  error: "must be a plugin's name or the full id of a tool, plugin__<plugin>__<tool>",
});

const entryFor = (kinds: KindTable): z.ZodType<ToolEntry> =>
  keyed({
    name: capabilityName,
    target: targetText.exactOptional(),
    description: descriptionText.exactOptional(),
    input: jsonSchema({ objectOnly: true }).exactOptional(),
    output: jsonSchema({ objectOnly: false }).exactOptional(),
    permissions: permissionRequestSchemaFor(kinds).exactOptional(),
    callers: z.union([z.literal("any"), z.array(caller).max(LIMITS.entriesMax)], {
      error: 'must be "any" or a list of plugins',
    }).exactOptional(),
    annotations: keyed({
      title: lineText(LIMITS.titleCharsMax).exactOptional(),
      readOnlyHint: z.boolean().exactOptional(),
      destructiveHint: z.boolean().exactOptional(),
      idempotentHint: z.boolean().exactOptional(),
      openWorldHint: z.boolean().exactOptional(),
    }).exactOptional(),
  }, { hints: { inputSchema: 'did you mean "input"?', outputSchema: 'did you mean "output"?' } });

/** The surface of tools. */
export const tools: Surface<readonly ToolEntry[]> = targetSurface({
  name: "tools",
  doc: "Functions that a model or a program calls with one JSON object.",
  live: true,
  code: { isCallable: true, passes: "tool", failureIn },
  collides: "registration",
  collidesWhenBare: true,
  isRegistered: true,
  entry: entryFor(KINDS),
  entryFor,
  fullId: (plugin, name) => `plugin__${plugin}__${name}`,
});

/** `{ isError: true, content }` and nothing else: another member makes it a result that happens to have such a key. */
function failureIn(answer: unknown): { readonly content: unknown } | undefined {
  if (memberOf(answer, "isError") !== true || Object.keys(answer as object).length !== 2) return undefined;
  const content = memberOf(answer, "content");
  return content === undefined ? undefined : { content };
}

/** What a capability says of its own effects; undefined where it says nothing, or is no tool. */
export function annotationsOf(
  { surface, raw }: Pick<Capability, "surface" | "raw">,
): ToolAnnotations | undefined {
  // The cast holds: the schema has accepted the entry.
  return surface === tools.name ? (raw as ToolEntry).annotations : undefined;
}
