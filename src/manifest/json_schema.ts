/**
 * Looks at a JSON Schema that a plugin ships, without running it: the host executes none (T19). It must be plain, bounded
 * and closed, so that a validator elsewhere can take it as it is.
 */
import { z } from "zod";
import { display } from "../display.ts";
import { MANIFEST_LIMITS as LIMITS } from "./limits.ts";

/** A JSON Schema as data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The schema of a JSON Schema; with `objectOnly` it must describe an object, as a tool's input does. */
export function jsonSchema(options: { readonly objectOnly: boolean }): z.ZodType<JsonSchema> {
  const error = "must be a JSON Schema: a map";
  return z.custom<JsonSchema>(isMap, { error }).superRefine((schema, context) => {
    if (!isMap(schema)) return;
    if (options.objectOnly && schema["type"] !== "object") {
      context.addIssue({
        code: "custom",
        path: ["type"],
        message: 'must be "object": the input is always an object',
      });
    }
    for (const { path, message } of faultsOf(schema)) {
      context.addIssue({ code: "custom", path: [...path], message });
    }
  });
}

interface SchemaFault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

function faultsOf(schema: JsonSchema): SchemaFault[] {
  const faults: SchemaFault[] = [];
  let nodes = 0;
  let chars = 0;
  const visit = (value: unknown, path: readonly (string | number)[]): void => {
    nodes++;
    if (typeof value === "string") chars += value.length;
    if (typeof value !== "object" || value === null || nodes > LIMITS.schemaNodesMax) return;
    if (path.length > LIMITS.schemaDepthMax) {
      faults.push({
        path: [],
        message: `must not be nested deeper than ${LIMITS.schemaDepthMax} levels`,
      });
      nodes = Infinity;
      return;
    }
    for (const [key, child] of Object.entries(value)) {
      const at = [...path, Array.isArray(value) ? Number(key) : key];
      chars += key.length;
      const fault = REFERENCES.has(key) ? faultOfReference(key, child) : undefined;
      if (fault !== undefined && faults.length < FAULTS_MAX) faults.push({ path: at, message: fault });
      visit(child, at);
    }
  };
  visit(schema, []);
  if (nodes !== Infinity && nodes > LIMITS.schemaNodesMax) {
    faults.push({
      path: [],
      message: `must not hold more than ${LIMITS.schemaNodesMax} keywords and values`,
    });
  }
  if (chars > LIMITS.schemaCharsMax) {
    faults.push({ path: [], message: `must not hold more than ${LIMITS.schemaCharsMax} characters` });
  }
  return faults;
}

const FAULTS_MAX = 20;
const REFERENCES: ReadonlySet<string> = new Set(["$ref", "$dynamicRef", "$recursiveRef"]);

/** A reference stays in the schema. Data under `const` or `enum` is held to it too; nothing needs a remote one there. */
function faultOfReference(key: string, value: unknown): string | undefined {
  // A property may be called "$ref"; its value is then a schema, never a string.
  if (typeof value === "object" && value !== null) return undefined;
  if (typeof value === "string" && value.startsWith("#")) return undefined;
  const shown = typeof value === "string"
    ? `"${display(value, { max: LIMITS.quoteCharsMax })}"`
    : "what it holds";
  return `${key} must point into the same schema, with "#…", not to ${shown}`;
}

function isMap(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
