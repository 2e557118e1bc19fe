/** Starts a child process that has no authority, as its plan says. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { dirname, join, relative } from "node:path";
import type { Readable } from "node:stream";
import { HostError } from "../permissions/mod.ts";
import { unprivilegedIdentity } from "./confine_identity.ts";
import { emptyJailArgs, jailArgs } from "./confine_jail.ts";
import type { Confinement, ConfinementPlan } from "./confine_plan.ts";
import { withoutStray } from "./descriptors.ts";

/** What a child needs in order to start. */
export interface ConfinedOptions {
  /** How to confine it. */
  readonly plan: ConfinementPlan;
  /** Absolute path of the file that it runs. */
  readonly entry: string;
  /** Absolute paths of the only other files that it may read, and only while it starts. */
  readonly readable: readonly string[];
  /** Absolute path of the native addon, when it loads one. */
  readonly addon?: string;
  /** Flags for Node or its engine. */
  readonly nodeFlags?: readonly string[];
  /** Arguments; `{file}` is spelled as the child sees that path. */
  readonly args?: readonly (string | { readonly file: string })[];
}

/** A program that needs no files: a single static one. */
export interface ProgramOptions {
  /** Absolute path of bubblewrap: nothing else confines what isn't Node. */
  readonly bubblewrap: string;
  /** Absolute path of the program. */
  readonly program: string;
  /** Its arguments. */
  readonly args: readonly string[];
}

/** A confined child with its one duplex pipe. */
export interface ConfinedProcess {
  /** The process to signal. */
  readonly pid: number;
  /** The duplex pipe, descriptor 3 of the child; of a program, its standard input. */
  readonly pipe: Socket;
  /** Where it speaks: the pipe; of a program, its standard output. */
  readonly output: Readable;
  /** What was reached. */
  readonly confinement: Confinement;
  /** Settles once, when the process is gone; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Kills it at once, with all that it started. */
  kill(): void;
  /** Resident memory in bytes; null where the system does not tell. */
  rssBytes(): number | null;
  /** Processor time that it has used, in milliseconds; null where the system does not tell. */
  cpuMs(): number | null;
  /** Whether the host's process waits for this one before it ends. */
  hold(isHeld: boolean): void;
  /** The last of what it wrote to stderr, for the operator only. */
  stderrTail(): string;
}

/** How a child ended; a signal is named even when bubblewrap reported it as an exit code. */
export interface ProcessExit {
  /** Exit code, or null when a signal ended it. */
  readonly code: number | null;
  /** Name of the signal, or null. */
  readonly signal: string | null;
}

const STDERR_TAIL_BYTES = 8_192;
/** bubblewrap tells its inner process within this time, or not at all. */
const INNER_PID_MS = 1_000;
const PAGE_BYTES = 4_096;
/** What the kernel counts processor time in, whatever its own clock is. */
const TICK_MS = 10;
const SIGNAL_BY_EXIT_CODE: Readonly<Record<number, string>> = {
  132: "SIGILL",
  133: "SIGTRAP",
  134: "SIGABRT",
  135: "SIGBUS",
  137: "SIGKILL",
  139: "SIGSEGV",
  143: "SIGTERM",
};

/** Starts a child; the promise rejects only when the process cannot be made at all. */
export async function startConfined(options: ConfinedOptions): Promise<ConfinedProcess> {
  const { plan } = options;
  const identity = plan.uidBase === undefined ? {} : unprivilegedIdentity(plan.uidBase);
  const child = withoutStray(["ignore", "ignore", "pipe", "pipe", "pipe"], (stdio) => {
    const { command, args } = plan.bubblewrap === undefined
      ? directLaunch(options)
      : bubblewrapLaunch(options, plan.bubblewrap);
    return spawn(command, args, { env: {}, cwd: "/", stdio, ...identity });
  });
  return await supervise(child, plan, child.stdio[3] as Socket, child.stdio[3] as Socket); // "pipe" makes a duplex socket
}

/** Starts a static program in a jail that holds nothing but it; it speaks on its standard input and output. */
export async function startProgram({ bubblewrap, program, args }: ProgramOptions): Promise<ConfinedProcess> {
  const inside = "/sallyport/program";
  const child = withoutStray(["pipe", "pipe", "pipe", undefined, "pipe"], (stdio) => {
    const jail = [...emptyJailArgs(), "--info-fd", "4", "--ro-bind", program, inside];
    return spawn(bubblewrap, [...jail, inside, ...args], { env: {}, cwd: "/", stdio });
  });
  const plan: ConfinementPlan = { level: "strong", reasons: [], bubblewrap };
  return await supervise(child, plan, child.stdin as Socket, child.stdout as Socket);
}

