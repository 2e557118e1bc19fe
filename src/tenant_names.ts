/** What a tenant's names mean, and what they would if something were changed: for looking, never for running. */
import { existsSync } from "node:fs";
import type { Grant, KindTable } from "../permissions/mod.ts";
import type { Catalog } from "./catalog.ts";
import { collisionError, type NameFinding, type NameOwner } from "./collisions.ts";
import { display } from "./display.ts";
import type { Approved } from "./grant_plugin.ts";
import {
  findCollisions,
  findOffered,
  findOutside,
  type NamingParts,
  refuseContested,
  rivalsOf,
} from "./naming.ts";
import { type Plan, planChanges, type PlanParts, type PlanRequest } from "./plan.ts";
import { type LoadedPlugin, loadPlugin } from "./plugin.ts";
import { approvalOf, notExposed, refuseUnusable } from "./plugin_state.ts";
import type { Capability } from "./surfaces/mod.ts";
import type { TenantTrust } from "./tenant_trust.ts";
import type { ResolvedName } from "./tenant_types.ts";
import { type Approval, type Approvals, fingerprintOf, newLineage } from "./trust/mod.ts";

/** What names of a tenant rest on. */
export interface TenantNamesParts {
  /** Its plugins. */
  readonly catalog: Catalog;
  /** What it approved. */
  readonly approvals: Approvals;
  /** What approves. */
  readonly trust: TenantTrust;
  /** What names are looked up with. */
  readonly naming: NamingParts;
  /** The kinds of permission that exist. */
  readonly kinds: KindTable;
  /** The events that hooks may name beside the built-in ones. */
  readonly events: readonly string[];
  /** How a plugin stands by itself. */
  readonly ownState: PlanParts["ownState"];
  /** Full ids that these plugins expose. */
  readonly exposures: (plugins: readonly LoadedPlugin[]) => Promise<ReadonlySet<string>>;
  /** What a plugin is granted of what was approved. */
  readonly layers: (plugin: LoadedPlugin, approved: Approved, lineage: string) => Grant;
}

/** What a name means among plugins. */
export interface FoundName {
  /** Whose it is, as it is on the disk. */
  readonly plugin: LoadedPlugin;
  /** What is meant. */
  readonly capability: Capability;
  /** What the plugin was approved with. */
  readonly approval: Approval;
}

/** The names of one tenant. */
export class TenantNames {
  readonly #parts: TenantNamesParts;
  readonly #shadows = new Set<string>();

  /** Looks at nothing yet. */
  constructor(parts: TenantNamesParts) {
    this.#parts = parts;
  }

  /** What a name means. Throws CapabilityError, TrustError or CollisionError. */
  async resolve(id: string, surface: string | null): Promise<ResolvedName> {
    const outside = findOutside(id, this.#parts.naming.rules, surface);
    if (outside !== null) return outside;
    const { plugin, capability } = await this.find(id, surface);
    return { owner: "plugin", id: capability.fullId, surface: capability.surface, plugin: plugin.name };
  }

  /** The plugin's capability that a name means, and what it was approved with. Throws as `resolve` does. */
  async find(id: string, surface: string | null): Promise<FoundName> {
    const { catalog, approvals, naming, exposures } = this.#parts;
    const { plugins } = await catalog.discover();
    const exposed = await exposures(plugins);
    const isExposed = ({ fullId }: Capability): boolean => exposed.has(fullId);
    // A bare name that several have is not ambiguous on a surface where it may have one owner only.
    const isMeant = (each: Capability): boolean => each.surface === surface && each.name === id;
    const peers = (await findCollisions(plugins, exposed, naming, isMeant)).find(({ outcome }) =>
      outcome === "peers"
    );
    if (peers !== undefined) throw collisionError(`Cannot use "${display(id)}"`, peers);
    const found = await findOffered(id, plugins, isExposed, naming.isActive, surface);
    const plugin = catalog.fresh(found.plugin);
    const isSame = (each: Capability): boolean =>
      each.surface === found.capability.surface && each.fullId === found.capability.fullId;
    const capability = plugin.capabilities.find(isSame) ?? found.capability;
    refuseUnusable(plugin, await rivalsOf(plugin, plugins, naming.isActive));
    const approval = approvalOf(plugin, await approvals.standing(plugin));
    if (!isExposed(capability)) throw notExposed(plugin, capability);
    await refuseContested({ plugin, capability }, plugins, exposed, naming);
    return { plugin, capability, approval };
  }

  /** What of plugins a bare name would mean if the user had no file of that name; whoever finds some is told so in the log. */
  async shadowed(name: string, surface: string): Promise<readonly NameOwner[]> {
    const { catalog, naming, exposures } = this.#parts;
    const { plugins } = await catalog.discover();
    const isMeant = (each: Capability): boolean => each.surface === surface && each.name === name;
    const findings = await findCollisions(plugins, await exposures(plugins), naming, isMeant);
    this.noteShadows(findings);
    return findings.filter(({ outcome }) => outcome === "shadowed").flatMap(({ owners }) => owners);
  }

  /** Simulates. Throws HostError `ERR_STORE`. */
  async plan(request: PlanRequest): Promise<Plan> {
    const { catalog, approvals, naming, exposures, trust, kinds, events, ownState, layers } = this.#parts;
    const { plugins, invalid } = await catalog.discover();
    const fresh = plugins.map((plugin) => catalog.fresh(plugin));
    const recorded = (await approvals.exposures()).map((each) => {
      return { ...each, isThere: existsSync(each.key.directory) };
    });
    return await planChanges(request, {
      plugins: fresh,
      invalid,
      exposed: await exposures(fresh),
      recorded,
      naming,
      ownState,
      isBlocked: async (plugin) => {
        const standing = await approvals.standing(plugin);
        return standing.state === "disabled" && standing.isBlocked === true;
      },
      grants: async (plugin) => {
        const approval = await this.#approvalOf(plugin);
        const lineage = approval?.lineage ?? newLineage();
        return {
          all: layers(plugin, { grants: approval?.grants, flags: approval?.flags }, lineage),
          unapproved: layers(plugin, {}, lineage),
        };
      },
      require: async (plugin) => void trust.grant(plugin, await this.#approvalOf(plugin) ?? unlooked()),
      open: (directory) => loadPlugin({ directory, origin: "plan" }, kinds, events),
    });
  }

  /** Whoever's own file hides a plugin's finds a line about it in the log, once. */
  noteShadows(findings: readonly NameFinding[]): void {
    for (const { outcome, name, surface, owners: [owner] } of findings) {
      const key = JSON.stringify([surface, name]);
      if (outcome !== "shadowed" || owner === undefined || this.#shadows.has(key)) continue;
      this.#shadows.add(key);
      try {
        this.#parts.trust.audit("expose", owner.plugin, null, { shadowed: name, surface, id: owner.id });
      } catch {
        // It is a warning, not a decision: whatever is done next is refused by the same log.
      }
    }
  }

  async #approvalOf(plugin: LoadedPlugin): Promise<Approval | null> {
    const standing = await this.#parts.approvals.standing(plugin);
    return standing.state === "approved" ? standing.approval : null;
  }
}

/** As if all that it asks for were approved, of a plugin that nobody looked at yet. */
function unlooked(): Approval {
  const fingerprint = fingerprintOf({ manifest: {}, files: {}, resolutions: {}, trees: {} });
  return { fingerprint, approver: "", lineage: newLineage(), exposed: [] };
}
