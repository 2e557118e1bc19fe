/**
 * Finding out what code needs: it runs with what it declares, widened to a ceiling that a person named, every decision about
 * a use is kept, and the smallest request that grants the same uses is put together.
 */
import {
  check,
  checkAddress,
  type Decision,
  type Grant,
  grantOf,
  type Kind,
  type KindLayer,
  KINDS,
  type KindTable,
  type Layer,
  layerOf,
  type LayerSource,
  longForm,
  type PathContext,
  type PermissionRequest,
  SallyportError,
  type Side,
  UsageError,
} from "../permissions/mod.ts";
import type { GrantHolder, Use } from "../runtime/mod.ts";
import type { Explain } from "./explain.ts";
import { withRealPaths } from "./real_paths.ts";
import type { Narrowing } from "./trust/mod.ts";

/** An entry of a request. */
export interface KindEntry {
  /** The kind. */
  readonly kind: string;
  /** As it is written, or true for the whole kind. */
  readonly entry: string | true;
}

/** What a run used. */
export interface Discovery {
  /** The smallest request that would have done. */
  readonly request: PermissionRequest;
  /** The same, an entry each. */
  readonly used: readonly KindEntry[];
  /** What was used and is not asked for. */
  readonly unrequested: readonly KindEntry[];
  /** What is asked for and was not used. */
  readonly unused: readonly KindEntry[];
  /** What was refused all the same. */
  readonly refused: readonly Decision[];
  /** What the run came to: its value, or the error that ended it. */
  readonly outcome: { readonly value: unknown } | { readonly error: SallyportError };
}

/** Kinds that no ceiling holds: what leaves the isolate, what is somebody else's secret (T37), and what is never granted. */
export const NEVER_DISCOVERED: ReadonlySet<string> = new Set(["run", "secrets", "import", "ffi"]);

const USES_MAX = 10_000;

/** Reads a ceiling. Throws UsageError for a kind that none holds, and for an entry in what no grant reaches. */
export function ceilingLayer(
  { permissions, cwd }: Narrowing,
  { context, bundle }: Omit<GrantHolder, "grant">,
  explain: Explain,
): Layer {
  const layer = withRealPaths(layerOf("flags", permissions, { ...context, cwd }));
  for (const kind of tableOf(context)) {
    const { allow = [] } = layer.kinds[kind.name] ?? {};
    if (NEVER_DISCOVERED.has(kind.name) && layer.kinds[kind.name] !== undefined) {
      throw new UsageError("ERR_USAGE", `Cannot discover with a ceiling for ${kind.name}: it has none`);
    }
    for (const { entry } of kind.namesPaths === true && allow !== true ? allow : []) {
      const value = kind.displayEntry(entry);
      const holder = {
        grant: grantOf({ ...layer, kinds: { [kind.name]: open(true) } }),
        context,
        bundle,
      };
      const decision = explain(holder, { kind: kind.name, value, absolute: true });
      if (decision.state === "granted") continue;
      throw new UsageError(
        "ERR_USAGE",
        `Cannot discover with "${value}" in the ceiling for ${kind.name}: ${decision.reason}`,
      );
    }
  }
  return {
    ...layer,
    kinds: Object.fromEntries(
      Object.entries(layer.kinds).map(([kind, stated]) => [kind, open(withRules(stated?.allow ?? []))]),
    ),
  };
}

/** What every layer but the policy grants, and the ceiling; each keeps its denies. */
export function widened({ layers }: Grant, ceiling: Layer): Grant {
  return grantOf(...layers.map((layer): Layer => {
    if (layer.source === "policy") return layer;
    const kinds: Record<string, KindLayer | undefined> = { ...layer.kinds };
    for (const [kind, more] of Object.entries(ceiling.kinds)) {
      const { allow = [], deny = [] } = layer.kinds[kind] ?? {};
      kinds[kind] = { isRequired: false, allow: joined(allow, more?.allow ?? []), deny };
    }
    return { ...layer, kinds };
  }));
}

/** Runs, and tells what was used. The source is whose word the request becomes. */
export async function discoverUses(
  declared: {
    readonly request: PermissionRequest;
    readonly source: LayerSource;
    readonly context: PathContext;
  },
  run: (onUse: (use: Use) => void) => Promise<unknown>,
): Promise<Discovery> {
  const seen = new Map<string, Use>();
  const outcome = await run((use) => {
    const { kind, asked, value, state } = use.decision;
    const key = JSON.stringify([state, kind, asked, value, use.address]);
    if (seen.size < USES_MAX && !seen.has(key)) seen.set(key, use);
  }).then((value) => ({ value }), (error: unknown) => {
    if (error instanceof SallyportError) return { error };
    throw error;
  });
  const uses = [...seen.values()];
  const granted = uses.filter(({ decision }) => decision.state === "granted");
  return {
    ...reportOf(declared, granted),
    refused: uses.map(({ decision }) => decision).filter(isDenied).map((decision) => {
      const { suggest } = tableOf(declared.context).find(({ name }) => name === decision.kind) ?? {};
      // The URL of one request may hold what no report should repeat.
      return decision.value === null
        ? decision
        : { ...decision, value: suggest?.(decision.value, false) ?? decision.value };
    }),
    outcome,
  };
}

