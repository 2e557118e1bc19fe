/** Ops of the key-value storage. Values are JSON texts, which the guest writes and reads by itself. */
import { z } from "zod";
import { RUNTIME_LIMITS } from "../limits.ts";
import { type ArgumentSchema, defineOp, type OpDefinition, type OpTools } from "../op.ts";
import { PowerError, type StoragePowers } from "../powers.ts";

// A lone surrogate would come back as another text, and a NUL ends one in places.
const text = z.string().refine(
  (text) => text.isWellFormed() && !text.includes("\0"),
  "it is no well-formed text",
);
const key = text.min(1);

/** The ops, in the order of their names. */
export const storageOps: readonly OpDefinition[] = [
  storageOp("storage_delete", z.tuple([key]), ([key], { storage, lineage }) => storage.delete(lineage, key)),
  storageOp("storage_get", z.tuple([key]), ([key], { storage, lineage }) => storage.get(lineage, key)),
  storageOp(
    "storage_list",
    z.tuple([text]),
    ([prefix], { storage, lineage }) => storage.list(lineage, prefix),
  ),
  storageOp("storage_set", z.tuple([key, text]), ([key, value], { storage, lineage, mayHold }) => {
    refuseLarge(value, RUNTIME_LIMITS.storageValueBytesMax, "value");
    storage.set(lineage, key, value, mayHold);
    return null;
  }),
];

interface Shelf {
  readonly storage: StoragePowers;
  readonly lineage: string;
  readonly mayHold: (bytes: number) => boolean;
}

function storageOp<Args extends readonly [key: string, value?: string]>(
  name: string,
  args: ArgumentSchema<Args>,
  act: (args: Args, shelf: Shelf) => unknown,
): OpDefinition {
  return defineOp<Args>({
    name,
    args,
    requires: () => [{ kind: "storage", value: null }],
    act: async (args, tools) => {
      refuseLarge(args[0], RUNTIME_LIMITS.storageKeyBytesMax, "key");
      return act(args, shelfOf(tools));
    },
  });
}

function shelfOf({ powers: { storage }, own, isGranted }: OpTools): Shelf {
  if (storage === undefined || own === null) {
    throw new PowerError("NotSupported", "ENOTSUP", "This host keeps no storage");
  }
  return {
    storage,
    lineage: own.lineage,
    mayHold: (bytes) =>
      bytes <= RUNTIME_LIMITS.storageBytesMax && isGranted({ kind: "storage", value: String(bytes) }),
  };
}

function refuseLarge(text: string, bytesMax: number, what: string): void {
  if (Buffer.byteLength(text) <= bytesMax) return;
  throw new PowerError("LimitError", "ERR_LIMIT_SIZE", `The ${what} has more than ${bytesMax} bytes`);
}
