/** What a tenant switches on and off without a new approval: plugins, what they expose, and bytes that nobody may run. */
import { CapabilityError, type SallyportError, UsageError } from "../permissions/mod.ts";
import type { Authority } from "./authority.ts";
import type { Catalog } from "./catalog.ts";
import type { Generations } from "./generations.ts";
import { findOffered, type NamingParts, refuseAct } from "./naming.ts";
import type { OwnSpaces } from "./own_spaces.ts";
import type { LoadedPlugin } from "./plugin.ts";
import { standingError } from "./plugin_state.ts";
import type { Quarantine } from "./quarantine.ts";
import type { RetiredData } from "./retired_data.ts";
import type { Stopping } from "./stage.ts";
import type { TenantTrust } from "./tenant_trust.ts";
import type { Approvals, TrustKey } from "./trust/mod.ts";
import type { Unit } from "./unit.ts";

/** What switching works with. */
export interface TenantSwitchesParts {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Its plugins. */
  readonly catalog: Catalog;
  /** What it approved. */
  readonly approvals: Approvals;
  /** What runs under approvals. */
  readonly authority: Authority;
  /** What writes decisions down. */
  readonly trust: TenantTrust;
  /** Who killed workers. */
  readonly quarantine: Pick<Quarantine, "clear">;
  /** What names are looked up with. */
  readonly naming: NamingParts;
  /** What plugins keep between calls. */
  readonly spaces: Pick<OwnSpaces, "removeExpired">;
  /** Stops what runs of plugins. */
  readonly stop: (stopping: Stopping) => Promise<readonly SallyportError[]>;
  /** Makes a change of what is offered. */
  readonly commit: Generations["commit"];
}

/** What `enable` undid. */
export interface Enabled {
  /** It was switched off. */
  readonly wasDisabled: boolean;
  /** It was stopped for killing workers. */
  readonly wasQuarantined: boolean;
}

/** How approvals are pruned. */
export interface PruneOptions {
  /** Told of each plugin whose storage and data folder were removed, a month after its trust was forgotten. */
  readonly onRemoved?: (data: RetiredData) => void;
}

/** The switches of one tenant. */
export class TenantSwitches {
  readonly #parts: TenantSwitchesParts;
  /** What is exposed in this process alone, of plugins without an approval that could say so. */
  readonly #exposed = new Set<string>();

  /** Switches nothing yet. */
  constructor(parts: TenantSwitchesParts) {
    this.#parts = parts;
  }

  /** Lets a plugin run again. */
  async enable(name: string): Promise<Enabled> {
    const { catalog, approvals, authority, quarantine, trust, naming, tenant } = this.#parts;
    const plugin = await catalog.plugin(name);
    const standing = await approvals.standing(plugin);
    const isDisabled = standing.state === "disabled";
    if (isDisabled) {
      const { plugins } = await catalog.discover();
      const ids = await approvals.exposed([plugin]);
      const act = { what: `enable plugin "${name}"`, plugin, ids };
      await refuseAct(act, plugins, await this.exposures(plugins), naming);
    }
    trust.audit("trust", plugin.name, null, { enabled: true });
    if (isDisabled) await approvals.change(plugin, { disabled: false });
    const wasQuarantined = await quarantine.clear(tenant, plugin.name);
    await authority.reconsider();
    return { wasDisabled: isDisabled, wasQuarantined };
  }

