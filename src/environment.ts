/** The rules of `env` in the form in which the guest platform asks them, so that a name that is granted and unset reads as unset. */
import { type Grant, type Side } from "../permissions/mod.ts";

/** Entries that allow, and entries that deny. */
export interface EnvironmentRules {
  /** A name must be covered here. */
  readonly envAllow: true | readonly string[];
  /** And must not be covered here. */
  readonly envDeny: true | readonly string[];
}

/** What the layers of a grant together say of `env`. The broker decides again, by the real rules, what this refuses. */
export function environmentRules(grant: Grant): EnvironmentRules {
  const allows = grant.layers.map(({ kinds }) => textsOf(kinds.env?.allow ?? []));
  const denies = grant.layers.map(({ kinds }) => textsOf(kinds.env?.deny ?? []));
  const envAllow = allows.length === 0 ? [] : allows.reduce(meet);
  const envDeny = denies.some((side) => side === true)
    ? true
    : denies.flatMap((side) => side === true ? [] : [...side]);
  return { envAllow, envDeny };
}

function textsOf(side: Side): true | readonly string[] {
  return side === true ? true : side.map(({ text }) => text);
}

/** What both lists cover: of a name and a prefix, or two prefixes, the longer one where the other covers it. */
function meet(a: true | readonly string[], b: true | readonly string[]): true | readonly string[] {
  if (a === true) return b;
  if (b === true) return a;
  return a.flatMap((first) =>
    b.flatMap((second) => covers(second, first) ? [first] : covers(first, second) ? [second] : [])
  );
}

function covers(entry: string, other: string): boolean {
  return entry.endsWith("*") ? other.startsWith(entry.slice(0, -1)) : entry === other;
}
