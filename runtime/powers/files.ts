/** Reading the disk: links are resolved by us, the last step never follows one, opening never blocks (T08, first cut). */
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, opendir, readlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { CheckedPath } from "../checked.ts";
import { RUNTIME_LIMITS } from "../limits.ts";
import type { DirectoryEntry, FileFacts } from "../op.ts";
import { type FilePowers, type PathAuthority, PowerError } from "../powers.ts";

/** File powers over the real disk. Every failure is a PowerError or, from the authority, a NotCapableError. */
export function diskFiles(): FilePowers {
  const turns = new Turns(RUNTIME_LIMITS.fileOpsInFlightMax);
  return {
    walk: (path, authority, keepLast = false) => walk(path, authority, keepLast),
    readFile: (path, bytesMax) => turns.take(() => readRegularFile(path, bytesMax)),
    stat: (path) => turns.take(() => factsOf(path)),
    readDir: (path, entriesMax) => turns.take(() => entriesOf(path, entriesMax)),
  };
}

async function walk(path: string, authority: PathAuthority, keepLast: boolean): Promise<CheckedPath> {
  let links = 0;
  let done = "/";
  const rest = path.split("/").filter((part) => part !== "");
  while (rest.length > 0) {
    const here = join(done, rest.shift()!);
    const isLast = rest.length === 0;
    const facts = isLast && keepLast ? null : await lstatQuietly(here);
    if (facts === null || !facts.isSymbolicLink()) {
      done = here;
      continue;
    }
    if (++links > RUNTIME_LIMITS.linksPerPathMax) {
      throw new PowerError("FilesystemLoop", "ELOOP", "Too many symbolic links");
    }
    const target = resolve(dirname(here), await readlink(here).catch(rethrow));
    // A link that somebody put inside a grant may lead anywhere, so where it leads is decided before it is followed.
    // One above the grant is the system's own, such as /tmp on some systems.
    if (authority.wouldGrant(here)) authority.authorize(target);
    rest.unshift(...target.split("/").filter((part) => part !== ""));
    done = "/";
  }
  return authority.authorize(done);
}

async function readRegularFile(checked: CheckedPath, bytesMax: number): Promise<Uint8Array> {
  await using file = await openChecked(checked, 0);
  const facts = await file.handle.stat();
  if (facts.isDirectory()) throw new PowerError("IsADirectory", "EISDIR", "Is a directory");
  if (!facts.isFile()) throw new PowerError("NotSupported", "ENOTSUP", "Not a regular file");
  const bytes = Buffer.allocUnsafe(Math.min(facts.size, bytesMax) + 1);
  let length = 0;
  // One byte more than allowed tells a file that grew from one that fits.
  for (let read = -1; read !== 0 && length <= bytesMax;) {
    const room = length < bytes.byteLength ? bytes.subarray(length) : null;
    if (room === null) break;
    ({ bytesRead: read } = await file.handle.read(room, 0, room.byteLength, length));
    length += read;
  }
  if (length > bytesMax) {
    throw new PowerError("InvalidData", "ERR_LIMIT_SIZE", `The file is larger than ${bytesMax} bytes`);
  }
  return bytes.subarray(0, Math.min(length, facts.size));
}

async function factsOf(checked: CheckedPath): Promise<FileFacts> {
  const facts = await lstat(checked.path).catch(rethrow);
  return {
    isFile: facts.isFile(),
    isDirectory: facts.isDirectory(),
    isSymlink: facts.isSymbolicLink(),
    size: facts.size,
    mtimeMs: Math.floor(facts.mtimeMs),
  };
}

async function entriesOf(checked: CheckedPath, entriesMax: number): Promise<readonly DirectoryEntry[]> {
  await using file = await openChecked(checked, constants.O_DIRECTORY ?? 0);
  // The descriptor, not the name: what was opened is what is listed even if the name was given to something else.
  const path = process.platform === "linux" ? `/proc/self/fd/${file.handle.fd}` : checked.path;
  const entries: DirectoryEntry[] = [];
  for await (const entry of await opendir(path).catch(rethrow)) {
    if (entries.length >= entriesMax) {
      throw new PowerError(
        "InvalidData",
        "ERR_LIMIT_SIZE",
        `The directory has more than ${entriesMax} entries`,
      );
    }
    entries.push({
      name: entry.name,
      isFile: entry.isFile(),
      isDirectory: entry.isDirectory(),
      isSymlink: entry.isSymbolicLink(),
    });
  }
  return entries.sort((a, b) => a.name < b.name ? -1 : 1);
}

async function openChecked(
  checked: CheckedPath,
  extra: number,
): Promise<AsyncDisposable & { handle: FileHandle }> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
  const flags = O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0) | (O_NOCTTY ?? 0) | extra;
  const handle = await open(checked.path, flags).catch(rethrow);
  const file = { handle, [Symbol.asyncDispose]: () => handle.close() };
  if (process.platform !== "linux") return file;
  // A directory on the way can be swapped for a link between the walk and the open; the descriptor tells the truth.
  const real = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => "");
  if (real === checked.path) return file;
  await handle.close();
  throw new PowerError("NotCapable", "ERR_NOT_CAPABLE", "The path changed while it was opened");
}

async function lstatQuietly(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch {
    return null; // what is not there is no link; opening it will say so
  }
}

const POWER_ERRORS: Readonly<Record<string, readonly [name: string, message: string]>> = {
  ENOENT: ["NotFound", "No such file or directory"],
  EACCES: ["PermissionDenied", "The system does not permit it"],
  EPERM: ["PermissionDenied", "The system does not permit it"],
  EISDIR: ["IsADirectory", "Is a directory"],
  ENOTDIR: ["NotADirectory", "Not a directory"],
  ELOOP: ["FilesystemLoop", "Too many symbolic links"],
  ENXIO: ["NotSupported", "Not a regular file"],
  ENAMETOOLONG: ["InvalidData", "The name is too long"],
};

function rethrow(error: unknown): never {
  const code = error instanceof Error && "code" in error ? String(error.code) : "EIO";
  const [name, message] = POWER_ERRORS[code] ?? ["Error", "The system reports an error"];
  throw new PowerError(name, code, message);
}

/** Lets a bounded number of operations run at once: a few slow files must not hold every thread of the host. */
class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async take<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resume) => this.#waiting.push(resume));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
