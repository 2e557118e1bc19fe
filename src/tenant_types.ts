/** What a tenant is opened with, and what it tells about its plugins. */
import type { KindTable, PermissionRequest } from "../permissions/mod.ts";
import type { AuditSink, Broker, Redactor } from "../runtime/mod.ts";
import type { Every } from "./authority.ts";
import type { CallRate } from "./call_rate.ts";
import type { Bundler } from "./bundler/mod.ts";
import type { NamesBySurface } from "./collisions.ts";
import type { Explain } from "./explain.ts";
import type { LifecycleLimits } from "./lifecycle_limits.ts";
import type { Loader } from "./loaders/mod.ts";
import type { Manifest } from "./manifest/mod.ts";
import type { OwnSpaces } from "./own_spaces.ts";
import type { PluginState } from "./plugin_state.ts";
import type { ResourceRoot } from "./resources/mod.ts";
import type { TenantPolicy } from "./policy.ts";
import type { ProviderOptions } from "./providers.ts";
import type { Quarantine } from "./quarantine.ts";
import type { Runner } from "./runner.ts";
import type { SecretStore, TenantSecrets } from "./secrets/mod.ts";
import type { Station, ToolAnnotations } from "./surfaces/mod.ts";
import type { Narrowing, StatIndex, TrustStore, VerifyApproval } from "./trust/mod.ts";
import type { Validator } from "./validator/mod.ts";

/** How a tenant is opened. */
export interface TenantOptions {
  /** The ceiling; absent is nothing at all. */
  readonly policy?: TenantPolicy;
  /** Where plugins are: a loader, or a list of directories. */
  readonly plugins: Loader | readonly string[];
  /**
   * Further plugins, as a loader finds them, that are never run here and only looked at where it is told what one may reach by
   * calling others: for a tenant that finds fewer plugins than will be beside one another.
   */
  readonly beside?: Loader;
  /** Where trust outlives the process; absent is nowhere. */
  readonly store?: TrustStore;
  /**
   * Where it is kept how files looked that were as approved, so that a list need not read them, as `fileStatIndex` does;
   * absent is nowhere, and a list then hashes them. Nothing that runs rests on it.
   */
  readonly index?: StatIndex;
  /** Where secrets are kept; absent is in memory, for this process. */
  readonly secrets?: SecretStore;
  /**
   * Asked about each approval before it is believed, at its making and at every use: for a second signature, or a rule of the
   * house. What it throws is a no. It must not wait for the tenant, which waits for it.
   */
  readonly verifyApproval?: VerifyApproval;
  /** Cuts down what every plugin of the tenant is granted; kinds that it does not mention are left. */
  readonly narrowing?: Narrowing;
  /**
   * `bare`: tools are offered under their own names as well, and two plugins that offer one name collide. Absent is
   * `qualified`: only full ids are theirs.
   */
  readonly naming?: "qualified" | "bare";
  /** Names that the embedder offers itself, by surface, such as `{ tools: ["web_search"] }`: no plugin replaces one. */
  readonly builtins?: NamesBySurface;
  /** Names that the user has in files of their own, by surface: a bare name means those before a plugin's. */
  readonly local?: NamesBySurface;
  /** Providers of the host's own, and which one is used where none is named. */
  readonly providers?: ProviderOptions;
  /**
   * Where documents of the user's own are, in order of precedence: each directory may hold a folder for a surface, as
   * `agents/researcher.md`. A bare name means those before a plugin's, and no plugin can write there.
   */
  readonly documents?: readonly ResourceRoot[];
  /** What starting and stopping plugins may take, where it is not what it is by default. */
  readonly lifecycle?: Partial<LifecycleLimits>;
}

