/** What goes into a guest and what comes back from it, as text, as values and as errors. */
import { ActivationError, GuestError, LimitError, type SallyportError } from "../permissions/mod.ts";
import {
  type Denial,
  failureToError,
  type GuestAnswer,
  type GuestFailure,
  hasMoreNodes,
  isDeeper,
  type Redactor,
  RUNTIME_LIMITS,
  type RuntimeLimits,
} from "../runtime/mod.ts";
import type { TargetBundle } from "./bundler/mod.ts";
import { display } from "./display.ts";
import { type FindEntry, shownStack } from "./frames.ts";
import type { Run } from "./run.ts";
import { targetText, type Unit } from "./unit.ts";

/** What a guest's stack is read with. */
export interface Evaluated {
  /** What was evaluated. */
  readonly bundle: TargetBundle;
  /** Finds places in the bundle; its map is read once for all errors of the isolate. */
  readonly find: FindEntry;
}

/** The text that a call sends. Throws GuestError for what is not JSON, LimitError for what is too large. */
export function inputText(unit: Unit, input: unknown, { wallMs, origin, io }: Run): string {
  const { inputBytesMax } = RUNTIME_LIMITS;
  const text = jsonOf(unit, input);
  // A unit of a text has at most three bytes, so most texts need not be measured.
  if (text.length * 3 > inputBytesMax && Buffer.byteLength(text) > inputBytesMax) {
    throw new LimitError(
      "ERR_LIMIT_SIZE",
      `Cannot call ${unit.title}: the input has more than ${inputBytesMax} bytes (inputBytesMax). Pass less, or a file to read`,
    );
  }
  refuseShape(`Cannot call ${unit.title}: the input`, text, "inputDepthMax", "inputNodesMax");
  const entry = (unit.entry === undefined ? "" : `"entry":${JSON.stringify(unit.entry)},`) +
    (io?.chunks === undefined ? "" : '"streams":true,') + (io?.body === undefined ? "" : '"body":true,');
  const caller = origin === undefined ? {} : { caller: origin.chain };
  const context = { plugin: unit.plugin, deadline: Date.now() + wallMs, ...caller };
  return `{${entry}"input":${text},"context":${JSON.stringify(context)}}`;
}

/** Throws unless the target was evaluated and is what its manifest says. */
export function refuseFailedLoad(
  unit: Unit,
  evaluated: Evaluated,
  answer: GuestAnswer,
  denials: readonly Denial[],
): void {
  if (!answer.ok) throw errorOf(unit, evaluated, answer.error, denials);
  if (unit.target.export === null || (answer.text === '"function"' && !evaluated.bundle.isExportMissing)) {
    return;
  }
  throw new ActivationError(
    "ERR_ACTIVATION_FAILED",
    `Cannot start "${
      targetText(unit)
    }" of plugin "${unit.plugin}": the file exports no function "${unit.target.export}". ` +
      `Export it, or correct the target in ${unit.declaredIn}`,
    { details: { plugin: unit.plugin, target: targetText(unit), manifest: unit.declaredIn } },
  );
}

/** The value that a guest answered with, redacted; undefined where it was a stream. Throws what it failed with. */
export function valueOf(
  unit: Unit,
  evaluated: Evaluated,
  answer: GuestAnswer,
  { denials, io }: Run,
  redactor: Redactor,
): unknown {
  if (!answer.ok) throw errorOf(unit, evaluated, answer.error, denials);
  if (answer.streamed !== undefined) {
    if (io?.chunks === undefined) throw unusable(unit, "it is a stream, and none was asked for");
    io.chunks.end({ streamed: answer.streamed });
    // The guest has ended well by its own word, and may have been told to end.
    if (io.chunks.error !== null) throw io.chunks.error;
    return undefined;
  }
  // The text is the guest's word: a depth that would overflow whoever walks the value is refused before it is built.
  const subject = `Cannot return the result of "${unit.plugin}": it`;
  refuseShape(subject, answer.text, "resultDepthMax", "resultNodesMax");
  let value: unknown;
  try {
    value = JSON.parse(answer.text) as unknown;
  } catch {
    throw unusable(unit, "it is not JSON");
  }
  return redactor.parsed(answer.text, value);
}

/** A value as JSON text. Throws GuestError for what is none, LimitError for what is too deep. */
export function jsonOf(unit: Unit, input: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(input) as string | undefined; // undefined and functions have no JSON
  } catch (cause) {
    // What is nested more deeply than the stack goes is deeper than any input may be.
    if (cause instanceof RangeError) throw tooDeep(`Cannot call ${unit.title}: the input`, "inputDepthMax");
    throw new GuestError("ERR_RESULT_INVALID", `Cannot call ${unit.title}: the input is not JSON`, { cause });
  }
  if (text !== undefined) return text;
  throw new GuestError("ERR_RESULT_INVALID", `Cannot call ${unit.title}: the input is not JSON`);
}

/** Throws LimitError for a value that would be too deep, or too many values, once it were built. */
function refuseShape(
  subject: string,
  text: string,
  depthRow: keyof RuntimeLimits,
  nodesRow: keyof RuntimeLimits,
): void {
  if (isDeeper(text, RUNTIME_LIMITS[depthRow])) throw tooDeep(subject, depthRow);
  const nodesMax = RUNTIME_LIMITS[nodesRow];
  if (!hasMoreNodes(text, nodesMax)) return;
  throw new LimitError("ERR_LIMIT_SIZE", `${subject} holds more than ${nodesMax} values (${nodesRow})`, {
    details: { [nodesRow]: nodesMax },
  });
}

function tooDeep(subject: string, row: keyof RuntimeLimits): LimitError {
  const depthMax = RUNTIME_LIMITS[row];
  return new LimitError("ERR_LIMIT_SIZE", `${subject} is nested more than ${depthMax} deep (${row})`, {
    details: { [row]: depthMax },
  });
}

function unusable({ plugin }: Unit, why: string): GuestError {
  return new GuestError("ERR_RESULT_INVALID", `Cannot use the result of "${plugin}": ${why}`);
}

/** The error for a failure that a guest told of, safe to show. */
export function errorOf(
  unit: Unit,
  { find }: Evaluated,
  failure: GuestFailure,
  denials: readonly Denial[],
): SallyportError {
  const shown = { ...failure, name: display(failure.name), message: display(failure.message) };
  const stack = shownStack(failure.stack, { plugin: unit.plugin, path: unit.target.path, find });
  return failureToError(shown, denials, { title: unit.title, plugin: unit.plugin, stack });
}
