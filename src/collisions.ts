/**
 * Who claims which name, and who has it (DESIGN section 8, T23). Pure: it is told who takes part. Whoever is not trusted,
 * enabled and exposing the name is only told that it would collide, so nobody loses a name to a directory that was cloned.
 */
import { CollisionError } from "../permissions/mod.ts";
import { display } from "./display.ts";
import { type Capability, type CollisionMoment, type Surface, SURFACES } from "./surfaces/mod.ts";

/** Names by the surface that they are on. */
export type NamesBySurface = Readonly<Record<string, readonly string[]>>;

/** How the names of a tenant are told apart. */
export interface NamingRules {
  /** `bare`: tools are offered under their own names, which therefore collide; else under full ids, which never do. */
  readonly naming: "qualified" | "bare";
  /** What the embedder offers itself: no plugin gets these names. */
  readonly builtins: NamesBySurface;
  /** What the user has in files of their own: a bare name means these. */
  readonly local: NamesBySurface;
}

/** A plugin's wish to have a name. */
export interface Claim {
  /** Name of the plugin. */
  readonly plugin: string;
  /** Where it is. */
  readonly directory: string;
  /** What would have the name. */
  readonly capability: Capability;
  /** Whether the plugin is trusted and enabled and exposes it. */
  readonly takesPart: boolean;
}

/** One who claims a name. */
export interface NameOwner {
  /** Name of the plugin. */
  readonly plugin: string;
  /** Where it is. */
  readonly directory: string;
  /** Full id of its capability. */
  readonly id: string;
}

/** A name that more than one claims, and what follows. */
export interface NameFinding {
  /**
   * `peers`: several plugins, and none of them is offered. `builtin`: the embedder's stays, the plugin's is not offered.
   * `shadowed`: the bare name means the user's own file. `would collide`: nothing yet, since the first owner takes no part.
   */
  readonly outcome: "peers" | "builtin" | "shadowed" | "would collide";
  /** The surface. */
  readonly surface: string;
  /** The name. */
  readonly name: string;
  /** When it shows. */
  readonly moment: CollisionMoment;
  /** The plugins that it is about. */
  readonly owners: readonly NameOwner[];
  /** All of it in a sentence, safe for a terminal. */
  readonly message: string;
}

/** All that is contested, in the order of the claims. */
export function nameFindings(claims: readonly Claim[], rules: NamingRules): readonly NameFinding[] {
  const contests = new Map<string, Claim[]>();
  for (const claim of claims) {
    for (const name of contestedNames(claim.capability, rules)) {
      const key = JSON.stringify([claim.capability.surface, name]);
      const contest = contests.get(key);
      if (contest === undefined) contests.set(key, [claim]);
      else contest.push(claim);
    }
  }
  return [...contests].flatMap(([key, contest]) => {
    const [surface, name] = JSON.parse(key) as [string, string]; // made above
    return findingsOf(contest, surface, name, rules);
  });
}

/** Names of a capability that another may claim as well; its full id is one only where the embedder may have taken it. */
export function contestedNames(
  { surface, name, fullId }: Capability,
  { naming, builtins }: NamingRules,
): readonly string[] {
  const { collides, collidesWhenBare = false } = surfaceOf(surface) ?? {};
  const isContested = collides !== undefined && (naming === "bare" || !collidesWhenBare);
  return [...(isContested ? [name] : []), ...(has(builtins, surface, fullId) ? [fullId] : [])];
}

/** Whether a name is taken by somebody who is no plugin. */
export function isTakenOutside(surface: string, name: string, { builtins, local }: NamingRules): boolean {
  return has(builtins, surface, name) || has(local, surface, name);
}

/** The findings that are about the plugins of each directory. */
export function findingsByPlace(
  findings: readonly NameFinding[],
): ReadonlyMap<string, readonly NameFinding[]> {
  const found = new Map<string, NameFinding[]>();
  for (const finding of findings) {
    for (const directory of new Set(finding.owners.map((owner) => owner.directory))) {
      const known = found.get(directory);
      if (known === undefined) found.set(directory, [finding]);
      else known.push(finding);
    }
  }
  return found;
}

