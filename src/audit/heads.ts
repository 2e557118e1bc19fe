/**
 * Where each segment ended when it was last looked at, kept apart from the segments: lines that are cut off the end of one are
 * missed by nothing else, since what is left of a chain is a chain.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Head } from "./segment.ts";

/** A head that was written down. */
export interface Checkpoint extends Head {
  /** Whether the segment was closed with it: nothing follows. */
  readonly isClosed: boolean;
}

/** Writes a checkpoint, whole or not at all. */
export function writeCheckpoint(
  directory: string,
  segment: string,
  { seq, mac, isClosed }: Checkpoint,
  key: Uint8Array,
): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, `${segment}.json`);
  const seal = sealOfHead(key, segment, { seq, mac, isClosed });
  writeFileSync(`${path}.new`, JSON.stringify({ seq, mac, isClosed, seal }), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** The checkpoint of a segment: null where there is none, `forged` for one that this key did not make. */
export function readCheckpoint(
  directory: string,
  segment: string,
  key: Uint8Array,
): Checkpoint | "forged" | null {
  const path = join(directory, `${segment}.json`);
  if (!existsSync(path)) return null;
  try {
    const { seq, mac, isClosed, seal } = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    if (typeof seq !== "number" || typeof mac !== "string" || typeof seal !== "string") return "forged";
    const checkpoint = { seq, mac, isClosed: isClosed === true };
    const expected = Buffer.from(sealOfHead(key, segment, checkpoint));
    const given = Buffer.from(seal);
    return given.byteLength === expected.byteLength && timingSafeEqual(given, expected)
      ? checkpoint
      : "forged";
  } catch {
    return "forged";
  }
}

/** Names of all segments that have a checkpoint. */
export function checkpointed(directory: string): readonly string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory).filter((name) => name.endsWith(".jsonl.json")).map((name) =>
    name.slice(0, -5)
  );
}

function sealOfHead(key: Uint8Array, segment: string, { seq, mac, isClosed }: Checkpoint): string {
  return createHmac("sha256", key).update(JSON.stringify(["head", segment, seq, mac, isClosed])).digest(
    "hex",
  );
}
