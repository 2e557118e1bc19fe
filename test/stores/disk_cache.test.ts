import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type CacheStore, diskCache, type DiskCacheOptions } from "../../src/mod.ts";
import { layeredCache, memoryCache } from "../../src/stores/cache.ts";
import { temporary } from "../bundler/support.ts";

const BYTES = Buffer.from("what was made");

function places(): DiskCacheOptions {
  const home = temporary();
  return { directory: join(home, "cache"), keyFile: join(home, "cache.key") };
}

function filesOf({ directory }: DiskCacheOptions): string[] {
  return readdirSync(directory).map((name) => join(directory, name));
}

/** What a later process would find. */
function textOf(cache: CacheStore, key = "a"): string | null {
  const bytes = cache.get(key);
  return bytes === null ? null : Buffer.from(bytes).toString();
}

describe("a cache on the disk", () => {
  test("gives what was put, to a later process as well, and nothing under another key", () => {
    const where = places();
    diskCache(where).put("a", BYTES);
    const later = diskCache(where);
    expect(textOf(later)).toBe("what was made");
    expect(textOf(later, "b")).toBe(null);
  });

  test("makes nothing before something is kept; then its directory and files are its owner's alone", () => {
    const where = places();
    expect(diskCache(where).get("a")).toBe(null);
    expect([existsSync(where.directory), existsSync(where.keyFile)]).toEqual([false, false]);
    diskCache(where).put("a", BYTES);
    const modes = [where.directory, where.keyFile, ...filesOf(where)].map((path) =>
      statSync(path).mode & 0o777
    );
    expect(modes).toEqual([0o700, 0o600, 0o600]);
  });

  test("every flipped byte, every cut and every addition is a miss, and what is put again is there again", () => {
    const where = places();
    const cache = diskCache(where);
    cache.put("a", BYTES);
    const [path] = filesOf(where) as [string];
    const whole = readFileSync(path);
    for (let place = 0; place < whole.byteLength; place++) {
      const flipped = Buffer.from(whole);
      flipped[place]! ^= 1;
      writeFileSync(path, flipped);
      expect(textOf(cache)).toBe(null);
      writeFileSync(path, whole.subarray(0, place));
      expect(textOf(cache)).toBe(null);
    }
    writeFileSync(path, Buffer.concat([whole, Buffer.from("x")]));
    expect(textOf(cache)).toBe(null);
    cache.put("a", BYTES);
    expect(textOf(cache)).toBe("what was made");
  });

  test("an entry under another entry's name is a miss, and so is one of another key, whose own is a hit", () => {
    const where = places();
    const cache = diskCache(where);
    cache.put("a", BYTES);
    const [first] = filesOf(where) as [string];
    const content = readFileSync(first);
    cache.put("b", Buffer.from("something else"));
    const second = filesOf(where).find((path) => path !== first)!;
    writeFileSync(second, content);
    expect([textOf(cache, "a"), textOf(cache, "b")]).toEqual(["what was made", null]);

    const other = places();
    diskCache(other).put("a", BYTES);
    writeFileSync(first, readFileSync(filesOf(other)[0]!));
    expect(textOf(diskCache(where))).toBe(null);
    expect(textOf(diskCache(other))).toBe("what was made");
  });

  test("what is no regular file is a miss, and is not waited for", () => {
    const where = places();
    diskCache(where).put("a", BYTES);
    const [path] = filesOf(where) as [string];
    const kept = join(where.directory, "elsewhere");
    writeFileSync(kept, readFileSync(path));
    rmSync(path);
    symlinkSync(kept, path);
    expect(textOf(diskCache(where))).toBe(null);
    rmSync(path);
    mkdirSync(path);
    expect(textOf(diskCache(where))).toBe(null);
  });

  test("[T39] what was not asked for longest goes first, and the directory stays below cacheBytesMax", () => {
    const where = { ...places(), limits: { cacheBytesMax: 100_000 } };
    const cache = diskCache(where);
    const large = Buffer.alloc(30_000);
    const age = (path: string): void => utimesSync(path, 1, 1);
    for (const key of ["a", "b", "c"]) {
      cache.put(key, large);
      for (const path of filesOf(where)) age(path);
    }
    expect(cache.get("a")).not.toBe(null); // it is used, and so the youngest
    cache.put("d", large);
    expect(cache.get("a")).not.toBe(null);
    expect(cache.get("d")).not.toBe(null);
    expect([cache.get("b"), cache.get("c")].filter((bytes) => bytes === null)).toHaveLength(1);
    const total = filesOf(where).reduce((sum, path) => sum + statSync(path).size, 0);
    expect(total).toBeLessThanOrEqual(100_000);
  });

  test("[T39] many small entries count as the disk counts them; a file of somebody else is left alone", () => {
    const where = { ...places(), limits: { cacheBytesMax: 10 * 4_096 } };
    const cache = diskCache(where);
    mkdirSync(where.directory);
    writeFileSync(join(where.directory, "notes.txt"), "mine");
    for (let i = 0; i < 50; i++) cache.put(`key ${i}`, BYTES);
    expect(readdirSync(where.directory)).toHaveLength(11);
    expect(existsSync(join(where.directory, "notes.txt"))).toBe(true);
  });

  test("[T39] an entry above cacheEntryBytesMax is not kept, one at the bound is", () => {
    const cache = diskCache({ ...places(), limits: { cacheEntryBytesMax: 10 } });
    cache.put("a", Buffer.alloc(11));
    cache.put("b", Buffer.alloc(10));
    expect([cache.get("a"), cache.get("b")?.byteLength]).toEqual([null, 10]);
  });

  test("what cannot be written or read is no error", () => {
    const where = places();
    writeFileSync(where.directory, "a file stands in its place");
    const cache = diskCache(where);
    cache.put("a", BYTES);
    expect(cache.get("a")).toBe(null);
    const damaged = places();
    diskCache(damaged).put("a", BYTES);
    chmodSync(damaged.keyFile, 0o600);
    writeFileSync(damaged.keyFile, "cut");
    expect(diskCache(damaged).get("a")).toBe(null);
    diskCache(damaged).put("a", BYTES);
    expect(diskCache(damaged).get("a")).toBe(null);
  });
});

describe("a cache in memory", () => {
  test("[T39] holds no more than its bytes, and what was not asked for longest goes first", () => {
    const cache = memoryCache(1_000);
    cache.put("a", Buffer.alloc(400));
    cache.put("b", Buffer.alloc(400));
    expect(cache.get("a")).not.toBe(null);
    cache.put("c", Buffer.alloc(400));
    expect(["a", "b", "c"].map((key) => cache.get(key) !== null)).toEqual([true, false, true]);
    cache.put("a", Buffer.alloc(2_000));
    expect(["a", "c"].map((key) => cache.get(key) !== null)).toEqual([false, true]);
  });

  test("in front of another one it is asked first, and learns from it", () => {
    const [near, far] = [memoryCache(), memoryCache()];
    far.put("a", BYTES);
    const cache = layeredCache(near, far);
    expect([near.get("a"), textOf(cache), near.get("a")]).toEqual([null, "what was made", BYTES]);
    cache.put("b", BYTES);
    expect([near.get("b"), far.get("b")]).toEqual([BYTES, BYTES]);
  });
});
