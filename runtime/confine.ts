/**
 * Starts a child process that has no authority: bubblewrap around Node's permission model where the system has it, an
 * unprivileged user of its own where the host is root, the permission model alone elsewhere. What was reached is
 * reported, never assumed (T01).
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import type { Socket } from "node:net";
import { dirname, join, relative } from "node:path";
import { HostError } from "../permissions/mod.ts";
import { withoutStray } from "./descriptors.ts";

/** How strongly a child is confined; the order is from best to least. */
export type Confinement = "strong" | "medium" | "weak";

/** What a host accepts: a least level, or the best that the machine offers. */
export type ConfinementDemand = Confinement | "best";

/** How children are started on this machine, found once per host. */
export interface ConfinementPlan {
  /** What children of this plan reach. */
  readonly level: Confinement;
  /** Why it is not better; empty when it is strong. */
  readonly reasons: readonly string[];
  /** Absolute path of bubblewrap when it is used. */
  readonly bubblewrap?: string;
  /** First of the user ids that children get when bubblewrap is not used and the host is root. */
  readonly uidBase?: number;
}

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

/** A confined child with its one duplex pipe. */
export interface ConfinedProcess {
  /** The process to signal. */
  readonly pid: number;
  /** The duplex pipe, descriptor 3 of the child. */
  readonly pipe: Socket;
  /** What was reached. */
  readonly confinement: Confinement;
  /** Settles once, when the process is gone; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Kills it at once, with all that it started. */
  kill(): void;
  /** Resident memory in bytes; null where the system does not tell. */
  rssBytes(): number | null;
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

const RANK: Readonly<Record<Confinement, number>> = { strong: 2, medium: 1, weak: 0 };
/** Fixed places: a PATH look-up would let the environment choose the jailer (T34). */
const BUBBLEWRAP_PATHS = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];
const LIBRARY_PATHS = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];
const UNPRIVILEGED_UID_BASE = 61_000;
const UNPRIVILEGED_UID_COUNT = 4_000;
const NOBODY_ID = "65534";
const STDERR_TAIL_BYTES = 8_192;
/** bubblewrap tells its inner process within this time, or not at all. */
const INNER_PID_MS = 1_000;
const PAGE_BYTES = 4_096;
const SIGNAL_BY_EXIT_CODE: Readonly<Record<number, string>> = {
  132: "SIGILL",
  133: "SIGTRAP",
  134: "SIGABRT",
  135: "SIGBUS",
  137: "SIGKILL",
  139: "SIGSEGV",
  143: "SIGTERM",
};

/**
 * Finds out how children can be confined here. Throws `ERR_CONFINEMENT` when less than `demand` is reached.
 * `without` leaves ways out, so that the lesser ones can be tested on a machine that has the better.
 */
export function planConfinement(
  demand: ConfinementDemand,
  without: readonly ("bubblewrap" | "uid")[] = [],
): ConfinementPlan {
  const plan = bestPlan(without);
  if (demand !== "best" && RANK[plan.level] < RANK[demand]) {
    throw new HostError(
      "ERR_CONFINEMENT",
      `Cannot start workers with confinement "${demand}": only "${plan.level}" is possible here (${
        plan.reasons.join("; ")
      }). Install bubblewrap, or accept less with the option confinement: "${plan.level}"`,
      { details: { demand, reached: plan.level, reasons: plan.reasons } },
    );
  }
  return plan;
}

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
  const pipe = child.stdio[3] as Socket; // spawned with "pipe", which makes a duplex socket
  pipe.on("error", () => {}); // a broken pipe is seen as the exit of the process
  const info = child.stdio[4] as Socket;
  const inner = plan.bubblewrap === undefined ? Promise.resolve(child.pid!) : innerPid(info);
  let pidOfNode = child.pid!;
  let pidOfInit = child.pid!;
  let isInnerKnown = plan.bubblewrap === undefined;
  let isCondemned = false;
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
    confinement: plan.level,
    exited,
    kill() {
      // bubblewrap's inner half waits for its outer half while they start: were the outer one killed before the inner one is
      // known, the inner one would wait for ever.
      if (isInnerKnown) return killBoth();
      isCondemned = true;
      setTimeout(killBoth, INNER_PID_MS).unref();
    },
    rssBytes() {
      // The init of a process namespace is bubblewrap's; Node is its only child, there as soon as it was made.
      if (plan.bubblewrap !== undefined && pidOfNode === pidOfInit && pidOfInit !== child.pid) {
        pidOfNode = firstChildOf(pidOfInit) ?? pidOfInit;
      }
      return residentBytes(pidOfNode);
    },
    hold(isHeld) {
      const word = isHeld ? "ref" : "unref";
      child[word]();
      for (const stream of [pipe, info, child.stderr as Socket]) if (!stream.destroyed) stream[word]();
    },
    stderrTail: () => tail,
  };
}

