/**
 * The audit as JSON Lines: one segment a tenant and process, each line chained to the one before by an HMAC whose key
 * lies outside every grant. A segment's first line names where the one before ended; where this one ends is written down
 * apart from it every second and at its close.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import type { AuditEvent, AuditSink } from "../../runtime/mod.ts";
import { readOrMakeKey } from "../stores/key_file.ts";
import { writeCheckpoint } from "./heads.ts";
import { AUDIT_LIMITS } from "./limits.ts";
import { GENESIS, type Head, parseLine, sealedText, sealOf, SEGMENT_HEADER } from "./segment.ts";
import { segmentNames, tailOf } from "./segment_files.ts";

/** Where and how a segment is written. */
export interface JsonlAuditOptions {
  /** Directory of all segments, made with mode 0700 when missing. */
  readonly directory: string;
  /** The tenant whose segment this is. */
  readonly tenant: string;
  /** File that holds the key, made with mode 0600 when missing; checkpoints lie beside it. */
  readonly keyFile: string;
  /** The time, milliseconds since the epoch. */
  readonly now: () => number;
  /** Writes a text to a descriptor, whole; for tests of a full disk. */
  readonly write?: (file: number, text: string) => void;
}

/** What must be on the disk before anything else happens. */
const SYNCED_AT_ONCE: ReadonlySet<string> = new Set(["trust", "grant", "revoke"]);
/** What may take the room that is kept free. */
const RESERVED_FOR: ReadonlySet<string> = new Set([
  "trust",
  "revoke",
  "call",
  "limit",
  "crash",
  "expose",
  "intercept",
]);

/** Directory of the checkpoints that belong to a key. */
export function headsDirectory(keyFile: string, tenant: string): string {
  return join(dirname(keyFile), "audit-heads", tenant);
}

/** Opens a new segment. Nothing is made on the disk before the first event. Throws what the file system throws. */
export function jsonlAudit(options: JsonlAuditOptions): AuditSink & { readonly path: string } {
  const time = new Date(options.now()).toISOString().replaceAll(":", "-");
  // Neither the time nor the process is unique: two hosts of one process, or two containers, may share both.
  const name = `${time}-${process.pid}-${randomBytes(4).toString("hex")}.jsonl`;
  const path = join(options.directory, options.tenant, name);
  let segment: Segment | null = null;
  return {
    path,
    write(event: AuditEvent) {
      segment ??= new Segment(options, path, name);
      segment.write(event);
    },
    writeSoon(event: AuditEvent) {
      segment ??= new Segment(options, path, name);
      segment.writeSoon(event);
    },
    written: () => segment?.written(),
    close() {
      segment?.close();
      segment = null;
    },
  };
}

/** A segment that is open. */
class Segment {
  readonly #options: JsonlAuditOptions;
  readonly #name: string;
  readonly #file: number;
  readonly #key: Buffer;
  readonly #heads: string;
  readonly #reserve: string;
  readonly #write: (file: number, text: string) => void;
  #head: Head = { seq: -1, mac: GENESIS };
  #time = { now: NaN, text: "" };
  /** Sealed lines that are not written yet. */
  #lines: { readonly text: string; readonly isReserved: boolean }[] = [];
  #writing: Promise<void> | undefined;
  #isFlushing = false;
  #checkpoint: NodeJS.Timeout | undefined;
  #sync: NodeJS.Timeout | undefined;

