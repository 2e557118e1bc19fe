/** Ops of Deno's reading file functions. */
import { z } from "zod";
import { resolvePath } from "../../permissions/mod.ts";
import type { CheckedPath } from "../checked.ts";
import { RUNTIME_LIMITS } from "../limits.ts";
import { type BundleFiles, defineOp, type OpDefinition, type OpTools } from "../op.ts";
import type { PathTarget } from "../powers.ts";

const pathArgument = z.tuple([z.string().min(1).max(4_096)]);
type PathArgument = [path: string];

/** The ops, in the order of their names. */
export const fileOps: readonly OpDefinition[] = [
  fileOp(
    "lstat",
    async (path, tools, inBundle) =>
      inBundle === null
        ? tools.powers.files.stat({ ...targetOf(path, tools, "read"), keepLast: true })
        : inBundle.stat(checkedReal(path, tools)),
  ),
  fileOp(
    "read_dir",
    async (path, tools, inBundle) =>
      inBundle === null
        ? tools.powers.files.readDir(targetOf(path, tools, "read"), RUNTIME_LIMITS.directoryEntriesMax)
        : inBundle.list(checkedReal(path, tools)),
  ),
  fileOp("read_file", async (path, tools, inBundle) => base64(await bytesOf(path, tools, inBundle))),
  fileOp("read_text_file", async (path, tools, inBundle) => text(await bytesOf(path, tools, inBundle))),
  fileOp(
    "stat",
    async (path, tools, inBundle) =>
      inBundle === null
        ? tools.powers.files.stat(targetOf(path, tools, "read"))
        : inBundle.stat(checkedReal(path, tools)),
  ),
];

function fileOp(
  name: string,
  act: (path: string, tools: OpTools, inBundle: BundleFiles | null) => Promise<unknown>,
): OpDefinition {
  return defineOp<PathArgument>({
    name,
    args: pathArgument,
    requires: ([path]) => [{ kind: "read", value: path }],
    act: ([path], tools) => {
      const absolute = resolvePath(path, tools.context);
      return act(absolute, tools, bundleFor(absolute, tools.bundle));
    },
  });
}

/** A plugin's own files are served from the bytes that were verified, unless its manifest says that they change. */
function bundleFor(path: string, bundle: BundleFiles | null): BundleFiles | null {
  if (bundle === null || bundle.isMutable) return null;
  return path === bundle.root || path.startsWith(bundle.root + "/") ? bundle : null;
}

async function bytesOf(path: string, tools: OpTools, inBundle: BundleFiles | null): Promise<Uint8Array> {
  if (inBundle !== null) return inBundle.bytes(checkedReal(path, tools));
  return await tools.powers.files.readFile(targetOf(path, tools, "read"), RUNTIME_LIMITS.fileBytesMax);
}

/** A link inside the bundle may lead to a file of the bundle that the grant does not cover. */
function checkedReal(path: string, tools: OpTools): string {
  const real = tools.bundle!.real(path);
  return real === path ? path : tools.authorize("read", real).path;
}

/** What a power needs to find the place that an absolute path means, where all of these kinds must be granted. */
export function targetOf(path: string, tools: OpTools, ...kinds: [string, ...string[]]): PathTarget {
  return {
    path,
    authority: {
      authorize: (place): CheckedPath => kinds.map((kind) => tools.authorize(kind, place)).at(-1)!,
      wouldGrant: (place) => kinds.every((kind) => tools.wouldGrant(kind, place)),
      sealed: tools.sealed,
    },
    signal: tools.signal,
    lane: tools.lane,
  };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

function text(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
