/** What a tenant's names mean, and what they would if something were changed: for looking, never for running. */
import { existsSync } from "node:fs";
import type { Grant, KindTable } from "../permissions/mod.ts";
import type { Catalog } from "./catalog.ts";
import { collisionError, type NameFinding } from "./collisions.ts";
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
  /** How a plugin stands by itself. */
  readonly ownState: PlanParts["ownState"];
  /** Full ids that these plugins expose. */
  readonly exposures: (plugins: readonly LoadedPlugin[]) => Promise<ReadonlySet<string>>;
  /** What a plugin is granted of what was approved. */
  readonly layers: (plugin: LoadedPlugin, approved: Approved, lineage: string) => Grant;
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
    const { catalog, approvals, naming, exposures } = this.#parts;
    const outside = findOutside(id, naming.rules, surface);
    if (outside !== null) return outside;
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
    const { capability } = found;
    refuseUnusable(plugin, await rivalsOf(plugin, plugins, naming.isActive));
    approvalOf(plugin, await approvals.standing(plugin));
    if (!isExposed(capability)) throw notExposed(plugin, capability);
    await refuseContested({ plugin, capability }, plugins, exposed, naming);
    return { owner: "plugin", id: capability.fullId, surface: capability.surface, plugin: plugin.name };
  }

  /** Simulates. Throws HostError `ERR_STORE`. */
  async plan(request: PlanRequest): Promise<Plan> {
    const { catalog, approvals, naming, exposures, trust, kinds, ownState, layers } = this.#parts;
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
      open: (directory) => loadPlugin({ directory, origin: "plan" }, kinds),
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
