/** Bounds of what is kept to be used again, each with its unit last in its name. */

/** What caches may hold. */
export interface CacheLimits {
  /** Bytes of a cache on the disk, as the disk counts them; what was not asked for longest goes first. */
  readonly cacheBytesMax: number;
  /** Bytes of one entry; a larger one is not kept. */
  readonly cacheEntryBytesMax: number;
  /** Bytes of a cache in memory. */
  readonly cacheMemoryBytesMax: number;
  /** Bytes of the stat index; what was put first goes first. */
  readonly statIndexBytesMax: number;
}

/** The defaults. */
export const CACHE_LIMITS: CacheLimits = Object.freeze({
  cacheBytesMax: 256 * 1_048_576,
  cacheEntryBytesMax: 32 * 1_048_576,
  cacheMemoryBytesMax: 64 * 1_048_576,
  statIndexBytesMax: 16 * 1_048_576,
});
