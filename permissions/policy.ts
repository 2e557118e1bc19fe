/** Layers: a request, read once in its context. Manifest, flags, trust record, policy and capability are each one layer. */
import { UsageError } from "./error.ts";
import type { Effect, PathContext } from "./kind.ts";
import { type KindName, kindOf } from "./kinds/mod.ts";
import type { PermissionRequest } from "./request.ts";
import { problemOf, readRequest, type StatedEntry } from "./statement.ts";

/** Whose word a layer is. */
export type LayerSource = "manifest" | "flags" | "record" | "policy" | "capability";

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
  readonly kinds: { readonly [K in KindName]?: KindLayer };
}

/** Reads a request. Throws UsageError naming kind and entry on the first that cannot be read. */
export function layerOf(source: LayerSource, request: PermissionRequest, context: PathContext): Layer {
  const { statements, issues } = readRequest(request);
  const [issue] = issues;
  if (issue !== undefined) {
    const where = ["permissions", ...issue.path].join(".");
    throw new UsageError("ERR_USAGE", `Cannot read ${where} of the ${source}: ${issue.message}`, {
      details: { source, path: issue.path },
    });
  }
  const kinds: { [K in KindName]?: KindLayer } = {};
  for (const statement of statements) {
    const { kind, effect, given, isRequired } = statement;
    const side = given === true ? true : given.map((stated) => ruleOf(source, kind, effect, stated, context));
    kinds[kind] = { isRequired, ...kinds[kind], [effect]: side };
  }
  return { source, kinds };
}

/** Splits a flag's value at commas and spells out its shorthands (`:8080`), which files do not have. Throws UsageError. */
export function splitFlag(kind: KindName, text: string): readonly string[] {
  return text.split(",").flatMap((part) => {
    if (part === "") {
      throw new UsageError(
        "ERR_USAGE",
        `Cannot read --allow-${kind} or --deny-${kind} "${text}": an entry is empty. Leave "=" out for the whole kind.`,
      );
    }
    return kindOf(kind).expandFlag?.(part) ?? [part];
  });
}

/** Where a whole side was written. */
export function wholeRule(source: LayerSource, kind: KindName, effect: Effect): string {
  if (source === "flags") return `flags --${effect}-${kind}`;
  return `${source} permissions.${kind}${effect === "deny" ? ".deny" : ""} (everything)`;
}

function ruleOf(
  source: LayerSource,
  kind: KindName,
  effect: Effect,
  stated: StatedEntry,
  context: PathContext,
): Rule {
  const { given, path } = stated;
  const text = typeof given === "string" ? given : JSON.stringify(given) ?? String(given);
  const problem = problemOf(kind, given, effect, context, source === "manifest" || source === "capability");
  if (problem !== undefined) {
    throw new UsageError("ERR_USAGE", `Cannot read "${text}" of ${kind} in the ${source}: ${problem}`, {
      details: { source, kind, entry: text, path },
    });
  }
  const where = path.map((key) => typeof key === "number" ? `[${key}]` : `.${key}`).join("");
  const rule = source === "flags"
    ? `flags --${effect}-${kind}=${text}`
    : `${source} permissions${where} ${typeof given === "string" ? JSON.stringify(given) : text}`;
  return { entry: kindOf(kind).parseEntry(given, context, effect), text, rule };
}
