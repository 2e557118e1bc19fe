/**
 * One tenant: its plugins, what it approved and exposed, and the calls into them. It walks the stages of DESIGN and holds
 * no rules of its own; nothing of it is shared with another tenant.
 */
import {
  KINDS,
  type KindTable,
  type PermissionRequest,
  type Requirement,
  type SallyportError,
} from "../permissions/mod.ts";
import type { Answered, AuditEvent, CallOrigin } from "../runtime/mod.ts";
import { Attenuation } from "./attenuation.ts";
import { writeEvent } from "./audit/write_event.ts";
import { Authority, type Holding } from "./authority.ts";
import { Catalog } from "./catalog.ts";
import { checkPlugin, type PluginCheck } from "./check_plugin.ts";
import { findingsByPlace } from "./collisions.ts";
import type { PluginDiff } from "./diff.ts";
import { LocalDocuments } from "./documents/local_documents.ts";
import { TenantDocuments } from "./documents/tenant_documents.ts";
import type { Documents } from "./documents/types.ts";
import { ceilingLayer, discoverUses, type Discovery, widened } from "./discovery.ts";
import type { Explanation } from "./explain.ts";
import { Generations } from "./generations.ts";
import { type Handle, Handles } from "./handles.ts";
import { type PluginResources, resourcesOf } from "./plugin_resources.ts";
import { contentOf, type Offering, type Snapshot } from "./snapshot.ts";
import { type Approved, layersOf } from "./grant_plugin.ts";
import { checkedLoader, type Loader } from "./loaders/mod.ts";
import type { Manifest } from "./manifest/mod.ts";
import { manifestFindings } from "./manifest_findings.ts";
import { findCollisions, type NamingParts, rivalries, rivalsOf } from "./naming.ts";
import { ownersSecrets } from "./owners_secrets.ts";
import type { Plan, PlanRequest } from "./plan.ts";
import type { LoadedPlugin } from "./plugin.ts";
import { callForPlugin } from "./plugin_calls.ts";
import { Providers, withProviderNames } from "./providers.ts";
import { CommandHooks } from "./points/command_hooks.ts";
import { deadMatchers, deadMatcherText } from "./points/dead_matchers.ts";
import type { Emitted, EmittedEvent } from "./points/emit.ts";
import { Points } from "./points/points.ts";
import type { WatchStats } from "./points/watchers.ts";
import { Panels } from "./panels/panels.ts";
import { invalidRow, rowOf } from "./plugin_rows.ts";
import {
  approvalOf,
  refuseNotCallable,
  standingAmong,
  stateOf,
  unusableState,
  withDocuments,
} from "./plugin_state.ts";
import type { TenantPolicy } from "./policy.ts";
import { quarantinedState } from "./quarantine.ts";
import { type CallStream, readWhole, type StreamOptions } from "./call_stream.ts";
import type { PluginReview } from "./review.ts";
import type { CallOptions, InnerCallOptions } from "./run.ts";
import type { RequestedSecret, Secrets } from "./secrets/mod.ts";
import { Streams } from "./streams.ts";
import { TenantCalls } from "./tenant_calls.ts";
import { TenantNames } from "./tenant_names.ts";
import {
  type ActivateAllOptions,
  type ActivateOptions,
  type PluginProgress,
  type StartedPlugin,
  TenantStarts,
} from "./tenant_starts.ts";
import { type Enabled, type PruneOptions, TenantSwitches } from "./tenant_switches.ts";
import { TenantTrust } from "./tenant_trust.ts";
import type {
  PluginFacts,
  PluginRow,
  ResolvedName,
  TenantOptions,
  TenantParts,
  TrustOptions,
} from "./tenant_types.ts";
import {
  Approvals,
  type Fingerprint,
  type Narrowing,
  newLineage,
  type RecordView,
  type TrustKey,
  type TrustRecord,
} from "./trust/mod.ts";
import { type ThroughCall, ThroughCalls } from "./through_calls.ts";
import { Commands } from "./typed/commands.ts";
import type { Unit } from "./unit.ts";

/** How a plugin stands by itself, as far as a list tells. */
type Glanced = ReturnType<typeof stateOf> & { readonly verified: boolean };

