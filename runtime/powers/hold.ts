/**
 * Finds the place that a path means and holds on to it. Links are resolved by us, and each target is decided about before
 * it is followed. On Linux the parent is held by a descriptor and everything is named relative to it, so a directory that is
 * swapped for a link meanwhile changes nothing; elsewhere the real path is looked at again right before each act (T08).
 */
import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import type { CheckedPath } from "../checked.ts";
import { RUNTIME_LIMITS } from "../limits.ts";
import { type PathTarget, PowerError } from "../powers.ts";
import type { Aliases } from "./aliases.ts";
import { codeOf, rethrow } from "./file_errors.ts";

/** A path that was decided about, with the directory that it is in. */
export interface Held extends AsyncDisposable {
  /** The decision about it. */
  readonly checked: CheckedPath;
  /** Its last component. */
  readonly name: string;
  /** What to hand to the system for an entry of the held directory. */
  at(name: string): string;
}

/** An entry that was opened without any effect on it: no pipe is woken, no device is touched. */
export interface Entry extends AsyncDisposable {
  /** What it is. */
  readonly facts: BigIntStats;
  /** What to hand to the system for that very entry; a directory's own entries are below it. */
  readonly path: string;
  /** Opens that very entry for use. */
  reopen(flags: number): Promise<FileHandle>;
}

const IS_LINUX = process.platform === "linux";
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_NOCTTY = 0, O_DIRECTORY = 0 } = constants;
/** Linux's O_PATH, which Node does not name: a descriptor that names a place and opens nothing. */
const O_PATH = 0x20_0000;

/** Follows, decides and holds. Outside a grant the answer is a refusal, whatever is there or not. */
export async function hold(target: PathTarget, aliases: Aliases): Promise<Held> {
  const { authority } = target;
  const path = await followLinks(target);
  const name = path === "/" ? "." : path.slice(path.lastIndexOf("/") + 1);
  let parent: OpenDirectory;
  try {
    parent = await openDirectory(dirname(path));
  } catch (error) {
    authority.authorize(path);
    return rethrow(error);
  }
  try {
    // Something on the way may have been swapped since it was looked at; what was opened is what is decided about.
    const real = join(parent.path, name);
    for (const alias of await aliases.ofPlace(parent, real, authority.sealed())) authority.authorize(alias);
    const checked = authority.authorize(real);
    return { checked, name, at: parent.at, [Symbol.asyncDispose]: parent[Symbol.asyncDispose] };
  } catch (error) {
    await parent[Symbol.asyncDispose]();
    throw error;
  }
}

/** A directory that is held, with its real path at the moment of opening. */
export interface OpenDirectory extends AsyncDisposable {
  /** Its real path. */
  readonly path: string;
  /** What to hand to the system for an entry; "" is the directory itself. */
  at(name: string): string;
}

/** Holds the directory that a path leads to. */
async function openDirectory(path: string): Promise<OpenDirectory> {
  if (!IS_LINUX) {
    const real = await realpath(path).catch(rethrow);
    return { path: real, at: (name) => join(real, name), [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const handle = await open(path, O_PATH | O_DIRECTORY).catch(rethrow);
  try {
    const base = `/proc/self/fd/${handle.fd}`;
    return {
      path: await readlink(base).catch(rethrow),
      at: (name) => name === "" ? base : `${base}/${name}`,
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Opens an entry of a held directory; a link is opened as the link that it is. */
export async function openEntry(holder: Pick<Held, "at">, name: string): Promise<Entry> {
  const path = holder.at(name);
  if (!IS_LINUX) return await openEntryByName(path);
  const handle = await open(path, O_PATH | O_NOFOLLOW).catch(rethrow);
  try {
    const own = `/proc/self/fd/${handle.fd}`;
    return {
      facts: await handle.stat({ bigint: true }),
      path: own,
      reopen: (flags) => open(own, flags | O_NONBLOCK | O_NOCTTY).catch(rethrow),
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    return rethrow(error);
  }
}

async function openEntryByName(path: string): Promise<Entry> {
  const facts = await lstat(path, { bigint: true }).catch(rethrow);
  return {
    facts,
    path,
    async reopen(flags) {
      const handle = await open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY).catch(rethrow);
      const now = await handle.stat({ bigint: true });
      if (now.dev === facts.dev && now.ino === facts.ino) return handle;
      await handle.close();
      throw new PowerError("NotCapable", "ERR_NOT_CAPABLE", "The path changed while it was opened");
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Opens a regular file; everything else is refused before it is touched. */
export async function openRegular(entry: Entry, flags: number = O_RDONLY): Promise<FileHandle> {
  const { facts } = entry;
  if (facts.isDirectory()) throw new PowerError("IsADirectory", "EISDIR", "Is a directory");
  if (facts.isSymbolicLink()) {
    throw new PowerError("NotCapable", "ERR_NOT_CAPABLE", "The path became a link while it was opened");
  }
  if (!facts.isFile()) throw new PowerError("NotSupported", "ENOTSUP", "Not a regular file");
  return await entry.reopen(flags);
}

async function followLinks({ path, authority, keepLast = false }: PathTarget): Promise<string> {
  let links = 0;
  let done = "/";
  const rest = path.split("/").filter((part) => part !== "");
  while (rest.length > 0) {
    const here = join(done, rest.shift()!);
    const isLast = rest.length === 0;
    const isLink = !(isLast && keepLast) && await isSymbolicLink(here);
    if (!isLink) {
      done = here;
      continue;
    }
    if (++links > RUNTIME_LIMITS.linksPerPathMax) {
      throw new PowerError("FilesystemLoop", "ELOOP", "Too many symbolic links");
    }
    const target = await readlink(here).then((text) => resolve(dirname(here), text), (error: unknown) => {
      // Swapped for something else since it was looked at: then it is taken for what it is now.
      return codeOf(error) === "EINVAL" || codeOf(error) === "ENOENT" ? null : rethrow(error);
    });
    if (target === null) {
      done = here;
      continue;
    }
    // A link that somebody put inside a grant may lead anywhere, so where it leads is decided before it is followed.
    // One above the grant is the system's own, such as /tmp on some systems.
    if (authority.wouldGrant(here)) authority.authorize(target);
    rest.unshift(...target.split("/").filter((part) => part !== ""));
    done = "/";
  }
  return done;
}

async function isSymbolicLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch {
    return false; // what is not there is no link; opening it will say so
  }
}
