/** From an id to a call: what may be called, under which approval, and the call itself, whoever makes it. */
import { type Decision, type KindTable, SallyportError } from "../permissions/mod.ts";
import type { AuditEvent } from "../runtime/mod.ts";
import type { Authority, Callable, Holding } from "./authority.ts";
import type { CallRate } from "./call_rate.ts";
import type { Catalog, Found } from "./catalog.ts";
import { findOffered, type NamingParts, refuseContested, rivalsOf } from "./naming.ts";
import type { OwnSpaces } from "./own_spaces.ts";
import { decideCall, deniedCall } from "./plugin_calls.ts";
import type { Points } from "./points/points.ts";
import type { LoadedPlugin } from "./plugin.ts";
import { approvalOf, notExposed, refuseNotLive, refuseUnusable } from "./plugin_state.ts";
import type { TenantPolicy } from "./policy.ts";
import { findCapability } from "./registry.ts";
import type { InnerCallOptions } from "./run.ts";
import type { Runner } from "./runner.ts";
import { callWithSchemas, refuseInput, refuseMisfit, type SchemaParts, schemasOf } from "./schemas.ts";
import type { Capability, SurfaceName } from "./surfaces/mod.ts";
import type { Approvals } from "./trust/mod.ts";
import type { Unit } from "./unit.ts";
import { hasCode, unitOf } from "./unit_of.ts";
import type { Validator } from "./validator/mod.ts";

/** What calls are made with. */
export interface TenantCallsParts {
  /** The tenant's id. */
  readonly tenant: string;
  /** The ceiling. */
  readonly policy: TenantPolicy;
  /** The kinds of permission that exist. */
  readonly kinds: KindTable;
  /** The plugins that were found. */
  readonly catalog: Catalog;
  /** What was approved. */
  readonly approvals: Approvals;
  /** Whether it still stands. */
  readonly authority: Authority;
  /** How names are told apart. */
  readonly naming: NamingParts;
  /** What plugins keep between calls. */
  readonly spaces: OwnSpaces;
  /** How many calls there may be. */
  readonly calls: CallRate;
  /** Holds inputs and results to schemas. */
  readonly validator: Pick<Validator, "issues">;
  /** Runs targets. */
  readonly runner: Runner;
  /** What may be called of these plugins. */
  readonly exposures: (plugins: readonly LoadedPlugin[]) => Promise<ReadonlySet<string>>;
  /** Who stands around calls. */
  readonly points: () => Pick<Points, "isQuiet" | "around">;
  /** Writes down what was decided. */
  readonly note: (facts: Pick<AuditEvent, "type" | "plugin"> & Partial<AuditEvent>) => void;
}

/** One capability that somebody exposed, and whether it can be used. */
export interface Exposed {
  /** Its plugin. */
  readonly plugin: LoadedPlugin;
  /** What is exposed. */
  readonly capability: Capability;
  /** How it is called; null where it cannot be, and where it has no code. */
  readonly callable: Callable | null;
  /** Why it cannot be used; null where it can. */
  readonly error: SallyportError | null;
}

/** A capability that may run. */
export interface Admitted extends Pick<Callable, "plugin" | "capability" | "holding"> {
  /** That it may be called by its full id. */
  readonly decision: Decision;
  /** For how long that holds. */
  readonly epoch: number;
}

/** The calls of one tenant. */
export class TenantCalls {
  readonly #parts: TenantCallsParts;
  readonly #exposed = new Map<SurfaceName, { readonly epoch: number; readonly all: readonly Exposed[] }>();

  /** Looks at nothing yet. */
  constructor(parts: TenantCallsParts) {
    this.#parts = parts;
  }

  /** What every call passes, whoever makes it: the tenant's rate first, then whether it may be called. */
  async find(id: string): Promise<Callable> {
    const turn = this.#parts.calls.take();
    if (turn !== undefined) await turn;
    return this.#parts.authority.recall(id) ?? await this.callable(id);
  }

  /** What is called; among the plugins that were found, where these are not the present ones, and then for nobody else. */
  async callable(id: string, candidates?: Found): Promise<Callable> {
    const { epoch, decision, ...admitted } = await this.admitted(id, candidates);
    const { holding, capability } = admitted;
    const unit = this.#unit(holding, capability, decision);
    const callable: Callable = { ...admitted, unit, schemas: schemasOf(capability) };
    if (candidates === undefined) this.#parts.authority.remember(id, callable, epoch);
    return callable;
  }

  /** The same for whatever code there is behind it: what may run now, under which approval. Throws as `callable` does. */
  async admitted(id: string, candidates?: Found): Promise<Admitted> {
    const { authority, catalog, approvals, naming, exposures } = this.#parts;
    const epoch = await authority.watch();
    const { plugins } = candidates ?? await catalog.discover();
    const exposed = await exposures(plugins);
    const isExposed = ({ fullId }: Capability): boolean => exposed.has(fullId);
    const offered = await findOffered(id, plugins, isExposed, naming.isActive);
    const found = offered.capability;
    const plugin = candidates === undefined ? catalog.fresh(offered.plugin) : offered.plugin;
    refuseUnusable(plugin, await rivalsOf(plugin, plugins, naming.isActive));
    const approval = approvalOf(plugin, await approvals.standing(plugin));
    // Taken back since it was read: whoever took it back did not see what would be held now.
    if (epoch !== authority.epoch) return await this.admitted(id, candidates);
    const holding = authority.hold(plugin, approval);
    const capability = findCapability(found.fullId, plugin.capabilities);
    refuseNotLive(capability);
    if (!exposed.has(capability.fullId)) throw notExposed(plugin, capability);
    await refuseContested({ plugin, capability }, plugins, exposed, naming);
    // What is denied is never remembered, so each such call is decided about, and written down.
    const decision = this.#decideCall(holding, capability);
    return { plugin, capability, holding, decision, epoch };
  }

