/**
 * One tenant: its plugins, what it approved and exposed, and the calls into them. It walks the stages of DESIGN and holds
 * no rules of its own; nothing of it is shared with another tenant.
 */
import { basename, join } from "node:path";
import {
  CapabilityError,
  type Decision,
  HostError,
  KINDS,
  type KindTable,
  type PathContext,
  type PermissionRequest,
  type Requirement,
  SallyportError,
  TrustError,
} from "../permissions/mod.ts";
import type { Answered, AuditEvent, AuditSink, CallOrigin } from "../runtime/mod.ts";
import { writeEvent } from "./audit/write_event.ts";
import type { Bundler } from "./bundler/mod.ts";
import { bundleFiles } from "./bundle_files.ts";
import { contextOf, grantCapability, grantPlugin, layersOf } from "./grant_plugin.ts";
import { ceilingLayer, discoverUses, type Discovery, widened } from "./discovery.ts";
import { type Explain, explainUse, type Explanation } from "./explain.ts";
import { checkPlugin, isLive, type PluginCheck } from "./check_plugin.ts";
import { fixedLoader, type Loader } from "./loaders/mod.ts";
import type { Manifest } from "./manifest/mod.ts";
import {
  type GrantedPlugin,
  type InvalidPlugin,
  type LoadedPlugin,
  loadPlugin,
  type TrustedPlugin,
} from "./plugin.ts";
import { type OwnSpaces, temporaryLineage } from "./own_spaces.ts";
import {
  approvalOf,
  changedError,
  lookAgain,
  notExposed,
  type PluginState,
  refuseNotLive,
  refuseUnusable,
  stateOf,
  unusableState,
} from "./plugin_state.ts";
import { callForPlugin, decideCall, deniedCall } from "./plugin_calls.ts";
import { limitsOf, type TenantPolicy } from "./policy.ts";
import { findCapability, findExposed } from "./registry.ts";
import type { CallOptions, InnerCallOptions, Runner, Unit } from "./runner.ts";
import { callWithSchemas } from "./schemas.ts";
import {
  type RequestedSecret,
  requestedSecrets,
  type Secrets,
  type SecretStore,
  type TenantSecrets,
} from "./secrets/mod.ts";
import { type Capability } from "./surfaces/mod.ts";
import { type PluginReview, previewGrants, reviewPlugin } from "./review.ts";
import {
  type Approval,
  Approvals,
  departureFrom,
  type Fingerprint,
  grantsOf,
  type Narrowing,
  newLineage,
  onlyKey,
  type TrustKey,
  type TrustRecord,
  type TrustStore,
  withAnswers,
} from "./trust/mod.ts";
import { pinPlugin } from "./trust/pin_plugin.ts";
import type { Validator } from "./validator/mod.ts";

/** How a tenant is opened. */
export interface TenantOptions {
  /** The ceiling; absent is nothing at all. */
  readonly policy?: TenantPolicy;
  /** Where plugins are: a loader, or a list of directories. */
  readonly plugins: Loader | readonly string[];
  /** Where trust outlives the process; absent is nowhere. */
  readonly store?: TrustStore;
  /** Where secrets are kept; absent is in memory, for this process. */
  readonly secrets?: SecretStore;
  /** Cuts down what every plugin of the tenant is granted; kinds that it does not mention are left. */
  readonly narrowing?: Narrowing;
}

/** What a host gives to its tenant. */
export interface TenantParts {
  /** Runs targets. */
  readonly runner: Runner;
  /** Holds inputs and results to schemas. */
  readonly validator: Pick<Validator, "issues">;
  /** Where decisions are written down. */
  readonly audit: AuditSink;
  /** What bundles. */
  readonly bundler: Pick<Bundler, "bundle">;
  /** What workers reach. */
  readonly confinement: string;
  /** What plugins keep between calls. */
  readonly spaces: OwnSpaces;
  /** What its owner keeps for its plugins. */
  readonly secrets: TenantSecrets;
  /** The kinds of permission that exist; absent is the built-in ones. */
  readonly kinds?: KindTable;
  /** Decides as the broker does. */
  readonly explain: Explain;
  /** Called when the first plugin may run. */
  readonly warm: () => void;
}

