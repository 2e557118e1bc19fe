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
  /** Says how far the call is: of what comes too fast for its reader the last is told. */
  progress(done: number, total?: number | null, message?: string | null): void;
  /** What the caller gives piece by piece, as fast as it is read; absent where the call has no body. */
  readonly body?: AsyncIterableIterator<string | Uint8Array>;
  /** Aborts when whoever reads the call's stream has left; absent where it is not read as a stream. */
  readonly signal?: CallSignal;
}

/** An `AbortSignal`, where the author's own settings have types of the web's; else what there is of one in any case. */
export type CallSignal = typeof globalThis extends
  { readonly AbortSignal: { readonly prototype: infer Signal } } ? Signal
  : { readonly aborted: boolean; throwIfAborted(): void };

/** What belongs to one call, and is of no lifecycle code. */
export type OfCall = "deadline" | "caller" | "progress" | "body" | "signal";

/** One value of a stream: a text, bytes or any other JSON value, of at most 1 MiB. */
export type StreamChunk = string | Uint8Array | Json;

/**
 * A tool that gives its result piece by piece, only as fast as that is read: an async generator does. Its `finally` blocks run
 * when whoever reads leaves. It is read with `tenant.stream`, and `sallyport run` writes it as it comes.
 */
export type StreamHandler<Input = Record<string, unknown>, Chunk = StreamChunk> = (
  input: Input,
  context: ToolContext,
) => AsyncIterable<Chunk> | Iterable<Chunk> | Promise<AsyncIterable<Chunk> | Iterable<Chunk>>;

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
) => Output | ToolFailure | Promise<Output | ToolFailure>;

/**
 * What a tool may give in the place of a result: it ran, and failed. The caller gets the same error as for what it throws,
 * with this content, and can tell it from a call that could not run.
 */
export interface ToolFailure {
  /** Tells it from a result. */
  readonly isError: true;
  /** What went wrong: a text, or any other JSON value. */
  readonly content: unknown;
}

/** What a command is called with. */
export interface CommandInput {
  /** What was typed behind its name, as it was typed. */
  readonly args: string;
  /** The same as words, split as a shell splits them; nothing is expanded. Of a form, `name=value` for each field. */
  readonly argv: readonly string[];
  /** What a form of the plugin's own panel was filled in with; absent where the command was typed. */
  readonly values?: Readonly<Record<string, FormValue>>;
}

/** A command: what a person starts by typing `/<plugin>:<name>`. It answers with a text, or another JSON value. */
export type CommandHandler<Output = unknown> = (
  input: CommandInput,
  context: ToolContext,
) => Output | Promise<Output>;

/** A panel: a view for a person, from a JSON value. */
export type PanelHandler<Input = Record<string, unknown>> = (
  input: Input,
  context: ToolContext,
) => PanelView | Promise<PanelView>;

/** What a panel shows: one node, or several below one another. */
export type PanelView = ViewNode | readonly ViewNode[];

/**
 * A part of a view. There is no HTML and no script in one, and no link: every text is shown as it stands, and characters that
 * could move a cursor, reorder a line or hide are taken out of it.
 */
export type ViewNode =
  | TextNode
  | ListNode
  | TableNode
  | CardNode
  | FormNode
  | ProgressNode
  | NotificationNode;

/** A paragraph; it may have several lines. */
export interface TextNode {
  /** Tells it from other nodes. */
  readonly type: "text";
  /** The words. */
  readonly text: string;
  /** How they are set; absent is plain. */
  readonly style?: "plain" | "heading" | "muted" | "code";
}

/** Items below one another. */
export interface ListNode {
  /** Tells it from other nodes. */
  readonly type: "list";
  /** Texts or nodes. */
  readonly items: readonly (string | ViewNode)[];
  /** Whether they are numbered. */
  readonly ordered?: boolean;
}

/** Rows of cells. */
export interface TableNode {
  /** Tells it from other nodes. */
  readonly type: "table";
  /** Heads of the columns, each with the side on which its cells stand; a text alone is a head on the left. */
  readonly columns: readonly (string | TableColumn)[];
  /** Rows, each with one cell for each column. */
  readonly rows: readonly (readonly (string | number | boolean | null)[])[];
}

/** A column of a table. */
export interface TableColumn {
  /** Its head. */
  readonly title: string;
  /** The side on which its cells stand; absent is the left. */
  readonly align?: "left" | "right";
}

/** Nodes that belong together. */
export interface CardNode {
  /** Tells it from other nodes. */
  readonly type: "card";
  /** Its head. */
  readonly title?: string;
  /** What it holds. */
  readonly nodes: readonly ViewNode[];
  /** What it offers to do. */
  readonly actions?: readonly ViewAction[];
}

