/**
 * The door of the surfaces: one table. A new surface is a file, its test and a line here; the manifest's schema, the checks
 * and the lists of capabilities and files follow from it.
 */
import type { Surface, SurfaceCode } from "./surface.ts";
import { agents } from "./agents.ts";
import { commands } from "./commands.ts";
import { guardrails } from "./guardrails.ts";
import { hooks } from "./hooks.ts";
import { interceptors } from "./interceptors.ts";
import { packs } from "./packs.ts";
import { panels } from "./panels.ts";
import { playbooks } from "./playbooks.ts";
import { prompts } from "./prompts.ts";
import { providers } from "./providers.ts";
import { skills } from "./skills.ts";
import { themes } from "./themes.ts";
import { tools } from "./tools.ts";

/** All surfaces by their key under `capabilities:`, in the order in which they are listed. */
export const SURFACES = {
  tools,
  commands,
  hooks,
  prompts,
  skills,
  agents,
  playbooks,
  packs,
  themes,
  providers,
  guardrails,
  interceptors,
  panels,
} as const satisfies Readonly<Record<SurfaceName, unknown>>;

/** The surface of a name; undefined where there is none. */
export function surfaceOf(name: string): Surface | undefined {
  const all: readonly Surface[] = Object.values(SURFACES);
  return all.find((each) => each.name === name);
}

/** How the code of a surface is run; undefined where it has none. */
export function codeOf(surface: string): SurfaceCode | undefined {
  return surfaceOf(surface)?.code;
}

/** The name of a surface. */
export type SurfaceName =
  | "tools"
  | "commands"
  | "hooks"
  | "prompts"
  | "skills"
  | "agents"
  | "playbooks"
  | "packs"
  | "themes"
  | "providers"
  | "guardrails"
  | "interceptors"
  | "panels";

export type { CommandEntry } from "./commands.ts";
export type { GuardrailEntry } from "./guardrails.ts";
export { eventFacts, HOOK_EVENTS } from "./hooks.ts";
export type { CommandHook, HookEvent, HookGroup, HooksSection, ModuleHook } from "./hooks.ts";
export type { InterceptorEntry } from "./interceptors.ts";
export type {
  Capability,
  CollisionMoment,
  DeclaredFile,
  JsonPath,
  NamedEntry,
  Surface,
  SurfaceCode,
  TargetEntry,
  TypedKind,
} from "./surface.ts";
export type { Station } from "./stations.ts";
export type { ToolAnnotations, ToolEntry } from "./tools.ts";
