/** Changing the disk. Nothing is created, cut or removed but in a held directory, on a path that was decided about. */
import { constants } from "node:fs";
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  opendir,
  rename as renameEntry,
  rmdir,
  unlink,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { RUNTIME_LIMITS } from "../limits.ts";
import { type PathAuthority, type PathTarget, PowerError, type WriteOptions } from "../powers.ts";
import type { Aliases } from "./aliases.ts";
import { codeOf, rethrow } from "./file_errors.ts";
import { type Held, hold, openEntry, openRegular } from "./hold.ts";

const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
/** Somebody who creates and removes the same file all the time could keep an operation busy for ever. */
const TRIES_MAX = 8;

/** Writes a whole file, or appends to one. What is there is opened as it is, looked at, and only then cut. */
export async function writeFile(
  target: PathTarget,
  aliases: Aliases,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<void> {
  refuseLarge(bytes.byteLength);
  // A new file never replaces a link, not even one that leads nowhere.
  await using held = await hold({ ...target, keepLast: options.createNew }, aliases);
  const handle = await openForWriting(held, target.authority, aliases, options);
  try {
    const facts = await handle.stat();
    if (facts.nlink > 1) throw severalNames();
    if (options.append) refuseLarge(facts.size + bytes.byteLength);
    else await handle.truncate(0);
    await handle.writeFile(bytes);
  } catch (error) {
    rethrow(error);
  } finally {
    await handle.close();
  }
}

async function openForWriting(
  held: Held,
  authority: PathAuthority,
  aliases: Aliases,
  { append, create, createNew }: WriteOptions,
): Promise<FileHandle> {
  const flags = O_WRONLY | (append ? O_APPEND : 0);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (createNew || tries > 0) {
      const made = await open(held.at(held.name), flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK, 0o666)
        .catch((error: unknown) => !createNew && codeOf(error) === "EEXIST" ? null : rethrow(error));
      if (made !== null) return made;
    }
    try {
      await using entry = await openEntry(held, held.name);
      if (entry.facts.isFile() && entry.facts.nlink > 1n) {
        for (const alias of await aliases.ofEntry(entry.facts, authority.sealed())) {
          authority.authorize(alias);
        }
        throw severalNames();
      }
      return await openRegular(entry, flags);
    } catch (error) {
      if (!create || codeOf(error) !== "ENOENT") return rethrow(error);
    }
  }
  throw new PowerError("Busy", "EBUSY", "The file was created and removed while it was opened");
}

/** Makes a directory, and with `isRecursive` those above it, each of them under a decision of its own. */
export async function makeDirectory(
  target: PathTarget,
  aliases: Aliases,
  isRecursive: boolean,
): Promise<void> {
  try {
    await using held = await hold({ ...target, keepLast: true }, aliases);
    await mkdir(held.at(held.name)).catch(rethrow);
  } catch (error) {
    if (!isRecursive || !(error instanceof PowerError)) throw error;
    if (error.code === "ENOENT" && target.path !== "/") {
      await makeDirectory({ ...target, path: dirname(target.path) }, aliases, true);
      return await makeDirectory(target, aliases, false);
    }
    if (error.code !== "EEXIST" || !(await isDirectory(target, aliases))) throw error;
  }
}

async function isDirectory(target: PathTarget, aliases: Aliases): Promise<boolean> {
  await using held = await hold(target, aliases);
  return (await lstat(held.at(held.name)).catch(rethrow)).isDirectory();
}

/** Removes a file, a link itself, or a directory; with `isRecursive` a tree, in which nothing may be denied or sealed. */
export async function remove(target: PathTarget, aliases: Aliases, isRecursive: boolean): Promise<void> {
  await using held = await hold({ ...target, keepLast: true }, aliases);
  const place: Place = { holder: held, name: held.name, path: held.checked.path };
  // All of it is looked at first, so that a refusal leaves everything as it was.
  if (isRecursive) await visit(place, target, aliases, { left: RUNTIME_LIMITS.treeEntriesMax });
  if (!isRecursive) return await removeEntry(place);
  await visit(place, target, aliases, { left: RUNTIME_LIMITS.treeEntriesMax }, removeEntry);
}

/** Moves a file, a link itself, or a directory in which nothing is denied or sealed. */
export async function rename(from: PathTarget, to: PathTarget, aliases: Aliases): Promise<void> {
  await using source = await hold({ ...from, keepLast: true }, aliases);
  await using goal = await hold({ ...to, keepLast: true }, aliases);
  const place: Place = { holder: source, name: source.name, path: source.checked.path };
  await visit(place, from, aliases, { left: RUNTIME_LIMITS.treeEntriesMax });
  await renameEntry(source.at(source.name), goal.at(goal.name)).catch(rethrow);
}

interface Place {
  readonly holder: Pick<Held, "at">;
  readonly name: string;
  readonly path: string;
}

type TreeRoot = Pick<PathTarget, "authority" | "signal">;

/** Goes through a tree, children first, without following a link; every entry must be granted by itself. */
async function visit(
  place: Place,
  root: TreeRoot,
  aliases: Aliases,
  budget: { left: number },
  act: (place: Place) => Promise<void> = () => Promise.resolve(),
  depth = 0,
): Promise<void> {
  if (--budget.left < 0 || depth > RUNTIME_LIMITS.treeDepthMax) {
    throw new PowerError("InvalidData", "ERR_LIMIT_SIZE", "The tree is larger than one operation may change");
  }
  const { authority, signal } = root;
  if (signal.aborted) throw new PowerError("Interrupted", "ERR_CALL_ENDED", "The call has ended");
  // Only a refusal is written down: the tree as a whole has its line already.
  if (!authority.wouldGrant(place.path)) authority.authorize(place.path);
  await visitChildren(place, root, aliases, budget, act, depth);
  await act(place);
}

async function visitChildren(
  { holder, name, path }: Place,
  root: TreeRoot,
  aliases: Aliases,
  budget: { left: number },
  act: (place: Place) => Promise<void>,
  depth: number,
): Promise<void> {
  await using entry = await openEntry(holder, name);
  if (!entry.facts.isDirectory()) return;
  for (const alias of await aliases.ofEntry(entry.facts, root.authority.sealed())) {
    root.authority.authorize(alias);
  }
  const inside = { at: (child: string) => join(entry.path, child) };
  for (const child of await namesIn(entry.path, budget.left)) {
    await visit(
      { holder: inside, name: child, path: join(path, child) },
      root,
      aliases,
      budget,
      act,
      depth + 1,
    );
  }
}

async function namesIn(directory: string, most: number): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(directory).catch(rethrow)) {
    if (names.push(name) > most) break; // the budget will say so
  }
  return names;
}

async function removeEntry({ holder, name }: Place): Promise<void> {
  const path = holder.at(name);
  const facts = await lstat(path).catch(rethrow);
  await (facts.isDirectory() ? rmdir(path) : unlink(path)).catch(rethrow);
}

function refuseLarge(bytes: number): void {
  if (bytes <= RUNTIME_LIMITS.fileBytesMax) return;
  throw new PowerError(
    "InvalidData",
    "ERR_LIMIT_SIZE",
    `The file would be larger than ${RUNTIME_LIMITS.fileBytesMax} bytes`,
  );
}

/** Another name of the same file may be anywhere, so writing to it would be writing there. */
function severalNames(): PowerError {
  return new PowerError("NotCapable", "ERR_NOT_CAPABLE", "The file has several names (hard links)");
}
