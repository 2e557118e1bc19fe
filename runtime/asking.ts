/** Asking the operator about what was not granted, and what a guest may do about its own grant. */
import { check, type Decision, type Requirement } from "../permissions/mod.ts";
import { type Prospect, refusalBy } from "./answers.ts";
import type { Asks } from "./ask.ts";
import type { Decider } from "./deciding.ts";
import type { OwnPermissions } from "./op.ts";
import { factsOf, type OpAudit } from "./op_audit.ts";
import { SYSTEM_FACTS } from "./powers/sys.ts";
import type { OpRequest, Principal } from "./principal.ts";
import type { Redactor } from "./redact.ts";

/** What asking works with. */
export interface AskingParts {
  /** Who is asked; absent is nobody. */
  readonly asks: Asks | undefined;
  /** Decides. */
  readonly decider: Decider;
  /** Writes answers down. */
  readonly audit: OpAudit;
  /** What is handed over is cut out of text that leaves. */
  readonly redactor: Redactor | undefined;
}

/** Asks for the ops of one broker. */
export class Asking {
  readonly #parts: AskingParts;

  /** Asks nothing yet. */
  constructor(parts: AskingParts) {
    this.#parts = parts;
  }

  /** What the operator makes of a refusal: the decision that then stands. What may not be asked for is left as it is. */
  async ask(
    request: OpRequest,
    op: string,
    requirement: Requirement,
    found: Decision,
    spelled: string | null,
  ): Promise<Decision> {
    const { asks, decider, audit } = this.#parts;
    const { principal, scope } = request;
    const first = this.#prospect(principal, op, requirement, found, spelled);
    if (asks === undefined || first.state === "never") return refusedBy(first, found);
    const work = () =>
      asks.inTurn(scope.signal, async () => {
        // An answer that was given meanwhile may have decided this one as well.
        const now = decider.decide(principal, requirement);
        const prospect = this.#prospect(principal, op, requirement, now, spelled, asks.real);
        if (prospect.state === "never") return refusedBy(prospect, now);
        const given = await asks.answerTo(prospect.question, scope.signal);
        const answer = given ?? "no";
        const { kind, entry } = prospect.question;
        const refusal = refusalBy(given === null ? null : asks.asker.name);
        audit(request, {
          type: "grant",
          op,
          kind,
          value: answer === "always" ? null : entry,
          decision: answer === "no" ? "denied" : "granted",
          rule: refusal.rule,
          details: { answer },
        });
        decider.answersOf(principal).take(prospect, answer, given === null ? null : asks.asker.name);
        asks.asker.onAnswer?.({ plugin: principal.plugin, kind, entry, answer });
        if (answer === "no") return { ...now, ...refusal };
        return decider.decide(principal, requirement);
      });
    return await (scope.pause === undefined ? work() : scope.pause(work));
  }

  /** What the guest of a request may learn of its own grant, and do about it. */
  permissions(request: OpRequest, op: string): OwnPermissions {
    const { decider } = this.#parts;
    const { principal } = request;
    return {
      query: (requirement) => {
        const decision = decider.decide(principal, requirement);
        if (decision.state === "granted") return "granted";
        const { state } = this.#prospect(principal, op, requirement, decision, requirement.value);
        return state === "ask" ? "prompt" : "denied";
      },
      request: async (requirement) => {
        const decision = decider.decide(principal, requirement);
        if (decision.state === "granted") return "granted";
        return (await this.ask(request, op, requirement, decision, requirement.value)).state;
      },
      revoke: (requirement) => decider.answersOf(principal).revoke(requirement),
      held: (kind) => this.#held(request, kind),
    };
  }

  #prospect(
    principal: Principal,
    op: string,
    requirement: Requirement,
    decision: Decision,
    spelled: string | null,
    // A guest may ask how it stands as often as it likes, so links are looked up only for a question.
    real: (path: string) => string = (path) => path,
  ): Prospect {
    const { asks, decider } = this.#parts;
    if (asks === undefined || decision.state === "granted") return { state: "never", refusal: null };
    const facts = { title: principal.title, op, spelled: spelled ?? requirement.value };
    const isSealed = (found: Decision): boolean =>
      decider.unlessSealed(principal, requirement, found).state === "denied";
    return decider.answersOf(principal).prospect(
      requirement,
      decision,
      facts,
      { limits: asks.limits, real },
      isSealed,
    );
  }

  /** What is granted by now of what guests hold. What this one does not hold yet is written down before it gets it. */
  #held(request: OpRequest, kind: string): Readonly<Record<string, string>> | null {
    const { decider, audit, redactor } = this.#parts;
    const { principal } = request;
    const source = HELD[kind]?.(principal);
    if (source === undefined) return null;
    const { handedOver } = decider.answersOf(principal);
    const held: [string, string][] = [];
    for (const [value, read] of Object.entries(source)) {
      const decision = decider.decide(principal, { kind, value });
      if (decision.state === "denied") continue;
      const isNew = check(principal.grant, { kind, value }, principal.context).state === "denied" &&
        !handedOver.has(`${kind} ${value}`);
      if (isNew) audit(request, { type: "grant", op: `${kind}_push`, ...factsOf(decision) });
      handedOver.add(`${kind} ${value}`);
      held.push([value, read()]);
      // A script's reader is the one whose environment it is.
      if (isNew && kind === "env" && principal.bundle !== null) redactor?.know(read());
    }
    return Object.fromEntries(held);
  }
}

/** Kinds whose values guests hold, with how each value is read. */
const HELD: Readonly<Record<string, (principal: Principal) => Readonly<Record<string, () => string>>>> = {
  env: ({ environment = {} }) =>
    Object.fromEntries(Object.entries(environment).map(([name, text]) => [name, () => text])),
  sys: () =>
    Object.fromEntries(
      Object.entries(SYSTEM_FACTS).map(([word, find]) => [word, () => JSON.stringify(find())]),
    ),
};

function refusedBy(prospect: Prospect, decision: Decision): Decision {
  return decision.state === "granted" || prospect.state === "ask"
    ? decision
    : { ...decision, ...prospect.refusal };
}