function reportOf(
  { request, source, context }: Parameters<typeof discoverUses>[0],
  uses: readonly Use[],
): Pick<Discovery, "request" | "used" | "unrequested" | "unused"> {
  const stated = withRealPaths(layerOf(source, request, context));
  const needed = uses.filter((use) => !isCovered(grantOf(stated), use, context));
  const entries = smallest(uses, source, context);
  const kinds = tableOf(context);
  const unused = kinds.flatMap(({ name: kind }): KindEntry[] => {
    const allow = stated.kinds[kind]?.allow ?? [];
    if (allow === true) {
      return uses.some(({ decision }) => decision.kind === kind) ? [] : [{ kind, entry: true }];
    }
    const texts = new Set(allow.map(({ text }) => text));
    return [...texts].filter((text) => {
      const only = { ...stated, kinds: { [kind]: open(allow.filter((rule) => rule.text === text)) } };
      return !uses.some((use) => isTouched(grantOf(only), use, context));
    }).map((entry) => ({ kind, entry }));
  });
  return {
    request: requestOf(entries, request, kinds),
    used: entries,
    unrequested: smallest(needed, source, context),
    unused,
  };
}

/** Entries that together cover the uses, none of which another one covers. */
function smallest(uses: readonly Use[], source: LayerSource, context: PathContext): readonly KindEntry[] {
  const entries: KindEntry[] = [];
  let layer: Layer = layerOf(source, {}, context);
  // The shorter first: a directory covers what lies below it.
  for (const use of uses.toSorted(byLength)) {
    if (isCovered(grantOf(layer), use, context)) continue;
    const { kind } = use.decision;
    for (const entry of spellings(use, context)) {
      const more = attempt(source, kind, entry, context);
      if (more === null) continue;
      const { allow = [] } = layer.kinds[kind] ?? {};
      const wider = { ...layer, kinds: { ...layer.kinds, [kind]: open(joined(allow, more)) } };
      if (!isCovered(grantOf(wider), use, context)) continue;
      layer = wider;
      entries.push({ kind, entry });
      break;
    }
  }
  const order = tableOf(context).map(({ name }) => name);
  return entries.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

/** How an entry for the use may be written, the most portable one first. */
function* spellings(
  { decision: { kind, value }, address }: Use,
  context: PathContext,
): Generator<string | true> {
  if (value === null) return yield true;
  const { suggest, namesPaths } = tableOf(context).find(({ name }) => name === kind)!;
  const plain = suggest?.(value, false) ?? value;
  if (namesPaths === true) {
    const roots = [
      [context.bundle ?? context.cwd, "."],
      [context.data, "$data"],
      [context.project, "$project"],
      [context.home, "$home"],
    ] as const;
    for (const [root, name] of roots) {
      if (root !== undefined && value === root) yield name === "." ? "./" : name;
      if (root !== undefined && value.startsWith(`${root}/`)) yield name + value.slice(root.length);
    }
  }
  yield plain;
  if (address !== null || plain !== value) yield value;
}

function requestOf(
  entries: readonly KindEntry[],
  declared: PermissionRequest,
  kinds: readonly Kind[],
): PermissionRequest {
  const request: Record<string, unknown> = {};
  for (const kind of kinds) {
    const own = entries.filter((each) => each.kind === kind.name).map(({ entry }) => entry);
    if (own.length === 0) continue;
    // What the kind's own keys say, such as how much may be held, stays as the author wrote it.
    const more = ownKeys(declared[kind.name], kind);
    const isWhole = own.includes(true);
    if (isWhole) request[kind.name] = kind.ownEntry?.(more) === undefined ? true : more;
    else request[kind.name] = Object.keys(more).length === 0 ? own : { allow: own, ...more };
  }
  return request;
}

function ownKeys(declared: unknown, { own }: Kind): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(longForm(declared)).filter(([key]) => Object.hasOwn(own, key)));
}

function isCovered(grant: Grant, { decision, address }: Use, context: PathContext): boolean {
  const requirement = { kind: decision.kind, value: decision.asked };
  const found = address === null
    ? check(grant, requirement, context)
    : checkAddress(grant, requirement, address, context);
  return found.state === "granted";
}

/** Whether the use, or the address that it led to, is what the grant speaks of. */
function isTouched(grant: Grant, use: Use, context: PathContext): boolean {
  const { kind, value } = use.decision;
  if (kind in grant.layers[0]!.kinds && value === null) return true;
  return isCovered(grant, { ...use, address: null }, context) ||
    check(grant, { kind, value }, context).state === "granted";
}

function attempt(source: LayerSource, kind: string, entry: string | true, context: PathContext): Side | null {
  try {
    return layerOf(source, { [kind]: entry === true ? true : [entry] }, context).kinds[kind]?.allow ?? null;
  } catch {
    return null; // a value that cannot be written as an entry
  }
}

function open(allow: Side): KindLayer {
  return { isRequired: false, allow };
}

function joined(a: Side, b: Side): Side {
  return a === true || b === true ? true : [...a, ...b];
}

function withRules(side: Side): Side {
  if (side === true) return true;
  return side.map((rule) => ({ ...rule, rule: rule.rule.replace("--allow-", "--ceiling-") }));
}

function byLength(a: Use, b: Use): number {
  return lengthOf(a) - lengthOf(b);
}

function lengthOf({ decision: { value }, address }: Use): number {
  return (value === null ? -1 : value.length) + (address === null ? 0 : 100_000);
}

function isDenied({ state }: Decision): boolean {
  return state === "denied";
}

function tableOf({ kinds = KINDS }: PathContext): readonly Kind[] {
  const table: KindTable = kinds;
  return Object.values(table);
}
