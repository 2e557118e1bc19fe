/** What compiling needs around the engine: the text with its cache, and flags under which caches are made and taken. */
import { setFlagsFromString } from "node:v8";

/** A target as it came: its text, and its cache where there is one. */
export interface TargetCode {
  /** The text. */
  readonly code: string;
  /** What compiling it gave, made before any guest ran in the worker that made it. */
  readonly cache?: Uint8Array | undefined;
}

/**
 * Compiles every function at once, as a cache is good for little unless it holds them all. The engine takes a cache only under
 * the flags under which it was made, so both are done here.
 */
export class EagerCompiling {
  #underWay = 0;

  /** Runs work under those flags; what else is compiled meanwhile is compiled whole as well, and that is all. */
  async run<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#underWay++ === 0) setFlagsFromString("--no-lazy");
    try {
      return await work();
    } finally {
      if (--this.#underWay === 0) setFlagsFromString("--lazy");
    }
  }
}

/** Bytes as a buffer of their own. */
export function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer; // never shared
}