/** One row of `list`. */
export interface PluginRow {
  /** Its name; the folder's when the manifest cannot be read. */
  readonly name: string;
  /** Informational version. */
  readonly version: string | null;
  /** The author's words. */
  readonly description: string | null;
  /** Its state. */
  readonly state: PluginState;
  /** Why it is in that state, where that needs words. */
  readonly reason: string | null;
  /** Where it is. */
  readonly directory: string;
  /** What found it. */
  readonly origin: string;
  /** What it declares, whether or not this version can run it. */
  readonly capabilities: readonly CapabilityRow[];
  /** What it asks for. */
  readonly permissions: PermissionRequest;
}

/** One capability in a row. */
export interface CapabilityRow {
  /** Full id. */
  readonly id: string;
  /** Its surface. */
  readonly surface: string;
  /** The author's words. */
  readonly description: string | null;
  /** Whether this version can run its surface. */
  readonly live: boolean;
  /** Whether it may be called. */
  readonly exposed: boolean;
}

/** What a decision about one plugin rests on. */
export interface PluginFacts {
  /** Its name. */
  readonly name: string;
  /** What it declares. */
  readonly manifest: Manifest;
  /** Where it is, without links. */
  readonly directory: string;
  /** All that it offers. */
  readonly capabilities: readonly {
    readonly fullId: string;
    readonly name: string;
    readonly aliases: readonly string[];
  }[];
}

/** What is approved with a trust. */
export interface TrustOptions extends ApprovalOptions {
  /** `sha256:…` of what was looked at; must be that of what is there. */
  readonly fingerprint: string;
}

/** What is approved of what was reviewed. */
export interface ApprovalOptions {
  /** Who approves, for the record and the audit. */
  readonly approver: string;
  /**
   * Names the plugin's data folder and storage, unless a record does; absent is a fresh one, which is removed when the
   * host closes where there is no record.
   */
  readonly lineage?: string;
  /** Less than the manifest asks; absent is all that it asks, under the policy. */
  readonly grants?: PermissionRequest;
  /** Cuts down the kinds that it mentions and leaves the others; relative paths start at `cwd`. */
  readonly flags?: Narrowing;
  /** Capabilities that may then be called; absent is none. */
  readonly expose?: readonly string[];
  /** False: for this process only, even where there is a store. */
  readonly keep?: boolean;
}

/** What may be called, and how it then runs. */
interface Callable {
  readonly unit: Unit;
  readonly capability: Capability;
  readonly plugin: LoadedPlugin;
}

interface Catalog {
  /** A plugin whose files changed on the disk is read again, and takes its place. */
  readonly plugins: LoadedPlugin[];
  readonly invalid: readonly InvalidPlugin[];
}

/** One customer. */
export class Tenant {
  /** Its id. */
  readonly id: string;
  /** Its secrets, in their owner's hands. */
  readonly secrets: Secrets;
  readonly #policy: TenantPolicy;
  readonly #loader: Loader;
  readonly #parts: TenantParts;
  readonly #kinds: KindTable;
  readonly #approvals: Approvals;
  readonly #narrowing: Narrowing | undefined;
  readonly #exposed = new Set<string>();
  #catalog: Promise<Catalog> | undefined;
  #roots: readonly string[] = [];

