/** What was made once and can be made again: a cache may forget at any time, and whoever asks it copes. */
import { CACHE_LIMITS } from "./limits.ts";

/**
 * Keeps bytes under a key. What is kept is code that will run, so a store hands out only what was put into it by this host.
 * Neither method throws: what cannot be read is not there, what cannot be kept is made again.
 */
export interface CacheStore {
  /** The bytes that were put under exactly this key, or null. */
  get(key: string): Uint8Array | null;
  /** Keeps bytes; nobody writes to them afterwards. */
  put(key: string, bytes: Uint8Array): void;
}

/** A cache that ends with its process; what was not asked for longest goes first. */
export function memoryCache(bytesMax: number = CACHE_LIMITS.cacheMemoryBytesMax): CacheStore {
  const kept = new Map<string, Uint8Array>(); // in the order of the last use
  let total = 0;
  const drop = (key: string): void => {
    total -= sizeOf(key, kept.get(key));
    kept.delete(key);
  };
  return {
    get(key) {
      const bytes = kept.get(key);
      if (bytes === undefined) return null;
      kept.delete(key);
      kept.set(key, bytes);
      return bytes;
    },
    put(key, bytes) {
      drop(key);
      const size = sizeOf(key, bytes);
      if (size > bytesMax) return;
      kept.set(key, bytes);
      total += size;
      for (const oldest of kept.keys()) {
        if (total <= bytesMax) return;
        drop(oldest);
      }
    },
  };
}

/** Asks `near` first; what only `far` has is kept near as well. */
export function layeredCache(near: CacheStore, far: CacheStore): CacheStore {
  return {
    get(key) {
      const known = near.get(key);
      if (known !== null) return known;
      const found = far.get(key);
      if (found !== null) near.put(key, found);
      return found;
    },
    put(key, bytes) {
      near.put(key, bytes);
      far.put(key, bytes);
    },
  };
}

function sizeOf(key: string, bytes: Uint8Array | undefined): number {
  return bytes === undefined ? 0 : 2 * key.length + bytes.byteLength;
}
