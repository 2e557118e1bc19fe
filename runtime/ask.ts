/**
 * Asking the operator. A question is asked only for want of an allow that may be asked for: never where a deny decided,
 * and for a plugin never for more than its manifest, its capability and the tenant's policy grant.
 */
import { type Decision, type Grant, grantOf, KINDS, type Layer } from "../permissions/mod.ts";
import { ASK_LIMITS, type AskLimits } from "./limits.ts";
import { PowerError } from "./powers.ts";

/** What the operator is asked. Texts in it are a guest's own; none is safe for a terminal. */
export interface Question {
  /** Who asks, as messages call it: `Plugin "x"`. */
  readonly title: string;
  /** Name of the op. */
  readonly op: string;
  /** The kind of permission. */
  readonly kind: string;
  /** The entry that a yes grants, in its one spelling; null is the whole kind. */
  readonly entry: string | null;
  /** Where the entry's path leads besides, which a yes grants as well; null if nowhere else. */
  readonly leadsTo: string | null;
  /** Whether "always" would be all of the kind, and not only what somebody else's word leaves of it. */
  readonly isUnlimited: boolean;
  /** As the guest wrote it. */
  readonly spelled: string | null;
  /** The refusal that stands unless somebody agrees. */
  readonly decision: Decision;
}

/** This once and whenever the entry covers it, always for the kind, or not. */
export type Answer = "yes" | "always" | "no";

/** One answer, for whoever keeps it. */
export interface Answered {
  /** Name of the plugin or script. */
  readonly plugin: string;
  /** The kind of permission. */
  readonly kind: string;
  /** The entry that was asked about; null is the whole kind. */
  readonly entry: string | null;
  /** What was answered. */
  readonly answer: Answer;
}

/** Somebody who can be asked. */
export interface Asker {
  /** Who answers, for the audit. */
  readonly name: string;
  /** Asks; what is no agreement is "no". It is given up when the signal aborts. */
  ask(question: Question, signal: AbortSignal): Promise<Answer>;
  /** Told of each answer once it is written down. */
  onAnswer?(answered: Answered): void;
}

/** All questions of a host: one at a time, each with a bound. */
export class Asks {
  /** Who is asked. */
  readonly asker: Asker;
  /** The bounds in force. */
  readonly limits: AskLimits;
  /** Where links on a path lead, as they stand when the question is asked. */
  readonly real: (path: string) => string;
  #last: Promise<unknown> = Promise.resolve();

  /** Asks nothing yet. */
  constructor(
    options: {
      readonly asker: Asker;
      readonly real: (path: string) => string;
      readonly limits?: Partial<AskLimits>;
    },
  ) {
    this.asker = options.asker;
    this.real = options.real;
    this.limits = { ...ASK_LIMITS, ...options.limits };
  }

  /** Does the work when all before it is done. Throws a PowerError when the signal aborts meanwhile. */
  async inTurn<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    try {
      await before;
      if (signal.aborted) throw new PowerError("Interrupted", "ERR_CALL_ENDED", "The call has ended");
      return await work();
    } finally {
      resolve();
    }
  }

  /** The operator's answer; null where there is none in time, or the asker fails. */
  async answerTo(question: Question, signal: AbortSignal): Promise<Answer | null> {
    const ended = AbortSignal.any([signal, AbortSignal.timeout(this.limits.askMs)]);
    const { promise: givenUp, resolve } = Promise.withResolvers<null>();
    const onAbort = (): void => resolve(null);
    ended.addEventListener("abort", onAbort, { once: true });
    try {
      const answer = await Promise.race([this.asker.ask(question, ended), givenUp]);
      return answer === null || answer === "yes" || answer === "always" ? answer : "no";
    } catch {
      return null;
    } finally {
      ended.removeEventListener("abort", onAbort);
    }
  }
}

/**
 * The most that may be asked for: flags and record, which the operator wrote, are opened but for what they deny. The word
 * of authors and of the tenant's policy stands.
 */
export function askable({ layers }: Grant): Grant {
  return grantOf(...layers.map((layer) => OPERATORS.has(layer.source) ? opened(layer) : layer));
}

const OPERATORS: ReadonlySet<string> = new Set(["flags", "record"]);

/** The layer with everything allowed but what it denies. */
export function opened(layer: Layer): Layer {
  const kinds = Object.keys(layer.table ?? KINDS).map((kind) =>
    [kind, { isRequired: false, ...layer.kinds[kind], allow: true as const }] as const
  );
  return { ...layer, kinds: Object.fromEntries(kinds) };
}
