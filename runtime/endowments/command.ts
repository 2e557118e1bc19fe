/** The op of Deno.Command. A program is decided about by its name, then by the file that it is, and only then started. */
import { z } from "zod";
import { resolvePath } from "../../permissions/mod.ts";
import type { CheckedPath, CheckedValue } from "../checked.ts";
import { COMMAND_LIMITS, RUNTIME_LIMITS } from "../limits.ts";
import { defineOp, type OpDefinition, type OpTools } from "../op.ts";
import {
  type CommandOrder,
  type PathTarget,
  PowerError,
  type RunPowers,
  type VerifiedFile,
  type VerifiedProgram,
} from "../powers.ts";

type RunArguments = [
  name: string,
  args: string[],
  stdin: string | [bytes: string],
  cwd: string | null,
  env: Record<string, string> | null,
];

// The system holds them as texts that end with a NUL.
const text = z.string().refine(
  (text) => text.isWellFormed() && !text.includes("\0"),
  "it is no well-formed text",
);
const variable = text.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "it is no name of a variable");

/** The ops. */
export const commandOps: readonly OpDefinition[] = [
  defineOp<RunArguments>({
    name: "run",
    args: z.tuple([
      text.min(1).max(4_096),
      z.array(text).max(COMMAND_LIMITS.argumentsMax),
      z.union([
        z.string().refine((text) => text !== "piped" && text !== "inherit", 'stdin is text, bytes or "null"'),
        z.tuple([z.base64()]),
      ]),
      text.max(4_096).nullable(),
      z.record(variable, text).nullable(),
    ]),
    requires: ([name]) => [{ kind: "run", value: name }],
    act: async ([, args, stdin, cwd, variables], tools) => {
      const env = variables ?? {};
      const { powers: { run }, granted: [granted] } = tools;
      if (run === undefined || granted === undefined) {
        throw new PowerError("NotSupported", "ENOTSUP", "This host starts no programs");
      }
      refuseLarge(args, env);
      refuseLoaderVariables(env);
      const place = placeOf(cwd);
      const path = pathOf(granted, tools);
      const obstacle = await run.obstacle();
      if (obstacle !== null && !run.mayBeUnconfined) refuseUnconfined(granted, obstacle, tools);
      const facts = {
        arguments: bounded(args),
        sandbox: obstacle === null ? "bubblewrap" : `none: unconfinedCommands: allow (${obstacle})`,
      };
      const order: CommandOrder = {
        name: path.slice(path.lastIndexOf("/") + 1),
        args,
        stdin: inputOf(stdin),
        cwd: place,
        env,
        sealed: tools.sealed(),
        signal: tools.signal,
        lane: tools.lane,
        isHook: tools.bundle?.beside !== undefined,
      };
      const program = programOf(path, granted, facts, tools);
      if (!("checked" in program)) return await started(run, program, order);
      const files = filesBeside(granted, tools).filter((each) => each.path !== program.path);
      return await started(run, program, { ...order, files });
    },
  }),
];

async function started(
  run: RunPowers,
  program: PathTarget | VerifiedProgram,
  order: CommandOrder,
): Promise<unknown> {
  const { code, stdout, stderr } = await run.run(program, order);
  return { code, stdout: base64(stdout), stderr: base64(stderr) };
}

/** Where PATH had it when it was granted, or where the guest says. */
function pathOf({ value }: CheckedValue, { context }: OpTools): string {
  const path = value.includes("/") ? resolvePath(value, context) : context.which?.(value);
  if (path === undefined) throw new PowerError("NotFound", "ENOENT", "No such program");
  return path;
}

