/** Powers: ambient I/O, passed in and never imported by what uses it. */
import type { Grant } from "../permissions/mod.ts";
import type { CheckedAddress, CheckedPath, CheckedValue } from "./checked.ts";
import type { CommandLimits, NetLimits } from "./limits.ts";
import type { DirectoryEntry, FileFacts } from "./op.ts";
import type { Denial } from "./refusal.ts";

/** What decides about a path while a file power walks it. */
export interface PathAuthority {
  /** Decides and audits; throws NotCapableError. */
  authorize(path: string): CheckedPath;
  /** Decides without a trace. */
  wouldGrant(path: string): boolean;
  /** Absolute places that no grant reaches, by whatever name. */
  sealed(): readonly string[];
}

/**
 * A path as it was written, with what decides about it. A power follows its links, asking about each target before it
 * follows, and acts only on the place that was then decided about.
 */
export interface PathTarget {
  /** Absolute. */
  readonly path: string;
  /** What decides. */
  readonly authority: PathAuthority;
  /** Ends the wait for a turn, and work on a tree. */
  readonly signal: AbortSignal;
  /** Whose turn it uses; lanes take turns. */
  readonly lane: string;
  /** Leaves a link in the last place unfollowed. */
  readonly keepLast?: boolean;
}

/** What to do where a file is there already, and where it isn't. */
export interface WriteOptions {
  /** Adds to what is there. */
  readonly append: boolean;
  /** Makes the file where there is none. */
  readonly create: boolean;
  /** Makes the file, and fails where there is one. */
  readonly createNew: boolean;
}

/** The disk. */
export interface FilePowers {
  /** Bytes of a regular file, at most `bytesMax`. Never blocks on a FIFO or device. */
  readFile(target: PathTarget, bytesMax: number): Promise<Uint8Array>;
  /** Facts of what is there. */
  stat(target: PathTarget): Promise<FileFacts>;
  /** Entries of a directory, at most `entriesMax`. */
  readDir(target: PathTarget, entriesMax: number): Promise<readonly DirectoryEntry[]>;
  /** Replaces what a regular file holds, or adds to it; one with several names is refused. */
  writeFile(target: PathTarget, bytes: Uint8Array, options: WriteOptions): Promise<void>;
  /** Makes a directory; with `isRecursive` those above it as well, each decided about. */
  makeDirectory(target: PathTarget, isRecursive: boolean): Promise<void>;
  /** Removes a file, an empty directory or a link itself; with `isRecursive` a tree, if all of it is granted. */
  remove(target: PathTarget, isRecursive: boolean): Promise<void>;
  /** Moves a file, a tree that is granted whole, or a link itself. */
  rename(from: PathTarget, to: PathTarget): Promise<void>;
}

/** Keys and values, a space of them for each lineage. */
export interface StoragePowers {
  /** The text under a key, or null. */
  get(lineage: string, key: string): string | null;
  /** Puts a text under a key; `mayHold` decides about the bytes that the space would then hold. Throws a PowerError when it may not. */
  set(lineage: string, key: string, text: string, mayHold: (bytes: number) => boolean): void;
  /** Removes a key; whether it was there. */
  delete(lineage: string, key: string): boolean;
  /** Keys that begin with the prefix, in the order of their code points. */
  list(lineage: string, prefix: string): readonly string[];
}

/** What a request carries beside its method and URL. */
export interface HttpContent {
  /** Names and values in their order, as they were checked; the connection's own headers are added. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Bytes, or null for none. */
  readonly body: Uint8Array | null;
}

