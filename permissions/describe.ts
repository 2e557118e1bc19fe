/** A request for the eyes of a person: what `list`, `info` and `trust` show, and what of it is grave. */
import { type Effect, isAscii, type Kind, type KindTable, type PathContext } from "./kind.ts";
import { type Grant, intersect } from "./grant.ts";
import { kindIn, KINDS } from "./kinds/mod.ts";
import type { PermissionRequest } from "./request.ts";
import { NEUTRAL, problemOf, readRequest } from "./statement.ts";

/** One line of a display. */
export interface RequestLine {
  /** The kind. */
  readonly kind: string;
  /** As written, or true for the whole kind. */
  readonly entry: string | true;
  /** For people: with the A-label form behind a name in another script, and remarks; `everything` for the whole kind. */
  readonly display: string;
  /** Whether it is asked for or carved out. */
  readonly effect: Effect;
  /** Why, in the author's words. */
  readonly reason?: string;
  /** Whether the plugin is useless without it. */
  readonly isRequired: boolean;
}

/** A grave part of a request: a `--yes` alone never approves it, and it is repeated before a person answers. */
export interface GraveEntry {
  /** The kind. */
  readonly kind: string;
  /** As written, or true for the whole kind. */
  readonly entry: string | true;
}

/** All that a request asks for and carves out, in the order of the kinds. */
export function describeRequest(
  request: PermissionRequest,
  table: KindTable = KINDS,
): readonly RequestLine[] {
  return readRequest(request, table).statements.flatMap((statement): RequestLine[] => {
    const { kind, effect, given, reason, isRequired, remark } = statement;
    const common = { kind: kind.name, effect, isRequired, ...(reason === undefined ? {} : { reason }) };
    const lines = given === true
      ? [{ entry: true as const, display: "everything" }]
      : given.map((stated) => spell(kind, stated.given, effect));
    return lines.map(({ entry, display }) => {
      return { ...common, entry, display: remark === undefined ? display : `${display} (${remark})` };
    });
  });
}

/** Whether the entry, or with `true` the whole kind, is grave. What cannot be read is. */
export function isGrave(kind: string, entry: string | true, context: PathContext): boolean {
  const known = kindIn(context.kinds ?? KINDS, kind);
  return known === undefined || isGraveEntry(known, entry, context);
}

/** The grave parts of a request, in its order. */
export function graveOf(request: PermissionRequest, context: PathContext): readonly GraveEntry[] {
  return readRequest(request, context.kinds).statements.flatMap(({ kind, effect, given }): GraveEntry[] => {
    if (effect === "deny") return [];
    if (given === true) return isGraveEntry(kind, true, context) ? [{ kind: kind.name, entry: true }] : [];
    return given.filter((stated) => isGraveEntry(kind, stated.given, context))
      .map((stated) => ({ kind: kind.name, entry: spell(kind, stated.given, effect).entry }));
  });
}

/** One thing that a grant lets its holder use. */
export interface GrantLine extends GraveEntry {
  /** For people, as of a request. */
  readonly display: string;
  /** Whether it is grave. */
  readonly isGrave: boolean;
}

/**
 * What all layers of a grant together allow, as the narrowest of them wrote it. What a deny takes whole is left out; what it only
 * cuts is told uncut.
 */
export function describeGrant(
  { layers: [first, ...rest] }: Grant,
  context: PathContext,
): readonly GrantLine[] {
  if (first === undefined) return [];
  const { kinds } = rest.reduce(intersect, first);
  return Object.values<Kind>(context.kinds ?? KINDS).flatMap((kind): GrantLine[] => {
    const { allow = [], deny = [] } = kinds[kind.name] ?? {};
    if (deny === true) return [];
    if (allow === true) {
      return [{ kind: kind.name, entry: true, display: "everything", isGrave: kind.isGrave(true, context) }];
    }
    const lines = new Map<string, GrantLine>();
    for (const { entry, text } of allow) {
      // A link and the place that it leads to are written once.
      const known = lines.get(text);
      if (deny.some((rule) => kind.includes(rule.entry, entry))) continue;
      const isGrave = known?.isGrave === true || kind.isGrave(entry, context);
      const display = isAscii(text) ? text : `${text} (${kind.displayEntry(entry)})`;
      lines.set(text, { kind: kind.name, entry: text, display: known?.display ?? display, isGrave });
    }
    return [...lines.values()];
  });
}

function isGraveEntry(kind: Kind, given: unknown, context: PathContext): boolean {
  if (given === true) return kind.isGrave(true, context);
  if (problemOf(kind, given, "allow", context, false) !== undefined) return true;
  return kind.isGrave(kind.parseEntry(given, context, "allow"), context);
}

function spell(
  kind: Kind,
  given: unknown,
  effect: Effect,
): { readonly entry: string; readonly display: string } {
  const problem = problemOf(kind, given, effect, NEUTRAL, false);
  const spelled = problem === undefined
    ? kind.displayEntry(kind.parseEntry(given, NEUTRAL, effect))
    : JSON.stringify(given) ?? String(given);
  const entry = typeof given === "string" ? given : spelled;
  // A name in another script is shown with the form that goes over the wire, since look-alikes differ only there.
  const isForeign = !isAscii(entry) && spelled !== entry && problem === undefined;
  return { entry, display: isForeign ? `${entry} (${spelled})` : entry };
}
