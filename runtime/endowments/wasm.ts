/** The op by which a use of WebAssembly is written down: one that was refused, and, while uses are found out, any. */
import { z } from "zod";
import { defineOp, type OpDefinition } from "../op.ts";

/** The ops. What is granted is settled before the guest's code starts, so a granted answer tells nothing. */
export const wasmOps: readonly OpDefinition[] = [
  defineOp<[]>({
    name: "wasm",
    args: z.tuple([]),
    requires: () => [{ kind: "wasm", value: null }],
    unasked: "the guest's code has missed it by now, and whether it is there is settled before it starts",
    act: () => Promise.resolve(null),
  }),
];
