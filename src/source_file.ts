/** Opens one file of a plugin so that the bytes are those of the path that was asked for, whatever moves meanwhile. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
} from "node:fs";
import process from "node:process";

/** Why a file of a plugin cannot be used. */
export type SourceReason =
  | "absent"
  | "outside"
  | "hidden"
  | "not-granted"
  | "not-a-file"
  | "not-a-directory"
  | "malformed"
  | "too-large"
  | "too-many"
  | "moved"
  | "unreadable";

/** A file of a plugin that cannot be used; the stages that read wrap it in the error of their own. */
export class SourceError extends Error {
  /** Why. */
  readonly reason: SourceReason;
  /** The path, relative to the plugin; never one of the host. */
  readonly path: string;

  /** Makes the error; `why` continues the sentence that begins with the path. */
  constructor(reason: SourceReason, path: string, why: string) {
    super(`"${path}" ${why}`);
    this.name = "SourceError";
    this.reason = reason;
    this.path = path;
  }
}

/** What tells a file from another one, or from its later self, without reading it. */
export interface FileStat {
  /** Device. */
  readonly dev: bigint;
  /** Number on the device. */
  readonly ino: bigint;
  /** Bytes. */
  readonly size: bigint;
  /** Time of the last change of content. */
  readonly mtimeNs: bigint;
  /** Time of the last change of content or attributes; user code cannot set it. */
  readonly ctimeNs: bigint;
}

/** Bytes of a file, and the state in which it was when they were read. */
export interface OpenedFile {
  /** The bytes. */
  readonly bytes: Buffer;
  /** The state. */
  readonly stat: FileStat;
}

const READ_ONLY = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Reads the regular file at `disk`, which must hold no link. `name` stands in messages. Throws a SourceError; opening
 * never blocks, not even on a pipe.
 */
export function readRegularFile(disk: string, name: string, bytesMax: number): OpenedFile {
  let descriptor: number;
  try {
    descriptor = openSync(disk, READ_ONLY);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ELOOP") throw new SourceError("moved", name, "became a link while it was read");
    if (code === "ENOENT" || code === "ENOTDIR") throw new SourceError("absent", name, "is not there");
    throw new SourceError("unreadable", name, `cannot be read (${code ?? "unknown error"})`);
  }
  try {
    const stat = fstatSync(descriptor, { bigint: true });
    if (!stat.isFile()) throw new SourceError("not-a-file", name, "is not a regular file");
    if (!isSamePlace(descriptor, disk, stat)) throw new SourceError("moved", name, "moved while it was read");
    return { bytes: readAtMost(descriptor, name, Number(stat.size), bytesMax), stat: pick(stat) };
  } finally {
    closeSync(descriptor);
  }
}

/** State of a path now, or null when nothing is there; follows no link. */
export function statOf(disk: string): FileStat | null {
  try {
    return pick(lstatSync(disk, { bigint: true }));
  } catch {
    return null;
  }
}

/** Whether two states are one. */
export function isSameStat(a: FileStat, b: FileStat): boolean {
  return a.dev === b.dev && a.ino === b.ino && a.size === b.size && a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs;
}

/** A directory above could have been swapped for a link between the checks and the opening; the descriptor cannot. */
function isSamePlace(descriptor: number, disk: string, stat: FileStat): boolean {
  try {
    if (process.platform === "linux") return readlinkSync(`/proc/self/fd/${descriptor}`) === disk;
    const now = lstatSync(disk, { bigint: true });
    return realpathSync.native(disk) === disk && now.ino === stat.ino && now.dev === stat.dev;
  } catch {
    return false;
  }
}

function readAtMost(descriptor: number, name: string, sizeHint: number, bytesMax: number): Buffer {
  const tooLarge = () =>
    new SourceError(
      "too-large",
      name,
      `is larger than ${bytesMax} bytes (sourceBytesMax), the most that one file may have`,
    );
  if (sizeHint > bytesMax) throw tooLarge();
  // One byte more than the size: a file that grew while it was read shows it.
  let buffer = Buffer.allocUnsafeSlow(sizeHint + 1);
  let length = 0;
  for (;;) {
    const count = readSync(descriptor, buffer, length, buffer.byteLength - length, null);
    if (count === 0) return buffer.subarray(0, length);
    length += count;
    if (length > bytesMax) throw tooLarge();
    if (length === buffer.byteLength) {
      buffer = Buffer.concat([buffer, Buffer.alloc(Math.min(length + 1, bytesMax))]);
    }
  }
}

/** The state alone, of whatever has it. */
export function pick(stat: FileStat): FileStat {
  const { dev, ino, size, mtimeNs, ctimeNs } = stat;
  return { dev, ino, size, mtimeNs, ctimeNs };
}
