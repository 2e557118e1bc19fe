/**
 * The audit as JSON Lines: one segment a tenant and process, each line chained to the one before by an HMAC whose key
 * lies outside every grant. Checkpoints, quotas and the command that verifies build on this shape.
 */
import { createHmac, randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { AuditEvent, AuditSink } from "../../runtime/mod.ts";

/** Where and how a segment is written. */
export interface JsonlAuditOptions {
  /** Directory of all segments, made with mode 0700 when missing. */
  readonly directory: string;
  /** The tenant whose segment this is. */
  readonly tenant: string;
  /** File that holds the key, made with mode 0600 when missing. */
  readonly keyFile: string;
  /** The time, milliseconds since the epoch. */
  readonly now: () => number;
}

const KEY_BYTES = 32;
const GENESIS = "0".repeat(64);

/** Opens a new segment. Nothing is made on the disk before the first event. Throws what the file system throws. */
export function jsonlAudit(options: JsonlAuditOptions): AuditSink & { readonly path: string } {
  const time = new Date(options.now()).toISOString().replaceAll(":", "-");
  // Neither the time nor the process is unique: two hosts of one process, or two containers, may share both.
  const name = `${time}-${process.pid}-${randomBytes(4).toString("hex")}.jsonl`;
  const path = join(options.directory, options.tenant, name);
  let open: { readonly file: number; readonly key: Buffer } | null = null;
  let seq = 0;
  let head = GENESIS;
  return {
    path,
    write(event: AuditEvent) {
      open ??= openSegment(options, path);
      const line = JSON.stringify({ v: 1, seq, time: new Date(options.now()).toISOString(), ...event });
      const mac = createHmac("sha256", open.key).update(head).update(line).digest("hex");
      // One write of the whole line: write(2) has returned before the op that it tells of begins.
      writeWhole(open.file, `${line.slice(0, -1)},"mac":"${mac}"}\n`);
      head = mac;
      seq += 1;
    },
    close() {
      if (open !== null) closeSync(open.file);
      open = null;
    },
  };
}

function openSegment(options: JsonlAuditOptions, path: string): { file: number; key: Buffer } {
  mkdirSync(join(options.directory, options.tenant), { recursive: true, mode: 0o700 });
  return { file: openSync(path, "ax", 0o600), key: readOrMakeKey(options.keyFile) };
}

/** A key appears whole or not at all, since another process may make one at the same moment: the first that is linked stays. */
function readOrMakeKey(path: string): Buffer {
  if (!existsSync(path)) {
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
  const key = readFileSync(path);
  if (key.byteLength !== KEY_BYTES) throw new Error("the audit key is not whole");
  return key;
}

function writeWhole(file: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.byteLength;) done += writeSync(file, bytes, done);
}
