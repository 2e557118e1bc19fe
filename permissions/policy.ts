/** Layers: a request, read once in its context. Manifest, flags, trust record, policy and capability are each one layer. */
import { UsageError } from "./error.ts";
import type { Effect, Kind, KindTable, PathContext } from "./kind.ts";
import { kindIn, type KindName, KINDS } from "./kinds/mod.ts";
import type { PermissionRequest } from "./request.ts";
import { problemOf, readRequest, type StatedEntry } from "./statement.ts";

/** Whose word a layer is; `caller` is any word about the plugin that calls, where a call is cut down to what that one may. */
export type LayerSource = "manifest" | "flags" | "record" | "policy" | "capability" | "caller";

/** One entry, read. */
export interface Rule {
  /** As its kind's own parser made it. */
  readonly entry: unknown;
  /** As it was written. */
  readonly text: string;
  /** Where it was written, for decisions: `manifest permissions.read.deny[0] "./data/secret"`. */
  readonly rule: string;
}

/** The whole kind, or some entries of it. */
export type Side = true | readonly Rule[];

/** What a layer says of one kind. */
export interface KindLayer {
  /** Absent where only denies are stated, which matters to `narrow`; a grant treats it as nothing. */
  readonly allow?: Side;
  /** Always wins. */
  readonly deny?: Side;
  /** Whether the plugin is useless without it. */
  readonly isRequired: boolean;
}

/** What one source says of all kinds. */
export interface Layer {
  /** Whose word it is. */
  readonly source: LayerSource;
  /** Kinds that it mentions. */
  readonly kinds: KindLayers;
  /** The kinds that existed where it was read; absent is the built-in ones. */
  readonly table?: KindTable;
}

/** What a layer says, by the names of kinds. */
export type KindLayers = { readonly [K in KindName]?: KindLayer } & {
  /** Of a kind that an embedder adds. */
  readonly [kind: string]: KindLayer | undefined;
};

/** The kinds that layers were read with. Where two of them mean different things by one name, neither counts. */
export function tableOf(layers: readonly Layer[]): KindTable {
  const [first = KINDS, ...others] = new Set(layers.map(({ table = KINDS }) => table));
  if (others.length === 0) return first;
  const agreed = Object.entries(first).filter(([name, kind]) =>
    others.every((table) => kindIn(table, name) === kind)
  );
  return Object.fromEntries(agreed);
}

/** Reads a request. Throws UsageError naming kind and entry on the first that cannot be read. */
export function layerOf(source: LayerSource, request: PermissionRequest, context: PathContext): Layer {
  const { statements, issues } = readRequest(request, context.kinds);
  const [issue] = issues;
  if (issue !== undefined) {
    const where = ["permissions", ...issue.path].join(".");
    throw new UsageError("ERR_USAGE", `Cannot read ${where} of the ${source}: ${issue.message}`, {
      details: { source, path: issue.path },
    });
  }
  const kinds: Record<string, KindLayer> = {};
  for (const statement of statements) {
    const { kind, effect, given, isRequired } = statement;
    const side = given === true ? true : given.map((stated) => ruleOf(source, kind, effect, stated, context));
    kinds[kind.name] = { isRequired, ...kinds[kind.name], [effect]: side };
  }
  return layer(source, kinds, context.kinds);
}

/** A layer of these parts. */
export function layer(source: LayerSource, kinds: KindLayers, table: KindTable | undefined): Layer {
  return table === undefined ? { source, kinds } : { source, kinds, table };
}

/** Splits a flag's value at commas and spells out its shorthands (`:8080`), which files do not have. Throws UsageError. */
export function splitFlag(kind: string, text: string, table: KindTable = KINDS): readonly string[] {
  return text.split(",").flatMap((part) => {
    if (part === "") {
      throw new UsageError(
        "ERR_USAGE",
        `Cannot read --allow-${flagName(kind)} or --deny-${
          flagName(kind)
        } "${text}": an entry is empty. Leave "=" out for the whole kind.`,
      );
    }
    return kindIn(table, kind)?.expandFlag?.(part) ?? [part];
  });
}

/** How flags spell a name: `dynamicCode` is `--allow-dynamic-code`. */
export function flagName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Where a whole side was written. */
export function wholeRule(source: LayerSource, kind: string, effect: Effect): string {
  if (source === "flags") return `flags --${effect}-${flagName(kind)}`;
  return `${source} permissions.${kind}${effect === "deny" ? ".deny" : ""} (everything)`;
}

function ruleOf(
  source: LayerSource,
  kind: Kind,
  effect: Effect,
  stated: StatedEntry,
  context: PathContext,
): Rule {
  const { given, path } = stated;
  const text = typeof given === "string" ? given : JSON.stringify(given) ?? String(given);
  const problem = problemOf(kind, given, effect, context, source === "manifest" || source === "capability");
  if (problem !== undefined) {
    throw new UsageError("ERR_USAGE", `Cannot read "${text}" of ${kind.name} in the ${source}: ${problem}`, {
      details: { source, kind: kind.name, entry: text, path },
    });
  }
  const where = path.map((key) => typeof key === "number" ? `[${key}]` : `.${key}`).join("");
  const rule = source === "flags"
    ? `flags --${effect}-${flagName(kind.name)}=${text}`
    : `${source} permissions${where} ${typeof given === "string" ? JSON.stringify(given) : text}`;
  return { entry: kind.parseEntry(given, context, effect), text, rule };
}