  /** Use `host.tenant`. */
  constructor(id: string, options: TenantOptions, parts: TenantParts) {
    this.id = id;
    this.#policy = options.policy ?? {};
    this.#loader = "load" in options.plugins ? options.plugins : fixedLoader(options.plugins);
    this.#parts = parts;
    const { secrets } = parts;
    // The owner's side only: what else the host does with them is not the embedder's.
    this.secrets = {
      set: async (name, value, binding) =>
        secrets.set(name, value, binding, await this.#lineagesOf(binding.plugins)),
      list: () => secrets.list(),
      delete: (name) => secrets.delete(name),
    };
    this.#kinds = parts.kinds ?? KINDS;
    const { store } = options;
    this.#approvals = new Approvals(id, store?.withKinds?.(this.#kinds) ?? store);
    this.#narrowing = options.narrowing;
  }

  /** What workers of its plugins reach, and whether programs that they start may be without any confinement. */
  get confinement(): string {
    return this.#parts.confinement;
  }

  /** Every plugin that was found, in the loader's order. Reads manifests, and no code. */
  async list(): Promise<readonly PluginRow[]> {
    const catalog = await this.#discover();
    const fresh = catalog.plugins.map((plugin) => this.#fresh(catalog, plugin));
    const exposed = await this.#exposures(fresh);
    const rows = await Promise.all(fresh.map((plugin) => this.#row(plugin, fresh, exposed)));
    return [...rows, ...catalog.invalid.map(invalidRow)];
  }

  /** The manifest of one plugin. Throws CapabilityError when there is none of that name. */
  async manifest(name: string): Promise<Manifest> {
    return (await this.#plugin(name)).manifest;
  }

  /**
   * The fingerprint of what is there now: bundles every target in the confined bundler, and runs nothing. Throws
   * ManifestError for a declared file that is missing, BundleError for code that cannot be bundled.
   */
  async fingerprint(name: string): Promise<Fingerprint> {
    return await this.#pin(await this.#plugin(name));
  }

  /**
   * Approves a plugin as it is: in the tenant's store, or for this process where there is none. Throws TrustError when it
   * is not what the fingerprint says, HostError `ERR_STORE` when the store cannot be written, and what `fingerprint` throws.
   */
  async trust(name: string, options: TrustOptions): Promise<void> {
    const review = await this.review(name);
    const { directory, fingerprint: { hash: found } } = review;
    if (found !== options.fingerprint) {
      throw new TrustError(
        "ERR_TRUST_CHANGED",
        `Cannot trust plugin "${name}": its fingerprint is ${found}, not ${options.fingerprint}. ${
          lookAgain(directory)
        }`,
        { details: { plugin: name, found, approved: options.fingerprint } },
      );
    }
    await review.approve(options);
  }

  /**
   * All that a person looks at before they approve a plugin, and the way to approve the very bytes that were looked at,
   * whatever the disk says by then (T17). Bundles every target, and runs nothing. Throws what `fingerprint` throws, and
   * for a plugin that cannot be used.
   */
  async review(name: string): Promise<PluginReview> {
    const plugin = await this.#plugin(name);
    refuseUnusable(plugin, (await this.#discover()).plugins);
    const fingerprint = await this.#pin(plugin);
    const context = this.#contextOf(plugin, (await this.#quietRecord(plugin))?.lineage ?? newLineage());
    return {
      ...reviewPlugin(plugin, fingerprint, this.#kinds),
      grants: (flags) => previewGrants(grantsOf(plugin.manifest.permissions, flags, context), context),
      approve: (options) => this.#approve(plugin, fingerprint, options),
    };
  }

  /** The sound trust record of a plugin, whatever its files are now; null without one. Throws HostError `ERR_STORE`. */
  async record(name: string): Promise<TrustRecord | null> {
    return await this.#approvals.record(await this.#plugin(name));
  }

  /**
   * Takes trust back, by the plugin's name or its directory, whether or not the plugin is still there; the next call is
   * refused. Throws TrustError when there is none, CollisionError `ERR_NAME_AMBIGUOUS` naming the directories that have one.
   */
  async untrust(nameOrDirectory: string): Promise<TrustKey> {
    const keys = await this.#approvals.matching(({ name, directory }) =>
      name === nameOrDirectory || directory === nameOrDirectory
    );
    const key = onlyKey(nameOrDirectory, keys);
    this.#auditTrust("revoke", key.name, null, { directory: key.directory });
    await this.#approvals.forget(key);
    return key;
  }

  /** What the plugin asks of secrets, and whether their owner lets it have them: as it is trusted or, if it is not, once it is. */
  async requestedSecrets(name: string): Promise<readonly RequestedSecret[]> {
    const plugin = await this.#plugin(name);
    const { manifest: { permissions }, source: { directory } } = plugin;
    const kept = this.#approvals.lineage(plugin) ?? (await this.#quietRecord(plugin))?.lineage ??
      newLineage();
    const bindings = await orNull(this.#parts.secrets.bindings());
    const user = { plugin: name, place: directory, bundle: plugin, own: { lineage: kept } };
    return requestedSecrets(permissions, bindings, user);
  }

  /** Looks at a plugin as its author's gate does; runs nothing. Throws what `fingerprint` throws. */
  async check(name: string): Promise<PluginCheck> {
    const plugin = await this.#plugin(name);
    const context = this.#contextOf(plugin, newLineage());
    return await checkPlugin(plugin, await this.#pin(plugin), this.#parts.bundler, this.id, context);
  }

  /** What is known of one plugin without running it. Throws CapabilityError when there is none of that name. */
  async facts(name: string): Promise<PluginFacts> {
    const { manifest, source, capabilities } = await this.#plugin(name);
    return { name, manifest, directory: source.directory, capabilities };
  }

  /**
   * Offers capabilities, by full id or by a name that only one of them has. Throws CapabilityError, or CollisionError
   * `ERR_NAME_AMBIGUOUS` naming the candidates; then nothing is exposed.
   */
  async expose(ids: readonly string[]): Promise<void> {
    const { plugins } = await this.#discover();
    const all = plugins.flatMap(({ capabilities }) => capabilities);
    for (const { fullId } of ids.map((id) => findCapability(id, all))) this.#exposed.add(fullId);
  }

  /**
   * Calls an exposed capability of a trusted plugin with a JSON value. Throws what the stages throw: CapabilityError,
   * CollisionError, TrustError, BundleError, ActivationError, NotCapableError, GuestError, LimitError or HostError.
   */
  async call(id: string, input: unknown, options: CallOptions = {}): Promise<unknown> {
    return await this.#call(await this.#callable(id), input, options);
  }

  /**
   * Calls a capability for a plugin of the tenant that was granted its id: under the callee's own grants, within what is
   * left to the caller, and only where the callee lists it. Throws a PowerError for the guest. The host calls it.
   */
  async callForPlugin(id: string, input: unknown, origin: CallOrigin): Promise<unknown> {
    const { signal } = origin;
    const onDenial: CallOptions["onDenial"] = (denial) => origin.deny(denial);
    return await callForPlugin(id, origin, {
      find: () => this.#callable(id),
      call: (callee) => this.#call(callee, input, { origin, signal, onDenial }),
      refused: (code) => {
        const facts = { call: origin.call, kind: "call", value: id, decision: "denied", rule: code } as const;
        this.#audit({ type: "call", plugin: origin.plugin, ...facts });
      },
    });
  }

  /**
   * Calls a capability with what its plugin declares widened to a ceiling, and tells what it used. The policy and every
   * deny stand. Throws as `call` does before code runs, and UsageError for a ceiling that may not be.
   */
  async discover(
    id: string,
    input: unknown,
    ceiling: Narrowing,
    options: CallOptions = {},
  ): Promise<Discovery> {
    const { unit, capability, plugin } = await this.#callable(id);
    const { validator, runner, explain } = this.#parts;
    const grant = widened(unit.grant, ceilingLayer(ceiling, unit, explain));
    this.#auditTrust("grant", plugin.name, unit.fingerprint, { discover: capability.fullId, ceiling });
    const wider: Unit = { ...unit, key: JSON.stringify([unit.key, ceiling]), grant, tellsReads: true };
    const declared = {
      request: plugin.manifest.permissions,
      source: "manifest" as const,
      context: unit.context,
    };
    return await discoverUses(
      declared,
      (onUse) =>
        callWithSchemas(
          plugin.name,
          capability,
          input,
          validator,
          () => runner.call(wider, input, { ...options, onUse }),
        ),
    );
  }

  /**
   * Decides about a use as if the plugin, or one of its capabilities, made it now; of a plugin that is not trusted as it
   * is, what would be decided once all that it asks for were approved. Runs nothing.
   */
  async explain(name: string, requirement: Requirement, capability?: string): Promise<Explanation> {
    const plugin = await this.#plugin(name);
    const standing = await this.#approvals.standing(plugin);
    const approval = standing.state === "approved" ? standing.approval : null;
    const data = this.#parts.spaces.dataOf(approval?.lineage ?? newLineage());
    const approved = { grants: approval?.grants, flags: approval?.flags, narrowing: this.#narrowing };
    const holder = layersOf(plugin, approved, this.#policy, data, this.#kinds);
    const found = capability === undefined ? null : findCapability(capability, plugin.capabilities);
    const grant = found === null ? holder.grant : grantCapability(holder, found);
    // Files below its own directory are its own to read; which bytes they have does not matter here.
    const bundle = bundleFiles(plugin.source, false, new Set());
    const decision = explainUse(this.#parts.explain, { ...holder, grant, bundle }, requirement);
    return { decision, isAfterTrust: approval === null };
  }

  /**
   * Adds to the plugin's trust record what was agreed to at the prompt; never more than its manifest asks for. Throws
   * TrustError where there is no record of the plugin as it is, HostError `ERR_STORE` or `ERR_AUDIT_FAILED`.
   */
  async saveAnswers(name: string, answers: readonly Answered[], approver: string): Promise<TrustRecord> {
    const plugin = await this.#plugin(name);
    const approval = approvalOf(plugin, await this.#approvals.standing(plugin));
    const record = await this.#approvals.record(plugin);
    if (record === null) {
      throw new TrustError(
        "ERR_TRUST_UNKNOWN",
        `Cannot save answers about plugin "${name}": it has no trust record. Trust it first`,
        { details: { plugin: name } },
      );
    }
    const context = this.#contextOf(plugin, approval.lineage);
    const grants = withAnswers(plugin.manifest.permissions, record.grants, answers, context);
    const { hash } = approval.fingerprint;
    this.#auditTrust("trust", name, hash, { approver, kept: true, exposed: record.exposed, grants });
    await this.#approvals.keep(plugin, { ...approval, approver, grants });
    return { ...record, approver, grants };
  }

  /** What names and directories of plugins mean by now (T13). What nobody trusted yet means nothing so far. */
  async #lineagesOf(plugins: readonly string[]): Promise<Readonly<Record<string, readonly string[]>>> {
    const known = await this.#approvals.lineages();
    const meant = plugins.map((plugin) => {
      const own = known.filter(({ name, directory }) => name === plugin || directory === plugin);
      return [plugin, own.map(({ lineage }) => lineage)] as const;
    });
    return Object.fromEntries(meant.filter(([, lineages]) => lineages.length > 0));
  }

  async #call(
    { unit, capability, plugin }: Callable,
    input: unknown,
    options: InnerCallOptions,
  ): Promise<unknown> {
    const { validator, runner } = this.#parts;
    const call = (): Promise<unknown> => runner.call(unit, input, options);
    return await callWithSchemas(plugin.name, capability, input, validator, call);
  }

  async #callable(id: string): Promise<Callable> {
    const catalog = await this.#discover();
    const { plugins } = catalog;
    const exposed = await this.#exposures(plugins);
    const found = findExposed(id, plugins, exposed);
    const plugin = this.#fresh(catalog, plugins.find(({ capabilities }) => capabilities.includes(found))!);
    refuseUnusable(plugin, plugins);
    const approval = approvalOf(plugin, await this.#approvals.standing(plugin));
    const granted = this.#grant(plugin, approval);
    const capability = findCapability(found.fullId, plugin.capabilities);
    refuseNotLive(plugin, capability);
    if (!exposed.has(capability.fullId)) throw notExposed(plugin, capability);
    const decision = this.#decideCall(plugin, capability, approval);
    return { unit: { ...this.#unit(granted, capability, approval), call: decision }, capability, plugin };
  }

  /** Every call passes it under the full id, whatever it was called by (R06). */
  #decideCall({ name }: LoadedPlugin, { fullId }: Capability, { fingerprint }: Approval): Decision {
    const decision = decideCall(fullId, this.#policy, this.#kinds);
    if (decision.state === "granted") return decision; // it is written down with the start of the call
    const { kind, value, state, rule } = decision;
    this.#audit({
      type: "call",
      plugin: name,
      fingerprint: fingerprint.hash,
      kind,
      value,
      decision: state,
      rule,
    });
    throw deniedCall(decision);
  }

  /** Directories that no grant reaches, since they are plugins'. */
  pluginRoots(): readonly string[] {
    return [...(this.#loader.roots ?? []), ...this.#roots];
  }

  /** Ends what runs; settles when the last call has ended. The host calls it. */
  close(): Promise<void> {
    return this.#parts.runner.close();
  }

  /** Concurrent first questions share one reading; a plugin that is invalid is excluded whole, and the rest goes on. */
  #discover(): Promise<Catalog> {
    this.#catalog ??= this.#scan().catch((error: unknown) => {
      this.#catalog = undefined; // the loader's failure may be over at the next question
      throw error;
    });
    return this.#catalog;
  }

  async #scan(): Promise<Catalog> {
    const plugins: LoadedPlugin[] = [];
    const invalid: InvalidPlugin[] = [];
    for (const location of await this.#loader.load()) {
      try {
        plugins.push(loadPlugin(location, this.#kinds));
      } catch (error) {
        if (!(error instanceof SallyportError)) throw error;
        invalid.push({ location, error });
      }
    }
    this.#roots = [
      ...plugins.map(({ source }) => source.directory),
      ...invalid.map(({ location }) => location.directory),
    ];
    return { plugins, invalid };
  }

  /** The plugin with its files as they are on the disk: a new reading when they changed, unless that fails. */
  #fresh({ plugins }: Catalog, { name, source: { directory } }: LoadedPlugin): LoadedPlugin {
    const place = plugins.findIndex(({ source }) => source.directory === directory);
    const known = plugins[place]!;
    if (this.#approvals.isCurrent(known)) return known;
    try {
      const now = loadPlugin(known.location, this.#kinds);
      if (now.name === name) plugins[place] = now;
    } catch (error) {
      // What cannot be read is not what was approved; the old reading tells which files changed.
      if (!(error instanceof SallyportError)) throw error;
    }
    return plugins[place]!;
  }

  async #plugin(name: string): Promise<LoadedPlugin> {
    const catalog = await this.#discover();
    const { plugins, invalid } = catalog;
    const plugin = plugins.find((candidate) => candidate.name === name);
    if (plugin !== undefined) return this.#fresh(catalog, plugin);
    const broken = invalid.find(({ location }) => basename(location.directory) === name);
    if (broken !== undefined) throw broken.error;
    throw new CapabilityError(
      "ERR_CAPABILITY_UNKNOWN",
      `Cannot find plugin "${name}": ${namesOf(plugins)}`,
      { details: { available: plugins.map((candidate) => candidate.name) } },
    );
  }

  async #exposures(plugins: readonly LoadedPlugin[]): Promise<ReadonlySet<string>> {
    return new Set([...this.#exposed, ...await this.#approvals.exposed(plugins)]);
  }

  #pin(plugin: LoadedPlugin): Promise<Fingerprint> {
    return pinPlugin(plugin, this.#parts.bundler, this.id);
  }

  async #approve(plugin: LoadedPlugin, fingerprint: Fingerprint, options: ApprovalOptions): Promise<void> {
    const { approver, flags, keep = true } = options;
    const exposed = (options.expose ?? []).map((id) => findCapability(id, plugin.capabilities).fullId);
    const isKept = keep && this.#approvals.isKept;
    const before = isKept ? (await this.#approvals.record(plugin))?.lineage : this.#approvals.lineage(plugin);
    const lineage = before ?? options.lineage ?? (isKept ? newLineage() : temporaryLineage());
    // A record says in full what was granted; flags mean something only to the process in which they were typed.
    const approval: Approval = isKept
      ? {
        fingerprint,
        approver,
        lineage,
        exposed,
        grants: grantsOf(
          options.grants ?? plugin.manifest.permissions,
          flags,
          this.#contextOf(plugin, lineage),
        ),
      }
      : { fingerprint, approver, lineage, exposed, grants: options.grants, flags };
    this.#grant(plugin, approval); // what is required must be granted, or there is nothing to approve
    this.#auditTrust("trust", plugin.name, fingerprint.hash, { approver, kept: isKept, exposed });
    if (isKept) await this.#approvals.keep(plugin, approval);
    else this.#approvals.approve(plugin, approval);
    this.#parts.warm();
  }

  /** For a display: a store that cannot be used refuses when it is written. */
  #quietRecord(plugin: LoadedPlugin): Promise<TrustRecord | null> {
    return orNull(this.#approvals.record(plugin));
  }

  #auditTrust(
    type: "trust" | "revoke" | "grant",
    plugin: string,
    fingerprint: string | null,
    details: Readonly<Record<string, unknown>>,
  ): void {
    this.#audit({ type, plugin, fingerprint, details });
  }

  #audit(facts: Pick<AuditEvent, "type" | "plugin"> & Partial<AuditEvent>): void {
    const { audit, confinement } = this.#parts;
    writeEvent(audit, { tenant: this.id, fingerprint: null, call: null, confinement, ...facts });
  }

  #contextOf(plugin: LoadedPlugin, lineage: string): PathContext {
    const data = this.#parts.spaces.dataOf(lineage);
    return contextOf(plugin.source.directory, this.#policy, data, this.#kinds);
  }

  #grant(plugin: LoadedPlugin, approval: Approval): GrantedPlugin {
    const { fingerprint, approver, lineage, grants, flags } = approval;
    const trusted: TrustedPlugin = { ...plugin, fingerprint, approver, lineage };
    const approved = { grants, flags, narrowing: this.#narrowing };
    const data = this.#parts.spaces.dataOf(lineage);
    return grantPlugin(trusted, approved, this.#policy, data, this.#kinds);
  }

  #unit(plugin: GrantedPlugin, capability: Capability, { grants, flags }: Approval): Unit {
    if (capability.target === undefined) {
      throw new TypeError(`capability "${capability.fullId}" has no target`);
    }
    const target = { path: capability.target.path, export: capability.target.exportName };
    const { read } = plugin.manifest.permissions;
    const isMutable = typeof read === "object" && "mutable" in read && read.mutable === true;
    return {
      // An approval of less must not meet the isolate of an approval of more.
      key: JSON.stringify([plugin.fingerprint.hash, plugin.lineage, capability.fullId, grants, flags]),
      plugin: plugin.name,
      title: `Plugin "${plugin.name}"`,
      source: plugin.source,
      target,
      declaredIn: join(plugin.source.directory, "plugin.yaml"),
      fingerprint: plugin.fingerprint.hash,
      verify: (bundle) => {
        const departure = departureFrom(plugin.fingerprint, plugin.source, target, bundle);
        if (departure !== null) throw changedError(plugin, [departure]);
      },
      grant: grantCapability(plugin, capability),
      context: plugin.context,
      place: plugin.source.directory,
      bundle: bundleFiles(plugin.source, isMutable, new Set(Object.keys(plugin.fingerprint.files))),
      own: this.#parts.spaces.spaceOf(plugin.lineage),
      environment: this.#policy.environment ?? {},
      limits: limitsOf(plugin.manifest.limits, this.#policy),
    };
  }

  async #row(
    plugin: LoadedPlugin,
    all: readonly LoadedPlugin[],
    exposed: ReadonlySet<string>,
  ): Promise<PluginRow> {
    const { manifest, location } = plugin;
    return {
      name: plugin.name,
      version: manifest.version,
      description: manifest.description ?? null,
      ...(unusableState(plugin, all) ?? stateOf(await this.#approvals.standing(plugin))),
      directory: location.directory,
      origin: location.origin,
      capabilities: plugin.capabilities.map(({ fullId, surface, description }) => ({
        id: fullId,
        surface,
        description: description ?? null,
        live: isLive(surface),
        exposed: exposed.has(fullId),
      })),
      permissions: manifest.permissions,
    };
  }
}

function orNull<Value>(store: Promise<Value>): Promise<Value | null> {
  return store.catch((error: unknown) => {
    if (error instanceof HostError) return null;
    throw error;
  });
}

function invalidRow({ location, error }: InvalidPlugin): PluginRow {
  return {
    name: basename(location.directory),
    version: null,
    description: null,
    state: "invalid",
    reason: error.message,
    directory: location.directory,
    origin: location.origin,
    capabilities: [],
    permissions: {},
  };
}

function namesOf(plugins: readonly LoadedPlugin[]): string {
  return plugins.length === 0
    ? "there are no plugins"
    : `there are ${plugins.map(({ name }) => `"${name}"`).join(", ")}`;
}