  /** What is exposed on a surface, as far as it was found out and nothing has changed since. Costs next to nothing. */
  recallExposed(surface: SurfaceName): readonly Exposed[] | undefined {
    const known = this.#exposed.get(surface);
    return known?.epoch === this.#parts.authority.epoch ? known.all : undefined;
  }

  /**
   * All that is exposed on a surface, in the order of the loader and then of the manifests, with what keeps any of it from
   * being used. Starts nothing. Throws HostError `ERR_STORE`.
   */
  async exposed(surface: SurfaceName): Promise<readonly Exposed[]> {
    const known = this.recallExposed(surface);
    if (known !== undefined) return known;
    const { authority, catalog, exposures } = this.#parts;
    const epoch = await authority.watch();
    const { plugins } = await catalog.discover();
    const offering = plugins.filter((each) => each.capabilities.some((one) => one.surface === surface));
    const exposed = offering.length === 0 ? new Set<string>() : await exposures(plugins);
    const all: Exposed[] = [];
    for (const each of offering) {
      const plugin = catalog.fresh(each);
      for (const capability of plugin.capabilities) {
        if (capability.surface !== surface || !exposed.has(capability.fullId)) continue;
        all.push({ plugin, capability, ...await this.#usable(plugin, capability, plugins) });
      }
    }
    if (epoch !== authority.epoch) return await this.exposed(surface);
    this.#exposed.set(surface, { epoch, all });
    return all;
  }

  /**
   * Calls what was found, past whoever stands around such calls, with its input and result held to what its surface and its
   * manifest say.
   */
  run(callable: Callable, input: unknown, unit: Unit, options: InnerCallOptions): Promise<unknown> {
    const call = (given: unknown, inner: InnerCallOptions) => this.#held(callable, given, unit, inner);
    const points = this.#parts.points();
    return callable.schemas.code?.passes === undefined || points.isQuiet
      ? call(input, options)
      : points.around(callable, input, options, call);
  }

  /** Throws CapabilityError `ERR_CAPABILITY_INPUT_INVALID` for what may not go in. */
  async refuseInput(callable: Callable, input: unknown): Promise<void> {
    await refuseInput(this.#heldTo(callable), input);
  }

  /** Throws GuestError `ERR_RESULT_INVALID` for what may not come out. */
  async refuseOutput(callable: Callable, value: unknown): Promise<void> {
    await refuseMisfit(this.#heldTo(callable), value);
  }

  #held(callable: Callable, input: unknown, unit: Unit, options: InnerCallOptions): Promise<unknown> {
    const held = this.#heldTo(callable);
    if (options.chunks !== undefined && callable.schemas.output !== undefined) {
      options.chunks.check = (chunk) => refuseMisfit(held, chunk);
    }
    return callWithSchemas(held, input, () => this.#parts.runner.call(unit, input, options));
  }

  #heldTo({ plugin, capability, schemas }: Callable): SchemaParts {
    return { plugin: plugin.name, capability, schemas, validator: this.#parts.validator };
  }

  async #usable(
    plugin: LoadedPlugin,
    capability: Capability,
    plugins: readonly LoadedPlugin[],
  ): Promise<Pick<Exposed, "callable" | "error">> {
    const { naming, approvals } = this.#parts;
    try {
      if (hasCode(capability)) return { callable: await this.callable(capability.fullId), error: null };
      refuseUnusable(plugin, await rivalsOf(plugin, plugins, naming.isActive));
      approvalOf(plugin, await approvals.standing(plugin));
      return { callable: null, error: null };
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error;
      return { callable: null, error };
    }
  }

  /** Every call passes it under the full id, whatever it was called by (R06). */
  #decideCall({ plugin, approval }: Holding, { fullId }: Capability): Decision {
    const decision = decideCall(fullId, this.#parts.policy, this.#parts.kinds);
    if (decision.state === "granted") return decision; // it is written down with the start of the call
    const { kind, value, state, rule } = decision;
    const { hash: fingerprint } = approval.fingerprint;
    this.#parts.note({
      type: "call",
      plugin: plugin.name,
      fingerprint,
      kind,
      value,
      decision: state,
      rule,
    });
    throw deniedCall(decision);
  }

  #unit(holding: Holding, capability: Capability, call: Decision): Unit {
    const { units, granted, approval, tenure } = holding;
    const known = units.get(capability.fullId);
    if (known !== undefined) return known;
    const { spaces, policy } = this.#parts;
    const unit: Unit = { ...unitOf(granted, capability, approval, tenure, { policy, spaces }), call };
    units.set(capability.fullId, unit);
    return unit;
  }
}
