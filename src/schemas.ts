/** A tool's schemas around its call: the input before anything starts, the result before anybody gets it. */
import { CapabilityError, GuestError } from "../permissions/mod.ts";
import type { z } from "zod";
import { RUNTIME_LIMITS } from "../runtime/mod.ts";
import { display } from "./display.ts";
import { type Capability, codeOf, type SurfaceCode } from "./surfaces/mod.ts";
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
  /** How its surface is run. */
  readonly code?: SurfaceCode | undefined;
}

/** Reads them once for all calls. */
export function schemasOf({ raw, surface }: Capability): CallSchemas {
  const { input, output } = raw as { input?: object; output?: object }; // as its surface validated it
  return { input: read(input), output: read(output), code: codeOf(surface) };
}

/** What is held to what. */
export interface SchemaParts {
  /** Name of the plugin. */
  readonly plugin: string;
  /** What is called. */
  readonly capability: Capability;
  /** What its input and result are held to. */
  readonly schemas: CallSchemas;
  /** Looks. */
  readonly validator: Pick<Validator, "issues">;
}

/**
 * Makes a call whose input and result are held to the capability's schemas. Throws CapabilityError
 * `ERR_CAPABILITY_INPUT_INVALID` before the call, GuestError `ERR_RESULT_INVALID` after it.
 */
export async function callWithSchemas(
  { plugin, capability, schemas, validator }: SchemaParts,
  input: unknown,
  call: () => Promise<unknown>,
): Promise<unknown> {
  const refusing = refuseInput({ plugin, capability, schemas, validator }, input);
  if (refusing !== null) await refusing;
  const value = await call();
  // What was a stream has been held to it piece by piece.
  if (value === undefined) return undefined;
  const failed = schemas.code?.failureIn?.(value);
  if (failed !== undefined) throw ownFailure(plugin, failed);
  await refuseMisfit({ plugin, capability, schemas, validator }, value);
  return schemas.code?.answer === undefined ? value : answerOf(capability, schemas.code.answer, value);
}

/**
 * Throws CapabilityError `ERR_CAPABILITY_INPUT_INVALID` for what does not fit: at once, or, where the schema is run elsewhere,
 * in the promise that it gives then.
 */
export function refuseInput(
  { plugin, capability, schemas, validator }: SchemaParts,
  input: unknown,
): Promise<void> | null {
  const refuse = (wrong: readonly SchemaIssue[]): void => {
    if (wrong.length === 0) return;
    throw new CapabilityError(
      "ERR_CAPABILITY_INPUT_INVALID",
      `Cannot call "${capability.fullId}" with this input: ${spell(wrong)}`,
      { details: { capability: capability.fullId, issues: wrong } },
    );
  };
  if (isObject(input) && isChecked(schemas.input)) {
    return validator.issues(plugin, schemas.input, input).then(refuse);
  }
  refuse(isObject(input) ? issuesOf(schemas.code?.input?.safeParse(input)) : NO_OBJECT);
  return null;
}

/** Throws GuestError `ERR_RESULT_INVALID` for a result, or one value of a stream, that does not fit the output schema. */
export async function refuseMisfit(
  { plugin, capability, schemas, validator }: SchemaParts,
  value: unknown,
): Promise<void> {
  const bad = schemas.output === undefined
    ? []
    : value instanceof Uint8Array
    ? BYTES
    : isChecked(schemas.output)
    ? await validator.issues(plugin, schemas.output, value)
    : isObject(value)
    ? []
    : NO_OBJECT;
  if (bad.length > 0) throw invalidResult(capability, "the output schema", bad);
}

/** The answer as its surface reads it. */
function answerOf(capability: Capability, schema: z.ZodType, value: unknown): unknown {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalidResult(capability, `what the host takes of ${capability.surface}`, issuesOf(parsed));
}

function issuesOf(parsed: z.ZodSafeParseResult<unknown> | undefined): readonly SchemaIssue[] {
  return (parsed?.error?.issues ?? []).map(({ path, message }) => ({
    at: ["#", ...path.map(String)].join("/"),
    message,
  }));
}

/** What a tool says went wrong: its own failure, as if it had thrown, and no call that could not run (R08). */
function ownFailure(plugin: string, { content }: { readonly content: unknown }): GuestError {
  const text = display(typeof content === "string" ? content : JSON.stringify(content), {
    max: RUNTIME_LIMITS.errorTextBytesMax,
  });
  return new GuestError("ERR_GUEST_THREW", `Plugin "${plugin}" failed: ${text}`, {
    details: { isError: true, content },
  });
}

function invalidResult({ fullId }: Capability, what: string, issues: readonly SchemaIssue[]): GuestError {
  return new GuestError(
    "ERR_RESULT_INVALID",
    `Cannot use the result of "${fullId}": it does not fit ${what}: ${spell(issues)}`,
    { details: { capability: fullId, issues } },
  );
}

const NO_OBJECT: readonly SchemaIssue[] = [{ at: "#", message: "it is not an object" }];
const BYTES: readonly SchemaIssue[] = [{ at: "#", message: "it is bytes" }];

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
