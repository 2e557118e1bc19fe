/**
 * A cache in a directory. Each entry is authenticated with a key that lies elsewhere, so whoever writes into the directory,
 * or brings another one, gets a miss and never a hit: a cached bundle is code.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { CacheStore } from "./cache.ts";
import { readOrMakeKey } from "./key_file.ts";
import { CACHE_LIMITS, type CacheLimits } from "./limits.ts";

/** Where a cache is, and how much it may hold. */
export interface DiskCacheOptions {
  /** Directory of the entries, made with mode 0700 when the first one is kept. */
  readonly directory: string;
  /** File of the key, outside of the directory; made with mode 0600 when the first entry is kept. */
  readonly keyFile: string;
  /** Bounds other than the defaults. */
  readonly limits?: Partial<CacheLimits>;
}

const MAC_BYTES = 32;
/** Names the format as well: entries of another one fail their check. */
const LABEL = "sallyport cache 1";
const READ_ONLY = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
/** What the least file takes on a disk. */
const BLOCK_BYTES = 4_096;

/** Opens a cache; nothing is made on the disk before something is kept. */
export function diskCache(options: DiskCacheOptions): CacheStore {
  const { directory, keyFile } = options;
  const limits = { ...CACHE_LIMITS, ...options.limits };
  let secret: Buffer | undefined;
  const macOf = (name: string, bytes: Uint8Array): Buffer => {
    secret ??= readOrMakeKey(keyFile);
    return createHmac("sha256", secret).update(LABEL).update(name).update(bytes).digest();
  };
  return {
    get: (key) =>
      attempt(() => {
        const name = nameOf(key);
        const path = join(directory, name);
        const content = readEntry(path, limits.cacheEntryBytesMax + MAC_BYTES);
        const bytes = content.subarray(MAC_BYTES);
        if (!timingSafeEqual(content.subarray(0, MAC_BYTES), macOf(name, bytes))) return null;
        touch(path);
        return bytes;
      }),
    put(key, bytes) {
      if (bytes.byteLength > limits.cacheEntryBytesMax) return;
      attempt(() => {
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        const name = nameOf(key);
        const fresh = join(directory, `${name}.${randomBytes(8).toString("hex")}`);
        writeFileSync(fresh, Buffer.concat([macOf(name, bytes), bytes]), { flag: "wx", mode: 0o600 });
        renameSync(fresh, join(directory, name));
        shrink(directory, limits.cacheBytesMax);
        return null;
      });
    },
  };
}

function nameOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** Reads a regular file and nothing else: a pipe or a link in its place is no entry. */
function readEntry(path: string, bytesMax: number): Buffer {
  const file = openSync(path, READ_ONLY);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile() || stat.size < MAC_BYTES || stat.size > bytesMax) throw new Error("not an entry");
    const content = Buffer.allocUnsafe(stat.size);
    for (let done = 0; done < content.byteLength;) {
      const count = readSync(file, content, done, content.byteLength - done, done);
      if (count === 0) throw new Error("the entry was cut while it was read");
      done += count;
    }
    return content;
  } finally {
    closeSync(file);
  }
}

/** The time of the last use, for what goes first. */
function touch(path: string): void {
  const now = new Date();
  utimesSync(path, now, now);
}

/** Files that a writer left behind when it was killed are of the same kind, and go the same way. */
const OWN_NAME = /^[0-9a-f]{64}(?:\.[0-9a-f]{16})?$/;

function shrink(directory: string, bytesMax: number): void {
  const entries = readdirSync(directory).filter((name) => OWN_NAME.test(name)).flatMap((name) => {
    const path = join(directory, name);
    const stat = lstatSync(path, { throwIfNoEntry: false }); // another process may be shrinking as well
    return stat === undefined
      ? []
      : [{ path, usedMs: stat.mtimeMs, bytes: Math.max(stat.size, BLOCK_BYTES) }];
  });
  let total = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total <= bytesMax) return;
  for (const { path, bytes } of entries.sort((a, b) => a.usedMs - b.usedMs)) {
    if (total <= bytesMax) return;
    attempt(() => {
      unlinkSync(path);
      return null;
    });
    total -= bytes;
  }
}

/** Whatever the disk says, a cache only misses. */
function attempt<Value>(work: () => Value | null): Value | null {
  try {
    return work();
  } catch {
    return null;
  }
}
