/** What a check answers, in words for the caller, the command line and the audit. None of it is for the guest. */
import { NotCapableError } from "./error.ts";
import type { Kind } from "./kind.ts";
import { kindIn, KINDS } from "./kinds/mod.ts";
import { flagName, type LayerSource } from "./policy.ts";

/** What somebody wants to use. */
export interface Requirement {
  /** A kind's name; an unknown one is denied. */
  readonly kind: string;
  /** As asked for; null is the whole kind. */
  readonly value: string | null;
  /** The value is a resolved path, so one that is not absolute is malformed. */
  readonly absolute?: boolean;
  /** The act reaches everything below the value, so a deny below it refuses. */
  readonly recursive?: boolean;
}

/** The answer to one check, and why. */
export interface Decision {
  /** The answer. */
  readonly state: "granted" | "denied";
  /** The kind, as asked. */
  readonly kind: string;
  /** In the one spelling; as asked if it could not be read. */
  readonly value: string | null;
  /** As asked. */
  readonly asked: string | null;
  /** The rule that decided. */
  readonly rule: string;
  /** The rule's meaning, as the end of a sentence. */
  readonly reason: string;
  /** What would allow it, or that nothing would; empty if it is granted. */
  readonly remedy: string;
  /** The source of the layer that decided; `none` if no layer did. */
  readonly layer: LayerSource | "none";
  /** The use in words, as they follow "may not"; absent is what the built-in kind of that name says. */
  readonly phrase?: string;
}

/** The error that a refused use ends with. `who` is a plugin's name, or what the sentence is about: `Script "a.ts"`. */
export function denied(decision: Decision, who: string): NotCapableError {
  const { kind, value, asked, reason, rule, remedy } = decision;
  const subject = who.includes(" ") ? who : `Plugin "${who}"`;
  const phrase = decision.phrase ?? kindIn(KINDS, kind)?.phrase(asked) ?? `use "${kind}"`;
  // Whoever asked chose the value: it must not begin a line of its own.
  return new NotCapableError(
    "ERR_NOT_CAPABLE",
    oneLine(`${subject} may not ${phrase}: ${reason}. ${remedy}`),
    {
      details: { kind, value, reason, rule, remedy },
    },
  );
}

/** The text with control characters, line separators included, written as escapes. */
function oneLine(text: string): string {
  return text.replace(
    /[\p{Cc}\u2028\u2029]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}

/** Why a use is refused, before it is put in the form of a decision. */
export interface Found {
  /** The rule that decided. */
  readonly rule: string;
  /** Its meaning, as the end of a sentence. */
  readonly reason: string;
  /** What would allow it. */
  readonly remedy: string;
  /** Whose rule it is. */
  readonly layer?: LayerSource | "none";
}

/** The remedy of what no entry could allow. */
export const NOTHING = "Nothing can allow it.";

/** A decision that grants. */
export function granted(
  requirement: Requirement,
  value: string | null,
  rule: string,
  layer: LayerSource | "none",
  kind: Kind,
): Decision {
  return {
    state: "granted",
    kind: requirement.kind,
    value,
    asked: requirement.value,
    rule,
    reason: "it is granted",
    remedy: "",
    layer,
    phrase: kind.phrase(requirement.value),
  };
}

/** A decision that refuses. */
export function refused(
  requirement: Requirement,
  value: string | null,
  found: Found,
  kind: Kind | undefined,
): Decision {
  const { rule, reason, remedy, layer = "none" } = found;
  return {
    state: "denied",
    kind: requirement.kind,
    value,
    asked: requirement.value,
    rule,
    reason,
    remedy,
    layer,
    ...(kind === undefined ? {} : { phrase: kind.phrase(requirement.value) }),
  };
}

/** Whom a layer belongs to. */
export const OWNERS: Readonly<Record<LayerSource, string>> = {
  manifest: "the manifest",
  flags: "the command line",
  record: "the trust record",
  policy: "the tenant's policy",
  capability: "the capability's own permissions",
  caller: "what its caller is granted",
};

/** What would let the layer allow it. */
export function wayOut(source: LayerSource, kind: Kind, asked: string | null): string {
  const { name } = kind;
  const value = asked === null ? null : kind.suggest?.(asked, source === "flags") ?? asked;
  const line = value === null ? `${name}: true` : `${name}: [${JSON.stringify(value)}]`;
  if (source === "flags") {
    return `Run again with --allow-${flagName(name)}${value === null ? "" : `=${quote(value)}`}.`;
  }
  if (source === "manifest") return `Its author adds the line ${line} under permissions in plugin.yaml.`;
  if (source === "capability") {
    return `Its author adds the line ${line} to the capability's own permissions in plugin.yaml.`;
  }
  if (source === "caller") {
    return `Who calls it needs ${line} as well, since the tenant's policy cuts calls down to what their callers may (calls.attenuate).`;
  }
  if (source === "record") return `Whoever trusted the plugin approved less: trust it again with ${line}.`;
  return `Whoever keeps the tenant's policy adds ${line} to it.`;
}

/** How a deny is taken back. */
export function removal(source: LayerSource, rule: string): string {
  return source === "flags" ? `leave ${rule.replace(/^flags /, "")} out` : `remove ${rule}`;
}

function quote(text: string): string {
  return /^[\w@%+=:./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
