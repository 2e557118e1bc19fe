/**
 * Types of a plugin's own API, for `import type { … } from "sallyport/plugin"`. They depend on nothing and are gone when the
 * plugin is bundled.
 *
 * @module
 */

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Keys and JSON values that the host keeps for the plugin; every call needs the permission `storage`. */
export interface PluginStorage {
  /** The value of a key, or undefined. */
  get<Value = unknown>(key: string): Promise<Value | undefined>;
  /** Keeps a value. Rejects with `ERR_LIMIT_SIZE` when the plugin's room is used up. */
  set(key: string, value: unknown): Promise<void>;
  /** Forgets a key; one that is not there is no error. */
  delete(key: string): Promise<void>;
  /** Keys that begin with the prefix, in order. */
  list(prefix?: string): Promise<string[]>;
}

/** What a handler is told besides its input. */
export interface ToolContext {
  /** Name of the plugin. */
  readonly plugin: string;
  /** When the call must have ended, milliseconds since the epoch. */
  readonly deadline: number;
  /** Full ids of the capabilities that led here, the one that called last; absent where no plugin called. */
  readonly caller?: readonly string[];
  /** What the plugin keeps. */
  readonly storage: PluginStorage;
  /** Calls other plugins. */
  readonly call: PluginCall;
  /** What the program that runs the plugin offers beside Sallyport's own: functions of JSON values, by name. */
  readonly host: Readonly<Record<string, HostOp>>;
}

/**
 * Calls a capability of another plugin by its full id; an input that is left out is `{}`. Needs the permission `call` with
 * that id, and the other plugin's word: `callers` of its tool. Rejects with an error whose `code` says why: `ERR_NOT_CAPABLE`,
 * `ERR_CAPABILITY_NOT_EXPOSED`, `ERR_GUEST_THREW` and so on.
 */
export type PluginCall = <Value = unknown>(id: string, input?: object) => Promise<Value>;

/** A function that the program offers. Rejects with `ERR_NOT_CAPABLE` where the plugin lacks a permission for it. */
export type HostOp = <Value = unknown>(...args: readonly unknown[]) => Promise<Value>;

/** A tool: a JSON value from a JSON value. What it throws is the tool's own failure, and shown as such. */
export type ToolHandler<Input = Record<string, unknown>, Output = unknown> = (
  input: Input,
  context: ToolContext,
) => Output | Promise<Output>;

/** What lifecycle code that runs first is given; frozen, and over when the code has settled. */
export interface ActivationContext extends Omit<ToolContext, "deadline" | "caller"> {
  /** Full ids of the capabilities that the isolate is for. */
  readonly capabilities: readonly string[];
  /**
   * Puts a handler behind a tool that the manifest declares without a target. False where the tool belongs to another isolate.
   * Throws for what is not declared, has a target or was registered already: the plugin then does not start.
   */
  register(surface: string, name: string, handler: ToolHandler<never>): boolean;
  /** What is to be done at the end, or when starting fails; the last one first. */
  onDispose(work: () => unknown): void;
}

/** Lifecycle code that runs first, in each isolate of the plugin. */
export type Activate = (context: ActivationContext) => void | Promise<void>;

/** Lifecycle code that runs last, in each isolate of the plugin and within a moment; not after its trust was taken back. */
export type Stop = (context: Omit<ToolContext, "deadline" | "caller">) => void | Promise<void>;