function bestPlan(without: readonly string[]): ConfinementPlan {
  const reasons: string[] = [];
  if (process.platform !== "linux") {
    return { level: "weak", reasons: [`bubblewrap does not exist for ${process.platform}`] };
  }
  const bubblewrap = without.includes("bubblewrap") ? undefined : findBubblewrap();
  if (bubblewrap === undefined) reasons.push("bubblewrap is not installed: install bubblewrap");
  else {
    const failure = probe(bubblewrap);
    if (failure === null) return { level: "strong", reasons: [], bubblewrap };
    reasons.push(`bubblewrap cannot run: ${failure}`);
  }
  if (process.getuid?.() !== 0) return { level: "weak", reasons: [...reasons, "the host is not root"] };
  if (without.includes("uid")) return { level: "weak", reasons };
  const hidden = [process.execPath, import.meta.filename].find((path) => !isReadableByAll(path));
  if (hidden !== undefined) {
    return {
      level: "weak",
      reasons: [...reasons, "an unprivileged user cannot reach Sallyport's own files"],
    };
  }
  const refusal = probeIdentity();
  if (refusal !== null) {
    return {
      level: "weak",
      reasons: [...reasons, `the host cannot start a process as another user: ${refusal}`],
    };
  }
  return { level: "medium", reasons, uidBase: UNPRIVILEGED_UID_BASE };
}

/** Root of a container may have no user but itself: only a try tells. */
function probeIdentity(): string | null {
  const { status, error } = spawnSync(process.execPath, ["--version"], {
    env: {},
    cwd: "/",
    stdio: "ignore",
    timeout: 5_000,
    ...unprivilegedIdentity(UNPRIVILEGED_UID_BASE),
  });
  return status === 0 ? null : error?.message ?? `it ended with ${status}`;
}

function probe(bubblewrap: string): string | null {
  const program = ["/usr/bin/true", "/bin/true"].find((path) => existsSync(path)) ?? "/usr/bin/true";
  const args = [...jailArgs(), "--ro-bind", program, "/sallyport/true", "/sallyport/true"];
  const { status, error, stderr } = spawnSync(bubblewrap, args, {
    env: {},
    encoding: "utf8",
    timeout: 5_000,
  });
  if (status === 0) return null;
  return (error?.message ?? stderr.trim().split("\n")[0]) || `it ended with ${status}`;
}

function jailArgs(): string[] {
  const libraries = LIBRARY_PATHS.filter((path) => existsSync(path)).flatMap((
    path,
  ) => ["--ro-bind", path, path]);
  return [
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--cap-drop",
    "ALL",
    "--uid",
    NOBODY_ID,
    "--gid",
    NOBODY_ID,
    ...libraries,
    "--proc",
    "/proc",
  ];
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

/** Absolute path of bubblewrap, or undefined. */
export function findBubblewrap(): string | undefined {
  return BUBBLEWRAP_PATHS.find((path) => existsSync(path));
}

/** A user for one child alone where the host is root, whom neither modes nor limits of processes hold. */
export function childIdentity(): { uid: number; gid: number } | Record<never, never> {
  return process.getuid?.() === 0 && isUserMapped(UNPRIVILEGED_UID_BASE + UNPRIVILEGED_UID_COUNT)
    ? unprivilegedIdentity(UNPRIVILEGED_UID_BASE)
    : {};
}

/** Whether a user of this number exists here: in a user namespace of its own, root may be alone. */
function isUserMapped(uid: number): boolean {
  try {
    return readFileSync("/proc/self/uid_map", "utf8").trim().split("\n").some((line) => {
      const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number);
      return first <= uid && uid < first + count;
    });
  } catch {
    return true;
  }
}

function unprivilegedIdentity(base: number): { uid: number; gid: number } {
  // Two workers of one user could signal each other, so each gets its own.
  const uid = base + Math.floor(Math.random() * UNPRIVILEGED_UID_COUNT);
  return { uid, gid: uid };
}

function commonRoot(paths: readonly string[]): string {
  let root = dirname(paths[0]!);
  for (const path of paths) while (!path.startsWith(root === "/" ? "/" : root + "/")) root = dirname(root);
  return root;
}

function isReadableByAll(path: string): boolean {
  if ((statSync(path).mode & 0o004) === 0) return false;
  for (let folder = dirname(path);; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
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
