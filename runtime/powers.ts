/** Powers: ambient I/O, passed in and never imported by what uses it. */
import type { CheckedPath } from "./checked.ts";
import type { DirectoryEntry, FileFacts } from "./op.ts";

/** What decides about a path while a file power walks it. */
export interface PathAuthority {
  /** Decides and audits; throws NotCapableError. */
  authorize(path: string): CheckedPath;
  /** Decides without a trace. */
  wouldGrant(path: string): boolean;
}

/** Reading the disk. */
export interface FilePowers {
  /**
   * Follows links from a path as it was written to what is really there, asking the authority about every link's target
   * before following it. Nothing is opened. `keepLast` leaves a link in the last place unfollowed.
   */
  walk(path: string, authority: PathAuthority, keepLast?: boolean): Promise<CheckedPath>;
  /** Bytes of a regular file, at most `bytesMax`. Never blocks on a FIFO or device. */
  readFile(path: CheckedPath, bytesMax: number): Promise<Uint8Array>;
  /** Facts of what is there. */
  stat(path: CheckedPath): Promise<FileFacts>;
  /** Entries of a directory, at most `entriesMax`. */
  readDir(path: CheckedPath, entriesMax: number): Promise<readonly DirectoryEntry[]>;
}

/** All powers that a host hands to its broker. */
export interface Powers {
  /** Reading the disk. */
  readonly files: FilePowers;
}

/** A failure of a power that the guest may know: its name is one of Deno.errors, its message holds no host path. */
export class PowerError extends Error {
  /** Stable word for programs. */
  readonly code: string;

  /** `name` is one of Deno.errors. */
  constructor(name: string, code: string, message: string) {
    super(message);
    this.name = name;
    this.code = code;
  }
}