/** What a host gives to its tenant. */
export interface TenantParts {
  /** Runs targets. */
  readonly runner: Runner;
  /** Holds inputs and results to schemas. */
  readonly validator: Pick<Validator, "issues">;
  /** Where decisions are written down. */
  readonly audit: AuditSink;
  /** What bundles. */
  readonly bundler: Pick<Bundler, "bundle">;
  /** What workers reach. */
  readonly confinement: string;
  /** What plugins keep between calls. */
  readonly spaces: OwnSpaces;
  /** What its owner keeps for its plugins. */
  readonly secrets: TenantSecrets;
  /** The kinds of permission that exist; absent is the built-in ones. */
  readonly kinds?: KindTable;
  /** The events that hooks may name beside the built-in ones; absent is none. */
  readonly events?: readonly string[];
  /** Decides as the broker does. */
  readonly explain: Explain;
  /** The one place that ops pass. */
  readonly dispatch: Broker["dispatch"];
  /** What all that leaves passes. */
  readonly redactor: Redactor;
  /** Who killed workers. */
  readonly quarantine: Pick<Quarantine, "find" | "clear">;
  /** How many calls there may be. */
  readonly calls: CallRate;
  /** Removes all that is kept of the tenant beside its approvals and secrets, and closes its log. */
  readonly erase: () => Promise<void>;
  /** Called when the first plugin may run. */
  readonly warm: () => void;
  /** What starting and stopping may take. */
  readonly lifecycle: LifecycleLimits;
  /** Paces the looks at what plugins rest on; absent is the real clock. */
  readonly every?: Every | undefined;
}

/** One row of `list`. */
export interface PluginRow {
  /** Its name; the folder's when the manifest cannot be read. */
  readonly name: string;
  /** Informational version. */
  readonly version: string | null;
  /** The author's words. */
  readonly description: string | null;
  /** Its state. */
  readonly state: PluginState;
  /** Why it is in that state, where that needs words. */
  readonly reason: string | null;
  /**
   * Whether its bytes were compared with what was approved in this process. False for an active one says that its files look
   * as they did when they were compared, and for any other that there was nothing to compare.
   */
  readonly verified: boolean;
  /** Where it is. */
  readonly directory: string;
  /** What found it. */
  readonly origin: string;
  /** Where the link stands through which it was found; absent where there is none. */
  readonly link?: string;
  /** What it declares, whether or not this version can run it. */
  readonly capabilities: readonly CapabilityRow[];
  /** What it asks for. */
  readonly permissions: PermissionRequest;
}

/** One capability in a row. */
export interface CapabilityRow {
  /** Full id. */
  readonly id: string;
  /** Its surface. */
  readonly surface: string;
  /** The author's words. */
  readonly description: string | null;
  /** Whether this version can run its surface. */
  readonly live: boolean;
  /** Whether it may be called. */
  readonly exposed: boolean;
  /** Why it is not offered though it is exposed: another owner has its name. Null where nothing is in its way. */
  readonly withheld: string | null;
  /** What it says of its own effects; absent where it says nothing. */
  readonly annotations?: ToolAnnotations;
  /** Where it stands, if it watches what passes or decides about it. */
  readonly stations?: readonly Station[];
  /** How a person types it: `/<plugin>:<name>`; absent where nobody does. */
  readonly typed?: string;
}

/** What a decision about one plugin rests on. */
export interface PluginFacts {
  /** Its name. */
  readonly name: string;
  /** What it declares. */
  readonly manifest: Manifest;
  /** Where it is, without links. */
  readonly directory: string;
  /** All that it offers. */
  readonly capabilities: readonly {
    readonly fullId: string;
    readonly name: string;
    readonly aliases: readonly string[];
    readonly surface: string;
    /** Where it stands around calls and events; absent where it is what is called, or a document. */
    readonly stations?: readonly unknown[];
  }[];
  /** What keeps it, or a part of it, from working, as far as its manifest tells; what `check` finds as well. */
  readonly findings: readonly string[];
}

/** What a name means: a plugin's capability, or what the embedder or the user has under it. */
export type ResolvedName =
  | { readonly owner: "plugin"; readonly id: string; readonly surface: string; readonly plugin: string }
  | { readonly owner: "builtin" | "local"; readonly name: string; readonly surface: string };

/** What is approved with a trust. */
export interface TrustOptions extends ApprovalOptions {
  /** `sha256:…` of what was looked at; must be that of what is there. */
  readonly fingerprint: string;
}

/** What is approved of what was reviewed. */
export interface ApprovalOptions {
  /** Who approves, for the record and the audit. */
  readonly approver: string;
  /**
   * Names the plugin's data folder and storage, unless a record does; absent is a fresh one, which is removed when the
   * host closes where there is no record.
   */
  readonly lineage?: string;
  /** Less than the manifest asks; absent is all that it asks, under the policy. */
  readonly grants?: PermissionRequest;
  /** Cuts down the kinds that it mentions and leaves the others; relative paths start at `cwd`. */
  readonly flags?: Narrowing;
  /** Capabilities that may then be called; absent is none. */
  readonly expose?: readonly string[];
  /** False: for this process only, even where there is a store. */
  readonly keep?: boolean;
}
