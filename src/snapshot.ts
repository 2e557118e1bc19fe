/** What a tenant offers at one moment: frozen, numbered, and detached from all that changes later. */
import { type NameFinding, withheldBy } from "./collisions.ts";
import { isLive } from "./check_plugin.ts";
import { type LoadedPlugin, placeOf } from "./plugin.ts";
import {
  type Capability,
  type CommandEntry,
  type SurfaceName,
  SURFACES,
  type ToolAnnotations,
  type ToolEntry,
} from "./surfaces/mod.ts";
import { annotationsOf } from "./surfaces/tools.ts";

/** One capability that is offered. */
export interface SnapshotEntry {
  /** Full id; what guardrails and interceptors are told as their target, and what it is called by. */
  readonly id: string;
  /** Its name inside the plugin. */
  readonly name: string;
  /** Name of the plugin. */
  readonly plugin: string;
  /** The author's words. */
  readonly description: string | null;
  /** Whether this version can run its surface; else it is data. */
  readonly live: boolean;
  /** JSON Schema of its input, where it states one. */
  readonly input?: unknown;
  /** JSON Schema of its result, where it states one. */
  readonly output?: unknown;
  /** What it says of its own effects, where it does: hints to people and models, never rules. */
  readonly annotations?: ToolAnnotations;
  /** What may follow its name where it is typed, where it says so. */
  readonly usage?: string;
}

/** One plugin that offers something. */
export interface SnapshotPlugin {
  /** Its name. */
  readonly name: string;
  /** Informational version. */
  readonly version: string;
  /** The author's words. */
  readonly description: string | null;
}

/** Lifecycle code that runs with what is offered. */
export interface SnapshotLifecycle {
  /** Name of the plugin. */
  readonly plugin: string;
  /** What runs first, `path:export`. */
  readonly activate: string | null;
  /** What runs last. */
  readonly stop: string | null;
}

/** Why something that could be offered is not. */
export interface SnapshotFailure {
  /** Name of the plugin. */
  readonly plugin: string;
  /** Full id of what cannot be started; null is all of the plugin. */
  readonly id: string | null;
  /** The code of the error. */
  readonly code: string;
  /** The error's message; not safe for a terminal. */
  readonly message: string;
}

/**
 * All that is trusted, enabled and exposed, by surface, in the order of the loader and then of the manifests. Another snapshot
 * has the same entries in the same order as far as nobody changed them.
 */
export interface Snapshot extends Readonly<Record<SurfaceName, readonly SnapshotEntry[]>> {
  /** Grows by one with each change that was made. */
  readonly generation: number;
  /** Plugins that offer something. */
  readonly plugins: readonly SnapshotPlugin[];
  /** Their lifecycle code. */
  readonly lifecycle: readonly SnapshotLifecycle[];
  /** What failed to start, and is not offered for that. */
  readonly failures: readonly SnapshotFailure[];
}

/** What a snapshot is made of, for one plugin that is active. */
export interface Offering {
  /** The plugin. */
  readonly plugin: LoadedPlugin;
  /** Why nothing of it is offered, or not one capability of it. */
  readonly troubleOf: (
    fullId: string,
  ) => { readonly isWhole: boolean; readonly code: string; readonly message: string } | null;
  /** What a document says of itself, where the manifest cannot. */
  readonly saidOf: (capability: Capability) => { readonly description?: string; readonly usage?: string };
}

/** Puts a snapshot together, but for its number. */
export function contentOf(
  offerings: readonly Offering[],
  exposed: ReadonlySet<string>,
  findings: readonly NameFinding[],
): Omit<Snapshot, "generation"> {
  const found = offerings.map(({ plugin, troubleOf, saidOf }) => {
    const meant = plugin.capabilities.filter(({ fullId }) => {
      const finding = withheldBy(findings, placeOf(plugin), fullId);
      return exposed.has(fullId) && (finding === null || finding.moment === "match");
    });
    const troubles = meant.flatMap(({ fullId }) => {
      const trouble = troubleOf(fullId);
      return trouble === null ? [] : [{ ...trouble, id: fullId }];
    });
    const whole = troubles.find(({ isWhole }) => isWhole);
    const failures = (whole === undefined ? troubles : [{ ...whole, id: null }])
      .map(({ id, code, message }) => ({ plugin: plugin.name, id, code, message }));
    const failed = new Set(troubles.map(({ id }) => id));
    const capabilities = whole === undefined ? meant.filter(({ fullId }) => !failed.has(fullId)) : [];
    return { plugin, capabilities, failures, saidOf };
  });
  const offering = found.filter(({ capabilities }) => capabilities.length > 0).map(({ plugin }) => plugin);
  const entries = found.flatMap(({ plugin, capabilities, saidOf }) =>
    capabilities.map((each) => [each, { ...entryOf(plugin, each), ...saidOf(each) }] as const)
  );
  const surfaces = Object.keys(SURFACES).map((surface) =>
    [surface, entries.filter(([each]) => each.surface === surface).map(([, entry]) => entry)] as const
  );
  return {
    plugins: offering.map(({ name, manifest: { version, description = null } }) => ({
      name,
      version,
      description,
    })),
    lifecycle: offering.flatMap((
      { name: plugin, manifest: { lifecycle: { activate = null, stop = null } } },
    ) => activate === null && stop === null ? [] : [{ plugin, activate, stop }]),
    failures: found.flatMap(({ failures }) => failures),
    // The cast holds: the keys are those of the table.
    ...Object.fromEntries(surfaces) as unknown as Record<SurfaceName, readonly SnapshotEntry[]>,
  };
}

function entryOf(
  { name: plugin }: LoadedPlugin,
  { fullId, name, surface, description, raw }: Capability,
): SnapshotEntry {
  // The cast holds: its surface validated the entry, and no other surface has members of these names.
  const { input, output, usage } = raw as Partial<ToolEntry & CommandEntry>;
  const annotations = annotationsOf({ surface, raw });
  return {
    id: fullId,
    name,
    plugin,
    description: description ?? null,
    live: isLive(surface),
    ...(input === undefined ? {} : { input }),
    ...(output === undefined ? {} : { output }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(usage === undefined ? {} : { usage }),
  };
}
