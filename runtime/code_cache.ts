/**
 * What compiling a target gave, kept for the next isolate that needs it. The engine does not check a cache: one that was
 * changed, or made of another text of the same length, would run as it is. So caches are kept by the host alone, under the hash
 * of the text and of all that makes the engine what it is, and made only by a worker in which no guest has run.
 */
import { createHash } from "node:crypto";
import process from "node:process";
import { ENGINE_FLAGS } from "./launch_worker.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import { TARGET_HEAD } from "./protocol.ts";

/** Where caches lie. It hands out only what was put into it by this host under exactly this key. */
export interface CodeCacheStore {
  /** What was put under this key, or null. */
  get(key: string): Uint8Array | null;
  /** Keeps bytes under a key; may forget them at any time. */
  put(key: string, bytes: Uint8Array): void;
}

/** The code caches of one host. */
export class CodeCache {
  readonly #store: CodeCacheStore;

  /** Reads nothing yet. */
  constructor(store: CodeCacheStore) {
    this.#store = store;
  }

  /** Whether a text of this length, in an isolate of this heap, is worth a cache. */
  isWorth(characters: number, memoryMb: number): boolean {
    return characters >= RUNTIME_LIMITS.cachedCodeBytesMin &&
      characters * RUNTIME_LIMITS.cachedCodeHeapRatioMin <= memoryMb * 1_048_576;
  }

  /** The cache of a text, or null. */
  find(code: string): Uint8Array | null {
    return this.#store.get(keyOf(code));
  }

  /** Keeps the cache of a text, unless it is none. */
  keep(code: string, bytes: Uint8Array): void {
    if (bytes.byteLength === 0 || bytes.byteLength > RUNTIME_LIMITS.codeCacheBytesMax) return;
    // A copy: the bytes came in a frame, which would be kept with them.
    this.#store.put(keyOf(code), Uint8Array.from(bytes));
  }
}

/** The text as it is compiled, and what makes an engine that takes the cache of another. */
function keyOf(code: string): string {
  const { node, v8 } = process.versions;
  const engine = ["code cache 1", node, v8, process.platform, process.arch, ENGINE_FLAGS, TARGET_HEAD];
  return `code ${createHash("sha256").update(JSON.stringify(engine)).update(code).digest("hex")}`;
}
