/** What a manifest, a policy or a set of flags asks for, as it is written, and the schema that accepts it. */
import { z } from "zod";
import type { KindTable } from "./kind.ts";
import { type KindName, KINDS } from "./kinds/mod.ts";
import { NEUTRAL, problemOf, readRequest } from "./statement.ts";

/** An entry of the kind `secrets`. */
export interface SecretRequest {
  /** The secret's name. */
  readonly name: string;
  /** Host and port that it is sent to. */
  readonly host: string;
  /** The request header that carries it. */
  readonly header?: string;
  /** The header's text, with `{}` for the secret. */
  readonly format?: string;
}

/** An entry as it is written: text, or an object where the kind says so. */
export type RequestEntry = string | SecretRequest;

/** The long form of one kind's request. */
export interface KindRequestObject {
  /** What is asked for. */
  readonly allow?: true | readonly RequestEntry[];
  /** What is carved out of it; always wins. */
  readonly deny?: true | readonly RequestEntry[];
  /** Whether the plugin is useless without it. */
  readonly required?: boolean;
  /** Why, in the author's words. */
  readonly reason?: string;
  /** `read` only: the files may change, so they are not pinned. */
  readonly mutable?: boolean;
  /** `storage` only: how many bytes may be held. */
  readonly maxBytes?: number;
  /** Kept and ignored. */
  readonly [extension: `x-${string}`]: unknown;
}

/** One kind's request: everything, the listed entries, or the long form. An empty list is nothing. */
export type KindRequest = true | readonly RequestEntry[] | KindRequestObject;

/** A request: what is not mentioned is not asked for. */
export type PermissionRequest = { readonly [K in KindName]?: KindRequest } & {
  /** The request for a kind that an embedder adds, a `KindRequest`; what begins with `x-` is kept and ignored. */
  readonly [kindOrExtension: string]: unknown;
};

/**
 * One kind's request in its long form, however it is written; nothing of a kind that is not mentioned. Only for what a
 * schema of requests has accepted.
 */
export function longForm(given: unknown): KindRequestObject {
  if (given === undefined) return {};
  // The casts hold: the schema accepts true, a list and the long form, and nothing else.
  return given === true || Array.isArray(given)
    ? { allow: given as true | readonly RequestEntry[] }
    : given as KindRequestObject;
}

/** Whether an entry starts at `$project`, so that what the request means depends on where it is read. */
export function namesProject(request: PermissionRequest): boolean {
  return Object.entries(request).some(([kind, given]) => {
    if (kind.startsWith("x-")) return false;
    const { allow = [], deny = [] } = longForm(given);
    return [allow, deny].some((side) =>
      side !== true && side.some((entry) => typeof entry === "string" && /^\$project(?:\/|$)/.test(entry))
    );
  });
}

const schema: z.ZodType<PermissionRequest> = schemaFor(KINDS);

/** Accepts what `layerOf` accepts for a manifest; each issue carries the path of its entry. */
// Not annotated here: `deno doc --lint` takes a type of another package for a private one.
export const permissionRequestSchema = schema;

/** The same where these kinds exist. */
export function permissionRequestSchemaFor(kinds: KindTable): typeof permissionRequestSchema {
  return kinds === KINDS ? permissionRequestSchema : schemaFor(kinds);
}

function schemaFor(table: KindTable): z.ZodType<PermissionRequest> {
  return z.custom<PermissionRequest>().check((payload) => {
    const { statements, issues } = readRequest(payload.value, table);
    for (const { path, message } of issues) {
      payload.issues.push({ code: "custom", path: [...path], message, input: payload.value });
    }
    for (const statement of statements) {
      for (const { given, path } of statement.given === true ? [] : statement.given) {
        const message = problemOf(statement.kind, given, statement.effect, NEUTRAL, true);
        if (message !== undefined) {
          payload.issues.push({ code: "custom", path: [...path], message, input: given });
        }
      }
    }
  });
}
