/**
 * Seeing and changing what passes between others (T04). Who may change it may see it as well; but changing needs more than a
 * grant that covers it: somebody must have named whose it is. An entry for any plugin counts only where the tenant's policy
 * states it itself.
 */
import { check } from "./check.ts";
import { type Decision, refused } from "./decision.ts";
import type { Grant } from "./grant.ts";
import type { PathContext } from "./kind.ts";
import { KINDS } from "./kinds/mod.ts";
import type { Layer } from "./policy.ts";
import type { Traffic } from "./traffic_grammar.ts";

/** Decides whether a grant lets its holder see this traffic, such as `tool.input plugin__notes__latest`. Never throws. */
export function checkObserve(grant: Grant, value: string, context: PathContext): Decision {
  const requirement = { kind: KINDS.observe.name, value };
  const decision = check(grant, requirement, context);
  if (decision.state === "granted") return decision;
  const change = checkIntercept(grant, value, context);
  if (change.state === "denied") return decision;
  // What is denied stays so: the other kind stands in for an allow that is missing, not for one that is taken away.
  const layers = grant.layers.map((layer): Layer => {
    return { ...layer, kinds: { observe: { isRequired: false, ...layer.kinds.observe, allow: true } } };
  });
  const denied = check({ layers }, requirement, context);
  return denied.state === "denied" ? denied : change;
}

/** Decides whether a grant lets its holder change this traffic, such as `tool.input plugin__notes__latest`. Never throws. */
export function checkIntercept(grant: Grant, value: string, context: PathContext): Decision {
  const requirement = { kind: KINDS.intercept.name, value };
  const decision = check(grant, requirement, context);
  if (decision.state === "denied" || grant.layers.some((layer) => isNamedBy(layer, value, context))) {
    return decision;
  }
  return refused(requirement, decision.value, {
    rule: "no entry of intercept names the plugin, and the policy states none for any",
    reason: "changing another plugin's traffic needs that plugin named",
    remedy:
      "Name the plugin in permissions.intercept of the manifest, or state the entry in the tenant's policy.",
  }, KINDS.intercept);
}

function isNamedBy({ source, kinds }: Layer, value: string, context: PathContext): boolean {
  const allow = kinds.intercept?.allow ?? [];
  if (allow === true) return false;
  const traffic = KINDS.intercept.parseValue(value, context);
  return allow.some(({ entry }) => {
    // The cast holds: entries of this kind were read by its own parser.
    const { target } = entry as Traffic;
    return (source === "policy" || target === null || target.plugin !== null) &&
      KINDS.intercept.covers(entry as Traffic, traffic);
  });
}
