/** What an approval grants, written out: a record says it in full, so that it means the same wherever it is read. */
import {
  type Effect,
  type KindRequest,
  type KindRequestObject,
  KINDS,
  type KindTable,
  layerOf,
  longForm,
  type PathContext,
  type PermissionRequest,
  type RequestEntry,
} from "../../permissions/mod.ts";

/** What a person says on a command line to approve less than is asked for. */
export interface Narrowing {
  /** Kinds that it mentions are cut down; an allow restricts, a deny carves out, and neither adds. */
  readonly permissions: PermissionRequest;
  /** Where its relative paths start. */
  readonly cwd: string;
}

type Entries = true | readonly RequestEntry[];

/** The request, cut down. The record's layer stands beside the manifest's, so nothing here can widen it. */
export function grantsOf(
  request: PermissionRequest,
  narrowing: Narrowing | undefined,
  context: PathContext,
): PermissionRequest {
  const grants: Record<string, KindRequest> = {};
  for (const kind of Object.keys(context.kinds ?? KINDS)) {
    // The casts hold: whoever brings a request has held it to the schema, or `layerOf` will.
    const asked = request[kind] as KindRequest | undefined;
    if (asked === undefined) continue;
    const { reason: _reason, required: _required, ...plain } = longForm(asked);
    const stated = narrowing?.permissions[kind] as KindRequest | undefined;
    if (narrowing === undefined || stated === undefined) {
      grants[kind] = withoutExtensions(plain);
      continue;
    }
    const side = (effect: Effect) => spelled(kind, effect, stated, { ...context, cwd: narrowing.cwd });
    const [allow, deny] = [side("allow"), side("deny")];
    // The kind's own keys stand for an allow of their own, so a narrower one takes their place.
    const base = allow === undefined || allow === true ? plain : { deny: plain.deny, allow };
    grants[kind] = withoutExtensions({ ...base, deny: joined(plain.deny, deny) });
  }
  return grants;
}

/** The one spelling of each entry, so that a relative path means the same when the record is read. */
function spelled(
  kind: string,
  effect: Effect,
  stated: KindRequest,
  context: PathContext,
): Entries | undefined {
  const side = layerOf("flags", { [kind]: stated }, context).kinds[kind]?.[effect];
  const table: KindTable = context.kinds ?? KINDS;
  return side === undefined || side === true
    ? side
    : side.map(({ entry, text }) => table[kind]?.displayEntry(entry) ?? text);
}

function joined(a: Entries | undefined, b: Entries | undefined): Entries | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a === true || b === true ? true : [...a, ...b];
}

function withoutExtensions(object: object): KindRequestObject {
  return Object.fromEntries(
    Object.entries(object).filter(([key, value]) => value !== undefined && !key.startsWith("x-")),
  );
}
