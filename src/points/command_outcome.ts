/** What the end of a command hook means: nothing of it is believed before it was measured and parsed. */
import {
  ActivationError,
  GuestError,
  HostError,
  LimitError,
  type SallyportError,
} from "../../permissions/mod.ts";
import {
  type Denial,
  type GuestFacts,
  hasMoreNodes,
  isDeeper,
  type Redactor,
  RUNTIME_LIMITS,
  toOperator,
} from "../../runtime/mod.ts";
import { display } from "../display.ts";
import { POINT_LIMITS } from "./limits.ts";
import { boundedReason, UNEXPLAINED, type Verdict, verdictSchema } from "./verdict.ts";

/** How messages call a hook. */
export interface Subject {
  /** As what. */
  readonly title: string;
  /** Its full id. */
  readonly id: string;
}

/** What the op `run` answers. */
interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const DENIED = 2;

/** 0 is the verdict on its standard output, 2 a denial for what its standard error says, all else a failure of the hook. */
export function verdictOf(outcome: unknown, subject: Subject, redactor: Redactor): Verdict {
  // The cast is safe: the op's own answer.
  const { code, stdout, stderr } = outcome as Outcome;
  const words = redactor.message(headOf(Buffer.from(stderr, "base64"))).trim();
  if (code === DENIED) {
    return { decision: "block", reason: boundedReason(words === "" ? UNEXPLAINED : words) };
  }
  if (code !== 0) {
    const said = words === "" ? "" : `: ${display(words, { max: POINT_LIMITS.failureCharsMax })}`;
    throw new GuestError("ERR_GUEST_THREW", `${subject.title} failed with exit code ${code}${said}`, {
      details: {
        name: "",
        message: display(words, { max: POINT_LIMITS.failureCharsMax }),
        guestStack: "",
        exitCode: code,
      },
    });
  }
  return parsed(Buffer.from(stdout, "base64"), subject, redactor);
}

/** Its first words: no more is told, and looking through megabytes of them would hold the host. */
function headOf(bytes: Buffer): string {
  const { stderrReadBytesMax } = POINT_LIMITS;
  return bytes.length <= stderrReadBytesMax
    ? bytes.toString("utf8")
    : `${bytes.toString("utf8", 0, stderrReadBytesMax)}…`; // by this the redactor knows that it may end within a value
}

function parsed(bytes: Uint8Array, { title }: Subject, redactor: Redactor): Verdict {
  const invalid = (why: string, cause?: unknown): GuestError =>
    new GuestError("ERR_RESULT_INVALID", `Cannot use what ${title} wrote: ${why}`, { cause });
  const { resultBytesMax, resultDepthMax, resultNodesMax } = RUNTIME_LIMITS;
  if (bytes.byteLength > resultBytesMax) {
    throw invalid(`it has more than ${resultBytesMax} bytes (resultBytesMax)`);
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw invalid("it is not UTF-8", cause);
  }
  if (text.trim() === "") return { decision: "continue" };
  if (isDeeper(text, resultDepthMax) || hasMoreNodes(text, resultNodesMax)) {
    throw invalid("it is deeper, or holds more values, than it may");
  }
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch (cause) {
    throw invalid("it is not JSON", cause);
  }
  const found = verdictSchema.safeParse(answer);
  if (!found.success) throw invalid("it is no verdict: see what hooks may answer");
  return redactor.parsed(text, found.data);
}

/** The error for an op that did not get as far as to answer, or that was ended. */
export function errorOf(
  { code, message, denial }: GuestFacts,
  denials: readonly Denial[],
  { title, id }: Subject,
): SallyportError {
  const refused = denials.find((each) => each.id === denial);
  if (refused !== undefined) return toOperator(refused);
  if (code === "ERR_LIMIT_WALL" || code === "ERR_LIMIT_SIZE") {
    return new LimitError(code, `${title} was ended: ${message}`);
  }
  if (code === "ERR_LIMIT_RATE") return new LimitError(code, `${title} could not be run: ${message}`);
  if (code === "ERR_AUDIT_FAILED") {
    return new HostError(code, "Cannot write the audit log, so nothing was done");
  }
  return new ActivationError("ERR_ACTIVATION_FAILED", `Cannot start ${title}: ${message} (${code})`, {
    details: { capability: id },
  });
}
