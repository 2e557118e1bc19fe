/** A tool's schemas around its call: the input before anything starts, the result before anybody gets it. */
import { CapabilityError, GuestError } from "../permissions/mod.ts";
import type { Capability } from "./surfaces/mod.ts";
import type { SchemaIssue, Validator } from "./validator/mod.ts";

/** Keywords that say nothing about a value beyond its being an object. */
const ANNOTATIONS = new Set(["type", "title", "description", "$comment", "$schema", "examples", "default"]);

/** `object` is decided here; everything else is decided where a schema can do no harm. */
type Schema = object | "object" | undefined;

/** What a capability's input and result are held to. */
export interface CallSchemas {
  /** Before the call. */
  readonly input: Schema;
  /** After it. */
  readonly output: Schema;
}

/** Reads them once for all calls. */
export function schemasOf({ raw }: Capability): CallSchemas {
  const { input, output } = raw as { input?: object; output?: object }; // as its surface validated it
  return { input: read(input), output: read(output) };
}

/**
 * Makes a call whose input and result are held to the capability's schemas. Throws CapabilityError
 * `ERR_CAPABILITY_INPUT_INVALID` before the call, GuestError `ERR_RESULT_INVALID` after it.
 */
export async function callWithSchemas(
  { plugin, capability, schemas, validator }: {
    readonly plugin: string;
    readonly capability: Capability;
    readonly schemas: CallSchemas;
    readonly validator: Pick<Validator, "issues">;
  },
  input: unknown,
  call: () => Promise<unknown>,
): Promise<unknown> {
  const wrong = !isObject(input)
    ? NO_OBJECT
    : isChecked(schemas.input)
    ? await validator.issues(plugin, schemas.input, input)
    : [];
  if (wrong.length > 0) {
    throw new CapabilityError(
      "ERR_CAPABILITY_INPUT_INVALID",
      `Cannot call "${capability.fullId}" with this input: ${spell(wrong)}`,
      { details: { capability: capability.fullId, issues: wrong } },
    );
  }
  const value = await call();
  const bad = isChecked(schemas.output)
    ? await validator.issues(plugin, schemas.output, value)
    : schemas.output === "object" && !isObject(value)
    ? NO_OBJECT
    : [];
  if (bad.length === 0) return value;
  throw new GuestError(
    "ERR_RESULT_INVALID",
    `Cannot use the result of "${capability.fullId}": it does not fit the output schema: ${spell(bad)}`,
    { details: { capability: capability.fullId, issues: bad } },
  );
}

const NO_OBJECT: readonly SchemaIssue[] = [{ at: "#", message: "it is not an object" }];

function read(schema: object | undefined): Schema {
  if (schema === undefined) return undefined;
  const isPlain = Object.keys(schema).every((key) => ANNOTATIONS.has(key)) && "type" in schema &&
    schema.type === "object";
  return isPlain ? "object" : schema;
}

function isChecked(schema: Schema): schema is object {
  return typeof schema === "object";
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function spell(issues: readonly SchemaIssue[]): string {
  return issues.map(({ at, message }) => `${at}: ${message}`).join("; ");
}
