/** Ops of Deno's file functions that change something. */
import { z } from "zod";
import { type PathContext, resolvePath } from "../../permissions/mod.ts";
import { defineOp, type OpDefinition, type OpTools } from "../op.ts";
import type { PathTarget } from "../powers.ts";
import { targetOf } from "./files.ts";

const path = z.string().min(1).max(4_096);
const flag = z.boolean();
type WriteArguments = [path: string, data: string, append: boolean, create: boolean, createNew: boolean];
type TreeArguments = [path: string, recursive: boolean];

const writeArguments = z.tuple([path, z.string(), flag, flag, flag]);
const treeArguments = z.tuple([path, flag]);

/** The ops, in the order of their names. */
export const writeOps: readonly OpDefinition[] = [
  defineOp<TreeArguments>({
    name: "mkdir",
    args: treeArguments,
    requires: ([path]) => [{ kind: "write", value: path }],
    act: ([path, recursive], tools) => tools.powers.files.makeDirectory(writable(path, tools), recursive),
  }),
  defineOp<TreeArguments>({
    name: "remove",
    args: treeArguments,
    requires: ([path, recursive]) => [{ kind: "write", value: path, recursive }],
    act: ([path, recursive], tools) => tools.powers.files.remove(target(path, tools), recursive),
  }),
  defineOp<[from: string, to: string]>({
    name: "rename",
    args: z.tuple([path, path]),
    // What is moved can be read at its new place, and all below it moves along.
    requires: ([from, to]) => [
      { kind: "read", value: from, recursive: true },
      { kind: "write", value: from, recursive: true },
      { kind: "write", value: to, recursive: true },
    ],
    act: ([from, to], tools) =>
      tools.powers.files.rename(
        targetOf(resolvePath(from, tools.context), tools, "read", "write"),
        writable(to, tools),
      ),
  }),
  writeOp("write_file", (data) => Buffer.from(data, "base64")),
  writeOp("write_text_file", (data) => Buffer.from(data, "utf8")),
];

function writeOp(name: string, bytesOf: (data: string) => Uint8Array): OpDefinition {
  return defineOp<WriteArguments>({
    name,
    args: writeArguments,
    requires: ([path]) => [{ kind: "write", value: path }],
    act: ([path, data, append, create, createNew], tools) =>
      tools.powers.files.writeFile(writable(path, tools), bytesOf(data), { append, create, createNew }),
  });
}

function target(path: string, tools: OpTools): PathTarget {
  return targetOf(resolvePath(path, tools.context), tools, "write");
}

/** The plugin's own folder exists from the moment when something is to be put into it. */
function writable(path: string, tools: OpTools): PathTarget {
  const found = target(path, tools);
  if (isInData(found.path, tools.context)) tools.own?.makeData();
  return found;
}

function isInData(path: string, { data }: PathContext): boolean {
  return data !== undefined && (path === data || path.startsWith(`${data}/`));
}