/** The head of a response. */
export interface HttpHead {
  /** 200 to 599. */
  readonly status: number;
  /** The server's own words. */
  readonly statusText: string;
  /** Lower-case names, and values, in their order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** A response that was read to its end, or as far as was asked. */
export interface HttpAnswer extends HttpHead {
  /** Decoded bytes; null if they were not asked for. */
  readonly body: Uint8Array | null;
}

/** Reaching other machines. Everything sent follows from text that the broker decided about. */
export interface NetPowers {
  /** Bounds of one request. */
  readonly limits: NetLimits;
  /** All addresses of the host of `METHOD URL`; asks once. An address is its own. */
  resolve(
    request: CheckedValue,
    wait: { readonly signal: AbortSignal; readonly lane: string },
  ): Promise<readonly string[]>;
  /**
   * Sends `METHOD URL` over a connection of its own to one of the addresses, and follows nothing. Throws a PowerError of
   * the name `TypeError` when the network fails or a bound is passed.
   */
  send(
    request: CheckedValue,
    addresses: readonly CheckedAddress[],
    content: HttpContent,
    options: {
      /** Whether the body is read. */
      readonly wantsBody: (head: HttpHead) => boolean;
      /** Ends it. */
      readonly signal: AbortSignal;
      /** Whose turn it uses; lanes take turns. */
      readonly lane: string;
    },
  ): Promise<HttpAnswer>;
}

/** A file that was verified, and is given to a program as its bytes. */
export interface VerifiedFile {
  /** Relative path, below the sandbox's folder of the plugin. */
  readonly path: string;
  /** What it holds. */
  readonly bytes: Uint8Array;
}

/** A program whose bytes were verified: one of the plugin's own. */
export interface VerifiedProgram extends VerifiedFile {
  /** What was decided about it. */
  readonly checked: CheckedPath;
}

/** How a program is started. */
export interface CommandOrder {
  /** Last part of what it is called, which some programs look at. */
  readonly name: string;
  /** Its arguments, without its name. */
  readonly args: readonly string[];
  /** What it reads from its standard input; null is nothing. */
  readonly stdin: Uint8Array | null;
  /** Where it starts inside the sandbox: `/tmp`, or below it. */
  readonly cwd: string;
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Further verified files that it sees beside a verified program. */
  readonly files?: readonly VerifiedFile[];
  /** Places that no grant reaches: hidden where what every program sees would hold them. */
  readonly sealed: readonly string[];
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Whose turn it uses; lanes take turns. */
  readonly lane: string;
  /** Whether it is the host that starts it, at a point of its own; absent is a guest. */
  readonly isHook?: boolean;
}

/** How a program ended. */
export interface CommandOutcome {
  /** Its exit code; 128 and the number of a signal that ended it. */
  readonly code: number;
  /** All that it wrote to its standard output. */
  readonly stdout: Uint8Array;
  /** All that it wrote to its standard error. */
  readonly stderr: Uint8Array;
}

/** Starting programs. */
export interface RunPowers {
  /** Bounds of one program. */
  readonly limits: CommandLimits;
  /** Whether the tenant's policy accepts programs that nothing confines, where nothing can. */
  readonly mayBeUnconfined: boolean;
  /** Why programs cannot be confined on this machine, or null. */
  obstacle(): Promise<string | null>;
  /**
   * Runs a program to its end: the file that a path leads to, or verified bytes. Confined where there is no obstacle.
   * Throws a PowerError when it cannot be started, or passes a bound.
   */
  run(program: PathTarget | VerifiedProgram, order: CommandOrder): Promise<CommandOutcome>;
}

/** The running call on whose behalf another plugin is called. */
export interface CallOrigin {
  /** Name of the plugin that calls. */
  readonly plugin: string;
  /** Id of its call in the audit. */
  readonly call: string;
  /** Full ids of the capabilities that called one another, the one that calls last; of a script, none. */
  readonly chain: readonly string[];
  /** What it holds, less what its code gave up; absent where it is the host that calls, at a point of its own. */
  readonly grant?: Grant;
  /** Ends when its call ends. */
  readonly signal: AbortSignal;
  /** How long its call may still take. */
  remainingMs(): number;
  /** Remembers what was refused to the one that is called, for whoever made the first call. */
  deny(denial: Denial): void;
  /** Waits for a person: the deadline of its call stands still meanwhile. */
  pause<Value>(work: () => Promise<Value>): Promise<Value>;
}

/** Calling capabilities of other plugins. */
export interface CallPowers {
  /** Calls a capability with a JSON value, by the id that was decided about. Throws a PowerError whose message is for guests. */
  call(id: CheckedValue, input: unknown, origin: CallOrigin): Promise<unknown>;
}

/** All powers that a host hands to its broker. */
export interface Powers {
  /** Reading the disk. */
  readonly files: FilePowers;
  /** Reaching other machines. */
  readonly net: NetPowers;
  /** Keys and values; absent where none are kept. */
  readonly storage?: StoragePowers;
  /** Starting programs; absent where none are started. */
  readonly run?: RunPowers;
  /** Calling other plugins; absent where none are called. */
  readonly calls?: CallPowers;
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

/** The failure that a guest's `fetch` rejects with; the reason names nothing that the guest did not write. */
export function fetchFailed(reason: string): PowerError {
  return new PowerError("TypeError", "ERR_FETCH_FAILED", `fetch failed: ${reason}`);
}