/** Why a capability is not offered though it is exposed, or null. */
export function withheldBy(
  findings: readonly NameFinding[],
  directory: string,
  id: string,
): NameFinding | null {
  return findings.find(({ outcome, owners }) =>
    (outcome === "peers" || outcome === "builtin") &&
    owners.some((owner) => owner.directory === directory && owner.id === id)
  ) ?? null;
}

/** The refusal of a name that is not its claimer's alone. */
export function collisionError(cannot: string, finding: NameFinding): CollisionError {
  const { outcome, surface, name, owners, message } = finding;
  return new CollisionError("ERR_COLLISION", `${cannot}: ${message}`, {
    details: { outcome, surface, name, owners },
  });
}

/** The refusal of an act that would contest a name which another one has. */
export function actError(what: string, finding: NameFinding, directory: string): CollisionError {
  if (finding.outcome !== "peers") return collisionError(`Cannot ${what}`, finding);
  const { surface, name, owners } = finding;
  const others = owners.filter((owner) => owner.directory !== directory).map(({ plugin }) =>
    `"${display(plugin)}"`
  );
  const own = owners.find((owner) => owner.directory === directory)?.plugin ?? "";
  const message =
    `plugin ${others.join(" and ")} has the name "${display(name)}" on the surface ${surface}, ` +
    `and keeps it. Disable that one first, or leave this name of "${display(own)}" unexposed`;
  return collisionError(`Cannot ${what}`, { ...finding, message });
}

function findingsOf(
  contest: readonly Claim[],
  surface: string,
  name: string,
  rules: NamingRules,
): NameFinding[] {
  const moment = surfaceOf(surface)?.collides ?? "registration";
  const finding = (outcome: NameFinding["outcome"], claims: readonly Claim[], message: string) => {
    const owners = claims.map(({ plugin, directory, capability: { fullId: id } }) => ({
      plugin,
      directory,
      id,
    }));
    return { outcome, surface, name, moment, owners, message };
  };
  const what = `the name "${display(name)}" on the surface ${surface}`;
  const part = contest.filter(({ takesPart }) => takesPart);
  const idle = contest.filter(({ takesPart }) => !takesPart);
  const isBuiltin = has(rules.builtins, surface, name);
  const winners = isBuiltin ? "a built-in" : quoted(part);
  const would = isBuiltin || part.length > 0
    ? idle.map((claim) =>
      finding(
        "would collide",
        [claim, ...part],
        `${what} is ${winners}'s: that of ${quoted([claim])} would collide`,
      )
    )
    : [];
  if (isBuiltin) {
    const refused = part.map((claim) =>
      finding("builtin", [claim], `${what} is a built-in's, so that of ${quoted([claim])} is not offered`)
    );
    return [...refused, ...would];
  }
  if (part.length > 1) {
    const cure = "none of them is offered until the others are disabled or hide it";
    return [finding("peers", part, `${quoted(part)} have ${what}: ${cure}`), ...would];
  }
  const isShadowed = part.length === 1 && has(rules.local, surface, name);
  return isShadowed
    ? [finding("shadowed", part, `${what} means your own file, not that of ${quoted(part)}`), ...would]
    : would;
}

function quoted(claims: readonly Claim[]): string {
  const names = claims.map(({ plugin }) => plugin);
  // Where two have one name, only their places tell them apart.
  return claims.map(({ plugin, directory }) =>
    names.indexOf(plugin) === names.lastIndexOf(plugin)
      ? `plugin "${display(plugin)}"`
      : `plugin "${display(plugin)}" in "${display(directory)}"`
  ).join(" and ");
}

function has(names: NamesBySurface, surface: string, name: string): boolean {
  return Object.hasOwn(names, surface) && names[surface]!.includes(name);
}

function surfaceOf(name: string): Pick<Surface, "collides" | "collidesWhenBare"> | undefined {
  return Object.values<Pick<Surface, "name" | "collides" | "collidesWhenBare">>(SURFACES)
    .find((surface) => surface.name === name);
}
