/** What an op is: the only way for a guest to reach anything outside. */
import type { Decision, PathContext, Requirement } from "../permissions/mod.ts";
import type { CallIo } from "./call_io.ts";
import type { CheckedAddress, CheckedPath, CheckedValue } from "./checked.ts";
import type { CallOrigin, Powers } from "./powers.ts";
import type { PlacedSecret } from "./secrets.ts";

/** How a use stands for a guest: `prompt` where it would be refused and the operator can be asked. */
export type PermissionState = "granted" | "prompt" | "denied";

/** What a guest may learn of its own grant, and do about it. */
export interface OwnPermissions {
  /** How a use stands; without a trace. */
  query(requirement: Requirement): PermissionState;
  /** Asks the operator where that can be; else tells how the use stands. */
  request(requirement: Requirement): Promise<PermissionState>;
  /** Gives up what the value names and all below it, for as long as the isolate lives. */
  revoke(requirement: Requirement): void;
  /**
   * What is granted now of a kind whose values the guest holds, since it reads them without an op; null of any other. What
   * it does not hold yet is written down.
   */
  held(kind: string): Readonly<Record<string, string>> | null;
}

/** What an op's action may use; there is nothing else in reach. */
export interface OpTools {
  /** Decides, and audits, a fact that is known only while acting; throws NotCapableError. The one source of checked paths. */
  authorize(kind: string, value: string): CheckedPath;
  /** The same for a value that is no path, such as the next hop of a request. */
  authorizeValue(kind: string, value: string): CheckedValue;
  /** The same for an address that a granted value was resolved to. The one source of checked addresses. */
  authorizeAddress(value: CheckedValue, address: string): CheckedAddress;
  /** The same for the file that a granted program is; `facts` go into the audit with it. */
  authorizeProgram(value: CheckedValue, real: string, facts: Readonly<Record<string, unknown>>): CheckedPath;
  /**
   * The secrets that the guest's request asks to have placed into a request that was decided about, each decided, let go by
   * its owner, and audited; throws NotCapableError for the first that is not. Holds for this one request, not for the next hop.
   */
  secretsOf(request: CheckedValue, addresses: readonly CheckedAddress[]): Promise<readonly PlacedSecret[]>;
  /** Refuses what is granted and cannot be had, and writes that down; throws NotCapableError. */
  refuse(kind: string, value: string, why: Pick<Decision, "reason" | "remedy" | "rule">): never;
  /** What `requires` asked for and was granted, in its order; whole kinds left out. */
  readonly granted: readonly CheckedValue[];
  /** Whether `authorize` would grant, without auditing: for choosing how to act, never for acting. */
  wouldGrant(kind: string, value: string): boolean;
  /** Whether a requirement as a guest would state it is granted, without auditing: for answering, never for acting. */
  isGranted(requirement: Requirement): boolean;
  /** What the guest may do about its own grant. */
  readonly permissions: OwnPermissions;
  /** Absolute places that no grant reaches, for finding them under other names. */
  sealed(): readonly string[];
  /** What is the guest's own beside its bundle, or null if nothing is. */
  readonly own: OwnSpace | null;
  /** The effects that this host offers. */
  readonly powers: Powers;
  /** Where relative paths of this guest start. */
  readonly context: PathContext;
  /** What flows between the call that the op belongs to and its caller; absent is nothing. */
  readonly io: CallIo | undefined;
  /** The call that the op belongs to, for what is called on its behalf. */
  origin(): CallOrigin;
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
  /** Whether a file is one of those that were approved by their hash. */
  isPinned(path: string): boolean;
  /** Absolute path after the bundle's own links; throws NotFound-like errors of the file powers. */
  real(path: string): string;
  /** Bytes of a file. */
  bytes(path: string): Uint8Array;
  /** Facts of an entry. */
  stat(path: string): FileFacts;
  /** Entries of a directory. */
  list(path: string): readonly DirectoryEntry[];
  /**
   * Where the host itself starts a program of the plugin's own, as a hook: further pinned files that it sees beside it. Absent
   * where a guest does.
   */
  readonly beside?: readonly string[];
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
  /** Why the operator is not asked about what it requires. */
  readonly unasked?: string;
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
