/** Whether an input may be passed to a capability. Schemas wait for an isolate of their own: none is run unchecked (T19). */
import { CapabilityError } from "../permissions/mod.ts";
import type { Capability } from "./surfaces/mod.ts";

/** Keywords that say nothing about a value beyond its being an object. */
const ANNOTATIONS = new Set(["type", "title", "description", "$comment", "$schema", "examples"]);

/** The error that keeps the call from being made, or null. */
export function inputProblem(capability: Capability, input: unknown): CapabilityError | null {
  const { input: schema, output } = capability.raw as { input?: object; output?: object }; // as its surface validated it
  for (const [name, given] of [["input", schema], ["output", output]] as const) {
    const beyond = given === undefined ? undefined : Object.keys(given).find((key) => !ANNOTATIONS.has(key));
    if (beyond === undefined) continue;
    return new CapabilityError(
      "ERR_CAPABILITY_NOT_LIVE",
      `Cannot call "${capability.fullId}": its ${name} schema uses "${beyond}", and this version cannot check more than {type: object} yet`,
      { details: { capability: capability.fullId, keyword: beyond } },
    );
  }
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return null;
  return new CapabilityError(
    "ERR_CAPABILITY_INPUT_INVALID",
    `Cannot call "${capability.fullId}": its input is a JSON object, such as '{"text": "…"}'`,
    { details: { capability: capability.fullId } },
  );
}
