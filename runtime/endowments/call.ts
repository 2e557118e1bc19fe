/** The op that calls another plugin's capability. Who may be called, and what of its failure is told, is the host's. */
import { z } from "zod";
import { defineOp, type OpDefinition } from "../op.ts";
import { PowerError } from "../powers.ts";

/** The op. */
export const callOps: readonly OpDefinition[] = [
  defineOp<[id: string, input: unknown]>({
    name: "call",
    args: z.tuple([z.string().min(1).max(256), z.unknown()]),
    requires: ([id]) => [{ kind: "call", value: id }],
    act: async ([, input], { granted: [id], powers: { calls }, origin }) => {
      if (calls === undefined) throw new PowerError("NotSupported", "ENOTSUP", "This host calls no plugins");
      // The one requirement was granted, or nothing would act.
      return await calls.call(id!, input, origin());
    },
  }),
];
