/** Segments as files: which there are, and how the last lines of one are read without the rest. */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from "node:fs";

/** Names of all segments of a directory, the oldest first: the time stands first in them. Throws what the system throws. */
export function segmentNames(directory: string): string[] {
  return readdirSync(directory).filter((name) => name.endsWith(".jsonl")).sort();
}

/** The last bytes of a file as text; its first line may be half of one. Throws what the system throws. */
export function tailOf(path: string, bytesMax: number): string {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, bytesMax));
    const length = readSync(file, bytes, 0, bytes.byteLength, size - bytes.byteLength);
    return bytes.subarray(0, length).toString("utf8");
  } finally {
    closeSync(file);
  }
}
