/** Keys of this home: random bytes in a file of their own, made when they are first needed. */
import { randomBytes } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const KEY_BYTES = 32;

/**
 * A key appears whole or not at all, since another process may make one at the same moment: the first that is linked
 * stays. Throws what the file system throws, and for a key that is not whole.
 */
export function readOrMakeKey(path: string): Buffer {
  if (!existsSync(path)) makeKey(path);
  return readKey(path);
}

/** A key that is there. Throws what the file system throws, and for a key that is not whole. */
export function readKey(path: string): Buffer {
  const key = readFileSync(path);
  if (key.byteLength !== KEY_BYTES) throw new Error("the key is not whole");
  return key;
}

function makeKey(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const fresh = `${path}.${randomBytes(8).toString("hex")}`;
  writeFileSync(fresh, randomBytes(KEY_BYTES), { flag: "wx", mode: 0o600 });
  try {
    linkSync(fresh, path);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    unlinkSync(fresh);
  }
}
