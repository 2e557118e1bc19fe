/** What an op is: the only way for a guest to reach anything outside. */
import type { PathContext, Requirement } from "../permissions/mod.ts";
import type { CheckedAddress, CheckedPath, CheckedValue } from "./checked.ts";
import type { Powers } from "./powers.ts";

/** What an op's action may use; there is nothing else in reach. */
export interface OpTools {
  /** Decides, and audits, a fact that is known only while acting; throws NotCapableError. The one source of checked paths. */
  authorize(kind: string, value: string): CheckedPath;
  /** The same for a value that is no path, such as the next hop of a request. */
  authorizeValue(kind: string, value: string): CheckedValue;
  /** The same for an address that a granted value was resolved to. The one source of checked addresses. */
  authorizeAddress(value: CheckedValue, address: string): CheckedAddress;
  /** What `requires` asked for and was granted, in its order; whole kinds left out. */
  readonly granted: readonly CheckedValue[];
  /** Whether `authorize` would grant, without auditing: for choosing how to act, never for acting. */
  wouldGrant(kind: string, value: string): boolean;
  /** Whether a requirement as a guest would state it is granted, without auditing: for answering, never for acting. */
  isGranted(requirement: Requirement): boolean;
  /** Absolute places that no grant reaches, for finding them under other names. */
  sealed(): readonly string[];
  /** What is the guest's own beside its bundle, or null if nothing is. */
  readonly own: OwnSpace | null;
  /** The effects that this host offers. */
  readonly powers: Powers;
  /** Where relative paths of this guest start. */
  readonly context: PathContext;
  /** The plugin's own verified bytes, or null for a script. */
  readonly bundle: BundleFiles | null;
  /** Ends when the call ends. */
  readonly signal: AbortSignal;
  /** Whose turn it uses where plugins share places: the lineage, or what comes closest to it. */
  readonly lane: string;
  /** Works under a signal that ends with the call, or when an op of the same guest cancels this key. */
  cancellable<Value>(key: number, work: (signal: AbortSignal) => Promise<Value>): Promise<Value>;
  /** Ends what the same guest has under way under this key, if anything. */
  cancel(key: number): void;
}

/** What is a guest's own to write to. */
export interface OwnSpace {
  /** Names its storage; never the same for two plugins. */
  readonly lineage: string;
  /** Makes its data folder, `PathContext.data`, unless it is there. */
  makeData(): void;
}

/** A plugin's own files as they were verified. Paths are absolute, below `root`. */
export interface BundleFiles {
  /** Absolute directory of the plugin. */
  readonly root: string;
  /** Whether reads below the root go to the disk because the manifest says `mutable: true`. */
  readonly isMutable: boolean;
  /** Absolute path after the bundle's own links; throws NotFound-like errors of the file powers. */
  real(path: string): string;
  /** Bytes of a file. */
  bytes(path: string): Uint8Array;
  /** Facts of an entry. */
  stat(path: string): FileFacts;
  /** Entries of a directory. */
  list(path: string): readonly DirectoryEntry[];
}

/** What stat tells a guest. */
export interface FileFacts {
  /** A regular file. */
  readonly isFile: boolean;
  /** A directory. */
  readonly isDirectory: boolean;
  /** A symbolic link. */
  readonly isSymlink: boolean;
  /** Bytes. */
  readonly size: number;
  /** Last change, milliseconds since the epoch; null for verified bytes. */
  readonly mtimeMs: number | null;
}

/** One entry of a directory. */
export interface DirectoryEntry {
  /** Its name, without a path. */
  readonly name: string;
  /** A regular file. */
  readonly isFile: boolean;
  /** A directory. */
  readonly isDirectory: boolean;
  /** A symbolic link. */
  readonly isSymlink: boolean;
}

/** As much of a zod schema as the broker needs. */
export interface ArgumentSchema<Args> {
  /** Never throws. */
  safeParse(value: unknown):
    | { readonly success: true; readonly data: Args }
    | {
      readonly success: false;
      readonly error: { readonly issues: readonly { readonly message: string }[] };
    };
}

/** An op as its endowment declares it. */
export interface OpDefinition<Args extends readonly unknown[] = readonly unknown[]> {
  /** Its name on the wire. */
  readonly name: string;
  /** Shape of its arguments, a zod schema; everything else is refused before anything is decided. */
  readonly args: ArgumentSchema<Args>;
  /** What it needs: all must hold, all are audited. Required unless the op is free. */
  readonly requires?: (args: Args) => readonly [Requirement, ...Requirement[]];
  /** Why it needs nothing; such an op is counted, not logged. */
  readonly free?: string;
  /** Acts, once everything was granted; gives a JSON value. */
  readonly act: (args: Args, tools: OpTools) => Promise<unknown>;
}

/**
 * Declares an op. Throws a TypeError when it says neither what it requires nor why it is free, or says both.
 */
export function defineOp<Args extends readonly unknown[]>(definition: OpDefinition<Args>): OpDefinition {
  if ((definition.requires === undefined) === (definition.free === undefined)) {
    throw new TypeError(
      `Cannot define op "${definition.name}": it must say either what it requires or why it is free`,
    );
  }
  // The broker parses before it calls either function, so they only ever see their own arguments.
  return Object.freeze({ ...definition }) as unknown as OpDefinition;
}
