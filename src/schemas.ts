/** A tool's schemas around its call: the input before anything starts, the result before anybody gets it. */
import { CapabilityError, GuestError } from "../permissions/mod.ts";
import type { Capability } from "./surfaces/mod.ts";
import type { SchemaIssue, Validator } from "./validator/mod.ts";

/** Keywords that say nothing about a value beyond its being an object. */
const ANNOTATIONS = new Set(["type", "title", "description", "$comment", "$schema", "examples", "default"]);

/**
 * Makes a call whose input and result are held to the capability's schemas. Throws CapabilityError
 * `ERR_CAPABILITY_INPUT_INVALID` before the call, GuestError `ERR_RESULT_INVALID` after it.
 */
export async function callWithSchemas(
  plugin: string,
  capability: Capability,
  input: unknown,
  validator: Pick<Validator, "issues">,
  call: () => Promise<unknown>,
): Promise<unknown> {
  const { input: given, output } = capability.raw as { input?: object; output?: object }; // as its surface validated it
  const wrong = isObject(input)
    ? await issuesOf(plugin, given, input, validator)
    : [{ at: "#", message: "it is not an object" }];
  if (wrong.length > 0) {
    throw new CapabilityError(
      "ERR_CAPABILITY_INPUT_INVALID",
      `Cannot call "${capability.fullId}" with this input: ${spell(wrong)}`,
      { details: { capability: capability.fullId, issues: wrong } },
    );
  }
  const value = await call();
  const bad = await issuesOf(plugin, output, value, validator);
  if (bad.length === 0) return value;
  throw new GuestError(
    "ERR_RESULT_INVALID",
    `Cannot use the result of "${capability.fullId}": it does not fit the output schema: ${spell(bad)}`,
    { details: { capability: capability.fullId, issues: bad } },
  );
}

/** `{type: object}` is decided here; everything else is decided where a schema can do no harm. */
async function issuesOf(
  plugin: string,
  schema: object | undefined,
  value: unknown,
  validator: Pick<Validator, "issues">,
): Promise<readonly SchemaIssue[]> {
  if (schema === undefined) return [];
  const isPlain = Object.keys(schema).every((key) => ANNOTATIONS.has(key)) && "type" in schema &&
    schema.type === "object";
  if (!isPlain) return await validator.issues(plugin, schema, value);
  return isObject(value) ? [] : [{ at: "#", message: "it is not an object" }];
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function spell(issues: readonly SchemaIssue[]): string {
  return issues.map(({ at, message }) => `${at}: ${message}`).join("; ");
}
