/**
 * The settings file on the disk (T36). Whoever can write it decides what runs, so it is believed only when nobody but its
 * owner could have written it, and it is replaced as a whole or not at all.
 */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { HostError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import { quoteArgument } from "../quote.ts";
import { type FileStat, isSameStat } from "../source_file.ts";

/** The file as it was found. */
export interface SettingsFile {
  /** Where it is, links followed; a write goes there. */
  readonly path: string;
  /** Its bytes, or null when it is not there. */
  readonly bytes: Uint8Array | null;
  /** Its state, or null when it is not there. */
  readonly stat: FileStat | null;
}

const NAME = "settings.yaml";
const READ_ONLY = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Opens the settings, or another file that is kept alike, in the directory `root`. A file whose state is `known` is not read again and gives null. Throws
 * HostError `ERR_STORE` with the cure when somebody else could have written it, or when it cannot be read.
 */
export function openSettings(
  root: string,
  bytesMax: number,
  known: FileStat | null,
  name: string = NAME,
): SettingsFile | null {
  const directory = realDirectory(root);
  if (directory === null) return { path: join(root, name), bytes: null, stat: null };
  // Where there is no file nothing is believed, whoever could write one.
  if (lstatSync(join(directory, name), { throwIfNoEntry: false }) === undefined) {
    return { path: join(directory, name), bytes: null, stat: null };
  }
  checkOwned(directory, lstatSync(directory), 0o077, "700");
  const path = followLink(join(directory, name));
  let descriptor: number;
  try {
    descriptor = openSync(path, READ_ONLY);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "ENOENT") return { path, bytes: null, stat: null };
    throw unusable(path, `it cannot be opened (${code ?? "unknown error"})`, "Make it readable", cause);
  }
  try {
    const stat = fstatSync(descriptor, { bigint: true });
    if (!stat.isFile()) throw unusable(path, "it is not a regular file", "Remove it");
    checkOwned(path, fstatSync(descriptor), 0o077, "600");
    if (known !== null && isSameStat(stat, known)) return null;
    return { path, bytes: readAll(descriptor, path, Number(stat.size), bytesMax), stat };
  } finally {
    closeSync(descriptor);
  }
}

/** Makes the directory when it is not there, and checks it. Throws HostError `ERR_STORE`. */
export function ensureDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const real = realpathSync(directory);
    checkOwned(real, lstatSync(real), 0o077, "700");
  } catch (cause) {
    if (cause instanceof HostError) throw cause;
    throw unusable(
      directory,
      `it cannot be made (${codeOf(cause)})`,
      "Make it a directory of your own",
      cause,
    );
  }
}

/** Replaces a file in one step that outlives a power failure. Throws HostError `ERR_STORE`; the old file is then whole. */
export function replaceFile(path: string, bytes: Uint8Array): void {
  const directory = dirname(path);
  const temporary = join(directory, `.sallyport-${randomUUID()}.tmp`);
  try {
    const file = openSync(temporary, "wx", 0o600);
    try {
      for (let done = 0; done < bytes.byteLength;) done += writeSync(file, bytes, done);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
    syncDirectory(directory);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw unusable(path, `it cannot be written (${codeOf(cause)})`, `Make "${directory}" writable`, cause);
  }
}

/** The error for settings that cannot be believed or used. */
export function unusable(path: string, why: string, cure: string, cause?: unknown): HostError {
  return new HostError("ERR_STORE", `Cannot use "${display(path)}": ${display(why)}. ${display(cure)}`, {
    details: { file: path, cure },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** A link, as people who keep their settings elsewhere make it, is followed; what it leads to is checked alike. */
function followLink(path: string): string {
  try {
    if (!lstatSync(path).isSymbolicLink()) return path;
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return path;
    throw unusable(path, `it cannot be looked at (${codeOf(cause)})`, "Make it readable", cause);
  }
  try {
    const target = realpathSync(path);
    const directory = dirname(target);
    checkOwned(directory, lstatSync(directory), 0o022, "go-w");
    return target;
  } catch (cause) {
    if (cause instanceof HostError) throw cause;
    throw unusable(path, "it is a link to nothing", "Make what it leads to, or remove it", cause);
  }
}

/** Whoever else may write it, or own it, could have put trust into it. Systems without users have nothing to check. */
function checkOwned(path: string, { uid, mode }: Stats, forbidden: number, wanted: string): void {
  const own = process.geteuid?.();
  if (own === undefined) return;
  if (uid !== own) {
    throw unusable(
      path,
      `it belongs to user ${uid}, who could trust plugins for you`,
      `Look at what is in it, then run: chown ${own} ${quoteArgument(path)}`,
    );
  }
  if ((mode & forbidden) === 0) return;
  const octal = (mode & 0o777).toString(8).padStart(4, "0");
  throw unusable(
    path,
    `its mode is ${octal}, so others can ${(mode & 0o022) === 0 ? "read" : "write"} it`,
    `Look at what is in it, then run: chmod ${wanted} ${quoteArgument(path)}`,
  );
}

function realDirectory(root: string): string | null {
  try {
    const real = realpathSync(root);
    if (lstatSync(real).isDirectory()) return real;
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return null;
    throw unusable(root, `it cannot be looked at (${codeOf(cause)})`, "Make it readable", cause);
  }
  throw unusable(root, "it is not a directory", "Remove it");
}

function readAll(descriptor: number, path: string, sizeHint: number, bytesMax: number): Uint8Array {
  const tooLarge = () =>
    unusable(path, `it is larger than ${bytesMax} bytes (settingsBytesMax)`, "Remove what is not needed");
  if (sizeHint > bytesMax) throw tooLarge();
  // One byte more than is allowed shows that it is too large, however much it grows.
  const buffer = Buffer.alloc(bytesMax + 1 > sizeHint * 2 + 4096 ? sizeHint * 2 + 4096 : bytesMax + 1);
  let length = 0;
  for (let count = -1; count !== 0 && length < buffer.byteLength; length += count) {
    count = readSync(descriptor, buffer, length, buffer.byteLength - length, null);
  }
  if (length > bytesMax || length === buffer.byteLength) throw tooLarge();
  return buffer.subarray(0, length);
}

function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, constants.O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException | null)?.code ?? "unknown error");
}