  /** Switches a plugin off, and gives what failed of its end; what runs of it has ended when this settles. */
  async disable(name: string): Promise<readonly SallyportError[]> {
    const { catalog, approvals, authority, trust } = this.#parts;
    const plugin = await catalog.plugin(name);
    trust.audit("revoke", plugin.name, null, { disabled: true });
    await this.#parts.commit(async () => {
      if (!await approvals.change(plugin, { disabled: true })) throw notApproved(plugin, "disable");
      authority.bump();
    });
    const standing = { state: "disabled", reason: "it is switched off", isBlocked: false } as const;
    const isMeant = ({ place, lifecycle }: Unit): boolean =>
      place === plugin.source.directory && lifecycle !== undefined;
    return await authority.during(
      plugin,
      () => this.#parts.stop({ isMeant, reason: standingError(plugin, standing) }),
    );
  }

  /** Offers capabilities, all of them or none. */
  async expose(ids: readonly string[]): Promise<readonly string[]> {
    const { catalog, naming, trust } = this.#parts;
    const { plugins } = await catalog.discover();
    const exposed = new Set(await this.exposures(plugins));
    const found: { readonly plugin: LoadedPlugin; readonly id: string }[] = [];
    for (const id of ids) {
      const { plugin, capability } = await findOffered(id, plugins, () => true, naming.isActive);
      const act = { what: `expose "${capability.fullId}"`, plugin, ids: [capability.fullId] };
      await refuseAct(act, plugins, exposed, naming);
      exposed.add(capability.fullId);
      found.push({ plugin, id: capability.fullId });
    }
    for (const plugin of new Set(found.map((each) => each.plugin))) {
      const own = found.filter((each) => each.plugin === plugin).map(({ id }) => id);
      trust.audit("expose", plugin.name, null, { exposed: own });
      await this.#setExposed(plugin, (before) => [...new Set([...before, ...own])]);
    }
    this.#parts.authority.bump();
    return found.map(({ id }) => id);
  }

  /** Offers capabilities no more; one that was not offered is no error. */
  async hide(ids: readonly string[]): Promise<readonly string[]> {
    const { catalog, naming, trust, authority } = this.#parts;
    const { plugins } = await catalog.discover();
    const exposed = await this.exposures(plugins);
    const hidden: string[] = [];
    for (const id of ids) {
      const isExposed = ({ fullId }: { readonly fullId: string }): boolean => exposed.has(fullId);
      const { plugin, capability: { fullId } } = await findOffered(id, plugins, isExposed, naming.isActive);
      trust.audit("expose", plugin.name, null, { hidden: [fullId] });
      await this.#setExposed(plugin, (before) => before.filter((each) => each !== fullId));
      this.#exposed.delete(fullId);
      hidden.push(fullId);
    }
    authority.bump();
    return hidden;
  }

  /** Full ids that these plugins expose. */
  async exposures(plugins: readonly LoadedPlugin[]): Promise<ReadonlySet<string>> {
    return new Set([...this.#exposed, ...await this.#parts.approvals.exposed(plugins)]);
  }

  /** Takes back every approval, or blocks bytes whoever approved them; what runs of it has ended when this settles. */
  async revoke(
    what: { readonly all: true } | { readonly fingerprint: string },
  ): Promise<readonly TrustKey[]> {
    const { approvals, authority, trust } = this.#parts;
    if ("fingerprint" in what) {
      const { fingerprint } = what;
      if (!/^sha256:[0-9a-f]{64}$/.test(fingerprint)) {
        throw new UsageError(
          "ERR_USAGE",
          `Cannot block ${JSON.stringify(fingerprint)}: a fingerprint is "sha256:" and 64 hexadecimal digits`,
        );
      }
      trust.audit("revoke", "*", fingerprint, { blocked: true });
      await approvals.block(fingerprint);
      await authority.reconsider();
      return [];
    }
    const keys = await approvals.matching(() => true);
    for (const key of keys) {
      trust.audit("revoke", key.name, null, { directory: key.directory, all: true });
      await approvals.forget(key);
      authority.revoke(key);
    }
    return keys;
  }

  /** Forgets approvals of plugins whose directory is gone for good, and tells which; and removes what was kept long enough. */
  async prune({ onRemoved }: PruneOptions): Promise<readonly TrustKey[]> {
    const gone = await this.#parts.approvals.prune();
    for (const { name, directory } of gone) {
      this.#parts.trust.audit("revoke", name, null, { directory, gone: true });
    }
    const inUse = await this.#parts.approvals.lineagesInUse();
    const removed = inUse === null ? [] : await this.#parts.spaces.removeExpired(inUse);
    for (const data of removed) {
      const { name, directory, since } = data;
      this.#parts.trust.audit("revoke", name, null, { directory, dataRemoved: true, since });
      onRemoved?.(data);
    }
    return gone;
  }

  /** An approval keeps what is exposed where it is kept itself; without one it holds in this process. */
  async #setExposed(
    plugin: LoadedPlugin,
    change: (before: readonly string[]) => readonly string[],
  ): Promise<void> {
    const { approvals } = this.#parts;
    const after = change(await approvals.exposed([plugin]));
    if (await approvals.change(plugin, { exposed: after })) return;
    for (const id of after) this.#exposed.add(id);
  }
}

function notApproved({ name }: LoadedPlugin, verb: string): CapabilityError {
  return new CapabilityError(
    "ERR_CAPABILITY_UNKNOWN",
    `Cannot ${verb} plugin "${name}": nobody has trusted it, so nothing of it runs`,
    { details: { plugin: name } },
  );
}