async function supervise(
  child: ChildProcess,
  plan: ConfinementPlan,
  pipe: Socket,
  output: Socket,
): Promise<ConfinedProcess> {
  let tail = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-STDERR_TAIL_BYTES);
  });
  let isGone = false;
  const exited = new Promise<ProcessExit>((resolve) => {
    const settle = (exit: ProcessExit): void => {
      isGone = true; // its number may be given to another process from now on
      resolve(exit);
    };
    child.once("exit", (code, signal) => settle(namedExit(code, signal)));
    child.once("error", () => settle({ code: 127, signal: null }));
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once(
      "error",
      (cause) =>
        reject(
          new HostError("ERR_CONFINEMENT", "Cannot start a worker process: the system refused to make it", {
            cause,
          }),
        ),
    );
  });
  pipe.on("error", () => {}); // a broken pipe is seen as the exit of the process
  const info = child.stdio[4] as Socket;
  const inner = plan.bubblewrap === undefined ? Promise.resolve(child.pid!) : innerPid(info);
  let pidOfNode = child.pid!;
  let pidOfInit = child.pid!;
  let isInnerKnown = plan.bubblewrap === undefined;
  let isCondemned = false;
  const node = (): number => {
    // The init of a process namespace is bubblewrap's; Node is its only child, there as soon as it was made.
    if (plan.bubblewrap !== undefined && pidOfNode === pidOfInit && pidOfInit !== child.pid) {
      pidOfNode = firstChildOf(pidOfInit) ?? pidOfInit;
    }
    return pidOfNode;
  };
  const killBoth = (): void => {
    if (isGone) return;
    signalQuietly(pidOfInit);
    signalQuietly(child.pid!);
  };
  void inner.then((pid) => {
    pidOfInit = pid ?? child.pid!;
    pidOfNode = pidOfInit;
    isInnerKnown = true;
    if (isCondemned) killBoth();
  });
  return {
    pid: child.pid!,
    pipe,
    output,
    confinement: plan.level,
    exited,
    kill() {
      // bubblewrap's inner half waits for its outer half while they start: were the outer one killed before the inner one is
      // known, the inner one would wait for ever.
      if (isInnerKnown) return killBoth();
      isCondemned = true;
      setTimeout(killBoth, INNER_PID_MS).unref();
    },
    rssBytes: () => residentBytes(node()),
    cpuMs: () => processorMs(node()),
    hold(isHeld) {
      const word = isHeld ? "ref" : "unref";
      child[word]();
      for (const stream of [pipe, output, info, child.stderr as Socket]) {
        if (!stream.destroyed) stream[word]();
      }
    },
    stderrTail: () => tail,
  };
}

function bubblewrapLaunch(options: ConfinedOptions, bubblewrap: string): { command: string; args: string[] } {
  const files = [options.entry, ...options.readable];
  const root = commonRoot(files);
  // Neutral paths inside: a worker that is taken over learns nothing of the host's layout from its own argv.
  const inside = (path: string): string =>
    path === options.addon ? "/sallyport/addon.node" : join("/sallyport/app", relative(root, path));
  const binds = [...files, ...(options.addon === undefined ? [] : [options.addon])];
  return {
    command: bubblewrap,
    args: [
      ...jailArgs(),
      "--info-fd",
      "4",
      "--ro-bind",
      process.execPath,
      "/sallyport/node",
      ...binds.flatMap((path) => ["--ro-bind", path, inside(path)]),
      "/sallyport/node",
      ...nodeArgs(options, inside),
    ],
  };
}

function directLaunch(options: ConfinedOptions): { command: string; args: string[] } {
  return { command: process.execPath, args: nodeArgs(options, (path) => path) };
}

function nodeArgs(options: ConfinedOptions, spell: (path: string) => string): string[] {
  const readable = [...options.readable, ...(options.addon === undefined ? [] : [options.addon])];
  return [
    "--permission",
    ...(options.addon === undefined ? [] : ["--allow-addons"]),
    ...readable.map((path) => `--allow-fs-read=${spell(path)}`),
    "--no-experimental-sqlite", // node:sqlite ignores the permission model
    "--disable-warning=PERM0001",
    "--disable-warning=ExperimentalWarning",
    ...(options.nodeFlags ?? []),
    spell(options.entry),
    ...(options.args ?? []).map((arg) => typeof arg === "string" ? arg : spell(arg.file)),
  ];
}

function commonRoot(paths: readonly string[]): string {
  let root = dirname(paths[0]!);
  for (const path of paths) while (!path.startsWith(root === "/" ? "/" : root + "/")) root = dirname(root);
  return root;
}

function innerPid(info: Socket): Promise<number | null> {
  return new Promise((resolve) => {
    let text = "";
    info.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      const pid = /"child-pid": (\d+)/.exec(text);
      if (pid !== null) resolve(Number(pid[1]));
    });
    info.once("close", () => resolve(null));
    info.on("error", () => resolve(null));
  });
}

function firstChildOf(pid: number): number | null {
  try {
    const first = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0];
    return first ? Number(first) : null;
  } catch {
    return null;
  }
}

function residentBytes(pid: number): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * PAGE_BYTES;
  } catch {
    return null;
  }
}

/** All threads of it, in user and in system mode. */
function processorMs(pid: number): number | null {
  try {
    // The name of the program comes second and may hold anything; what is behind its closing bracket is numbers.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return null;
  }
}

function signalQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already, which is what was wanted.
  }
}

function namedExit(code: number | null, signal: string | null): ProcessExit {
  const named = code === null ? undefined : SIGNAL_BY_EXIT_CODE[code];
  return named === undefined ? { code, signal } : { code: null, signal: named };
}
