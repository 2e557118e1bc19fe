/** What would be offered, what would collide and what would break if something were enabled, disabled or trusted. Changes nothing. */
import {
  type Change,
  diff,
  type Grant,
  grantOf,
  NotCapableError,
  SallyportError,
  TrustError,
} from "../permissions/mod.ts";
import { isLive } from "./check_plugin.ts";
import { type NameFinding, withheldBy } from "./collisions.ts";
import { display } from "./display.ts";
import { findCollisions, type NamingParts, refuseAct, rivalries, rivalsOf } from "./naming.ts";
import { type InvalidPlugin, type LoadedPlugin, placeOf } from "./plugin.ts";
import { type PluginState, refuseUnusable, standingAmong } from "./plugin_state.ts";
import type { Capability, Station, ToolAnnotations } from "./surfaces/mod.ts";
import { memberOf } from "./surfaces/surface.ts";
import { annotationsOf } from "./surfaces/tools.ts";
import { type DeadMatcher, deadMatchers } from "./points/dead_matchers.ts";
import { placeOfKey, type TrustKey } from "./trust/mod.ts";

/** What is supposed, in this order: disabled, enabled, trusted. */
export interface PlanRequest {
  /** Names of plugins, each as if it were trusted as it is, enabled and exposed. */
  readonly enable?: readonly string[];
  /** Names of plugins. */
  readonly disable?: readonly string[];
  /** Directories of plugins that need not be among the tenant's, each as if it were trusted and exposed. */
  readonly trust?: readonly string[];
}

/** What would follow. Everything that others wrote in it is to be shown escaped. */
export interface Plan {
  /** Every plugin, before and after. */
  readonly plugins: readonly PlannedPlugin[];
  /** Every capability, before and after. */
  readonly capabilities: readonly PlannedCapability[];
  /** Acts that would be refused, and therefore change nothing. */
  readonly refused: readonly PlanProblem[];
  /** Names that more than one would claim, whenever that shows. */
  readonly collisions: readonly NameFinding[];
  /** Exposures of what would not be there. */
  readonly dormant: readonly DormantExposure[];
  /** What active plugins ask for and would not be granted. */
  readonly cut: readonly PlannedCut[];
  /** Plugins that could not run at all. */
  readonly broken: readonly PlanProblem[];
  /** Matchers of active plugins' hooks that match nothing that is known. */
  readonly unmatched: readonly DeadMatcher[];
}

/** One plugin of a plan. */
export interface PlannedPlugin {
  /** Its name. */
  readonly name: string;
  /** Where it is. */
  readonly directory: string;
  /** How it stands. */
  readonly before: PluginState | null;
  /** How it would stand. */
  readonly after: PluginState;
  /** Why. */
  readonly reason: string | null;
}

/** One capability of a plan, as its manifest declares it. */
export interface PlannedCapability {
  /** Full id. */
  readonly id: string;
  /** Its name inside the plugin. */
  readonly name: string;
  /** Whose it is. */
  readonly plugin: string;
  /** Its surface. */
  readonly surface: string;
  /** The author's words. */
  readonly description: string | null;
  /** JSON Schema of its input, where it declares one. */
  readonly input: unknown;
  /** What it says of its own effects; absent where it says nothing. */
  readonly annotations?: ToolAnnotations;
  /** Where it stands, if it watches what passes or decides about it. */
  readonly stations?: readonly Station[];
  /** Whether this version can run its surface. */
  readonly live: boolean;
  /** Whether it is offered. */
  readonly before: boolean;
  /** Whether it would be. */
  readonly after: boolean;
}

/** Something that would not work. */
export interface PlanProblem {
  /** What it is about: a plugin's name, or what was asked for. */
  readonly plugin: string;
  /** Why. */
  readonly message: string;
}

/** An exposure that offers nothing. */
export interface DormantExposure {
  /** Full id. */
  readonly id: string;
  /** Whose record it is in. */
  readonly plugin: string;
  /** Why. */
  readonly reason: string;
}

/** A part of a request that is not granted. */
export interface PlannedCut extends Pick<Change, "kind" | "entry"> {
  /** Who asks. */
  readonly plugin: string;
  /** Who does not grant it. */
  readonly by: "policy" | "approval";
}

