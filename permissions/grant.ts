/**
 * Grants, and the algebra over them. A grant is a conjunction of layers: a value is granted only if every layer grants it
 * and none denies it. Subset is set inclusion: nothing that the smaller one grants is refused by the larger one.
 */
import type { Effect, Kind, KindTable, PathContext } from "./kind.ts";
import { kindIn } from "./kinds/mod.ts";
import {
  type KindLayer,
  type KindLayers,
  type Layer,
  layer,
  type Rule,
  type Side,
  tableOf,
} from "./policy.ts";

/** Layers that must all agree. */
export interface Grant {
  /** None is nothing. */
  readonly layers: readonly Layer[];
}

/** A difference between two grants. */
export interface Change {
  /** The kind. */
  readonly kind: string;
  /** What the one grants and the other does not; true for the whole kind. */
  readonly entry: string | true;
  /** `deny` where a carved-out part is missing rather than an allowed one. */
  readonly effect: Effect;
  /** Whether the second grant has it or lacks it. What is gained is an escalation. */
  readonly change: "gained" | "lost";
}

/** The grant on which all layers agree; of none, nothing. */
export function grantOf(...layers: Layer[]): Grant {
  return { layers };
}

/** What both layers grant, as one layer that keeps the first one's source. */
export function intersect(a: Layer, b: Layer): Layer {
  const table = tableOf([a, b]);
  const kinds: Record<string, KindLayer> = {};
  for (const kind of Object.values(table)) {
    const [first, second] = [a.kinds[kind.name], b.kinds[kind.name]];
    if (first === undefined || second === undefined) continue;
    kinds[kind.name] = cut(kind, first, second.allow ?? [], second.deny ?? []);
  }
  return layer(a.source, kinds, a.table === b.table ? a.table : table);
}

/** The layer, cut down where `by` mentions a kind, untouched elsewhere. An allow restricts, a deny carves out; neither adds. */
export function narrow(of: Layer, by: Layer): Layer {
  const table = tableOf([of, by]);
  const kinds: Record<string, KindLayer> = {};
  for (const kind of Object.values(table)) {
    const [stated, cutter] = [of.kinds[kind.name], by.kinds[kind.name]];
    if (stated !== undefined) {
      kinds[kind.name] = cut(kind, stated, cutter?.allow ?? true, cutter?.deny ?? []);
    }
  }
  return layer(of.source, kinds, of.table === by.table ? of.table : table);
}

/** Whether every value that `b` grants is granted by `a`. */
export function includes(a: Grant, b: Grant): boolean {
  return missing(a, b).next().done === true;
}

/**
 * What `b` grants and `a` does not (gained), and the reverse (lost), up to a thousand of each. Empty exactly when each
 * includes the other.
 */
export function diff(a: Grant, b: Grant): readonly Change[] {
  return [
    ...missing(a, b).take(CHANGES_MAX).map((piece) => ({ ...piece, change: "gained" as const })),
    ...missing(b, a).take(CHANGES_MAX).map((piece) => ({ ...piece, change: "lost" as const })),
  ];
}

/**
 * Whether something grave is granted: what no `--yes` alone approves is also what does not share a worker (T15). Denies
 * are counted where they take a whole kind.
 */
export function holdsGrave(grant: Grant, context: PathContext): boolean {
  const { kinds, table } = flatten(grant);
  return Object.entries(table).some(([name, kind]) => {
    const { allow = [], deny = [] } = kinds[name] ?? {};
    if (deny === true) return false;
    if (allow === true) return kind.isGrave(true, context);
    return allow.some(({ entry }) => kind.isGrave(entry, context));
  });
}

const CHANGES_MAX = 1000;

function cut(kind: Kind, stated: KindLayer, allow: Side, deny: Side): KindLayer {
  return {
    allow: meetSides(kind, stated.allow ?? [], allow),
    deny: joinSides(kind, stated.deny ?? [], deny),
    isRequired: stated.isRequired,
  };
}

function meetSides(kind: Kind, a: Side, b: Side): Side {
  if (a === true) return b;
  if (b === true) return a;
  const rules = a.flatMap((first) =>
    b.flatMap((second): Rule[] => {
      const entry = kind.meet(first.entry, second.entry);
      if (entry === null) return [];
      // The narrower of the two decides, and is the one to name.
      const decider = kind.includes(second.entry, first.entry) ? first : second;
      return kind.includes(entry, decider.entry)
        ? [decider]
        : [{ entry, text: kind.displayEntry(entry), rule: `${first.rule} and ${second.rule}` }];
    })
  );
  return withoutRepeats(kind, rules);
}

function joinSides(kind: Kind, a: Side, b: Side): Side {
  return a === true || b === true ? true : withoutRepeats(kind, [...a, ...b]);
}

/** One rule for each set of values, told by its one spelling; comparing all with all would take a hostile request minutes. */
function withoutRepeats(kind: Kind, rules: readonly Rule[]): readonly Rule[] {
  const distinct = new Map<string, Rule>();
  for (const rule of rules) {
    const spelled = kind.displayEntry(rule.entry);
    if (!distinct.has(spelled)) distinct.set(spelled, rule);
  }
  return [...distinct.values()];
}

function flatten({ layers }: Grant): { readonly kinds: KindLayers; readonly table: KindTable } {
  const [first, ...rest] = layers;
  return { kinds: first === undefined ? {} : rest.reduce(intersect, first).kinds, table: tableOf(layers) };
}

type Piece = Pick<Change, "kind" | "entry" | "effect">;

/** What `b` grants beyond `a`. Never too little; too much only where several entries of `a` together cover one of `b`. */
function* missing(a: Grant, b: Grant): Generator<Piece, void> {
  const [larger, smaller] = [flatten(a), flatten(b)];
  for (const [name, kind] of Object.entries(smaller.table)) {
    // What the other understands by this name, if anything, is another kind.
    const isShared = kindIn(larger.table, name) === kind;
    yield* missingOf(kind, isShared ? larger.kinds[name] : undefined, smaller.kinds[name]);
  }
}

function* missingOf(
  kind: Kind,
  larger: KindLayer | undefined,
  smaller: KindLayer | undefined,
): Generator<Piece, void> {
  const { name } = kind;
  const { allow: granted = [], deny: carved = [] } = smaller ?? {};
  const { allow = [], deny = [] } = larger ?? {};
  if (carved === true) return;
  const isCarved = (entry: unknown) => carved.some((rule) => kind.includes(rule.entry, entry));
  // Denies that both have cost nothing more, however many allows they cut.
  const lifted = deny === true ? [] : deny.filter((rule) => !isCarved(rule.entry));
  const seen = new Set<string>();
  for (const part of granted === true ? [true as const] : granted) {
    if (part !== true && isCarved(part.entry)) continue;
    const isAllowed = allow === true ||
      (part !== true && allow.some((rule) => kind.includes(rule.entry, part.entry)));
    if (!isAllowed || deny === true) {
      const text = part === true || part.text;
      if (!seen.has(`allow ${text}`)) yield { kind: name, entry: text, effect: "allow" };
      seen.add(`allow ${text}`);
      continue;
    }
    for (const rule of lifted) {
      const entry = part === true ? rule.entry : kind.meet(rule.entry, part.entry);
      if (entry === null || isCarved(entry)) continue;
      const text = kind.displayEntry(entry);
      if (!seen.has(`deny ${text}`)) yield { kind: name, entry: text, effect: "deny" };
      seen.add(`deny ${text}`);
    }
  }
}
