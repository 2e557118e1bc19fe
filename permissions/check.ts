/** Decides whether a grant covers a use. Pure: the same question always gets the same answer. Deny always wins. */
import type { Grant } from "./grant.ts";
import {
  type Decision,
  type Found,
  granted,
  NOTHING,
  OWNERS,
  refused,
  removal,
  type Requirement,
  wayOut,
} from "./decision.ts";
import type { Kind, PathContext } from "./kind.ts";
import { kindIn, KINDS } from "./kinds/mod.ts";
import { flagName, type Layer, type Side, tableOf, wholeRule } from "./policy.ts";

/** Decides by the kinds that the grant's layers were read with. Never throws: what cannot be understood is denied. */
export function check(grant: Grant, requirement: Requirement, context: PathContext): Decision {
  const question = ask(grant, requirement, context);
  if ("fault" in question) return refused(requirement, requirement.value, question.fault, question.kind);
  return decide(grant, requirement, question);
}

/**
 * Decides whether a use that `check` granted may go to this address, which its name was resolved to. Denies of addresses
 * apply; loopback, private, link-local and other special addresses need a grant that names them, `localhost`, or `true`.
 */
export function checkAddress(
  grant: Grant,
  requirement: Requirement,
  address: string,
  context: PathContext,
): Decision {
  const question = ask(grant, requirement, context);
  if ("fault" in question) return refused(requirement, requirement.value, question.fault, question.kind);
  const decision = decide(grant, requirement, question);
  if (decision.state === "denied") return decision;
  const { kind, value } = question;
  const resolved = value === null ? undefined : attempt(() => kind.addressOf?.(value, address));
  if (resolved === undefined || resolved instanceof Error) {
    const reason = "it is no address that the name could lead to";
    return refused(requirement, address, { rule: malformed(address, reason), reason, remedy: NOTHING }, kind);
  }
  const spelled = kind.displayValue(resolved.value);
  const deny = denyOf(grant, { kind, value: resolved.value }, false);
  if (deny !== undefined) return refused(requirement, spelled, deny, kind);
  const blocking = resolved.isPublic ? undefined : grant.layers.find((layer) => {
    const allow = layer.kinds[kind.name]?.allow ?? [];
    return allow !== true && !allow.some((rule) => kind.reaches?.(rule.entry, value, resolved.value));
  });
  if (blocking === undefined) return { ...decision, value: spelled };
  return refused(requirement, spelled, {
    rule: `"${spelled}" is no public address and no entry names it`,
    reason: `the name leads to ${spelled}, which is not public`,
    remedy: `Name the address itself where it is meant: ${wayOut(blocking.source, kind, spelled)}`,
    layer: blocking.source,
  }, kind);
}

/** The part of an environment that is granted. */
export function selectEnvironment(
  grant: Grant,
  environment: Readonly<Record<string, string>>,
): Record<string, string> {
  const isGranted = (value: string) => check(grant, { kind: "env", value }, { cwd: "/" }).state === "granted";
  return Object.fromEntries(Object.entries(environment).filter(([name]) => isGranted(name)));
}

interface Question {
  readonly kind: Kind;
  /** Null is the whole kind. */
  readonly value: unknown;
}

interface Fault {
  readonly fault: Found;
  readonly kind: Kind | undefined;
}

function ask({ layers }: Grant, requirement: Requirement, context: PathContext): Question | Fault {
  const { kind: name, value: asked, absolute } = requirement;
  const table = layers.length === 0 ? context.kinds ?? KINDS : tableOf(layers);
  const kind = kindIn(table, name);
  if (kind === undefined) {
    const reason = "there is no such kind of permission";
    const remedy = `The kinds are ${Object.keys(table).join(", ")}.`;
    return { fault: { rule: `"${name}" is no kind`, reason, remedy }, kind };
  }
  if (asked === null) return { kind, value: null };
  const value = absolute === true && !asked.startsWith("/")
    ? new Error("it is not absolute")
    : attempt(() => kind.parseValue(asked, context));
  if (value instanceof Error) {
    const reason = value.message;
    return { fault: { rule: malformed(asked, reason), reason, remedy: NOTHING }, kind };
  }
  const never = kind.refuses?.(value);
  return never === undefined
    ? { kind, value }
    : { fault: { rule: `${name}: ${never}`, reason: never, remedy: NOTHING }, kind };
}

