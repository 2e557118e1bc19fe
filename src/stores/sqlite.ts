/**
 * Keys and values of one tenant in one SQLite file, opened at the first use. Every row begins with its plugin's lineage, so
 * no plugin can name another one's.
 */
import { closeSync, constants, fchmodSync, fstatSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { HostError } from "../../permissions/mod.ts";
import { PowerError, RUNTIME_LIMITS, type StoragePowers } from "../../runtime/mod.ts";

/** A storage that can be closed. */
export interface SqliteStorage extends StoragePowers {
  /** Whether a lineage has anything in it. */
  holds(lineage: string): boolean;
  /** Removes all that a lineage has in it. */
  drop(lineage: string): void;
  /** Ends it; a later use opens it again. */
  close(): void;
}

/** How a storage is opened. */
export interface SqliteOptions {
  /** Absolute path; null keeps everything in memory, until it is closed. */
  readonly file: string | null;
  /** The most that the file may grow to; at least one page. */
  readonly bytesMax: number;
}

const PAGE_BYTES = 4_096;
/** How long one process waits for another one that writes; the host does nothing else meanwhile. */
const BUSY_MS = 1_000;

/** A storage. Its methods throw a PowerError for a bound, HostError `ERR_STORE` when the file cannot be used safely. */
export function sqliteStorage(options: SqliteOptions): SqliteStorage {
  let opened: Opened | undefined;
  const use = <Value>(work: (opened: Opened) => Value): Value => {
    opened ??= open(options);
    return attempt(() => work(opened!));
  };
  return {
    get: (lineage, key) =>
      use(({ get }) => (get.get(lineage, key) as { value: string } | undefined)?.value ?? null),
    set: (lineage, key, text, mayHold) => use((store) => put(store, lineage, key, text, mayHold)),
    delete: (lineage, key) => use((store) => remove(store, lineage, key)),
    list: (lineage, prefix) =>
      use(({ list }) => {
        const keys: string[] = [];
        for (const { key } of list.iterate(lineage, prefix) as Iterable<{ key: string }>) {
          if (!key.startsWith(prefix)) break; // in their order those with the prefix come first
          keys.push(key);
        }
        return keys;
      }),
    holds: (lineage) => use((store) => sizeOf(store, lineage).keys > 0),
    drop: (lineage) =>
      use(({ database }) =>
        inTransaction(database, () => {
          for (const table of ["entries", "sizes"]) {
            database.prepare(`DELETE FROM ${table} WHERE lineage = ?`).run(lineage);
          }
        })
      ),
    close() {
      opened?.database.close();
      opened = undefined;
    },
  };
}

interface Opened {
  readonly database: DatabaseSync;
  readonly get: StatementSync;
  readonly set: StatementSync;
  readonly remove: StatementSync;
  readonly list: StatementSync;
  readonly bytesOf: StatementSync;
  readonly size: StatementSync;
  readonly resize: StatementSync;
}

function open({ file, bytesMax }: SqliteOptions): Opened {
  if (file !== null) makePrivate(file);
  // Not imported above: what nobody uses is not loaded, and older Nodes warn when it is.
  const sqlite = process.getBuiltinModule("node:sqlite") as typeof import("node:sqlite") | undefined;
  if (sqlite === undefined) {
    throw new HostError(
      "ERR_STORE",
      "Cannot open the storage: this Node has no SQLite. Use the one of the package",
    );
  }
  try {
    const database = new sqlite.DatabaseSync(file ?? ":memory:", {
      enableForeignKeyConstraints: false,
      allowExtension: false,
      timeout: BUSY_MS,
    });
    // With a log beside it a crash loses nothing that was answered, and readers wait for nobody.
    database.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
      PRAGMA trusted_schema = OFF; PRAGMA max_page_count = ${Math.max(1, Math.floor(bytesMax / PAGE_BYTES))};
      CREATE TABLE IF NOT EXISTS entries (lineage TEXT NOT NULL, key TEXT NOT NULL, bytes INTEGER NOT NULL,
        value TEXT NOT NULL, PRIMARY KEY (lineage, key)) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS sizes (lineage TEXT PRIMARY KEY, bytes INTEGER NOT NULL, keys INTEGER NOT NULL)
        STRICT, WITHOUT ROWID;`);
    return {
      database,
      get: database.prepare("SELECT value FROM entries WHERE lineage = ? AND key = ?"),
      set: database.prepare(
        "INSERT INTO entries VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes, value = excluded.value",
      ),
      remove: database.prepare("DELETE FROM entries WHERE lineage = ? AND key = ?"),
      list: database.prepare(
        "SELECT key FROM entries WHERE lineage = ? AND key >= ? ORDER BY key",
      ),
      bytesOf: database.prepare("SELECT bytes FROM entries WHERE lineage = ? AND key = ?"),
      size: database.prepare("SELECT bytes, keys FROM sizes WHERE lineage = ?"),
      resize: database.prepare(
        "INSERT INTO sizes VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes, keys = keys + excluded.keys",
      ),
    };
  } catch (cause) {
    throw new HostError(
      "ERR_STORE",
      `Cannot open the storage "${file}": ${cause instanceof Error ? cause.message : "SQLite failed"}`,
      { cause },
    );
  }
}

function put(
  store: Opened,
  lineage: string,
  key: string,
  text: string,
  mayHold: (bytes: number) => boolean,
): void {
  const bytes = Buffer.byteLength(key) + Buffer.byteLength(text);
  inTransaction(store.database, () => {
    const size = sizeOf(store, lineage);
    const before = bytesUnder(store, lineage, key);
    if (before === null && size.keys >= RUNTIME_LIMITS.storageKeysMax) {
      throw tooLarge(`The storage has ${RUNTIME_LIMITS.storageKeysMax} keys, and may have no more`);
    }
    if (!mayHold(size.bytes - (before ?? 0) + bytes)) {
      throw tooLarge("The storage would hold more bytes than it may");
    }
    store.set.run(lineage, key, bytes, text);
    store.resize.run(lineage, bytes - (before ?? 0), before === null ? 1 : 0);
  });
}

function remove(store: Opened, lineage: string, key: string): boolean {
  return inTransaction(store.database, () => {
    const bytes = bytesUnder(store, lineage, key);
    if (bytes === null) return false;
    store.remove.run(lineage, key);
    store.resize.run(lineage, -bytes, -1);
    return true;
  });
}

function sizeOf({ size }: Opened, lineage: string): { readonly bytes: number; readonly keys: number } {
  const row = size.get(lineage) as { bytes: number; keys: number } | undefined; // the statement's own columns
  return row ?? { bytes: 0, keys: 0 };
}

function bytesUnder({ bytesOf }: Opened, lineage: string, key: string): number | null {
  return (bytesOf.get(lineage, key) as { bytes: number } | undefined)?.bytes ?? null; // the statement's own column
}

/** Nobody else writes between the look at what is there and the change. */
function inTransaction<Value>(database: DatabaseSync, work: () => Value): Value {
  database.exec("BEGIN IMMEDIATE");
  try {
    const value = work();
    database.exec("COMMIT");
    return value;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** The file exists and is its owner's alone before SQLite opens it, which would make it readable for others. */
function makePrivate(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const { O_RDWR, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
    const facts = fstatSync(descriptor);
    const isOwn = process.geteuid === undefined || facts.uid === process.geteuid();
    if (!facts.isFile() || facts.nlink !== 1 || !isOwn) {
      throw new Error("it is not a file of this user's alone");
    }
    if ((facts.mode & 0o077) !== 0 && process.platform !== "win32") fchmodSync(descriptor, 0o600);
  } catch (cause) {
    throw new HostError(
      "ERR_STORE",
      `Cannot open the storage "${file}": ${cause instanceof Error ? cause.message : "it is unusable"}`,
      { cause },
    );
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;

function attempt<Value>(work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    const code = error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : undefined;
    if (code === SQLITE_FULL) throw tooLarge("The storage of all plugins together is full");
    if (code === SQLITE_BUSY) {
      throw new PowerError("Busy", "EBUSY", "The storage is in use by another process");
    }
    throw error;
  }
}

function tooLarge(message: string): PowerError {
  return new PowerError("LimitError", "ERR_LIMIT_SIZE", message);
}
