/** Ops of what belongs to one call: its stream, its body, its progress. A call has no other's, so none of them needs a grant. */
import { z } from "zod";
import { RUNTIME_LIMITS } from "../limits.ts";
import { defineOp, type OpDefinition } from "../op.ts";
import { PowerError } from "../powers.ts";

/** The ops. */
export const streamOps: readonly OpDefinition[] = [
  defineOp<[place: number, chunk: unknown, isBytes: boolean]>({
    name: "stream_push",
    args: z.tuple([z.int().nonnegative(), z.unknown(), z.boolean()])
      .refine(([, chunk, isBytes]) => !isBytes || typeof chunk === "string", "bytes are base64"),
    free: "it is the call's own result",
    act: async ([place, chunk, isBytes], { io }) => {
      if (io?.chunks === undefined) throw new PowerError("NotSupported", "ENOTSUP", "Nobody reads a stream");
      // The cast holds: the schema takes no other bytes.
      return await io.chunks.push(
        place,
        isBytes ? new Uint8Array(Buffer.from(chunk as string, "base64")) : chunk,
      );
    },
  }),
  defineOp<[]>({
    name: "stream_left",
    args: z.tuple([]),
    free: "it tells when nobody wants the call's own result any more",
    act: async (_args, { io }) => await io?.chunks?.left ?? false,
  }),
  defineOp<[]>({
    name: "body_read",
    args: z.tuple([]),
    free: "it is the call's own input",
    act: async (_args, { io, signal }) => {
      if (io?.body === undefined) throw new PowerError("NotSupported", "ENOTSUP", "The call has no body");
      return await io.body.read(signal);
    },
  }),
  defineOp<[done: number, total: number | null, message: string | null]>({
    name: "progress",
    args: z.tuple([
      z.number().nonnegative(),
      z.number().nonnegative().nullable(),
      z.string().transform((text) => text.slice(0, RUNTIME_LIMITS.progressMessageCharsMax)).nullable(),
    ]),
    free: "it is told to whoever made the call, and to nobody else",
    act: async ([done, total, message], { io }) => {
      await io?.progress?.report({ done, total, message });
      return null;
    },
  }),
];
