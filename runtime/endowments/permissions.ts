/** The op of Deno.permissions.query. */
import { z } from "zod";
import { KIND_NAMES } from "../../permissions/mod.ts";
import { defineOp, type OpDefinition } from "../op.ts";

/** The ops. */
export const permissionOps: readonly OpDefinition[] = [
  defineOp<[kind: string, value: string | null]>({
    name: "permission_query",
    args: z.tuple([z.enum(KIND_NAMES), z.string().max(4_096).nullable()]),
    free: "it has no effect, and tells a guest about its own grant only what trying would tell",
    // Never which rule decided, and one value at a time: what is denied and what was never granted look the same (T18).
    act: async ([kind, value], { isGranted }) => isGranted({ kind, value }) ? "granted" : "denied",
  }),
];
