/** What a guest answered, read without trusting it, and the error that a caller gets for a failure. */
import { GuestError, LimitError, type SallyportError } from "../permissions/mod.ts";
import { isDeeper } from "./json_depth.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import { type Denial, toOperator } from "./refusal.ts";

const ANSWER_HEAD = '{"ok":true,"value":';
const STREAMED = /^\{"ok":true,"streamed":(\d{1,15})\}$/;

/** What a guest answered; all of it is the guest's word. Where it was a stream, how many values that were, instead of a text. */
export type GuestAnswer =
  | { readonly ok: true; readonly text: string; readonly streamed?: number }
  | { readonly ok: false; readonly error: GuestFailure };

/** An error as a guest described it. */
export interface GuestFailure {
  /** Its name; empty when it was no error. */
  readonly name: string;
  /** Its message, cut. */
  readonly message: string;
  /** Its stack, cut. */
  readonly stack: string;
  /** Its code, when that is text. */
  readonly code?: string | undefined;
  /** Id of a refusal that it tells of. */
  readonly denial?: string | undefined;
  /** The handler gave what is not JSON. */
  readonly isInvalid: boolean;
  /** The result's size where it was above the bound. */
  readonly tooLarge?: number | undefined;
}

/**
 * Turns a guest's failure into what the caller gets: a refusal only where the broker made one in this very call
 * (decision 10), else the guest's own error.
 */
export function failureToError(
  failure: GuestFailure,
  denials: readonly Denial[],
  describe: { readonly title: string; readonly plugin: string; readonly stack: string },
): SallyportError {
  const denial = failure.denial === undefined ? undefined : denials.find(({ id }) => id === failure.denial);
  if (denial !== undefined) return toOperator(denial);
  if (failure.tooLarge !== undefined) {
    return new LimitError(
      "ERR_LIMIT_SIZE",
      `Cannot return the result of "${describe.plugin}": it has more than ${RUNTIME_LIMITS.resultBytesMax} bytes. Return less, or in parts`,
    );
  }
  if (failure.isInvalid) {
    return new GuestError(
      "ERR_RESULT_INVALID",
      `Cannot use the result of "${describe.plugin}": it is not JSON: ${failure.message}`,
    );
  }
  const what = failure.name === "" ? failure.message : `${failure.name}: ${failure.message}`;
  return new GuestError("ERR_GUEST_THREW", `${describe.title} failed: ${what}`, {
    details: { name: failure.name, message: failure.message, guestStack: describe.stack },
  });
}

/** Reads the text of a `result` frame. */
export function readAnswer(text: string): GuestAnswer {
  const bytes = Buffer.byteLength(text) - ANSWER_HEAD.length - 1;
  if (bytes > RUNTIME_LIMITS.resultBytesMax) return failed({ tooLarge: bytes });
  if (text.startsWith(ANSWER_HEAD) && text.endsWith("}")) {
    return { ok: true, text: text.slice(ANSWER_HEAD.length, -1) };
  }
  const streamed = text.length < 64 ? STREAMED.exec(text)?.[1] : undefined;
  if (streamed !== undefined) return { ok: true, text: "null", streamed: Number(streamed) };
  if (
    bytes > RUNTIME_LIMITS.errorAnswerBytesMax || isDeeper(text, RUNTIME_LIMITS.errorAnswerDepthMax)
  ) {
    return invalid("what it says of its failure is larger or deeper than it may be");
  }
  let error: unknown;
  try {
    error = (JSON.parse(text) as { error?: unknown }).error;
  } catch {
    return invalid("its answer is not JSON");
  }
  if (typeof error !== "object" || error === null) return invalid("its answer has no shape");
  return { ok: false, error: failureIn(error as Record<string, unknown>) };
}

/** What lifecycle code answered with, which ran last: what failed of it. */
export function readFailures(text: string): readonly GuestFailure[] {
  const { errorAnswerBytesMax, errorAnswerDepthMax, failuresToldMax } = RUNTIME_LIMITS;
  const list: unknown = text.length <= errorAnswerBytesMax && !isDeeper(text, errorAnswerDepthMax)
    ? parsed(text)
    : null;
  if (!Array.isArray(list)) return [failureIn({ name: "", message: "what it says of its end has no shape" })];
  return list.slice(0, failuresToldMax).map((each: unknown) =>
    failureIn(typeof each === "object" && each !== null ? each as Record<string, unknown> : {})
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function failureIn(facts: Readonly<Record<string, unknown>>): GuestFailure {
  return {
    name: textOr(facts.name, "Error"),
    message: textOr(facts.message, ""),
    stack: typeof facts.stack === "string" ? facts.stack : "",
    code: typeof facts.code === "string" ? facts.code : undefined,
    denial: typeof facts.denial === "string" ? facts.denial : undefined,
    isInvalid: facts.invalid === true,
    tooLarge: typeof facts.tooLarge === "number" ? facts.tooLarge : undefined,
  };
}

function invalid(message: string): GuestAnswer {
  return failed({ message, isInvalid: true });
}

function failed(facts: Partial<GuestFailure>): GuestAnswer {
  return { ok: false, error: { name: "", message: "", stack: "", isInvalid: false, ...facts } };
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value.slice(0, RUNTIME_LIMITS.errorTextBytesMax + 1) : otherwise;
}