  constructor(options: JsonlAuditOptions, path: string, name: string) {
    const folder = dirname(path);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#options = options;
    this.#name = name;
    this.#heads = headsDirectory(options.keyFile, options.tenant);
    this.#reserve = join(folder, ".reserve");
    this.#write = options.write ?? writeWhole;
    this.#key = readOrMakeKey(options.keyFile);
    const previous = newestHead(folder);
    this.#file = openSync(path, "ax", 0o600);
    try {
      if (!existsSync(this.#reserve)) {
        writeFileSync(this.#reserve, Buffer.alloc(AUDIT_LIMITS.reserveBytes), { mode: 0o600 });
      }
      const header = { type: SEGMENT_HEADER, tenant: options.tenant, previous };
      this.#take(header);
      this.#flush();
    } catch (error) {
      // The next event begins it again, when there may be room.
      closeSync(this.#file);
      unlinkSync(path);
      throw error;
    }
    this.#saveHead(false); // a segment that is removed whole was at least there
  }

  write(event: AuditEvent): void {
    const before = this.#head;
    this.#take(event);
    try {
      this.#flush();
    } catch (error) {
      // What was refused was not done; what waited before it still waits.
      this.#lines.pop();
      this.#head = before;
      throw error;
    }
    this.#schedule(event);
  }

  /** The line is sealed now, in its place, and written with the next one. */
  writeSoon(event: AuditEvent): void {
    // Where lines cannot be written, no more than these wait for room.
    if (this.#lines.length >= AUDIT_LIMITS.pendingLinesMax) return this.write(event);
    this.#take(event);
    if (!this.#isFlushing) {
      this.#isFlushing = true;
      setImmediate(() => this.#flushSoon());
    }
    this.#schedule(event);
  }

  /** What one turn takes is written at once: many ops begin in one. */
  written(): Promise<void> | undefined {
    if (this.#lines.length === 0) return undefined;
    return this.#writing ??= new Promise((resolve, reject) =>
      process.nextTick(() => {
        this.#writing = undefined;
        try {
          this.#flush();
          resolve();
        } catch (error) {
          reject(error as Error);
        }
      })
    );
  }

  #schedule(event: AuditEvent): void {
    if (SYNCED_AT_ONCE.has(event.type)) fdatasyncSync(this.#file);
    else this.#sync ??= setTimeout(() => this.#syncSoon(), AUDIT_LIMITS.syncMs).unref();
    this.#checkpoint ??= setTimeout(() => this.#saveHead(false), AUDIT_LIMITS.checkpointMs).unref();
  }

  close(): void {
    clearTimeout(this.#sync);
    this.#flushSoon(); // what cannot be written keeps nobody from closing
    fdatasyncSync(this.#file);
    this.#saveHead(true);
    closeSync(this.#file);
  }

  #take(event: { readonly type: string }): void {
    const { text, head } = this.#sealed(event);
    this.#lines.push({ text, isReserved: RESERVED_FOR.has(event.type) });
    this.#head = head;
  }

  /** One write of whole lines: write(2) has returned before what the last one tells of begins. */
  #flush(): void {
    if (this.#lines.length === 0) return;
    const text = this.#lines.length === 1
      ? this.#lines[0]!.text
      : this.#lines.map((line) => line.text).join("");
    try {
      this.#write(this.#file, text);
    } catch (error) {
      // A full disk must not keep a call from ending, nor trust from being withdrawn.
      const mayUseReserve = this.#lines.some(({ isReserved }) => isReserved) && isFull(error);
      if (!mayUseReserve || !existsSync(this.#reserve)) throw error;
      unlinkSync(this.#reserve);
      this.#write(this.#file, text);
    }
    this.#lines = [];
  }

  #flushSoon(): void {
    this.#isFlushing = false;
    try {
      this.#flush();
    } catch {
      // The next line is written with them or not at all, and then nothing is done.
    }
  }

  #sealed(facts: object): { readonly text: string; readonly head: Head } {
    const seq = this.#head.seq + 1;
    // The same text as of one object with these members first, without making one for each line.
    const text = `{"v":1,"seq":${seq},"time":"${this.#timeText()}",${JSON.stringify(facts).slice(1)}`;
    const mac = sealOf(this.#key, this.#head.mac, text);
    return { text: sealedText(text, mac), head: { seq, mac } };
  }

  /** Many lines are of one millisecond. */
  #timeText(): string {
    const now = this.#options.now();
    if (this.#time.now !== now) this.#time = { now, text: new Date(now).toISOString() };
    return this.#time.text;
  }

  #syncSoon(): void {
    this.#sync = undefined;
    fdatasync(this.#file, () => {}); // a disk that fails shows it at the next write, or at the close
  }

  #saveHead(isClosed: boolean): void {
    clearTimeout(this.#checkpoint);
    this.#checkpoint = undefined;
    try {
      this.#flush();
      writeCheckpoint(this.#heads, this.#name, { ...this.#head, isClosed }, this.#key);
    } catch {
      // Lines count more than where they end, and the disk may be full; the next checkpoint tries again.
    }
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}

/** Where the newest segment ends at this moment, or null before the first one. */
function newestHead(folder: string): ({ readonly segment: string } & Head) | null {
  const newest = segmentNames(folder).at(-1);
  if (newest === undefined) return null;
  const last = tailOf(join(folder, newest), AUDIT_LIMITS.tailBytesMax).split("\n").map(parseLine).findLast((
    line,
  ) => line !== null);
  return last === undefined || last === null ? null : { segment: newest, seq: last.seq, mac: last.mac };
}

/** All of it or nothing: a part of a line, which a full disk may have taken, would look like one that was edited. */
function writeWhole(file: number, text: string): void {
  const bytes = Buffer.from(text);
  let done = 0;
  try {
    while (done < bytes.byteLength) done += writeSync(file, bytes, done);
  } catch (error) {
    if (done > 0) ftruncateSync(file, fstatSync(file).size - done);
    throw error;
  }
}
