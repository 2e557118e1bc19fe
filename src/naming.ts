/** The names of one tenant's plugins: which are contested, whom an id means, and the refusal of an act that would contest one. */
import {
  actError,
  type Claim,
  collisionError,
  contestedNames,
  isTakenOutside,
  type NameFinding,
  nameFindings,
  type NamingRules,
  withheldBy,
} from "./collisions.ts";
import { type LoadedPlugin, placeOf } from "./plugin.ts";
import { findCapability } from "./registry.ts";
import type { Capability } from "./surfaces/mod.ts";

/** What names are looked up with. */
export interface NamingParts {
  /** How names are told apart. */
  readonly rules: NamingRules;
  /** Whether a plugin is trusted as it is, enabled, and nothing else keeps it from running. */
  readonly isActive: (plugin: LoadedPlugin) => Promise<boolean>;
}

/** A capability with its plugin. */
export interface Offered {
  /** Whose it is. */
  readonly plugin: LoadedPlugin;
  /** What is meant. */
  readonly capability: Capability;
}

/** What the names of these plugins collide with, as far as `isMeant` goes. Asks nobody how they stand who claims a name alone. */
export async function findCollisions(
  plugins: readonly LoadedPlugin[],
  exposed: ReadonlySet<string>,
  { rules, isActive }: NamingParts,
  isMeant: (capability: Capability) => boolean = () => true,
): Promise<readonly NameFinding[]> {
  const claims: (Omit<Claim, "takesPart"> & { readonly by: LoadedPlugin })[] = [];
  const counts = new Map<string, number>();
  for (const by of plugins) {
    for (const capability of by.capabilities) {
      if (!isMeant(capability)) continue;
      const names = contestedNames(capability, rules);
      if (names.length === 0) continue;
      for (const name of names) {
        const key = keyOf(capability.surface, name);
        const weight = isTakenOutside(capability.surface, name, rules) ? 2 : 1;
        counts.set(key, (counts.get(key) ?? 0) + weight);
      }
      claims.push({ plugin: by.name, directory: placeOf(by), capability, by });
    }
  }
  const standings = new Map<LoadedPlugin, Promise<boolean>>();
  const standingOf = (plugin: LoadedPlugin): Promise<boolean> => {
    const known = standings.get(plugin) ?? isActive(plugin);
    standings.set(plugin, known);
    return known;
  };
  const contested = claims.filter(({ capability }) =>
    contestedNames(capability, rules).some((name) => (counts.get(keyOf(capability.surface, name)) ?? 0) > 1)
  );
  const told = await Promise.all(contested.map(async ({ by, ...claim }): Promise<Claim> => {
    return { ...claim, takesPart: exposed.has(claim.capability.fullId) && await standingOf(by) };
  }));
  return nameFindings(told, rules);
}

/** Throws CollisionError where another one owns the name of what is about to be called. */
export async function refuseContested(
  { plugin, capability }: Offered,
  plugins: readonly LoadedPlugin[],
  exposed: ReadonlySet<string>,
  parts: NamingParts,
): Promise<void> {
  const isMeant = ({ surface, name, fullId }: Capability): boolean =>
    surface === capability.surface && (name === capability.name || fullId === capability.fullId);
  const findings = await findCollisions(plugins, exposed, parts, isMeant);
  const finding = withheldBy(findings, placeOf(plugin), capability.fullId);
  if (finding !== null) throw collisionError(`Cannot use "${capability.fullId}"`, finding);
}

/**
 * Throws CollisionError where offering these capabilities would contest a name: the act is refused, and what is offered
 * stays so. Names that are told apart when they are matched are not looked at.
 */
