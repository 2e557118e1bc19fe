/**
 * What plugins may reach by way of others (T10): every capability that may be called, by what its own code may call, and so
 * on. Found from manifests and approvals alone; nothing runs.
 */
import {
  check,
  describeGrant,
  type Grant,
  type GrantLine,
  type PathContext,
  type PermissionRequest,
  type Requirement,
} from "../permissions/mod.ts";
import { RUNTIME_LIMITS } from "../runtime/mod.ts";
import { bundleFiles } from "./bundle_files.ts";
import type { Catalog } from "./catalog.ts";
import { type Explain, explainUse, type Explanation } from "./explain.ts";
import { type Approved, grantCapability } from "./grant_plugin.ts";
import type { NamingParts } from "./naming.ts";
import type { LoadedPlugin } from "./plugin.ts";
import { isOptedIn } from "./plugin_calls.ts";
import type { TenantPolicy } from "./policy.ts";
import { findCapability } from "./registry.ts";
import type { Capability } from "./surfaces/mod.ts";
import { memberOf } from "./surfaces/surface.ts";
import { type Approvals, newLineage } from "./trust/mod.ts";
import { hasCode } from "./unit_of.ts";

/** One thing that a plugin may use only by calling another one. */
export interface ThroughCall extends GrantLine {
  /** Name of the plugin that is granted it. */
  readonly plugin: string;
  /** Full ids of the capabilities that call one another on the way there, the one that uses it last. */
  readonly chain: readonly string[];
}

/** What a plugin holds. */
interface Holder {
  readonly grant: Grant;
  readonly context: PathContext;
}

/** A capability that may be called. */
interface Reached {
  readonly plugin: LoadedPlugin;
  readonly capability: Capability;
  /** What it runs under. */
  readonly holder: Holder;
  readonly chain: readonly string[];
}

/** What the look rests on. */
export interface ThroughCallsParts {
  /** The ceiling. */
  readonly policy: Pick<TenantPolicy, "calls">;
  /** The plugins that were found. */
  readonly catalog: Catalog;
  /** Further ones that are only looked at. */
  readonly beside: Catalog | null;
  /** What was approved. */
  readonly approvals: Approvals;
  /** How plugins stand. */
  readonly naming: Pick<NamingParts, "isActive">;
  /** Full ids that these plugins expose. */
  readonly exposures: (plugins: readonly LoadedPlugin[]) => Promise<ReadonlySet<string>>;
  /** What a plugin holds of what was approved. */
  readonly layers: (plugin: LoadedPlugin, approved: Approved, lineage: string) => Holder;
  /** Decides as the broker does. */
  readonly explain: Explain;
}

/** Looks at who may call whom in one tenant. */
export class ThroughCalls {
  readonly #parts: ThroughCallsParts;

  /** Looks at nothing yet. */
  constructor(parts: ThroughCallsParts) {
    this.#parts = parts;
  }

  /**
   * All that a plugin may use by way of others: as it is trusted or, with `grants` or where it is not, as it would be. The
   * shortest way to each is told, and nothing twice.
   */
  async of(name: string, grants?: PermissionRequest): Promise<readonly ThroughCall[]> {
    const plugin = await this.#parts.catalog.plugin(name);
    const { holder } = await this.#held(plugin, grants);
    const found = new Map<string, ThroughCall>();
    for (const { plugin: { name: other }, holder: its, chain } of await this.#reached(plugin, holder)) {
      for (const line of describeGrant(its.grant, its.context)) {
        const key = JSON.stringify([other, line.kind, line.entry]);
        if (!found.has(key)) found.set(key, { ...line, plugin: other, chain });
      }
    }
    return [...found.values()];
  }

