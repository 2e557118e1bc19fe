/** Starting programs: the file that was decided about, in a sandbox, within bounds, to its end. */
import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { constants as flags, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { childIdentity } from "../confine_identity.ts";
import { type ChildStdio, withoutStray } from "../descriptors.ts";
import { COMMAND_LIMITS, type CommandLimits } from "../limits.ts";
import {
  type CommandOrder,
  type CommandOutcome,
  type PathTarget,
  PowerError,
  type RunPowers,
  type VerifiedProgram,
} from "../powers.ts";
import { findAliases } from "./aliases.ts";
import { hold, openEntry, openRegular } from "./hold.ts";
import { findJail, findPrlimit, INSIDE, isOfSystem, type Jail, jailArgs, limited } from "./sandbox.ts";
import { Slots } from "./slots.ts";

/** How programs are started for one tenant. */
export interface RunOptionsOfTenant {
  /** Bounds; absent is the table's. */
  readonly limits?: CommandLimits;
  /** Whether they may run unconfined where nothing confines them. */
  readonly mayBeUnconfined?: boolean;
  /** Finds out how they are confined, or why they cannot be; absent is by trying. */
  readonly jail?: () => Promise<Jail | string>;
}

/** Finds the machine's sandbox at the first question, and remembers it. */
export function rememberedJail(): () => Promise<Jail | string> {
  let found: Promise<Jail | string> | undefined;
  return () => found ??= findJail(COMMAND_LIMITS);
}

/** Programs of this machine. */
export function sandboxedRun(options: RunOptionsOfTenant = {}): RunPowers {
  const { limits = COMMAND_LIMITS, mayBeUnconfined = false, jail = rememberedJail() } = options;
  const turns = new Slots(limits.commandsPerTenant);
  const hookTurns = new Slots(limits.hooksPerTenant, limits.hooksPerPlugin);
  const aliases = findAliases();
  return {
    limits,
    mayBeUnconfined,
    async obstacle() {
      const found = await jail();
      return typeof found === "string" ? found : null;
    },
    run: (program, order) =>
      (order.isHook === true ? hookTurns : turns).take(order.lane, order.signal, async () => {
        const found = await jail();
        if (typeof found === "string" && !mayBeUnconfined) {
          throw new PowerError("NotSupported", "ERR_COMMAND_FAILED", "No program can be started here");
        }
        await using source = "checked" in program ? verified(program) : await onDisk(program, aliases);
        return typeof found === "string"
          ? await runUnconfined(source, order, limits)
          : await runConfined(found, source, order, limits);
      }),
  };
}

/** A program that is about to run: a place of the system's, an open file, or bytes. */
interface Source extends AsyncDisposable {
  /** Its real path; of verified bytes, their relative one. */
  readonly path: string;
  /** An open descriptor of a program on the disk. */
  readonly fd: number | null;
  /** Bytes of a verified one. */
  readonly bytes: Uint8Array | null;
}

function verified({ path, bytes }: VerifiedProgram): Source {
  return { path, fd: null, bytes, [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** Opens the very file that is decided about, under all its names. */
async function onDisk(target: PathTarget, aliases: ReturnType<typeof findAliases>): Promise<Source> {
  await using held = await hold(target, aliases);
  await using entry = await openEntry(held, held.name);
  const { authority } = target;
  for (const alias of await aliases.ofEntry(entry.facts, authority.sealed())) authority.authorize(alias);
  const handle = await openRegular(entry, flags.O_RDONLY);
  if ((entry.facts.mode & 0o111n) === 0n) {
    await handle.close();
    throw new PowerError("PermissionDenied", "EACCES", "The file is no program");
  }
  const { fd } = handle;
  return { path: held.checked.path, fd, bytes: null, [Symbol.asyncDispose]: () => handle.close() };
}

const STATUS_FD = 3;

async function runConfined(
  jail: Jail,
  source: Source,
  order: CommandOrder,
  limits: CommandLimits,
): Promise<CommandOutcome> {
  const used: ChildStdio = [order.stdin === null ? "ignore" : "pipe", "pipe", "pipe", "pipe"];
  const place = (what: number | "pipe"): number => used.push(what) - 1;
  const given: { readonly fd: number; readonly bytes: Uint8Array }[] = [];
  const give = (bytes: Uint8Array): number => {
    const fd = place("pipe");
    given.push({ fd, bytes });
    return fd;
  };
  const { at, files, links } = placeProgram(source, order, give, place);
  const cell = {
    limits,
    files,
    links,
    cwd: order.cwd,
    env: order.env,
    hidden: order.sealed,
    statusFd: STATUS_FD,
  };
  const child = withoutStray(used, (stdio, emptied) => {
    const args = jailArgs(jail, { ...cell, emptied }, [at, ...order.args]);
    return start(jail.bubblewrap, args, { stdio, cwd: "/", ...childIdentity() });
  });
  for (const { fd, bytes } of given) write(child, fd, bytes);
  let status = "";
  const statusPipe = child.stdio[STATUS_FD] as NodeJS.ReadableStream;
  statusPipe.setEncoding("utf8").on("data", (text: string) => status += text).on("error", () => {});
  // The first process inside dies with bubblewrap, and all others with it; so it does when the program has ended.
  const outcome = await finish(child, order, limits, () => void child.kill("SIGKILL"), () => {});
  if (/"exit-code"/.test(status)) return outcome;
  throw failed();
}

function placeProgram(
  { path, fd, bytes }: Source,
  order: CommandOrder,
  give: (bytes: Uint8Array) => number,
  place: (fd: number) => number,
): {
  readonly at: string;
  readonly files: { readonly fd: number; readonly at: string }[];
  readonly links: { readonly to: string; readonly at: string }[];
} {
  if (bytes !== null) {
    const inBundle = (path: string): string => join(INSIDE, "bundle", path);
    const files = [{ path, bytes }, ...(order.files ?? [])]
      .map(({ path, bytes }) => ({ fd: give(bytes), at: inBundle(path) }));
    return { at: inBundle(path), files, links: [] };
  }
  // By the name that it was asked for, since some programs do what they are called.
  const at = join(INSIDE, "run", order.name);
  if (isOfSystem(path)) return { at, files: [], links: [{ to: path, at }] };
  return { at, files: [{ fd: place(fd!), at }], links: [] };
}

/** Where nothing confines and the tenant's policy accepts it: a folder, an environment and a process group of its own, no more. */
async function runUnconfined(
  { path, bytes }: Source,
  order: CommandOrder,
  limits: CommandLimits,
): Promise<CommandOutcome> {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-command-"));
  try {
    const file = bytes === null ? path : join(folder, "bundle", path);
    for (const each of bytes === null ? [] : [{ path, bytes }, ...(order.files ?? [])]) {
      const to = join(folder, "bundle", each.path);
      mkdirSync(dirname(to), { recursive: true });
      writeFileSync(to, each.bytes, { mode: 0o500 });
    }
    const cwd = join(folder, order.cwd);
    mkdirSync(cwd, { recursive: true });
    const [command = file, ...args] = limitedWhereItCan(limits, [file, ...order.args]);
    const child = start(command, args, {
      stdio: [order.stdin === null ? "ignore" : "pipe", "pipe", "pipe"],
      cwd,
      env: order.env,
      detached: process.platform !== "win32",
    });
    const endGroup = (): void => kill(-(child.pid ?? 0));
    return await finish(child, order, limits, () => {
      endGroup();
      child.kill("SIGKILL");
    }, endGroup);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function limitedWhereItCan(limits: CommandLimits, command: readonly string[]): string[] {
  const prlimit = findPrlimit();
  // Without a namespace of its own, processes would be counted together with all others of the user.
  return prlimit === undefined ? [...command] : limited(prlimit, limits, [], command);
}

function start(
  file: string,
  args: readonly string[],
  options: {
    readonly stdio: StdioOptions;
    readonly cwd: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly detached?: boolean;
    readonly uid?: number;
    readonly gid?: number;
  },
): ChildProcess {
  try {
    return spawn(file, args, { env: {}, ...options });
  } catch {
    throw failed();
  }
}

/** Waits for its end, and ends it and all that it started at the first bound that it passes. */
function finish(
  child: ChildProcess,
  { stdin, signal }: CommandOrder,
  limits: CommandLimits,
  end: () => void,
  /** Ends what it left behind, which holds its output open. */
  clear: () => void,
): Promise<CommandOutcome> {
  let failure: unknown;
  const fail = (error: unknown): void => {
    failure ??= error;
    end();
  };
  const timer = setTimeout(
    () =>
      fail(new PowerError("TimedOut", "ERR_LIMIT_WALL", `The program ran longer than ${limits.wallMs} ms`)),
    limits.wallMs,
  );
  const onAbort = (): void => fail(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const read = (fd: 1 | 2, bytesMax: number, name: string): Buffer[] => {
    const chunks: Buffer[] = [];
    let length = 0;
    (child.stdio[fd] as NodeJS.ReadableStream).on("data", (chunk: Buffer) => {
      length += chunk.byteLength;
      if (length <= bytesMax) chunks.push(chunk);
      else {fail(
          new PowerError(
            "LimitError",
            "ERR_LIMIT_SIZE",
            `The program wrote more than ${bytesMax} bytes to ${name}`,
          ),
        );}
    }).on("error", () => {});
    return chunks;
  };
  const stdout = read(1, limits.stdoutBytes, "stdout");
  const stderr = read(2, limits.stderrBytes, "stderr");
  if (stdin !== null) write(child, 0, stdin);
  if (signal.aborted) onAbort();
  return new Promise<CommandOutcome>((resolve, reject) => {
    child.once("error", () => fail(failed()));
    child.once("exit", clear);
    child.once("close", (code, name) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      if (failure !== undefined) return reject(failure as Error);
      resolve({
        code: code ?? 128 + (name === null ? 0 : constants.signals[name]),
        stdout: Buffer.concat(stdout),
        stderr: Buffer.concat(stderr),
      });
    });
  });
}

function write(child: ChildProcess, fd: number, bytes: Uint8Array): void {
  const stream = child.stdio[fd] as NodeJS.WritableStream;
  stream.on("error", () => {}); // a program need not read what it is given
  stream.end(bytes);
}

function kill(pid: number): void {
  if (pid === 0) return;
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already, which is what was wanted.
  }
}

function failed(): PowerError {
  return new PowerError("Error", "ERR_COMMAND_FAILED", "The program could not be started");
}