/** One of the plugin's own runs from its verified bytes, and nothing else of its bundle does. */
function programOf(
  path: string,
  granted: CheckedValue,
  facts: Readonly<Record<string, unknown>>,
  tools: OpTools,
): PathTarget | VerifiedProgram {
  const { bundle } = tools;
  const isOwn = (place: string): boolean => bundle !== null && place.startsWith(`${bundle.root}/`);
  if (bundle === null || !isOwn(path)) {
    const authorize = (place: string): CheckedPath =>
      isOwn(place) ? refuseUnpinned(granted, tools) : tools.authorizeProgram(granted, place, facts);
    return {
      path,
      authority: { authorize, wouldGrant: () => false, sealed: tools.sealed },
      signal: tools.signal,
      lane: tools.lane,
    };
  }
  const real = bundle.real(path);
  if (!bundle.isPinned(path) && !bundle.isPinned(real)) refuseUnpinned(granted, tools);
  const checked = tools.authorizeProgram(granted, real, facts);
  return { checked, path: real.slice(bundle.root.length + 1), bytes: bundle.bytes(real) };
}

/** What a program of the plugin's own sees beside itself, from verified bytes as well. */
function filesBeside(granted: CheckedValue, tools: OpTools): readonly VerifiedFile[] {
  const { bundle } = tools;
  if (bundle === null) return [];
  return (bundle.beside ?? []).map((path) => {
    const real = bundle.real(path);
    if (!bundle.isPinned(path) && !bundle.isPinned(real)) refuseUnpinned(granted, tools);
    return { path: path.slice(bundle.root.length + 1), bytes: bundle.bytes(real) };
  });
}

function refuseUnpinned({ kind, value }: CheckedValue, { refuse }: OpTools): never {
  return refuse(kind, value, {
    rule: "built-in: of a plugin's own files only those that were pinned are run",
    reason: "it is one of the plugin's own files, and was not pinned when the plugin was approved",
    remedy: 'Its author names it as a path of its own under permissions.run, such as "./bin/tool".',
  });
}

function refuseUnconfined({ kind, value }: CheckedValue, obstacle: string, { refuse }: OpTools): never {
  return refuse(kind, value, {
    rule: "built-in: programs run under bubblewrap",
    reason: `programs cannot be confined on this machine (${obstacle})`,
    remedy:
      'Install bubblewrap and util-linux, and let users without privileges make namespaces. A host that accepts programs without any confinement says unconfinedCommands: "allow" in its tenant\'s policy.',
  });
}

function refuseLarge(args: readonly string[], env: Readonly<Record<string, string>>): void {
  const { argumentBytesMax } = COMMAND_LIMITS;
  const bytes = [...args, ...Object.entries(env).flat()]
    .reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
  if (bytes <= argumentBytesMax) return;
  throw new PowerError(
    "LimitError",
    "ERR_LIMIT_SIZE",
    `Arguments and environment have more than ${argumentBytesMax} bytes`,
  );
}

/** These make the loader, or the program, run other code than the one that was granted. */
function refuseLoaderVariables(env: Readonly<Record<string, string>>): void {
  const name = Object.keys(env).find((name) => /^(?:LD_|DYLD_|NODE_OPTIONS$)/.test(name));
  if (name === undefined) return;
  throw new PowerError("NotCapable", "ERR_NOT_CAPABLE", `A program is never given the variable "${name}"`);
}

/** Inside there is nowhere to start but the folder for temporary files. */
function placeOf(cwd: string | null): string {
  if (cwd === null) return "/tmp";
  const place = resolvePath(cwd, { cwd: "/tmp" });
  if (place === "/tmp" || place.startsWith("/tmp/")) return place;
  throw new PowerError(
    "NotFound",
    "ENOENT",
    "In its sandbox a program starts in /tmp, or in a folder below it",
  );
}

/** Text, or the base64 of bytes; Deno's word for nothing is nothing. */
function inputOf(stdin: string | [bytes: string]): Uint8Array | null {
  if (typeof stdin !== "string") return Buffer.from(stdin[0], "base64");
  return stdin === "null" ? null : Buffer.from(stdin, "utf8");
}

function bounded(args: readonly string[]): string {
  const text = JSON.stringify(args);
  const { auditValueBytesMax } = RUNTIME_LIMITS;
  return text.length <= auditValueBytesMax ? text : `${text.slice(0, auditValueBytesMax)}…`;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
