/**
 * What changed for one isolate since it was granted: what the operator agreed to, said no to, and what its own code gave up.
 * It lies beside the grant and never in it; the end of the isolate is the end of it.
 */
import {
  check,
  type Decision,
  type Grant,
  grantOf,
  type Kind,
  type KindLayer,
  KINDS,
  type KindTable,
  type Layer,
  layerOf,
  type PathContext,
  type PermissionRequest,
  relocate,
  type Requirement,
  type Rule,
} from "../permissions/mod.ts";
import { type Answer, askable, type Asks, opened, type Question } from "./ask.ts";
import { ASK_LIMITS } from "./limits.ts";
import { PowerError } from "./powers.ts";

/** Whose grant is added to and taken from. */
export interface Subject {
  /** What was approved. */
  readonly grant: Grant;
  /** Where its paths start. */
  readonly context: PathContext;
}

/** What asking for a refused use would be like. */
export type Prospect =
  | { readonly state: "ask"; readonly question: Question; readonly layer: Layer; readonly key: string }
  | {
    readonly state: "never";
    /** Why it is refused without a question, where that is not why it was refused to begin with. */
    readonly refusal: Pick<Decision, "rule" | "reason"> | null;
  };

/** What a question is made of beside the refusal. */
export type QuestionFacts = Pick<Question, "title" | "op" | "spelled">;

/** The answers of one isolate. */
export class Answers {
  readonly #subject: Subject;
  readonly #allowed: Record<string, KindLayer> = {};
  readonly #revoked: Record<string, KindLayer> = {};
  /** What was refused, with whose word that was. */
  readonly #refused = new Map<string, string | null>();
  /** Names of the environment that the guest was given since it was started. */
  readonly handedOver = new Set<string>();
  #questions = 0;
  #revocations = 0;
  #by = "";
  #left: { readonly revocations: number; readonly grant: Grant } | null = null;

  /** Changes nothing yet. */
  constructor(subject: Subject) {
    this.#subject = subject;
  }

