/**
 * The stat index in a file of Sallyport's home, authenticated with a key of the home: whoever writes into it, or brings another
 * one, gets misses and never a hit. It is a cache, so of two that write at once one may be forgotten.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { readRegularFile } from "../source_file.ts";
import type { StatIndex } from "../trust/mod.ts";
import { readKey, readOrMakeKey } from "./key_file.ts";
import { CACHE_LIMITS, type CacheLimits } from "./limits.ts";

/** Where an index is, and how much it may hold. */
export interface FileStatIndexOptions {
  /** The file, without links in its path; made with mode 0600 when the first entry is kept. */
  readonly file: string;
  /** File of the key; made with mode 0600 when the first entry is kept. */
  readonly keyFile: string;
  /** Whether nothing is ever written: reading what is there then changes nothing. */
  readonly isReadOnly?: boolean;
  /** Bounds other than the defaults. */
  readonly limits?: Partial<CacheLimits>;
}

const MAC_BYTES = 32;
/** Names the format as well: what has another one fails its check. */
const LABEL = "sallyport stat index 1";

/** Opens an index; nothing is read before the first question, and nothing written before `flush`. */
export function fileStatIndex(options: FileStatIndexOptions): StatIndex {
  const { file, keyFile, isReadOnly = false } = options;
  const { statIndexBytesMax } = { ...CACHE_LIMITS, ...options.limits };
  const news = new Map<string, string | null>();
  let known: Map<string, string> | null = null;
  const read = (): Map<string, string> => {
    try {
      const { bytes } = readRegularFile(file, "the stat index", statIndexBytesMax + MAC_BYTES);
      const content = bytes.subarray(MAC_BYTES);
      if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), macOf(readKey(keyFile), content))) return new Map();
      // The cast holds: of bytes with this code it is known who made them.
      return new Map(JSON.parse(content.toString("utf8")) as [string, string][]);
    } catch {
      return new Map();
    }
  };
  return {
    get: (key) => news.has(key) ? news.get(key) ?? null : (known ??= read()).get(key) ?? null,
    put(key, entry) {
      if (!isReadOnly) news.set(key, entry);
    },
    flush() {
      if (news.size === 0) return;
      const entries = read(); // as another process may have left it
      for (const [key, entry] of news) {
        entries.delete(key);
        if (entry !== null) entries.set(key, entry);
      }
      news.clear();
      known = entries;
      try {
        write(file, keyFile, Buffer.from(JSON.stringify(newest(entries, statIndexBytesMax))));
      } catch {
        // A disk that is full or a home that cannot be written: it is found out again.
      }
    },
  };
}

function write(file: string, keyFile: string, content: Buffer): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.${randomBytes(8).toString("hex")}`;
  writeFileSync(fresh, Buffer.concat([macOf(readOrMakeKey(keyFile), content), content]), {
    flag: "wx",
    mode: 0o600,
  });
  renameSync(fresh, file);
}

/** What was put last stays: those entries, in the order in which they were put. */
function newest(
  entries: ReadonlyMap<string, string>,
  bytesMax: number,
): readonly (readonly [string, string])[] {
  let total = 2;
  const fitting = [...entries].reverse().filter((entry) => {
    total += Buffer.byteLength(JSON.stringify(entry)) + 1;
    return total <= bytesMax;
  });
  return fitting.reverse();
}

function macOf(key: Buffer, content: Uint8Array): Buffer {
  return createHmac("sha256", key).update(LABEL).update(content).digest();
}