function decide(grant: Grant, requirement: Requirement, question: Question): Decision {
  const { kind, value } = question;
  const spelled = value === null ? null : kind.displayValue(value);
  const deny = denyOf(grant, question, requirement.recursive === true);
  if (deny !== undefined) return refused(requirement, spelled, deny, kind);
  const answers = grant.layers.map((layer) => ({ layer, rule: allowOf(layer, question) }));
  const lacking = answers.filter(({ rule }) => rule === undefined).map(({ layer }) => layer);
  const [first] = lacking;
  if (answers.length > 0 && first === undefined) {
    return granted(
      requirement,
      spelled,
      answers.map(({ rule }) => rule).join("; "),
      answers[0]?.layer.source ?? "none",
      kind,
    );
  }
  return refused(requirement, spelled, {
    ...(first === undefined
      ? { rule: "nothing is granted", reason: "nothing is granted" }
      : missing(first, kind.name)),
    remedy: lacking.map(({ source }) => wayOut(source, kind, requirement.value)).join(" ") ||
      "There is no grant to extend.",
    ...(first === undefined ? {} : { layer: first.source }),
  }, kind);
}

/** The first deny that reaches the value. A whole kind is reached by every deny of a part of it. */
function denyOf(grant: Grant, { kind, value }: Question, isRecursive: boolean): Found | undefined {
  for (const layer of grant.layers) {
    const deny: Side = layer.kinds[kind.name]?.deny ?? [];
    const hit = deny === true
      ? undefined
      : deny.find(({ entry }) =>
        value === null || (kind.touches ?? kind.covers).call(kind, entry, value) ||
        (isRecursive && kind.lieBelow?.(entry, value) === true)
      );
    if (hit === undefined && deny !== true) continue;
    const rule = hit?.rule ?? wholeRule(layer.source, kind.name, "deny");
    const owner = OWNERS[layer.source];
    return {
      rule,
      reason: `${owner} denies ${hit === undefined ? `all of ${kind.name}` : JSON.stringify(hit.text)}`,
      remedy: `A deny decided, and no allow lifts one: ${removal(layer.source, rule)}.`,
      layer: layer.source,
    };
  }
  return undefined;
}

/** The rule by which the layer grants the value, or undefined. */
function allowOf(layer: Layer, { kind, value }: Question): string | undefined {
  const allow: Side = layer.kinds[kind.name]?.allow ?? [];
  if (allow === true) return wholeRule(layer.source, kind.name, "allow");
  return allow.find(({ entry }) =>
    value === null ? kind.coversWhole?.(entry) === true : kind.covers(entry, value)
  )?.rule;
}

/** That, and how, the layer grants nothing that covers the value. */
function missing(layer: Layer, name: string): Pick<Found, "rule" | "reason"> {
  const owner = OWNERS[layer.source];
  if (layer.source === "flags") {
    const rule = `no --allow-${flagName(name)} covers it`;
    return { rule, reason: rule };
  }
  if (layer.kinds[name]?.allow === undefined) {
    return { rule: `${layer.source} does not mention ${name}`, reason: `${owner} does not allow ${name}` };
  }
  return {
    rule: `no entry of ${layer.source} permissions.${name} covers it`,
    reason: `no ${name} entry of ${owner} covers it`,
  };
}

function malformed(text: string, why: string): string {
  return `${JSON.stringify(text)} is malformed: ${why}`;
}

function attempt<Result>(act: () => Result): Result | Error {
  try {
    return act();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