  /** Decides about a use and, where it is denied, tells by which calls it may be reached nevertheless. */
  async explain(name: string, requirement: Requirement, capability?: string): Promise<Explanation> {
    const plugin = await this.#parts.catalog.plugin(name);
    const { holder, isAfterTrust } = await this.#held(plugin);
    const found = capability === undefined ? null : findCapability(capability, plugin.capabilities);
    const own = found === null ? holder : { ...holder, grant: grantCapability(holder, found) };
    const decision = this.#decide(plugin, own, requirement);
    if (decision.state === "granted") return { decision, isAfterTrust, through: [] };
    // What was asked about is a place: a relative path means another one to whoever is called.
    const asked = { ...requirement, value: decision.value };
    const reached = await this.#reached(plugin, holder, found ?? undefined);
    const through = reached.filter((each) =>
      this.#decide(each.plugin, each.holder, asked).state === "granted"
    ).map(({ plugin: { name: other }, chain }) => ({ plugin: other, chain }));
    return { decision, isAfterTrust, through };
  }

  #decide({ source }: LoadedPlugin, holder: Holder, requirement: Requirement): Explanation["decision"] {
    // Files below its own directory are its own to read; which bytes they have does not matter here.
    const bundle = bundleFiles(source, false, new Set());
    return explainUse(this.#parts.explain, { ...holder, bundle }, requirement);
  }

  async #held(
    plugin: LoadedPlugin,
    grants?: PermissionRequest,
  ): Promise<{ readonly holder: Holder; readonly isAfterTrust: boolean }> {
    const { approvals, layers } = this.#parts;
    const standing = await approvals.standing(plugin);
    const approval = standing.state === "approved" ? standing.approval : null;
    const approved = grants === undefined ? { grants: approval?.grants, flags: approval?.flags } : { grants };
    const holder = layers(plugin, approved, approval?.lineage ?? newLineage());
    return { holder, isAfterTrust: approval === null };
  }

  /** Breadth first, so that each is found by its shortest way, and once however many circles there are. */
  async #reached(plugin: LoadedPlugin, holder: Holder, only?: Capability): Promise<readonly Reached[]> {
    const { policy, catalog, beside, exposures } = this.#parts;
    // Whoever is called then holds no more than its caller does.
    if (policy.calls?.attenuate) return [];
    const others = await beside?.discover();
    const plugins = [...(await catalog.discover()).plugins, ...others?.plugins ?? []];
    const exposed = await exposures(plugins);
    const offered = plugins.flatMap((each) =>
      each.capabilities.filter((capability) =>
        hasCode(capability) && exposed.has(capability.fullId) &&
        memberOf(capability.raw, "callers") !== undefined
      ).map((capability) => ({ plugin: each, capability }))
    );
    const holders = new Map<LoadedPlugin, Promise<Holder | null>>();
    const holderOf = (each: LoadedPlugin): Promise<Holder | null> => {
      const known = holders.get(each) ?? this.#activeHolder(each);
      holders.set(each, known);
      return known;
    };
    const starts = only === undefined ? plugin.capabilities.filter(hasCode) : [only];
    const seen = new Set(starts.map(({ fullId }) => fullId));
    const found: Reached[] = [];
    let callers: readonly Reached[] = starts.map((capability) => {
      return {
        plugin,
        capability,
        holder: { ...holder, grant: grantCapability(holder, capability) },
        chain: [],
      };
    });
    for (let depth = 0; depth < RUNTIME_LIMITS.callDepthMax && callers.length > 0; depth += 1) {
      const next: Reached[] = [];
      for (const caller of callers) {
        for (const { plugin: other, capability } of offered) {
          const { fullId } = capability;
          if (seen.has(fullId) || !mayCall(caller, capability)) continue;
          const its = await holderOf(other);
          if (its === null) continue;
          seen.add(fullId);
          next.push({
            plugin: other,
            capability,
            holder: { ...its, grant: grantCapability(its, capability) },
            chain: [...caller.chain, fullId],
          });
        }
      }
      found.push(...next);
      callers = next;
    }
    return found;
  }

  async #activeHolder(plugin: LoadedPlugin): Promise<Holder | null> {
    return await this.#parts.naming.isActive(plugin) ? (await this.#held(plugin)).holder : null;
  }
}

function mayCall({ plugin, capability, holder }: Reached, callee: Capability): boolean {
  return isOptedIn(callee, plugin.name, capability.fullId) &&
    check(holder.grant, { kind: "call", value: callee.fullId }, holder.context).state === "granted";
}
