/** What compiling gave is code: it is kept by the host alone, and never runs for another text than its own. */
import { afterAll, describe, expect, test } from "vitest";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CodeCache, type CodeCacheStore, GUEST_LIMITS, RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { diskCache } from "../../src/mod.ts";
import { Bench, temporaryFolder, until } from "./harness.ts";

/** A store that can be looked into. */
class OpenStore implements CodeCacheStore {
  readonly entries = new Map<string, Uint8Array>();
  hits = 0;

  get(key: string): Uint8Array | null {
    const found = this.entries.get(key) ?? null;
    if (found !== null) this.hits += 1;
    return found;
  }

  put(key: string, bytes: Uint8Array): void {
    this.entries.set(key, bytes);
  }
}

const FILLER = `const rest = [${Array.from({ length: 400 }, (_, n) => `(a, b) => a + b * ${n}`)}];`;
/** Code that is worth a cache and answers with one digit; texts of two digits are equally long. */
const answering = (digit: number): string => `${FILLER}\n__sallyport_register__(() => ${digit});`;

const benches: Bench[] = [];
afterAll(() => Promise.all(benches.map(({ pool }) => pool.close())));

function benchWith(codeCache: CodeCache): Bench {
  const bench = new Bench({ pool: { codeCache } });
  benches.push(bench);
  return bench;
}

async function answerOf(bench: Bench, code: string, cordon: string): Promise<unknown> {
  const guest = await bench.load(code, { cordon });
  const { value } = await guest.call();
  guest.isolate.dispose();
  return value;
}

describe("a code cache", () => {
  test("is made once, in a worker that has run nothing, and used by the next isolate", async () => {
    const store = new OpenStore();
    const bench = benchWith(new CodeCache(store));
    expect(await answerOf(bench, answering(1), "a")).toBe(1);
    expect(store.entries.size).toBe(1);
    expect(store.hits).toBe(0);
    expect(await answerOf(bench, answering(1), "b")).toBe(1);
    expect(store).toMatchObject({ hits: 1, entries: { size: 1 } });
    // Every function is in it, so that none is compiled when it first runs.
    expect([...store.entries.values()][0]!.byteLength).toBeGreaterThan(FILLER.length / 2);
  });

  test("is not made where a guest has run, but in a worker of its own", async () => {
    const store = new OpenStore();
    const bench = benchWith(new CodeCache(store));
    const first = await bench.load("__sallyport_register__(() => 0)", { cordon: "a" }); // too short for one
    expect(await answerOf(bench, answering(1), "a")).toBe(1);
    expect(store.entries.size).toBe(0);
    const serving = await bench.pool.pids();
    await until(() => store.entries.size === 1, 20_000);
    expect(await bench.pool.pids()).toEqual(serving);
    expect(await answerOf(bench, answering(1), "a")).toBe(1);
    expect(store.hits).toBe(1);
    first.isolate.dispose();
  });

  test("of another text of the same length never runs, nor one with a byte changed", async () => {
    using folder = temporaryFolder();
    const directory = join(folder.path, "cache");
    const cache = new CodeCache(diskCache({ directory, keyFile: join(folder.path, "key") }));
    const bench = benchWith(cache);
    expect(await answerOf(bench, answering(1), "a")).toBe(1);
    const [one] = readdirSync(directory);
    const sealed = readFileSync(join(directory, one!));
    expect(cache.find(answering(1))).not.toBeNull();
    expect(cache.find(answering(2))).toBeNull();

    expect(await answerOf(bench, answering(2), "b")).toBe(2);
    const two = readdirSync(directory).find((name) => name !== one)!;
    writeFileSync(join(directory, two), sealed);
    expect(cache.find(answering(2))).toBeNull();
    expect(await answerOf(bench, answering(2), "c")).toBe(2);

    for (const at of [0, 32, sealed.byteLength >> 1, sealed.byteLength - 1]) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      writeFileSync(join(directory, one!), changed);
      expect(cache.find(answering(1))).toBeNull();
    }
    expect(await answerOf(bench, answering(1), "d")).toBe(1);
  });

  test("is not made of code that the engine refuses, which is told as ever", async () => {
    const store = new OpenStore();
    const bench = benchWith(new CodeCache(store));
    await expect(bench.load(`${FILLER}\n return 1 +;`, { cordon: "a" })).rejects.toMatchObject({
      code: "ERR_GUEST_THREW",
      message: expect.stringContaining("SyntaxError"),
    });
    expect(store.entries.size).toBe(0);
  });

  test("is for code that is neither short nor large for its heap", () => {
    const cache = new CodeCache(new OpenStore());
    const { cachedCodeBytesMin, cachedCodeHeapRatioMin } = RUNTIME_LIMITS;
    const most = GUEST_LIMITS.memoryMb * 1_048_576 / cachedCodeHeapRatioMin;
    expect(cache.isWorth(cachedCodeBytesMin - 1, GUEST_LIMITS.memoryMb)).toBe(false);
    expect(cache.isWorth(cachedCodeBytesMin, GUEST_LIMITS.memoryMb)).toBe(true);
    expect(cache.isWorth(most, GUEST_LIMITS.memoryMb)).toBe(true);
    expect(cache.isWorth(most + 1, GUEST_LIMITS.memoryMb)).toBe(false);
  });
});