export async function refuseAct(
  { what, plugin, ids }: {
    readonly what: string;
    readonly plugin: LoadedPlugin;
    readonly ids: readonly string[];
  },
  plugins: readonly LoadedPlugin[],
  exposed: ReadonlySet<string>,
  parts: NamingParts,
): Promise<void> {
  const directory = placeOf(plugin);
  const others = plugins.filter((each) => placeOf(each) !== directory);
  const wished = new Set(ids);
  const findings = await findCollisions([plugin, ...others], new Set([...exposed, ...wished]), {
    ...parts,
    isActive: async (each) => each === plugin || await parts.isActive(each),
  });
  const finding = ids.map((id) => withheldBy(findings, directory, id))
    .find((each) => each !== null && each.moment !== "match");
  if (finding !== undefined && finding !== null) throw actError(what, finding, directory);
}

/** Other plugins of this name that take part; whoever does not takes nothing from it. */
export async function rivalsOf(
  plugin: LoadedPlugin,
  plugins: readonly LoadedPlugin[],
  isActive: NamingParts["isActive"],
): Promise<readonly LoadedPlugin[]> {
  return await activeOf(twinsOf(plugin, plugins), isActive);
}

/** The rivals of all these plugins, of those that have some; asks nobody how they stand whose name is theirs alone. */
export async function rivalries(
  plugins: readonly LoadedPlugin[],
  isActive: NamingParts["isActive"],
): Promise<ReadonlyMap<LoadedPlugin, readonly LoadedPlugin[]>> {
  const twins = [...Map.groupBy(plugins, ({ name }) => name).values()].filter(({ length }) => length > 1);
  const found = await Promise.all(twins.map(async (group) => {
    const active = await activeOf(group, isActive);
    return group.map((plugin) => [plugin, active.filter((each) => each !== plugin)] as const);
  }));
  return new Map(found.flat());
}

/** Other plugins of this name. */
export function twinsOf(plugin: LoadedPlugin, plugins: readonly LoadedPlugin[]): readonly LoadedPlugin[] {
  const place = placeOf(plugin);
  return plugins.filter((other) => other.name === plugin.name && placeOf(other) !== place);
}

/**
 * What an id means: a full id, or a bare name that one offered capability has. Of several only those of active plugins
 * count. Throws CapabilityError, or CollisionError `ERR_NAME_AMBIGUOUS` listing the candidates.
 */
export async function findOffered(
  id: string,
  plugins: readonly LoadedPlugin[],
  isOffered: (capability: Capability) => boolean,
  isActive: NamingParts["isActive"],
  surface: string | null = null,
): Promise<Offered> {
  const all = plugins.flatMap((of) =>
    of.capabilities.map((capability) => ({ ...capability, of, capability }))
  )
    .filter((each) => surface === null || each.surface === surface);
  const exact = all.filter(({ fullId, aliases }) => fullId === id || aliases.includes(id));
  const named = all.filter(({ name, capability }) => name === id && isOffered(capability));
  const meant = exact.length > 0 ? exact : named;
  const active = meant.length > 1 ? await activeOf(meant.map(({ of }) => of), isActive) : [];
  const counting = meant.filter(({ of }) => active.includes(of));
  const among = counting.length > 0 ? counting : meant.length > 0 ? meant : all;
  const { of: plugin, capability } = findCapability(id, among);
  return { plugin, capability };
}

/** Whose a name is that belongs to no plugin, or null: the embedder's before the user's. */
export function findOutside(
  name: string,
  { builtins, local }: NamingRules,
  surface: string | null,
): { readonly owner: "builtin" | "local"; readonly name: string; readonly surface: string } | null {
  for (const [owner, names] of [["builtin", builtins], ["local", local]] as const) {
    const on = Object.keys(names).find((each) =>
      (surface === null || each === surface) && names[each]!.includes(name)
    );
    if (on !== undefined) return { owner, name, surface: on };
  }
  return null;
}

async function activeOf(
  plugins: readonly LoadedPlugin[],
  isActive: NamingParts["isActive"],
): Promise<readonly LoadedPlugin[]> {
  const are = await Promise.all(plugins.map((plugin) => isActive(plugin)));
  return plugins.filter((_, place) => are[place]);
}

function keyOf(surface: string, name: string): string {
  return JSON.stringify([surface, name]);
}