/** Something to do: a command of the same plugin. */
export interface ViewAction {
  /** Name of a command that the manifest declares. */
  readonly action: string;
  /** What it is called; absent is the command's name. */
  readonly label?: string;
}

/** Fields to fill in; a command of the same plugin gets what was filled in. */
export interface FormNode extends ViewAction {
  /** Tells it from other nodes. */
  readonly type: "form";
  /** Its head. */
  readonly title?: string;
  /** The fields; no two of one name. */
  readonly fields: readonly FormField[];
}

/** One field of a form. */
export interface FormField {
  /** Its name among the values. */
  readonly name: string;
  /** What it is called; absent is its name. */
  readonly label?: string;
  /** What it takes; absent is a text. */
  readonly kind?: "text" | "number" | "boolean" | "choice";
  /** What it may be, for a choice. */
  readonly choices?: readonly string[];
  /** What stands in it at first. */
  readonly value?: FormValue;
  /** Whether it must be filled in. */
  readonly required?: boolean;
}

/** What a field holds. */
export type FormValue = string | number | boolean;

/** How far something has come. */
export interface ProgressNode {
  /** Tells it from other nodes. */
  readonly type: "progress";
  /** What it is about. */
  readonly label?: string;
  /** How much is done. */
  readonly done: number;
  /** How much there is to do. */
  readonly total: number;
}

/** A message that should be noticed. */
export interface NotificationNode {
  /** Tells it from other nodes. */
  readonly type: "notification";
  /** How much it matters; absent is `info`. */
  readonly level?: "info" | "success" | "warning" | "error";
  /** The words. */
  readonly text: string;
}

/**
 * What a hook that may block, a guardrail or an interceptor answers. Nothing at all is `continue`. There is no word for
 * "allow": it can only narrow what was decided.
 */
export type Verdict<Value = unknown> =
  | { readonly decision: "continue" }
  | { readonly decision: "block"; readonly reason: string }
  | { readonly decision: "replace"; readonly value: Value; readonly reason?: string };

/** The same, or nothing. */
export type VerdictAnswer<Value = unknown> = Verdict<Value> | null | undefined | void;

/** What a hook is told: the name of the event, and those of its fields that the plugin may see. */
export interface HookEvent {
  /** `PreToolUse`, `SessionStart` … or one that the host adds. */
  readonly name: string;
  /** Full id of what is called, where the event is about a call. */
  readonly target?: string;
  /** What it is called with. */
  readonly input?: unknown;
  /** What came of it. */
  readonly output?: unknown;
  /** Whatever else the event has. */
  readonly [field: string]: unknown;
}

/** A hook of type `module`. What it answers counts at `PreToolUse`, `UserPromptSubmit` and `SessionStart` only. */
export type HookHandler<Event extends HookEvent = HookEvent> = (
  event: Event,
  context: ToolContext,
) => VerdictAnswer | Promise<VerdictAnswer>;

/** What a guardrail is told. */
export interface GuardrailEvent extends HookEvent {
  /** The point at which it stands: `tool.input`, `tool.output`, `prompt.input`. */
  readonly name: string;
}

/** A guardrail: stops or replaces what goes in or comes out. What it does not answer in time is stopped. */
export type GuardrailHandler = HookHandler<GuardrailEvent>;

/** What an interceptor is told, once on the way in and once on the way out. */
export interface InterceptorEvent extends HookEvent {
  /** Which of the two. */
  readonly phase?: "before" | "after";
}

/** An interceptor: stands around a call. */
export type InterceptorHandler = HookHandler<InterceptorEvent>;

/** A provider: answers piece by piece, in texts, bytes or other JSON values; an async generator does. */
export type ProviderHandler<Input = Record<string, unknown>, Chunk = StreamChunk> = StreamHandler<
  Input,
  Chunk
>;

/** What lifecycle code that runs first is given; frozen, and over when the code has settled. */
export interface ActivationContext extends Omit<ToolContext, OfCall> {
  /** Full ids of the capabilities that the isolate is for. */
  readonly capabilities: readonly string[];
  /**
   * Puts a handler behind a tool or provider that the manifest declares without a target. False where it belongs to another
   * isolate.
   * Throws for what is not declared, has a target or was registered already: the plugin then does not start.
   */
  register(surface: string, name: string, handler: ToolHandler<never>): boolean;
  /** What is to be done at the end, or when starting fails; the last one first. */
  onDispose(work: () => unknown): void;
}

/** Lifecycle code that runs first, in each isolate of the plugin. */
export type Activate = (context: ActivationContext) => void | Promise<void>;

/** Lifecycle code that runs last, in each isolate of the plugin and within a moment; not after its trust was taken back. */
export type Stop = (context: Omit<ToolContext, OfCall>) => void | Promise<void>;
