/** What would be decided about one use, asked before anything runs. */
import { type Decision, KINDS, type KindTable, type Requirement } from "../permissions/mod.ts";
import type { GrantHolder } from "../runtime/mod.ts";
import { realAncestor } from "./home.ts";

/** Decides as the broker does. */
export type Explain = (holder: GrantHolder, requirement: Requirement) => Decision;

/** A decision with what it rests on. */
export interface Explanation {
  /** The decision, with the one rule that decided. */
  readonly decision: Decision;
  /** Whether it is what would be decided once somebody trusts the plugin. */
  readonly isAfterTrust: boolean;
  /** Where it is denied, the capabilities of other plugins that may do it and may be called for it, each with the calls on the way. */
  readonly through: readonly { readonly plugin: string; readonly chain: readonly string[] }[];
}

/** Decides about a use as written and, where its path leads elsewhere, about the place that is then acted on (T08). */
export function explainUse(explain: Explain, holder: GrantHolder, requirement: Requirement): Decision {
  const decision = explain(holder, requirement);
  const { kind, value, state } = decision;
  const table: KindTable = holder.context.kinds ?? KINDS;
  const isFollowed = Object.hasOwn(table, kind) && table[kind]?.twin !== undefined;
  if (state === "denied" || value === null || !isFollowed) return decision;
  const real = realAncestor(value);
  if (real === value) return decision;
  const there = explain(holder, { kind, value: real, absolute: true });
  return there.state === "granted"
    ? decision
    : { ...there, reason: `it leads to "${real}", and ${there.reason}` };
}
