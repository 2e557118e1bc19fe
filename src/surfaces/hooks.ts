/** Hooks: code or an executable of the bundle that runs at an event. They have no names; their place tells them apart. */
import { z } from "zod";
import { fileReference, lineText, targetText, wholeNumber } from "../manifest/fields.ts";
import { keyed } from "../manifest/keyed.ts";
import { MANIFEST_LIMITS as LIMITS } from "../manifest/limits.ts";
import { type DeclaredFile, type JsonPath, slashId, type Surface, targetOf } from "./surface.ts";

/** The name of an event. */
export type HookEvent =
  | "PreToolUse"
  | "PostToolUse"
  | "UserPromptSubmit"
  | "SessionStart"
  | "SessionEnd"
  | "Stop"
  | "SubagentStop"
  | "Notification"
  | "PreCompact";

const HOOK_EVENTS: readonly HookEvent[] = [
  "PreToolUse",
  "PostToolUse",
  "UserPromptSubmit",
  "SessionStart",
  "SessionEnd",
  "Stop",
  "SubagentStop",
  "Notification",
  "PreCompact",
];

/** A hook that is an export of the bundle and runs in an isolate. */
export interface ModuleHook {
  /** Tells it from a command. */
  readonly type: "module";
  /** The code, `path:export`. */
  readonly target: string;
  /** Lower ones come first. */
  readonly priority?: number;
}

/** A hook that is an executable of the bundle. It leaves the isolate and needs `run`. */
export interface CommandHook {
  /** Tells it from a module. */
  readonly type: "command";
  /** The executable, relative to the bundle, and its arguments. No shell reads them. */
  readonly command: readonly string[];
  /** Lower ones come first. */
  readonly priority?: number;
}

/** Hooks that share a matcher. */
export interface HookGroup {
  /** A pattern for the names of tools, anchored at both ends; `*` or none: all. It is run elsewhere, never here (T19). */
  readonly matcher?: string;
  /** At least one. */
  readonly hooks: readonly (ModuleHook | CommandHook)[];
}

/** The section: groups by event. */
export type HooksSection = { readonly [Event in HookEvent]?: readonly HookGroup[] };

const priority = wholeNumber(-LIMITS.priorityMax, LIMITS.priorityMax).exactOptional();

const argument = z.string().max(LIMITS.argumentCharsMax, {
  error: `must have at most ${LIMITS.argumentCharsMax} characters`,
});

const hook = z.discriminatedUnion("type", [
  keyed({ type: z.literal("module"), target: targetText, priority }),
  keyed({
    type: z.literal("command"),
    command: z.tuple([fileReference()], argument).refine((argv) => argv.length <= LIMITS.argumentsMax, {
      error: `must have at most ${LIMITS.argumentsMax} parts`,
    }),
    priority,
  }),
], { error: (issue) => issue.code === "invalid_union" ? 'must be "module" or "command"' : undefined });

const group: z.ZodType<HookGroup> = keyed({
  matcher: lineText(LIMITS.matcherCharsMax).exactOptional(),
  hooks: z.array(hook).min(1, { error: "must hold at least one hook" }).max(LIMITS.entriesMax),
});

const groups = z.array(group).max(LIMITS.entriesMax).exactOptional();

// The cast holds: a shape with one member per event has the interface's members and no others.
const section = keyed(
  Object.fromEntries(HOOK_EVENTS.map((event) => [event, groups])),
) as unknown as z.ZodType<HooksSection>;

/** The surface of hooks. */
export const hooks: Surface<HooksSection> = {
  name: "hooks",
  doc: "Code or an executable that runs at an event.",
  live: false,
  section,
  capabilities: (events, plugin) =>
    walk(events).map(({ event, raw, at }) => {
      const name = [event, at[1], at[3]].join("/");
      return {
        surface: "hooks",
        name,
        fullId: slashId(plugin, name),
        aliases: [],
        ...(raw.type === "module" ? { target: targetOf(raw.target) } : {}),
        files: [fileOf(raw, at).path],
        raw,
        at,
      };
    }),
  files: (events) => walk(events).map(({ raw, at }) => fileOf(raw, at)),
  names: () => [],
};

/** All hooks with their places, `[event, group, "hooks", index]`. */
function walk(events: HooksSection): { event: HookEvent; raw: ModuleHook | CommandHook; at: JsonPath }[] {
  return HOOK_EVENTS.flatMap((event) =>
    (events[event] ?? []).flatMap((group, groupIndex) =>
      group.hooks.map((raw, index) => ({ event, raw, at: [event, groupIndex, "hooks", index] }))
    )
  );
}

function fileOf(raw: ModuleHook | CommandHook, at: JsonPath): DeclaredFile {
  if (raw.type === "module") {
    return { path: targetOf(raw.target).path, role: "target", at: [...at, "target"] };
  }
  // The schema has seen that the first part is there and a reference.
  return { path: raw.command[0] ?? "", role: "executable", at: [...at, "command", 0] };
}