/** What a plan is made from. */
export interface PlanParts {
  /** Every plugin. */
  readonly plugins: readonly LoadedPlugin[];
  /** What cannot be used at all. */
  readonly invalid: readonly InvalidPlugin[];
  /** Full ids that are exposed. */
  readonly exposed: ReadonlySet<string>;
  /** What approvals expose, of plugins that are not there as well. */
  readonly recorded: readonly {
    readonly key: TrustKey;
    readonly exposed: readonly string[];
    readonly isThere: boolean;
  }[];
  /** How a plugin stands by itself. */
  readonly ownState: (plugin: LoadedPlugin) => Promise<{ state: PluginState; reason: string | null }>;
  /** Whether nobody may run what it is, whoever enables it. */
  readonly isBlocked: (plugin: LoadedPlugin) => Promise<boolean>;
  /** What a plugin would be granted: all layers, and those that count before anything was approved. */
  readonly grants: (plugin: LoadedPlugin) => Promise<{ readonly all: Grant; readonly unapproved: Grant }>;
  /** Throws NotCapableError where less is granted than is required. */
  readonly require: (plugin: LoadedPlugin) => Promise<void>;
  /** Reads a plugin from a directory; throws ManifestError. */
  readonly open: (directory: string) => LoadedPlugin;
  /** What names are looked up with. */
  readonly naming: NamingParts;
}

/** What is supposed so far. */
interface Supposed {
  plugins: readonly LoadedPlugin[];
  readonly active: Set<string>;
  readonly inactive: Set<string>;
  readonly exposed: Set<string>;
}

/** Simulates the request. Throws what the store throws, and for nothing that is asked for. */
export async function planChanges(request: PlanRequest, parts: PlanParts): Promise<Plan> {
  const { ownState, exposed } = parts;
  const supposed: Supposed = {
    plugins: parts.plugins,
    active: new Set(),
    inactive: new Set(),
    exposed: new Set(exposed),
  };
  const isActive = async (plugin: LoadedPlugin): Promise<boolean> => {
    const directory = placeOf(plugin);
    if (supposed.inactive.has(directory)) return false;
    return supposed.active.has(directory) || (await ownState(plugin)).state === "active";
  };
  const naming = { ...parts.naming, isActive };
  const refused: PlanProblem[] = [];
  await suppose(request, parts, supposed, naming, refused);
  const { plugins } = supposed;
  const [before, after] = await Promise.all([
    findCollisions(parts.plugins, exposed, parts.naming),
    findCollisions(plugins, supposed.exposed, naming),
  ]);
  const rows: PlannedPlugin[] = [];
  const capabilities: PlannedCapability[] = [];
  const cut: PlannedCut[] = [];
  const unmatched: DeadMatcher[] = [];
  const broken: PlanProblem[] = parts.invalid.map(({ location, error }) => {
    return { plugin: location.directory, message: error.message };
  });
  const [rivalsBefore, rivalsAfter] = await Promise.all([
    rivalries(parts.plugins, parts.naming.isActive),
    rivalries(plugins, isActive),
  ]);
  for (const plugin of plugins) {
    const own = await ownState(plugin);
    const wasThere = parts.plugins.includes(plugin);
    const was = sight(plugin, own, rivalsBefore.get(plugin) ?? [], before, exposed);
    const supposedly = supposedState(plugin, own, supposed);
    const now = sight(plugin, supposedly, rivalsAfter.get(plugin) ?? [], after, supposed.exposed);
    rows.push({
      name: plugin.name,
      directory: placeOf(plugin),
      before: wasThere ? was.state : null,
      after: now.state,
      reason: now.reason,
    });
    capabilities.push(
      ...plugin.capabilities.map((each) =>
        capabilityOf(plugin, each, wasThere && was.offers(each), now.offers(each))
      ),
    );
    if (!await isActive(plugin)) continue;
    cut.push(...await cutsOf(plugin, parts));
    unmatched.push(...deadMatchers(plugin, plugins));
    await parts.require(plugin).catch((error: unknown) => {
      if (!(error instanceof NotCapableError)) throw error;
      broken.push({ plugin: plugin.name, message: error.message });
    });
  }
  return {
    plugins: rows,
    capabilities,
    refused,
    collisions: after,
    dormant: dormantOf(parts, rows, capabilities),
    cut,
    broken,
    unmatched,
  };
}

/** How a plugin stands beside the others, and what of it is offered then. */
function sight(
  plugin: LoadedPlugin,
  own: { state: PluginState; reason: string | null },
  rivals: readonly LoadedPlugin[],
  findings: readonly NameFinding[],
  exposed: ReadonlySet<string>,
): { readonly state: PluginState; readonly reason: string | null; offers(capability: Capability): boolean } {
  const isUsable = own.state === "active" && rivals.length === 0;
  return {
    ...standingAmong(plugin, own, rivals, findings),
    offers: ({ fullId }) =>
      isUsable && exposed.has(fullId) && withheldBy(findings, placeOf(plugin), fullId) === null,
  };
}

