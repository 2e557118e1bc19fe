/** One target with all that decides how it runs. */
import { check, type Decision, type Grant, type PathContext } from "../permissions/mod.ts";
import type { BundleFiles, GuestLimits, OwnSpace, Tenure } from "../runtime/mod.ts";
import type { BundleTarget, TargetBundle } from "./bundler/mod.ts";
import type { PluginSource } from "./source.ts";

/** Lifecycle code as one isolate runs it. */
export interface UnitLifecycle {
  /** Runs first. */
  readonly activate: BundleTarget | null;
  /** Runs last. */
  readonly stop: BundleTarget | null;
  /** Who may register what, by surface, a space and name. */
  readonly names: Readonly<Record<string, "here" | "elsewhere" | "target">>;
}

/** One target with all that decides how it runs. */
export interface Unit {
  /** What isolates are kept under: the same target, bytes and grant. */
  readonly key: string;
  /** Name of the plugin, or of the script file. */
  readonly plugin: string;
  /** How messages call it: `Plugin "x"`, `Script "x.ts"`. */
  readonly title: string;
  /** The decision about calling the capability, by its full id; absent for a script, which is none. */
  readonly call?: Decision;
  /** Its files. */
  readonly source: PluginSource;
  /** Full ids of the capabilities that end with it; absent for a script, which is none. */
  readonly capabilities?: readonly string[];
  /** What is bundled; where the capability has no target of its own, the code that registers it. */
  readonly target: BundleTarget;
  /** By what it is called in its isolate, where lifecycle code registered it; absent is the target. */
  readonly entry?: string;
  /** Code that runs first and last in its isolate; absent is none. */
  readonly lifecycle?: UnitLifecycle;
  /** Where the target is declared, for messages; null for a script. */
  readonly declaredIn: string | null;
  /** Hash of what runs; null for a script before `--lock`. */
  readonly fingerprint: string | null;
  /** Throws when the bundle of one of its targets is not what was approved. */
  readonly verify: (bundle: TargetBundle, target: BundleTarget) => void;
  /** What it may do. */
  readonly grant: Grant;
  /** Until when; absent is for good. */
  readonly tenure?: Tenure;
  /** Where its paths start. */
  readonly context: PathContext;
  /** Real path of the plugin's directory, or of the script. */
  readonly place: string;
  /** Its own verified files; null for a script. */
  readonly bundle: BundleFiles | null;
  /** What is its own to write to. */
  readonly own: OwnSpace;
  /** The environment that its tenant maps. */
  readonly environment: Readonly<Record<string, string>>;
  /** What it may use. */
  readonly limits: GuestLimits;
  /** Whether it must not share a worker with another plugin, whatever it holds. */
  readonly isAlone?: boolean;
  /** Whether its grant is cut by a caller's: that it fails to start says nothing of its plugin. */
  readonly isAttenuated?: boolean;
  /** Whether the guest tells of each variable and fact that it reads, for finding out what it needs. */
  readonly tellsReads?: boolean;
}

/** Its target, for messages and the audit. */
export function targetText({ target }: Unit): string {
  return target.export === null ? target.path : `${target.path}:${target.export}`;
}

/** Whether it may use something. */
export function isGranted({ grant, context }: Unit, kind: string, value: string | null = null): boolean {
  return check(grant, { kind, value }, context).state === "granted";
}
