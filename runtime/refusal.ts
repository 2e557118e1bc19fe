/** The two serialisers of what went wrong: the guest learns little, the operator everything (T18). */
import { type Decision, denied, NotCapableError, SallyportError } from "../permissions/mod.ts";
import { PowerError } from "./powers.ts";

/** One refusal, remembered by its call. */
export interface Denial {
  /** Made by the host; a guest's error that bears it is this refusal. */
  readonly id: string;
  /** Who asked, as messages call it. */
  readonly title: string;
  /** What was decided, with the rule. */
  readonly decision: Decision;
  /** The value as the guest wrote it. */
  readonly spelled: string | null;
}

/** Carries a refusal from the check to the envelope. */
export class RefusedError extends NotCapableError {
  /** What was refused. */
  readonly denial: Denial;

  /** Its message is for nobody: the two serialisers make their own. */
  constructor(denial: Denial) {
    super("ERR_NOT_CAPABLE", "refused");
    this.denial = denial;
  }
}

/** What a guest learns of a failure. */
export interface GuestFacts {
  /** Name of the class that the guest makes of it. */
  readonly name: string;
  /** Stable word. */
  readonly code: string;
  /** One sentence without host paths, policy text or stacks. */
  readonly message: string;
  /** Permission kind of a refusal. */
  readonly kind?: string;
  /** Value of a refusal, as the guest itself wrote it. */
  readonly value?: string | null;
  /** Id of the refusal. */
  readonly denial?: string;
}

/** For the guest: name, code, kind and its own spelling of the value. */
export function toGuest(error: unknown): GuestFacts {
  if (error instanceof RefusedError) {
    const { decision: { kind }, spelled, id } = error.denial;
    const what = spelled === null ? "" : ` to ${JSON.stringify(spelled)}`;
    return {
      name: "NotCapable",
      code: "ERR_NOT_CAPABLE",
      message: `Requires ${kind} access${what}`,
      kind,
      value: spelled,
      denial: id,
    };
  }
  if (error instanceof PowerError) return { name: error.name, code: error.code, message: error.message };
  // Whatever else failed is the host's own affair: its message may hold paths, policy or worse.
  const code = error instanceof SallyportError ? error.code : "ERR_OP_FAILED";
  return { name: "Error", code, message: "The host could not do this" };
}

/** For the caller, the command line and the audit: everything. */
export function toOperator(denial: Denial): NotCapableError {
  return denied(denial.decision, denial.title);
}
