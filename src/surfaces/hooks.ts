/** Hooks: code or an executable of the bundle that runs at an event. They have no names; their place tells them apart. */
import { z } from "zod";
import { fileReference, lineText, targetText, wholeNumber } from "../manifest/fields.ts";
import { isExtensionKey, keyed } from "../manifest/keyed.ts";
import { MANIFEST_LIMITS as LIMITS } from "../manifest/limits.ts";
import { matcherProblem } from "../points/matcher.ts";
import { verdictSchema } from "../points/verdict.ts";
import { callPoints, type Station, TURNS } from "./stations.ts";
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

/** What passes at an event, and what a hook may say there (T33). */
type EventFacts = Pick<Station, "point" | "isTargeted" | "decides">;

const EVENTS: Readonly<Record<HookEvent, EventFacts>> = {
  PreToolUse: { point: callPoints("tool").input, isTargeted: true, decides: true },
  PostToolUse: { point: callPoints("tool").output, isTargeted: true, decides: false },
  UserPromptSubmit: { point: "prompt.submit", isTargeted: false, decides: true },
  SessionStart: { point: eventPoint("SessionStart"), isTargeted: false, decides: true },
  SessionEnd: watched("SessionEnd"),
  Stop: watched("Stop"),
  SubagentStop: watched("SubagentStop"),
  Notification: watched("Notification"),
  PreCompact: watched("PreCompact"),
};

/** What is known of an event: of one that an embedder adds, that nobody decides about it. */
export function eventFacts(name: string): EventFacts {
  // The cast holds for the built-in names, and only these are own members.
  return Object.hasOwn(EVENTS, name) ? EVENTS[name as HookEvent] : watched(name);
}

/** The names of the built-in events. */
export const HOOK_EVENTS: readonly string[] = Object.keys(EVENTS);

function watched(name: string): EventFacts {
  return { point: eventPoint(name), isTargeted: false, decides: false };
}

/** How the kinds `observe` and `intercept` spell the fields of an event that is nobody's call. */
function eventPoint(name: string): string {
  return `event.${name.slice(0, 1).toLowerCase()}${name.slice(1)}`;
}

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
  /** Further files of the bundle that it sees beside itself; it sees no others (T07). */
  readonly files?: readonly string[];
  /** Lower ones come first. */
  readonly priority?: number;
}

/** Hooks that share a matcher. */
export interface HookGroup {
  /** A pattern in RE2 syntax for full ids or bare names of tools, anchored at both ends; `*` or none: all (T19). */
  readonly matcher?: string;
  /** At least one. */
  readonly hooks: readonly (ModuleHook | CommandHook)[];
}

/** The section: groups by event, built-in ones and those that the host adds. */
export interface HooksSection {
  readonly [event: string]: readonly HookGroup[] | undefined;
}

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
    files: z.array(fileReference()).max(LIMITS.hookFilesMax).exactOptional(),
    priority,
  }),
], { error: (issue) => issue.code === "invalid_union" ? 'must be "module" or "command"' : undefined });

const matcherText = lineText(LIMITS.matcherCharsMax).superRefine((text, context) => {
  const problem = matcherProblem(text);
  if (problem !== null) context.addIssue(problem);
});

/** A matcher means names of tools; one that could never be asked would look like a condition, and be none. */
const noMatcher = lineText(LIMITS.matcherCharsMax).refine((text) => text === "*", {
  error: "must be left out: only PreToolUse and PostToolUse are about tools",
});

const groupsOf = (event: string) =>
  z.array(keyed({
    matcher: (eventFacts(event).isTargeted ? matcherText : noMatcher).exactOptional(),
    hooks: z.array(hook).min(1, { error: "must hold at least one hook" }).max(LIMITS.entriesMax),
  })).max(LIMITS.entriesMax).exactOptional();

const sectionOf = (events: readonly string[]) =>
  // The cast holds: a map from names of events to groups, and keys of the author's own, which nothing reads.
  keyed(Object.fromEntries(events.map((event) => [event, groupsOf(event)]))) as unknown as z.ZodType<
    HooksSection
  >;

/** The surface of hooks. */
export const hooks: Surface<HooksSection> = {
  name: "hooks",
  doc: "Code or an executable that runs at an event.",
  live: true,
  code: { isCallable: false, answer: verdictSchema },
  section: sectionOf(HOOK_EVENTS),
  sectionFor: (_kinds, events) => sectionOf([...HOOK_EVENTS, ...events]),
  capabilities: (events, plugin) =>
    walk(events).map(({ event, matcher, raw, at }) => {
      const name = [event, at[1], at[3]].join("/");
      return {
        surface: "hooks",
        name,
        fullId: slashId(plugin, name),
        aliases: [],
        ...(raw.type === "module" ? { target: targetOf(raw.target) } : {}),
        files: filesOf(raw, at).map(({ path }) => path),
        stations: [{
          ...eventFacts(event),
          name: event,
          turn: TURNS.hooks,
          priority: raw.priority ?? 0,
          ...(matcher === undefined ? {} : { matcher }),
        }],
        raw,
        at,
      };
    }),
  files: (events) => walk(events).flatMap(({ raw, at }) => filesOf(raw, at)),
  names: () => [],
};

/** One hook with its place, `[event, group, "hooks", index]`. */
interface Placed {
  readonly event: string;
  readonly matcher: string | undefined;
  readonly raw: ModuleHook | CommandHook;
  readonly at: JsonPath;
}

/** The built-in events first, each in the order of the manifest. */
function walk(events: HooksSection): readonly Placed[] {
  const names = [...new Set([...HOOK_EVENTS, ...Object.keys(events)])].filter((name) =>
    !isExtensionKey(name)
  );
  return names.flatMap((event) =>
    (Object.hasOwn(events, event) ? events[event] ?? [] : []).flatMap(({ matcher, hooks }, groupIndex) =>
      hooks.map((raw, index) => ({ event, matcher, raw, at: [event, groupIndex, "hooks", index] }))
    )
  );
}

function filesOf(raw: ModuleHook | CommandHook, at: JsonPath): readonly DeclaredFile[] {
  if (raw.type === "module") {
    return [{ path: targetOf(raw.target).path, role: "target", at: [...at, "target"] }];
  }
  const { command: [executable = ""], files = [] } = raw; // the schema has seen that the first part is there
  return [
    { path: executable, role: "executable", at: [...at, "command", 0] },
    ...files.map((path, index): DeclaredFile => {
      return { path, role: "executable", at: [...at, "files", index] };
    }),
  ];
}
