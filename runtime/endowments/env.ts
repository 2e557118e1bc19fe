/** The op by which a guest's synchronous refusal of an environment variable is decided again, and audited. */
import { z } from "zod";
import { defineOp, type OpDefinition } from "../op.ts";

/** The ops. What is granted was pushed with the isolate, so a granted answer tells nothing. */
export const envOps: readonly OpDefinition[] = [
  defineOp<[name: string]>({
    name: "env_get",
    args: z.tuple([z.string().min(1).max(1_024)]),
    requires: ([name]) => [{ kind: "env", value: name }],
    unasked: "the guest reads without waiting, and has been refused by now; it can request the name",
    act: () => Promise.resolve(null),
  }),
];