  /** Decides under the grant, less what was given up, and more by what was agreed to. */
  decide(decideUnder: (grant: Grant) => Decision): Decision {
    if (this.#revocations > 0) {
      const gone = decideUnder(grantOf(opened(this.#layer(this.#revoked))));
      if (gone.state === "denied" && gone.layer !== "none") return { ...gone, ...REVOKED };
    }
    const decision = decideUnder(this.#subject.grant);
    if (decision.state === "granted" || this.#by === "") return decision;
    const { layers } = askable(this.#subject.grant);
    const answered = decideUnder(grantOf(...layers, this.#layer(this.#allowed)));
    if (answered.state === "denied") return decision;
    return { ...answered, rule: `answered at the prompt by ${this.#by}`, layer: "none" };
  }

  /** The grant, less what was given up; the same object for as long as nothing more was. */
  remaining(): Grant {
    if (this.#revocations === 0) return this.#subject.grant;
    if (this.#left?.revocations !== this.#revocations) {
      const gone = opened(this.#layer({ ...this.#revoked }));
      const grant = grantOf(...this.#subject.grant.layers, gone);
      this.#left = { revocations: this.#revocations, grant };
    }
    return this.#left.grant;
  }

  /** What asking for the refused use would be like, with links where `real` says that they lead. `isSealed` tells places that no grant reaches. */
  prospect(
    requirement: Requirement,
    decision: Decision,
    facts: QuestionFacts,
    { limits, real }: Pick<Asks, "limits" | "real">,
    isSealed: (decision: Decision) => boolean,
  ): Prospect {
    const { grant, context } = this.#subject;
    const most = askable(grant);
    const allows = (asked: Requirement): boolean => {
      const found = check(most, asked, context);
      return found.state === "granted" && !isSealed(found);
    };
    const { kind } = requirement;
    if (decision.rule === REVOKED.rule || kindOf(kind, context)?.isSettled === true) return NEVER;
    if (!allows(requirement)) return NEVER;
    const bytes = [decision.value, facts.spelled].map((text) => Buffer.byteLength(text ?? ""));
    if (Math.max(...bytes) > limits.questionBytesMax) {
      return unasked(`it is longer than ${limits.questionBytesMax} bytes (questionBytesMax)`);
    }
    const layer = this.#layerFor(requirement, decision, real);
    if (layer === null) return NEVER;
    const places = placesOf(layer, kind, context);
    if (places.some((value) => !allows({ kind, value }))) return NEVER;
    const [entry = null, leadsTo = null] = places;
    const key = JSON.stringify([kind, entry]);
    const refusedBy = this.#refused.get(key);
    if (refusedBy !== undefined) return { state: "never", refusal: refusalBy(refusedBy) };
    if (this.#questions >= limits.questionsMax) {
      return unasked(`it asked ${limits.questionsMax} times before (questionsMax)`);
    }
    const isUnlimited = allows({ kind, value: null });
    const question = { ...facts, kind, entry, leadsTo, isUnlimited, decision };
    return { state: "ask", question, layer, key };
  }

  /** Takes an answer. */
  take(
    { question: { kind }, layer, key }: Prospect & { readonly state: "ask" },
    answer: Answer,
    by: string | null,
  ): void {
    this.#questions += 1;
    if (answer === "no") return void this.#refused.set(key, by);
    this.#by = by ?? "";
    const before = this.#allowed[kind]?.allow ?? [];
    const more = layer.kinds[kind]?.allow ?? [];
    const isWhole = answer === "always" || before === true || more === true;
    this.#allowed[kind] = { isRequired: false, allow: isWhole ? true : [...before, ...more] };
  }

  /** Gives up what a value names, with all that lies below it. Throws a PowerError for what cannot be given up. */
  revoke({ kind, value }: Requirement): void {
    if (this.#revocations >= ASK_LIMITS.revocationsMax) {
      throw new PowerError("LimitError", "ERR_LIMIT_RATE", "More was revoked than may be, one by one");
    }
    const before = this.#revoked[kind]?.deny ?? [];
    let deny: true | readonly Rule[] = true;
    if (value !== null && before !== true) {
      const read = readLayer({ [kind]: { deny: [value] } }, this.#subject.context)?.kinds[kind]?.deny ?? [];
      if (read !== true && read.length === 0) {
        throw new PowerError("TypeError", "ERR_OP_INVALID", `Cannot revoke this part of ${kind}`);
      }
      deny = read === true ? true : [...before, ...read];
    }
    this.#revoked[kind] = { isRequired: false, deny };
    this.#revocations += 1;
  }

  #layer(kinds: Readonly<Record<string, KindLayer>>): Layer {
    return { ...layerOf("flags", {}, this.#subject.context), kinds };
  }

  /** What a yes adds, with the places that its path leads to; null where the value cannot be told apart from others. */
  #layerFor(requirement: Requirement, { value }: Decision, real: (path: string) => string): Layer | null {
    const { kind } = requirement;
    const { context } = this.#subject;
    if (value === null) return readLayer({ [kind]: true }, context);
    // A star in a value is a character of it, and in an entry it would stand for others.
    if (value.includes("*") && !value.startsWith("/")) return null;
    const text = kindOf(kind, context)?.suggest?.(value, true) ?? value;
    const layer = readLayer({ [kind]: [text] }, context);
    if (layer === null || check(grantOf(layer), requirement, context).state === "denied") return null;
    return relocate(layer, real);
  }
}

const NEVER: Prospect = { state: "never", refusal: null };

/** A refusal by the operator's word; null is nobody's. */
export function refusalBy(operator: string | null): Pick<Decision, "rule" | "reason"> {
  if (operator === null) {
    return { rule: "not answered at the prompt", reason: "nobody answered at the prompt" };
  }
  return { rule: `answered at the prompt by ${operator}`, reason: "the operator said no at the prompt" };
}

const REVOKED = {
  layer: "none",
  rule: "revoked by its own code",
  reason: "its own code gave it up",
  remedy: "Nothing allows it until it is started anew.",
} as const;

function unasked(why: string): Prospect {
  return {
    state: "never",
    refusal: { rule: `not asked about: ${why}`, reason: `it is not asked about: ${why}` },
  };
}

function readLayer(request: PermissionRequest, context: PathContext): Layer | null {
  try {
    return layerOf("flags", request, context);
  } catch {
    return null; // a value that is no entry
  }
}

/** The one spelling of each entry. */
function placesOf(layer: Layer, kind: string, context: PathContext): readonly string[] {
  const side = layer.kinds[kind]?.allow ?? [];
  if (side === true) return [];
  return side.map(({ entry, text }) => kindOf(kind, context)?.displayEntry(entry) ?? text);
}

function kindOf(name: string, { kinds = KINDS }: PathContext): Kind | undefined {
  const table: KindTable = kinds;
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