/** One customer. */
export class Tenant {
  /** Its id. */
  readonly id: string;
  /** Its secrets, in their owner's hands. */
  readonly secrets: Secrets;
  /** Its panels. */
  readonly panels: Panels;
  /** What can be typed: commands, prompts and panels. */
  readonly commands: Commands;
  /** Its prompts, skills, agents, playbooks, packs and themes, and the user's own. */
  readonly documents: Documents;
  /** Who answers when a service is looked for by its name. */
  readonly providers: Providers;
  readonly #policy: TenantPolicy;
  readonly #parts: TenantParts;
  readonly #kinds: KindTable;
  readonly #approvals: Approvals;
  readonly #catalog: Catalog;
  readonly #authority: Authority;
  readonly #trust: TenantTrust;
  readonly #naming: NamingParts;
  readonly #names: TenantNames;
  readonly #local: LocalDocuments;
  readonly #documents: TenantDocuments;
  #roots: { readonly of: readonly string[]; readonly all: readonly string[] } | undefined;
  readonly #switches: TenantSwitches;
  readonly #generations = new Generations(() => this.#content());
  readonly #starts: TenantStarts;
  readonly #handles = new Handles();
  readonly #calls: TenantCalls;
  readonly #attenuation = new Attenuation();
  readonly #through: ThroughCalls;
  readonly #streams: Streams;
  readonly #commandHooks: CommandHooks;
  readonly #points: Points;

