/** The ops of Deno.permissions. */
import { z } from "zod";
import { KINDS } from "../../permissions/mod.ts";
import { defineOp, type OpDefinition, type OpTools } from "../op.ts";
import { PowerError } from "../powers.ts";

type Descriptor = [kind: string, value: string | null];

/** The ops. */
export const permissionOps: readonly OpDefinition[] = [
  permissionOp(
    "query",
    "it has no effect, and tells a guest about its own grant only what trying would tell",
    // Never which rule decided, and one value at a time: what is denied and what was never granted look the same (T18).
    async ([kind, value], { permissions }) => permissions.query({ kind, value }),
  ),
  permissionOp(
    "request",
    "it asks the operator, who decides; each answer is logged",
    async ([kind, value], { permissions }) => permissions.request({ kind, value }),
  ),
  permissionOp("revoke", "it only takes from the guest that asks for it", async ([kind, value], tools) => {
    tools.permissions.revoke({ kind, value });
    return "denied";
  }),
];

/** Gives the state, and of a kind that is read without an op what the guest holds from then on. */
function permissionOp(
  name: "query" | "request" | "revoke",
  free: string,
  act: (descriptor: Descriptor, tools: OpTools) => Promise<string>,
): OpDefinition {
  return defineOp<Descriptor>({
    name: `permission_${name}`,
    args: z.tuple([z.string().min(1).max(64), z.string().max(16_384).nullable()]),
    free,
    act: async (descriptor, tools) => {
      if (!Object.hasOwn(tools.context.kinds ?? KINDS, descriptor[0])) {
        throw new PowerError("TypeError", "ERR_OP_INVALID", "There is no such kind of permission");
      }
      const state = await act(descriptor, tools);
      return name === "query" ? [state] : [state, tools.permissions.held(descriptor[0])];
    },
  });
}
