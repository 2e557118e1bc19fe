/** The ops by which synchronous refusals of facts about the machine, and of what no plugin ever does, are written down. */
import { z } from "zod";
import { defineOp, type OpDefinition } from "../op.ts";

/** The ops. Granted facts were pushed with the isolate, so a granted answer tells nothing. */
export const sysOps: readonly OpDefinition[] = [
  defineOp<[path: string]>({
    name: "dlopen",
    args: z.tuple([z.string().min(1).max(4_096)]),
    free: "it does nothing but tell of a refusal",
    act: ([path], { refuse }) =>
      refuse("ffi", path, {
        rule: "built-in: no native library is ever loaded",
        reason: "no native library is ever loaded, whatever is granted",
        remedy: "Nothing can allow it.",
      }),
  }),
  defineOp<[]>({
    name: "dynamic_code",
    args: z.tuple([]),
    requires: () => [{ kind: "dynamicCode", value: null }],
    unasked: "the guest's code has been refused by now, and what it may make is settled before it starts",
    act: () => Promise.resolve(null),
  }),
  defineOp<[word: string]>({
    name: "sys_get",
    args: z.tuple([z.string().min(1).max(64)]),
    requires: ([word]) => [{ kind: "sys", value: word }],
    unasked: "the guest reads without waiting, and has been refused by now; it can request the word",
    act: () => Promise.resolve(null),
  }),
];
