/**
 * The sandbox of programs that plugins start: bubblewrap around `prlimit`. Inside there are the system's own programs and
 * libraries, read-only, the one program, verified files, and an empty folder for temporary ones; no network, no other file
 * of the host, no other process, no inherited descriptor (T07).
 */
import { execFile } from "node:child_process";
import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import process from "node:process";
import { isWithin } from "../../permissions/mod.ts";
import { childIdentity } from "../confine_identity.ts";
import { findBubblewrap } from "../confine_jail.ts";
import type { CommandLimits } from "../limits.ts";

/** How programs are confined on this machine. */
export interface Jail {
  /** Absolute path of bubblewrap. */
  readonly bubblewrap: string;
  /** Absolute path of prlimit, which is seen inside as well. */
  readonly prlimit: string;
  /** Whether this bubblewrap can keep programs from making namespaces of their own. */
  readonly forbidsNamespaces: boolean;
}

/** What one program sees. */
export interface Cell {
  /** Bounds. */
  readonly limits: CommandLimits;
  /** Files that are there as what a descriptor gives. */
  readonly files: readonly { readonly fd: number; readonly at: string }[];
  /** Links. */
  readonly links: readonly { readonly to: string; readonly at: string }[];
  /** Where it starts. */
  readonly cwd: string;
  /** Its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Places to hide. */
  readonly hidden: readonly string[];
  /** Descriptors in whose place nothing stands, to be closed. */
  readonly emptied: readonly number[];
  /** Descriptor to which bubblewrap tells how it ended. */
  readonly statusFd: number;
}

/** Folder of what is put into a sandbox. */
export const INSIDE = "/sallyport";
/** Where temporary files go, inside. */
export const SCRATCH = "/tmp";
const PRLIMIT_PATHS = ["/usr/bin/prlimit", "/bin/prlimit"];
const SYSTEM_FOLDERS = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const NOBODY_ID = "65534";
const PROBE_MS = 10_000;
const MIB = 1_048_576;

/** Tries the sandbox on the system's own `true`. Gives what works, or why nothing does. */
export async function findJail(limits: CommandLimits): Promise<Jail | string> {
  if (process.platform !== "linux") return `bubblewrap does not exist for ${process.platform}`;
  const bubblewrap = findBubblewrap();
  if (bubblewrap === undefined) return "bubblewrap is not installed";
  const prlimit = findPrlimit();
  if (prlimit === undefined) return "prlimit of util-linux is not installed";
  let failure = "";
  for (const forbidsNamespaces of [true, false]) {
    const jail = { bubblewrap, prlimit, forbidsNamespaces };
    const found = await probe(jail, limits);
    if (found === null) return jail;
    failure = found;
  }
  return `bubblewrap cannot run: ${failure}`;
}

/** Absolute path of prlimit, or undefined. */
export function findPrlimit(): string | undefined {
  return PRLIMIT_PATHS.find((path) => existsSync(path));
}

/** The arguments of bubblewrap for one program. */
export function jailArgs(jail: Jail, cell: Cell, command: readonly string[]): string[] {
  const { limits } = cell;
  return [
    ...["--unshare-all", "--unshare-user", "--new-session", "--die-with-parent", "--clearenv"],
    ...(jail.forbidsNamespaces ? ["--disable-userns"] : []),
    ...["--cap-drop", "ALL", "--uid", NOBODY_ID, "--gid", NOBODY_ID, "--hostname", "sandbox"],
    // bubblewrap reads further arguments from these, finds none, and closes them.
    ...cell.emptied.flatMap((fd) => ["--args", String(fd)]),
    ...systemFolders().flatMap(({ path, link }) =>
      link === null ? ["--ro-bind", path, path] : ["--symlink", link, path]
    ),
    ...cell.hidden.flatMap(hide),
    ...["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"],
    ...["--size", String(limits.scratchMb * MIB), "--tmpfs", SCRATCH, "--dir", cell.cwd],
    ...cell.files.flatMap(({ fd, at }) => ["--perms", "0555", "--ro-bind-data", String(fd), at]),
    ...cell.links.flatMap(({ to, at }) => ["--symlink", to, at]),
    ...Object.entries(cell.env).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["--chdir", cell.cwd, "--remount-ro", "/", "--json-status-fd", String(cell.statusFd), "--"],
    ...limited(jail.prlimit, limits, [`--nproc=${limits.processes + 1}`], command), // one is bubblewrap's own
  ];
}

/** A command under prlimit. */
export function limited(
  prlimit: string,
  { addressSpaceMb, files, scratchMb }: CommandLimits,
  more: readonly string[],
  command: readonly string[],
): string[] {
  return [
    prlimit,
    "--core=0",
    `--as=${addressSpaceMb * MIB}`,
    `--nofile=${files}`,
    `--fsize=${scratchMb * MIB}`,
    ...more,
    "--",
    ...command,
  ];
}

/** Whether a real path is one of the system's own that every sandbox holds. */
export function isOfSystem(real: string): boolean {
  return systemFolders().some(({ path, link }) => link === null && isWithin(path, real));
}

/** The top folders of the system; on most of today's systems all but one are links into it. */
function systemFolders(): { readonly path: string; readonly link: string | null }[] {
  return SYSTEM_FOLDERS.flatMap((path) => {
    const facts = lstatSync(path, { throwIfNoEntry: false });
    if (facts === undefined) return [];
    return [{ path, link: facts.isSymbolicLink() ? readlinkSync(path) : null }];
  });
}

function hide(path: string): string[] {
  try {
    const real = realpathSync(path);
    return isOfSystem(real) ? ["--size", "4096", "--tmpfs", real, "--remount-ro", real] : [];
  } catch {
    return []; // what is not there needs no hiding
  }
}

function probe(jail: Jail, limits: CommandLimits): Promise<string | null> {
  const cell: Cell = {
    limits,
    files: [],
    links: [],
    cwd: SCRATCH,
    env: {},
    hidden: [],
    emptied: [],
    statusFd: 1,
  };
  const args = jailArgs(jail, cell, [
    ["/usr/bin/true", "/bin/true"].find((path) => existsSync(path)) ?? "true",
  ]);
  return new Promise((resolve) => {
    const options = { env: {}, cwd: "/", timeout: PROBE_MS, ...childIdentity() };
    execFile(jail.bubblewrap, args, options, (error, _stdout, stderr) => {
      resolve(error === null ? null : stderr.trim().split("\n")[0] || error.message.split("\n")[0]!);
    });
  });
}