async function suppose(
  { enable = [], disable = [], trust = [] }: PlanRequest,
  parts: PlanParts,
  supposed: Supposed,
  naming: NamingParts,
  refused: PlanProblem[],
): Promise<void> {
  const named = (name: string): LoadedPlugin => {
    const plugin = supposed.plugins.find((each) => each.name === name);
    if (plugin !== undefined) return plugin;
    throw new SallyportError("ERR_CAPABILITY_UNKNOWN", `there is no plugin "${display(name)}"`);
  };
  const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error;
      refused.push({ plugin: what, message: error.message });
    }
  };
  const activate = async (plugin: LoadedPlugin, verb: string): Promise<void> => {
    const ids = plugin.capabilities.map(({ fullId }) => fullId);
    // What was chosen to be offered before stays the choice.
    const wished = ids.some((id) => supposed.exposed.has(id))
      ? ids.filter((id) => supposed.exposed.has(id))
      : ids;
    if (await parts.isBlocked(plugin)) {
      throw new TrustError(
        "ERR_TRUST_DISABLED",
        `Cannot ${verb} plugin "${plugin.name}": its fingerprint is blocked`,
      );
    }
    refuseUnusable(plugin, await rivalsOf(plugin, supposed.plugins, naming.isActive));
    await refuseAct(
      { what: `${verb} plugin "${plugin.name}"`, plugin, ids: wished },
      supposed.plugins,
      supposed.exposed,
      naming,
    );
    supposed.inactive.delete(placeOf(plugin));
    supposed.active.add(placeOf(plugin));
    for (const id of wished) supposed.exposed.add(id);
  };
  for (const name of disable) {
    await attempt(name, async () => {
      const directory = placeOf(named(name));
      supposed.active.delete(directory);
      supposed.inactive.add(directory);
      await Promise.resolve();
    });
  }
  for (const name of enable) await attempt(name, async () => await activate(named(name), "enable"));
  for (const directory of trust) {
    await attempt(directory, async () => {
      const opened = parts.open(directory);
      const known = supposed.plugins.find((each) => placeOf(each) === placeOf(opened));
      if (known === undefined) supposed.plugins = [...supposed.plugins, opened];
      await activate(known ?? opened, "trust");
    });
  }
}

function supposedState(
  plugin: LoadedPlugin,
  own: { readonly state: PluginState; readonly reason: string | null },
  { active, inactive }: Supposed,
): { state: PluginState; reason: string | null } {
  const directory = placeOf(plugin);
  if (inactive.has(directory)) {
    return { state: own.state === "active" ? "disabled" : own.state, reason: own.reason };
  }
  return active.has(directory) ? { state: "active", reason: null } : own;
}

function capabilityOf(
  { name: plugin }: LoadedPlugin,
  { fullId: id, name, surface, description, raw, stations }: Capability,
  before: boolean,
  after: boolean,
): PlannedCapability {
  const input = memberOf(raw, "input") ?? null;
  const annotations = annotationsOf({ surface, raw });
  return {
    id,
    name,
    plugin,
    surface,
    description: description ?? null,
    input,
    live: isLive(surface),
    before,
    after,
    ...(annotations === undefined ? {} : { annotations }),
    ...(stations === undefined ? {} : { stations }),
  };
}

async function cutsOf(plugin: LoadedPlugin, { grants }: PlanParts): Promise<PlannedCut[]> {
  const { all, unapproved } = await grants(plugin);
  const asked = grantOf(all.layers[0]!); // the first layer is the manifest's
  const lost = (grant: Grant) => diff(asked, grant).filter(({ change }) => change === "lost");
  const byPolicy = new Set(lost(unapproved).map(({ kind, entry }) => JSON.stringify([kind, entry])));
  return lost(all).map(({ kind, entry }) => {
    return {
      plugin: plugin.name,
      kind,
      entry,
      by: byPolicy.has(JSON.stringify([kind, entry])) ? "policy" : "approval",
    };
  });
}

function dormantOf(
  { recorded }: PlanParts,
  rows: readonly PlannedPlugin[],
  capabilities: readonly PlannedCapability[],
): DormantExposure[] {
  const ids = new Set(capabilities.map(({ id }) => id));
  return recorded.flatMap(({ key, exposed, isThere }) => {
    const { name } = key;
    const row = rows.find((each) => each.directory === placeOfKey(key) && each.name === name);
    if (row === undefined && isThere) return []; // trusted elsewhere: it is offered where it is looked for
    return exposed.flatMap((id): DormantExposure[] => {
      const reason = row === undefined
        ? "its plugin is gone"
        : !ids.has(id)
        ? "its plugin does not declare it"
        : row.after === "active" || row.after === "collision"
        ? null
        : `its plugin is ${row.after}`;
      return reason === null ? [] : [{ id, plugin: name, reason }];
    });
  });
}
