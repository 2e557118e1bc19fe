/**
 * What plugins keep between calls: a folder (`$data`) and a storage each, named by a lineage. Here alone it is decided what
 * lasts: a lineage of a trust record or of a script does, one that was made up for a single process does not.
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import type { OwnSpace, StoragePowers } from "../runtime/mod.ts";
import { realAncestor } from "./home.ts";
import { expiryOf, type RetiredData, type RetiredStore } from "./retired_data.ts";
import { sqliteStorage } from "./stores/sqlite.ts";

/** The spaces of one tenant's plugins. */
export interface OwnSpaces {
  /** What `$data` stands for; it need not exist. */
  dataOf(lineage: string): string;
  /** What an isolate of this lineage may write to. */
  spaceOf(lineage: string): OwnSpace;
  /** The storages of all lineages. */
  readonly storage: StoragePowers;
  /** Notes that what a lineage kept is nobody's any more, if it kept anything. Throws HostError `ERR_STORE`. */
  retire(lineage: string, of: Pick<RetiredData, "name" | "directory">): Promise<void>;
  /**
   * Removes what has been nobody's for `retiredDataDays`, and tells what that was; what is in use again is not any more.
   * Throws HostError `ERR_STORE`.
   */
  removeExpired(inUse: ReadonlySet<string>): Promise<readonly RetiredData[]>;
  /** Removes all of it, whatever lineage it belongs to; what is asked for afterwards begins empty. */
  erase(): Promise<void>;
  /** Closes what lasts, and removes what does not. */
  close(): Promise<void>;
}

/** Where the lasting spaces of one tenant are. */
export interface OwnSpacesOptions {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Where it is noted what is nobody's any more. */
  readonly retired: RetiredStore;
  /** Milliseconds since the epoch; absent is the clock. */
  readonly now?: () => number;
  /** Folder of the data folders. */
  readonly dataRoot: string;
  /** Folder of the data folders that end with the host. */
  readonly temporaryRoot: string;
  /** File of the storages. */
  readonly storageFile: string;
  /** The most that the file may grow to. */
  readonly storageBytesMax: number;
}

const TEMPORARY = "temporary-";

/** A lineage whose folder and storage end with the host. */
export function temporaryLineage(): string {
  return TEMPORARY + randomBytes(16).toString("hex");
}

/** Whether a lineage ends with its host. */
export function isTemporary(lineage: string): boolean {
  return lineage.startsWith(TEMPORARY);
}

/** The lineage of a single script: the file itself, wherever a link to it is (T30). */
export function scriptLineage(realPath: string): string {
  return `script:${realPath}`;
}

/** Makes nothing on the disk before a plugin does. */
export function openOwnSpaces(
  options: OwnSpacesOptions,
): OwnSpaces {
  const { dataRoot, temporaryRoot, storageFile, storageBytesMax } = options;
  const { tenant, retired, now = () => Date.now() } = options;
  // Without links, since a grant of `$data` is compared with the place that was really reached.
  const lasting = realAncestor(dataRoot);
  // Beside the lasting ones: what is passing is no less out of the reach of other plugins and tenants (T03).
  const passing = join(realAncestor(temporaryRoot), randomBytes(16).toString("hex"));
  const onDisk = sqliteStorage({ file: storageFile, bytesMax: storageBytesMax });
  const inMemory = sqliteStorage({ file: null, bytesMax: storageBytesMax });
  const storeOf = (lineage: string): StoragePowers => isTemporary(lineage) ? inMemory : onDisk;
  const dataOf = (lineage: string): string => join(isTemporary(lineage) ? passing : lasting, lineage);
  return {
    dataOf,
    spaceOf: (lineage) => ({
      lineage,
      makeData: () => void mkdirSync(dataOf(lineage), { recursive: true, mode: 0o700 }),
    }),
    storage: {
      get: (lineage, key) => storeOf(lineage).get(lineage, key),
      set: (lineage, key, text, mayHold) => storeOf(lineage).set(lineage, key, text, mayHold),
      delete: (lineage, key) => storeOf(lineage).delete(lineage, key),
      list: (lineage, prefix) => storeOf(lineage).list(lineage, prefix),
    },
    async retire(lineage, { name, directory }) {
      if (isTemporary(lineage)) return;
      // A storage that nobody used is not made to find it empty.
      if (!existsSync(dataOf(lineage)) && !(existsSync(storageFile) && onDisk.holds(lineage))) return;
      await retired.add({ tenant, lineage, name, directory, since: new Date(now()).toISOString() });
    },
    async removeExpired(inUse) {
      const mine = retired.list(tenant);
      const expired = mine.filter((each) => expiryOf(each) <= now() && !inUse.has(each.lineage));
      for (const { lineage } of expired) {
        await rm(dataOf(lineage), { recursive: true, force: true });
        if (existsSync(storageFile)) onDisk.drop(lineage);
      }
      const gone = new Set([...expired.map(({ lineage }) => lineage), ...inUse]);
      await retired.remove((each) => each.tenant === tenant && gone.has(each.lineage));
      return expired;
    },
    async erase() {
      onDisk.close();
      inMemory.close();
      const files = ["", "-wal", "-shm"].map((suffix) => storageFile + suffix);
      for (const path of [lasting, passing, ...files]) await rm(path, { recursive: true, force: true });
      await retired.remove((each) => each.tenant === tenant);
    },
    async close() {
      onDisk.close();
      inMemory.close();
      // Asynchronous, since a plugin may have left more than a moment's work, and the host has others to serve.
      await rm(passing, { recursive: true, force: true });
      await rmdir(temporaryRoot).catch(() => {}); // the last one turns off the light
    },
  };
}