  /** Use `host.tenant`. */
  constructor(id: string, options: TenantOptions, parts: TenantParts) {
    const { policy = {}, plugins, store, narrowing, naming = "qualified", builtins = {}, local = {} } =
      options;
    this.id = id;
    this.#policy = policy;
    this.#parts = parts;
    this.#kinds = parts.kinds ?? KINDS;
    const { project, blocked } = policy;
    this.#approvals = new Approvals({
      tenant: id,
      store: store?.withKinds?.(this.#kinds) ?? store,
      project,
      blocked,
      verify: options.verifyApproval,
      index: options.index,
      retire: (lineage, of) => parts.spaces.retire(lineage, of),
    });
    const catalogOf = (loader: Loader | readonly string[]): Catalog =>
      new Catalog({
        loader: checkedLoader(loader),
        kinds: this.#kinds,
        events: parts.events ?? [],
        isCurrent: (plugin) => this.#approvals.isCurrent(plugin),
        isKnown: (plugin) => this.#approvals.isKnown(plugin),
      });
    this.#catalog = catalogOf(plugins);
    this.#local = new LocalDocuments(options.documents ?? [], local);
    const own = this.#local;
    this.#naming = {
      rules: {
        naming,
        builtins: withProviderNames(builtins, options.providers),
        get local() {
          return own.names;
        },
      },
      isActive: async (plugin) => (await this.#ownState(plugin)).state === "active",
    };
    this.#authority = new Authority({
      approvals: this.#approvals,
      grant: (plugin, approval) => this.#trust.grant(plugin, approval),
      fresh: (plugin) => this.#catalog.fresh(plugin),
      secretsTaken: () => parts.secrets.learn(),
      onEnd: (holding) => this.#onEnd(holding),
      every: parts.every,
    });
    const commit: Generations["commit"] = (change) => this.#generations.commit(change);
    this.#trust = new TenantTrust({
      ...parts,
      tenant: id,
      policy,
      narrowing,
      catalog: this.#catalog,
      approvals: this.#approvals,
      authority: this.#authority,
      kinds: this.#kinds,
      naming: this.#naming,
      exposed: (all) => this.#exposures(all),
      commit,
    });
    this.#switches = new TenantSwitches({
      tenant: id,
      catalog: this.#catalog,
      approvals: this.#approvals,
      authority: this.#authority,
      trust: this.#trust,
      quarantine: parts.quarantine,
      naming: this.#naming,
      spaces: parts.spaces,
      stop: (stopping) => parts.runner.stop(stopping),
      commit,
    });
    this.#calls = new TenantCalls({
      ...parts,
      tenant: id,
      policy,
      kinds: this.#kinds,
      catalog: this.#catalog,
      approvals: this.#approvals,
      authority: this.#authority,
      naming: this.#naming,
      exposures: (all) => this.#exposures(all),
      points: () => this.#points,
      note: (facts) => this.#note(facts),
    });
    const snapshot = (): Promise<Snapshot> => this.snapshot();
    this.panels = new Panels({ calls: this.#calls, snapshot });
    this.commands = new Commands({
      calls: this.#calls,
      panels: this.panels,
      snapshot,
      documents: () => this.documents,
    });
    this.#streams = new Streams(parts.redactor);
    this.providers = new Providers({
      options: options.providers ?? {},
      calls: this.#calls,
      streams: this.#streams,
      call: (...given) => this.#call(...given),
    });
    this.#commandHooks = new CommandHooks({ ...parts, tenant: id, policy, calls: this.#calls });
    this.#points = new Points({
      ...parts,
      tenant: id,
      policy,
      catalog: this.#catalog,
      approvals: this.#approvals,
      authority: this.#authority,
      calls: this.#calls,
      commands: this.#commandHooks,
      events: parts.events ?? [],
      exposures: (all) => this.#exposures(all),
      running: () => [...new Set(parts.runner.stage.running.map(({ place }) => place))],
      layers: (plugin, { grants, flags, lineage }) =>
        layersOf(plugin, { grants, flags, narrowing }, policy, parts.spaces.dataOf(lineage), this.#kinds),
    });
    this.#starts = new TenantStarts({
      tenant: id,
      catalog: this.#catalog,
      runner: parts.runner,
      generations: this.#generations,
      authority: this.#authority,
      approvals: this.#approvals,
      limits: parts.lifecycle,
      callable: (fullId, found) => this.#calls.callable(fullId, found),
      exposures: (all) => this.#exposures(all),
    });
    const holderOf = (plugin: LoadedPlugin, approved: Approved, lineage: string) =>
      layersOf(plugin, { ...approved, narrowing }, policy, parts.spaces.dataOf(lineage), this.#kinds);
    this.#names = new TenantNames({
      catalog: this.#catalog,
      approvals: this.#approvals,
      trust: this.#trust,
      naming: this.#naming,
      kinds: this.#kinds,
      events: parts.events ?? [],
      ownState: (plugin) => this.#ownState(plugin),
      exposures: (all) => this.#exposures(all),
      layers: (...given) => holderOf(...given).grant,
    });
    this.#through = new ThroughCalls({
      policy,
      catalog: this.#catalog,
      beside: options.beside === undefined ? null : catalogOf(options.beside),
      approvals: this.#approvals,
      naming: this.#naming,
      exposures: (all) => this.#exposures(all),
      layers: holderOf,
      explain: parts.explain,
    });
    this.documents = this.#documents = new TenantDocuments({
      names: this.#names,
      naming: this.#naming,
      catalog: this.#catalog,
      approvals: this.#approvals,
      exposures: (all) => this.#exposures(all),
      local: this.#local,
    });
    this.secrets = ownersSecrets({
      secrets: parts.secrets,
      approvals: this.#approvals,
      authority: this.#authority,
    });
  }

  /** What workers of its plugins reach, and whether programs that they start may be without any confinement. */
  get confinement(): string {
    return this.#parts.confinement;
  }

  /**
   * Every plugin that was found, in the loader's order. Reads manifests and, of what is trusted, the files that do not look as
   * they did when they were compared last, or all of them to `verify`; runs nothing.
   */
  async list({ verify = false }: { readonly verify?: boolean } = {}): Promise<readonly PluginRow[]> {
    this.#local.look();
    const { plugins, invalid } = await this.#catalog.discover();
    const fresh = plugins.map((plugin) => this.#catalog.fresh(plugin));
    const exposed = await this.#exposures(fresh);
    const view = await this.#approvals.view();
    const seen = new Map<LoadedPlugin, Glanced>();
    for (const plugin of fresh) seen.set(plugin, await this.#glance(plugin, view, verify));
    this.#approvals.flush();
    const naming: NamingParts = {
      ...this.#naming,
      isActive: (plugin) => Promise.resolve(seen.get(plugin)?.state === "active"),
    };
    const findings = await findCollisions(fresh, exposed, naming);
    this.#names.noteShadows(findings);
    const rivals = await rivalries(fresh, naming.isActive);
    const byPlace = findingsByPlace(findings);
    const rows = fresh.map((plugin) => {
      const own = seen.get(plugin)!;
      const about = byPlace.get(plugin.source.directory) ?? [];
      const standing = withDocuments(plugin, standingAmong(plugin, own, rivals.get(plugin) ?? [], about));
      return rowOf(plugin, { ...standing, verified: own.verified }, exposed, about);
    });
    return [...rows, ...invalid.map(invalidRow)];
  }

  /** The manifest of one plugin. Throws CapabilityError when there is none of that name. */
  async manifest(name: string): Promise<Manifest> {
    return (await this.#catalog.plugin(name)).manifest;
  }

  /**
   * The fingerprint of what is there now: bundles every target in the confined bundler, and runs nothing. Throws
   * ManifestError for a declared file that is missing, BundleError for code that cannot be bundled.
   */
  async fingerprint(name: string): Promise<Fingerprint> {
    return await this.#trust.pin(await this.#catalog.plugin(name));
  }

  /**
   * Approves a plugin as it is: in the tenant's store, or for this process where there is none. What runs under an approval
   * that granted more, or of other bytes, has ended when it settles. Throws TrustError when it is not what the fingerprint
   * says, HostError `ERR_STORE` when the store cannot be written, and what `fingerprint` throws.
   */
  async trust(name: string, options: TrustOptions): Promise<void> {
    await this.#trust.trust(name, options);
  }

  /**
   * All that a person looks at before they approve a plugin, and the way to approve the very bytes that were looked at,
   * whatever the disk says by then (T17). Bundles every target, and runs nothing. Throws what `fingerprint` throws, and
   * for a plugin that cannot be used.
   */
  async review(name: string): Promise<PluginReview> {
    return await this.#trust.review(name);
  }

  /** The sound trust record of a plugin, whatever its files are now; null without one. Throws HostError `ERR_STORE`. */
  async record(name: string): Promise<TrustRecord | null> {
    return await this.#approvals.record(await this.#catalog.plugin(name));
  }

  /**
   * Takes trust back, by the plugin's name or its directory, whether or not the plugin is still there: its calls that are
   * under way have ended with a TrustError when it settles, and the next one is refused. Throws TrustError when there is
   * none, CollisionError `ERR_NAME_AMBIGUOUS` naming the directories that have one.
   */
  async untrust(nameOrDirectory: string): Promise<TrustKey> {
    return await this.#generations.commit(() => this.#trust.untrust(nameOrDirectory));
  }

  /**
   * What became of a plugin since it was trusted, with what asks for more than was approved marked. Bundles every target, and
   * runs nothing. Throws TrustError where there is no record of it, HostError `ERR_STORE`.
   */
  async diff(name: string): Promise<PluginDiff> {
    return await this.#trust.diff(name);
  }

  /** What the plugin asks of secrets, and whether their owner lets it have them: as it is trusted or, if it is not, once it is. */
  async requestedSecrets(name: string): Promise<readonly RequestedSecret[]> {
    return await this.#trust.requestedSecrets(await this.#catalog.plugin(name));
  }

  /** Looks at a plugin as its author's gate does; runs nothing. Throws what `fingerprint` throws. */
  async check(name: string): Promise<PluginCheck> {
    const plugin = await this.#catalog.plugin(name);
    const context = this.#trust.contextOf(plugin, newLineage());
    return await checkPlugin(plugin, await this.#trust.pin(plugin), this.#parts.bundler, this.id, context);
  }

  /** What is known of one plugin without running it. Throws CapabilityError when there is none of that name. */
  async facts(name: string): Promise<PluginFacts> {
    const plugin = await this.#catalog.plugin(name);
    const { manifest, source, capabilities } = plugin;
    const { plugins } = await this.#catalog.discover();
    const findings = [...manifestFindings(plugin), ...deadMatchers(plugin, plugins).map(deadMatcherText)];
    return { name, manifest, directory: source.directory, capabilities, findings };
  }

  /**
   * Offers capabilities, by full id or by a name that only one of them has. Throws CapabilityError, or CollisionError
   * `ERR_NAME_AMBIGUOUS` naming the candidates; then nothing is exposed.
   */
  async expose(ids: readonly string[]): Promise<void> {
    await this.#generations.commit(() => this.#switches.expose(ids));
  }

  /** Offers capabilities no more: calls that are under way go on, the next ones are refused. Throws as `expose` does. */
  async hide(ids: readonly string[]): Promise<void> {
    await this.#generations.commit(() => this.#switches.hide(ids));
  }

  /**
   * What a full id or a bare name means, on one surface or on any: what is exposed, of plugins that are active. Runs nothing.
   * Throws CapabilityError, TrustError, or CollisionError naming all who claim it.
   */
  resolve(id: string, surface?: string): Promise<ResolvedName> {
    this.#local.look();
    return this.#names.resolve(id, surface ?? null);
  }

  /**
   * What would be offered, what would collide and what would break, if plugins were enabled, disabled or trusted. Changes and
   * runs nothing, and bundles nothing. What is wrong with the request is told in the plan. Throws HostError `ERR_STORE`.
   */
  plan(request: PlanRequest = {}): Promise<Plan> {
    this.#local.look();
    return this.#names.plan(request);
  }

  /**
   * Calls an exposed capability of a trusted plugin with a JSON value. Throws what the stages throw: CapabilityError,
   * CollisionError, TrustError, BundleError, ActivationError, NotCapableError, GuestError, LimitError or HostError. A
   * TrustError as well when trust is taken back, or a pinned file changes, while it is under way. By a handle, HostError
   * `ERR_STALE_GENERATION` once its generation is not the present one.
   */
  async call(id: string | Handle, input: unknown, options: CallOptions = {}): Promise<unknown> {
    return await this.#call(id, input, options);
  }

  /**
   * Calls an exposed tool or provider and gives what it gives piece by piece, only as fast as that is read; where it gives one
   * value, that is all that comes. The call begins with the first reading, and leaving it ends it. What `call` throws is thrown
   * to the reader, and so is LimitError `ERR_LIMIT_SIZE` for too large a value, and `ERR_LIMIT_WALL` where nobody reads.
   */
  stream(id: string | Handle, input: unknown, options: StreamOptions = {}): CallStream {
    const name = typeof id === "string" ? id : id.id;
    return this.#streams.open(name, options, (inner) => this.#call(id, input, inner));
  }

  async #call(id: string | Handle, input: unknown, options: InnerCallOptions): Promise<unknown> {
    if (typeof id !== "string") this.#handles.refuseStale(id, this.#generations.number);
    const callable = await this.#calls.find(typeof id === "string" ? id : id.id);
    if (typeof id !== "string") {
      this.#handles.refuseStale(id, this.#generations.number, callable.holding.approval.lineage);
    }
    refuseNotCallable(callable.capability, options.chunks !== undefined);
    return await this.#calls.run(callable, input, callable.unit, options);
  }

  /**
   * Tells an event that is not about a call: a built-in one, or one that the host was made with. Hooks that are in force are
   * told one after the other, by priority, then in the order in which their plugins were started, then that of their manifests;
   * of fields that their grants do not cover they hear nothing. Where hooks decide, they may stop it or put other fields in
   * the place of its own; a guardrail of prompts is asked about `UserPromptSubmit`. Throws UsageError for what is no such
   * event, HostError `ERR_STORE` or `ERR_AUDIT_FAILED`.
   */
  async emit(event: EmittedEvent, options: Pick<CallOptions, "signal" | "onDenial"> = {}): Promise<Emitted> {
    return await this.#points.emit(event, options);
  }

  /** What became of events that plugins only watch: those without room in a plugin's queue were dropped. */
  pointsStats(): readonly WatchStats[] {
    return this.#points.stats;
  }

  /**
   * What is offered now: frozen and numbered; the same object as long as nothing changes. Starts nothing. Throws HostError
   * `ERR_STORE`.
   */
  snapshot(): Promise<Snapshot> {
    return this.#generations.read();
  }

  /** A capability as the present generation offers it, by full id or by a name that only one has. Throws as `resolve` does. */
  async handle(id: string): Promise<Handle> {
    for (;;) {
      const { number: generation } = this.#generations;
      const { capability: { fullId, surface }, plugin, holding } = await this.#calls.callable(id);
      if (generation !== this.#generations.number) continue; // what was found may be of either
      const facts = { id: fullId, surface, plugin: plugin.name, generation };
      return this.#handles.make(facts, holding.approval.lineage, {
        call: (...given) => this.call(...given),
        stream: (...given) => this.stream(...given),
      });
    }
  }

  /**
   * Starts all that a plugin exposes before anybody calls it, or nothing of it. Throws what a call throws before it reaches
   * the target; ActivationError `ERR_ACTIVATION_CANCELLED` where the signal aborts, and `ERR_ACTIVATION_ROLLBACK_FAILED` where
   * undoing failed as well.
   */
  async activate(name: string, options: ActivateOptions = {}): Promise<void> {
    await this.#starts.activate(name, options);
  }

  /**
   * Starts all plugins that are trusted and enabled, a few at a time and under one budget, and tells what became of each in the
   * order of the list. When one that is required fails, or the signal aborts, what was begun is undone and its error thrown.
   */
  async activateAll(options: ActivateAllOptions = {}): Promise<readonly StartedPlugin[]> {
    return await this.#starts.activateAll(options);
  }

  /** How far each plugin that is trusted has come. Starts nothing. */
  async progress(): Promise<readonly PluginProgress[]> {
    return await this.#starts.progress();
  }

  /**
   * Builds anew from the disk: what runs, and what was required, is started beside what runs, and takes its place as a whole;
   * what was begun before ends as it was begun. When anything fails, all stays as it was. While one is being built, exactly one
   * more waits. Throws what `activate` throws.
   */
  reload(): Promise<Snapshot> {
    return this.#starts.reload();
  }

  /**
   * Takes no further call, runs what plugins want done at their end, in the reverse order of their start, and gives what failed.
   * Doing it twice gives the same promise. The host does it before it closes.
   */
  stop(): Promise<readonly SallyportError[]> {
    this.#starts.stopped();
    return this.#parts.runner.stopAll();
  }

  /**
   * The plugin's own text files, as approved. Throws TrustError for a plugin that is not trusted as it is, ResourceError.
   */
  async resources(name: string): Promise<PluginResources> {
    const plugin = await this.#catalog.plugin(name);
    return resourcesOf(plugin, approvalOf(plugin, await this.#approvals.standing(plugin)).fingerprint);
  }

  /**
   * Calls a capability for a plugin of the tenant that was granted its id: under the callee's own grants, cut by the caller's
   * where the policy says so, within the time that is left to the caller, and only where the callee lists it. Throws a PowerError for the guest. The host calls it.
   */
  async callForPlugin(id: string, input: unknown, origin: CallOrigin): Promise<unknown> {
    const { signal } = origin;
    const onDenial: CallOptions["onDenial"] = (denial) => origin.deny(denial);
    return await callForPlugin(id, origin, {
      find: () => this.#calls.find(id),
      call: (callee) => {
        const isCut = this.#policy.calls?.attenuate;
        const unit = isCut ? this.#attenuation.cut(callee.unit, origin.grant) : callee.unit;
        return this.#calls.run(callee, input, unit, { origin, signal, onDenial });
      },
      refused: (code) => {
        const facts = { call: origin.call, kind: "call", value: id, decision: "denied", rule: code } as const;
        this.#note({ type: "call", plugin: origin.plugin, ...facts });
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
    await this.#parts.calls.take();
    const callable = await this.#calls.callable(id);
    const { unit, capability, plugin } = callable;
    const grant = widened(unit.grant, ceilingLayer(ceiling, unit, this.#parts.explain));
    this.#trust.audit("grant", plugin.name, unit.fingerprint, { discover: capability.fullId, ceiling });
    const wider: Unit = { ...unit, key: JSON.stringify([unit.key, ceiling]), grant, tellsReads: true };
    const declared = {
      request: plugin.manifest.permissions,
      source: "manifest" as const,
      context: unit.context,
    };
    return await discoverUses(
      declared,
      (onUse) =>
        readWhole(
          this.#streams.open(
            capability.fullId,
            options,
            (inner) => this.#calls.run(callable, input, wider, { ...inner, onUse }),
          ),
        ),
    );
  }

  /**
   * Decides about a use as if the plugin, or one of its capabilities, made it now; of a plugin that is not trusted as it
   * is, what would be decided once all that it asks for were approved. Of what is denied it tells by which calls of other
   * plugins it may be reached. Runs nothing.
   */
  async explain(name: string, requirement: Requirement, capability?: string): Promise<Explanation> {
    return await this.#through.explain(name, requirement, capability);
  }

  /**
   * All that a plugin may use by way of others that it may call, and they: as things are now and, with `grants` or where the
   * plugin is not trusted, as they would be with it. Nothing where the policy cuts calls down to what their callers may. Runs
   * nothing. Throws CapabilityError, UsageError for grants that cannot be read, HostError `ERR_STORE`.
   */
  async throughCalls(name: string, grants?: PermissionRequest): Promise<readonly ThroughCall[]> {
    return await this.#through.of(name, grants);
  }

  /**
   * Adds to the plugin's trust record what was agreed to at the prompt; never more than its manifest asks for. Throws
   * TrustError where there is no record of the plugin as it is, HostError `ERR_STORE` or `ERR_AUDIT_FAILED`.
   */
  async saveAnswers(name: string, answers: readonly Answered[], approver: string): Promise<TrustRecord> {
    return await this.#generations.commit(() => this.#trust.saveAnswers(name, answers, approver));
  }

  /**
   * Lets a plugin run again that was switched off, or stopped for killing workers. Throws CapabilityError when there is none
   * of that name, CollisionError when it would take a name that another one has, HostError `ERR_STORE` or
   * `ERR_AUDIT_FAILED`.
   */
  async enable(name: string): Promise<Enabled> {
    return await this.#generations.commit(() => this.#switches.enable(name));
  }

  /**
   * Switches a plugin off: what runs of it has ended when this settles, its `stop` code has run, and what failed of that is
   * given. Its approval, what it exposes and its files stay as they are. Throws CapabilityError when there is none of that name or nobody has trusted it, HostError `ERR_STORE` or
   * `ERR_AUDIT_FAILED`.
   */
  async disable(name: string): Promise<readonly SallyportError[]> {
    return await this.#switches.disable(name);
  }

  /**
   * The emergency stop: takes back every approval, or blocks bytes whoever has approved them or will. What runs of them has
   * ended when it settles. Throws UsageError for what is no fingerprint, HostError `ERR_STORE` or `ERR_AUDIT_FAILED`.
   */
  async revoke(
    what: { readonly all: true } | { readonly fingerprint: string },
  ): Promise<readonly TrustKey[]> {
    return await this.#generations.commit(() => this.#switches.revoke(what));
  }

  /**
   * Forgets the approvals of plugins whose directory is gone for good, and tells which: one that comes back must be trusted
   * again, and starts with nothing. What plugins kept whose trust was forgotten a month ago is removed, and `onRemoved` told.
   * Throws HostError `ERR_STORE` or `ERR_AUDIT_FAILED`.
   */
  async prune(options: PruneOptions = {}): Promise<readonly TrustKey[]> {
    return await this.#switches.prune(options);
  }

  /**
   * Removes all that is kept of the tenant: approvals, secrets, storage, data folders. What runs has ended when this settles,
   * the log ends with a line about it, and its id may be opened anew. Throws HostError `ERR_STORE` or `ERR_AUDIT_FAILED`;
   * then it may be called again.
   */
  async delete(): Promise<void> {
    const { audit, confinement, secrets, erase } = this.#parts;
    await this.#switches.revoke({ all: true });
    for (const { name } of await secrets.list()) await secrets.delete(name);
    await this.close();
    const details = { tenant: "deleted" };
    writeEvent(audit, {
      type: "revoke",
      tenant: this.id,
      plugin: null,
      fingerprint: null,
      call: null,
      confinement,
      details,
    });
    await erase();
  }

  /**
   * Directories that no grant reaches, since plugins are there, or documents of the user's own; the same list for as long as none
   * was found beside them.
   */
  pluginRoots(): readonly string[] {
    const { roots } = this.#catalog;
    if (this.#roots?.of !== roots) this.#roots = { of: roots, all: [...roots, ...this.#local.folders] };
    return this.#roots.all;
  }

  /** Ends what runs; settles when the last call has ended. The host calls it. */
  async close(): Promise<void> {
    this.#authority.close();
    this.#starts.stopped();
    this.#points.close();
    await Promise.all([this.#commandHooks.close(), this.#parts.runner.close()]);
  }

  /** The same for a list, with whether anything was hashed for it. */
  async #glance(
    plugin: LoadedPlugin,
    view: RecordView,
    verify: boolean,
  ): Promise<Glanced> {
    const unusable = unusableState(plugin, []);
    if (unusable !== null) return { ...unusable, verified: false };
    const glance = await this.#approvals.glance(plugin, view, verify);
    const { verified } = glance;
    if (glance.standing !== null) return { ...stateOf(glance.standing), verified };
    const quarantined = await this.#quarantined(plugin, glance.fingerprint);
    return { ...quarantined ?? { state: "active", reason: null }, verified };
  }

  /** How it stands by itself, whatever other plugins there are. */
  async #ownState(plugin: LoadedPlugin): Promise<ReturnType<typeof stateOf>> {
    const unusable = unusableState(plugin, []);
    if (unusable !== null) return unusable;
    const standing = await this.#approvals.standing(plugin);
    if (standing.state !== "approved") return stateOf(standing);
    return await this.#quarantined(plugin, standing.approval.fingerprint.hash) ?? stateOf(standing);
  }

  #quarantined({ name: plugin }: LoadedPlugin, fingerprint: string): ReturnType<typeof quarantinedState> {
    return quarantinedState(this.#parts.quarantine, { tenant: this.id, plugin, fingerprint });
  }

  /** What runs under an approval that is over ends, and that is written down; it ends whether or not it can be. */
  #onEnd({ plugin, approval, tenure }: Holding): void {
    const { calls, error } = tenure;
    this.#parts.runner.end(tenure);
    if (calls === 0) return;
    try {
      this.#trust.audit("revoke", plugin.name, approval.fingerprint.hash, { code: error?.code, calls });
    } catch {
      // Nothing is done that would have to be told before: what is granted next is refused by the same log.
    }
  }

  /** What is trusted, enabled and exposed, and did not fail to start. */
  async #content(): Promise<Omit<Snapshot, "generation">> {
    const { plugins } = await this.#catalog.discover();
    const fresh = plugins.map((plugin) => this.#catalog.fresh(plugin));
    const exposed = await this.#exposures(fresh);
    const { stage } = this.#parts.runner;
    const offerings: Offering[] = [];
    for (
      const plugin of fresh.filter((each) => each.capabilities.some(({ fullId }) => exposed.has(fullId)))
    ) {
      if ((await this.#ownState(plugin)).state !== "active") continue;
      if ((await rivalsOf(plugin, fresh, this.#naming.isActive)).length > 0) continue;
      const standing = await this.#approvals.standing(plugin);
      if (standing.state !== "approved") continue;
      const facts = { place: plugin.source.directory, fingerprint: standing.approval.fingerprint.hash };
      offerings.push({
        plugin,
        troubleOf: (id) => stage.troubleOf(facts, id),
        saidOf: (capability) => this.#documents.said(plugin, standing.approval, capability),
      });
    }
    return contentOf(offerings, exposed, await findCollisions(fresh, exposed, this.#naming));
  }

  #exposures(plugins: readonly LoadedPlugin[]): Promise<ReadonlySet<string>> {
    return this.#switches.exposures(plugins);
  }

  #note(facts: Pick<AuditEvent, "type" | "plugin"> & Partial<AuditEvent>): void {
    const { audit, confinement } = this.#parts;
    writeEvent(audit, { tenant: this.id, fingerprint: null, call: null, confinement, ...facts });
  }
}
