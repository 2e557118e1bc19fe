/** On whose behalf ops run, and in which call. */
import type { Decision, Grant, PathContext } from "../permissions/mod.ts";
import type { CallIo } from "./call_io.ts";
import type { BundleFiles, OwnSpace } from "./op.ts";
import type { Denial } from "./refusal.ts";
import type { Tenure } from "./tenure.ts";

/** On whose behalf an op runs. */
export interface Principal {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Name of the plugin. */
  readonly plugin: string;
  /** Real path of the plugin's directory, or of the script. */
  readonly place?: string | undefined;
  /** How messages call it: `Plugin "x"`, `Script "x.ts"`. */
  readonly title: string;
  /** Hash of what runs, `sha256:…`. */
  readonly fingerprint: string | null;
  /** How strongly its worker is confined. */
  readonly confinement: string;
  /** What was approved. */
  readonly grant: Grant;
  /** Until when that stands; absent is for good, as for what a person runs by hand. */
  readonly tenure?: Tenure | undefined;
  /** Where its paths start. */
  readonly context: PathContext;
  /** Its own verified files, or null for a script. */
  readonly bundle: BundleFiles | null;
  /** What is its own to write to; absent is nothing. */
  readonly own?: OwnSpace | undefined;
  /** The environment that its tenant maps, from which `env` grants; absent is empty. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Start of the ids of its refusals; random, so that a guest cannot invent one. */
  readonly denialPrefix: string;
}

/** The call that an op belongs to. */
export interface CallScope {
  /** Id in the audit. */
  readonly id: string;
  /** Ends when the call ends. */
  readonly signal: AbortSignal;
  /** Remembers a refusal, so that the caller can be told what the guest was not. */
  deny(denial: Denial): void;
  /** Told of each decision about a use. */
  decided?(use: Use): void;
  /** Waits for a person: the call's deadline stands still meanwhile. */
  pause?<Value>(work: () => Promise<Value>): Promise<Value>;
  /** Full ids of the capabilities that called one another, this one last; absent is none. */
  readonly chain?: readonly string[];
  /** Id of the call that made this one, where a plugin did. */
  readonly parent?: string | undefined;
  /** How long the call may still take; absent is without end. */
  remainingMs?(): number;
  /** What flows between it and its caller meanwhile; absent is nothing. */
  readonly io?: CallIo | undefined;
}

/** One use that was decided about. */
export interface Use {
  /** The decision. */
  readonly decision: Decision;
  /** The address that the value was resolved to, where the decision is about one. */
  readonly address: string | null;
}

/** Whose grant a question is about, when nothing runs. */
export type GrantHolder = Pick<Principal, "grant" | "context" | "bundle">;

/** One op as it came from a worker. */
export interface OpRequest {
  /** On whose behalf. */
  readonly principal: Principal;
  /** In which call. */
  readonly scope: CallScope;
  /** The guest's number of the op. */
  readonly op: number;
  /** The guest's own text: `[name, [arguments]]`. */
  readonly text: string;
}
