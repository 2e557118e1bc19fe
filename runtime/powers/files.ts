/** The disk. Each operation finds and holds its place, and acts on what is held (T08). */
import type { BigIntStats } from "node:fs";
import { opendir } from "node:fs/promises";
import { RUNTIME_LIMITS } from "../limits.ts";
import type { DirectoryEntry, FileFacts } from "../op.ts";
import { type FilePowers, type PathTarget, PowerError } from "../powers.ts";
import { type Aliases, findAliases } from "./aliases.ts";
import { rethrow } from "./file_errors.ts";
import { makeDirectory, remove, rename, writeFile } from "./files_write.ts";
import { type Entry, hold, openEntry, openRegular } from "./hold.ts";
import { Slots } from "./slots.ts";

/** What is known of the disk beforehand. */
export interface DiskOptions {
  /** Absolute sealed folders in which no file has other names, since only guests write there. */
  readonly unlinked?: readonly string[];
}

/** File powers over the real disk. Every failure is a PowerError or, from the authority, a NotCapableError. */
export function diskFiles({ unlinked = [] }: DiskOptions = {}): FilePowers {
  // A few slow files must not hold every thread of the host.
  const turns = new Slots(RUNTIME_LIMITS.fileOpsInFlightMax);
  const aliases = findAliases(unlinked);
  return {
    readFile: (target, bytesMax) =>
      turns.take(target.lane, target.signal, () => onEntry(target, aliases, readWhole(bytesMax))),
    stat: (target) =>
      turns.take(target.lane, target.signal, () => onEntry(target, aliases, (entry) => factsOf(entry.facts))),
    readDir: (target, entriesMax) =>
      turns.take(target.lane, target.signal, () => onEntry(target, aliases, readEntries(entriesMax))),
    writeFile: (target, bytes, options) =>
      turns.take(target.lane, target.signal, () => writeFile(target, aliases, bytes, options)),
    makeDirectory: (target, isRecursive) =>
      turns.take(target.lane, target.signal, () => makeDirectory(target, aliases, isRecursive)),
    remove: (target, isRecursive) =>
      turns.take(target.lane, target.signal, () => remove(target, aliases, isRecursive)),
    rename: (from, to) => turns.take(from.lane, from.signal, () => rename(from, to, aliases)),
  };
}

/** Acts on what a path means, once it is known that it has no sealed name. */
async function onEntry<Value>(
  target: PathTarget,
  aliases: Aliases,
  act: (entry: Entry) => Value | Promise<Value>,
): Promise<Value> {
  await using held = await hold(target, aliases);
  await using entry = await openEntry(held, held.name);
  const { authority } = target;
  for (const alias of await aliases.ofEntry(entry.facts, authority.sealed())) authority.authorize(alias);
  return await act(entry);
}

function readWhole(bytesMax: number): (entry: Entry) => Promise<Uint8Array> {
  return async (entry) => {
    const handle = await openRegular(entry);
    try {
      const bytes = Buffer.allocUnsafe(Math.min(Number(entry.facts.size), bytesMax) + 1);
      let length = 0;
      // One byte more than there was tells a file that grew from one that fits.
      for (let read = -1; read !== 0 && length < bytes.byteLength;) {
        ({ bytesRead: read } = await handle.read(bytes, length, bytes.byteLength - length, length));
        length += read;
      }
      if (length > bytesMax) {
        throw new PowerError("InvalidData", "ERR_LIMIT_SIZE", `The file is larger than ${bytesMax} bytes`);
      }
      return bytes.subarray(0, Math.min(length, Number(entry.facts.size)));
    } catch (error) {
      return rethrow(error);
    } finally {
      await handle.close();
    }
  };
}

function factsOf(facts: BigIntStats): FileFacts {
  return {
    isFile: facts.isFile(),
    isDirectory: facts.isDirectory(),
    isSymlink: facts.isSymbolicLink(),
    size: Number(facts.size),
    mtimeMs: Number(facts.mtimeMs),
  };
}

function readEntries(entriesMax: number): (entry: Entry) => Promise<readonly DirectoryEntry[]> {
  return async ({ facts, path }) => {
    if (!facts.isDirectory()) throw new PowerError("NotADirectory", "ENOTDIR", "Not a directory");
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
  };
}
