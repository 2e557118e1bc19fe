/**
 * One tenant: its plugins, what it approved and exposed, and the calls into them. It walks the stages of DESIGN and holds
 * no rules of its own; nothing of it is shared with another tenant.
 */
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { CapabilityError, type PermissionRequest, SallyportError, TrustError } from "../permissions/mod.ts";
import type { AuditSink } from "../runtime/mod.ts";
import type { Bundler } from "./bundler/mod.ts";
import { bundleFiles } from "./bundle_files.ts";
import { type Approved, grantPlugin } from "./grant_plugin.ts";
import { checkPlugin, isLive, type PluginCheck } from "./check_plugin.ts";
import { inputProblem } from "./input.ts";
import { fixedLoader, type Loader } from "./loaders/mod.ts";
import type { Manifest } from "./manifest/mod.ts";
import {
  type GrantedPlugin,
  type InvalidPlugin,
  type LoadedPlugin,
  loadPlugin,
  type TrustedPlugin,
} from "./plugin.ts";
import { limitsOf, type TenantPolicy } from "./policy.ts";
import { findCapability } from "./registry.ts";
import type { CallOptions, Runner, Unit } from "./runner.ts";
import { type Capability } from "./surfaces/mod.ts";
import { departureFrom, type Fingerprint } from "./trust/mod.ts";
import { pinPlugin } from "./trust/pin_plugin.ts";

/** How a tenant is opened. */
export interface TenantOptions {
  /** The ceiling; absent is nothing at all. */
  readonly policy?: TenantPolicy;
  /** Where plugins are: a loader, or a list of directories. */
  readonly plugins: Loader | readonly string[];
}

/** What a host gives to its tenant. */
export interface TenantParts {
  /** Runs targets. */
  readonly runner: Runner;
  /** Where decisions are written down. */
  readonly audit: AuditSink;
  /** What bundles. */
  readonly bundler: Pick<Bundler, "bundle">;
  /** What workers reach. */
  readonly confinement: string;
  /** Where plugins' own folders are. */
  readonly dataRoot: string;
  /** Called when the first plugin may run. */
  readonly warm: () => void;
}

/** In which state a plugin is. */
export type PluginState = "active" | "untrusted" | "changed" | "incompatible" | "invalid" | "collision";

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
export interface TrustOptions {
  /** `sha256:…` of what was looked at; must be that of what is there. */
  readonly fingerprint: string;
  /** Who approves, for the record and the audit. */
  readonly approver: string;
  /** Less than the manifest asks; absent is all that it asks, under the policy. */
  readonly grants?: PermissionRequest;
  /** Cuts down the kinds that it mentions and leaves the others; relative paths start at `cwd`. */
  readonly flags?: { readonly permissions: PermissionRequest; readonly cwd: string };
}

interface Approval extends Approved {
  readonly fingerprint: Fingerprint;
  readonly approver: string;
}

interface Catalog {
  readonly plugins: readonly LoadedPlugin[];
  readonly invalid: readonly InvalidPlugin[];
}

/** One customer. */
export class Tenant {
  /** Its id. */
  readonly id: string;
  readonly #policy: TenantPolicy;
  readonly #loader: Loader;
  readonly #parts: TenantParts;
  readonly #approvals = new Map<LoadedPlugin, Approval>();
  readonly #exposed = new Set<string>();
  #catalog: Promise<Catalog> | undefined;
  #roots: readonly string[] = [];

  /** Use `host.tenant`. */
  constructor(id: string, options: TenantOptions, parts: TenantParts) {
    this.id = id;
    this.#policy = options.policy ?? {};
    this.#loader = "load" in options.plugins ? options.plugins : fixedLoader(options.plugins);
    this.#parts = parts;
  }

  /** Every plugin that was found, in the loader's order. Reads manifests, and no code. */
  async list(): Promise<readonly PluginRow[]> {
    const { plugins, invalid } = await this.#discover();
    return [...plugins.map((plugin) => this.#row(plugin, plugins)), ...invalid.map(invalidRow)];
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
   * Approves a plugin as it is, for this process. Throws TrustError when it is not what the fingerprint says, and what
   * `fingerprint` throws.
   */
  async trust(name: string, options: TrustOptions): Promise<void> {
    const plugin = await this.#plugin(name);
    refuseUnusable(plugin, (await this.#discover()).plugins);
    const fingerprint = await this.#pin(plugin);
    if (fingerprint.hash !== options.fingerprint) {
      throw new TrustError(
        "ERR_TRUST_CHANGED",
        `Cannot trust plugin "${name}": its fingerprint is ${fingerprint.hash}, not ${options.fingerprint}. Look at it again, and approve what is there now`,
        { details: { plugin: name, found: fingerprint.hash, approved: options.fingerprint } },
      );
    }
    const approval = { ...options, fingerprint };
    this.#grant(plugin, approval); // what is required must be granted, or there is nothing to approve
    this.#parts.audit.write({
      type: "trust",
      tenant: this.id,
      plugin: name,
      fingerprint: fingerprint.hash,
      call: null,
      confinement: this.#parts.confinement,
      details: { approver: options.approver },
    });
    this.#approvals.set(plugin, approval);
    this.#parts.warm();
  }

  /** Looks at a plugin as its author's gate does; runs nothing. Throws what `fingerprint` throws. */
  async check(name: string): Promise<PluginCheck> {
    const plugin = await this.#plugin(name);
    return await checkPlugin(plugin, await this.#pin(plugin), this.#parts.bundler, this.id);
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
    const { plugins } = await this.#discover();
    const capability = this.#find(id, plugins);
    const plugin = plugins.find(({ capabilities }) => capabilities.includes(capability))!;
    refuseUnusable(plugin, plugins);
    const granted = this.#verified(plugin);
    refuseNotLive(plugin, capability);
    if (!this.#exposed.has(capability.fullId)) {
      throw new CapabilityError(
        "ERR_CAPABILITY_NOT_EXPOSED",
        `Cannot call "${capability.fullId}": it is not exposed. Expose it with tenant.expose(["${capability.fullId}"])`,
      );
    }
    const problem = inputProblem(capability, input);
    if (problem !== null) throw problem;
    return await this.#parts.runner.call(this.#unit(granted, capability), input, options);
  }

  /** Directories that no grant reaches, since they are plugins'. */
  pluginRoots(): readonly string[] {
    return this.#roots;
  }

  /** Ends what runs. The host calls it. */
  close(): void {
    this.#parts.runner.close();
  }

  /** Concurrent first questions share one reading; a plugin that is invalid is excluded whole, and the rest goes on. */
  #discover(): Promise<Catalog> {
    this.#catalog ??= (async () => {
      const plugins: LoadedPlugin[] = [];
      const invalid: InvalidPlugin[] = [];
      for (const location of await this.#loader.load()) {
        try {
          plugins.push(loadPlugin(location));
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
    })();
    return this.#catalog;
  }

  async #plugin(name: string): Promise<LoadedPlugin> {
    const { plugins, invalid } = await this.#discover();
    const plugin = plugins.find((candidate) => candidate.name === name);
    if (plugin !== undefined) return plugin;
    const broken = invalid.find(({ location }) => basename(location.directory) === name);
    if (broken !== undefined) throw broken.error;
    throw new CapabilityError(
      "ERR_CAPABILITY_UNKNOWN",
      `Cannot find plugin "${name}": ${namesOf(plugins)}`,
      { details: { available: plugins.map((candidate) => candidate.name) } },
    );
  }

  #find(id: string, plugins: readonly LoadedPlugin[]): Capability {
    const all = plugins.flatMap(({ capabilities }) => capabilities);
    const exposed = all.filter(({ fullId }) => this.#exposed.has(fullId));
    // A bare name means an exposed capability; where none has it, one that is not exposed explains the refusal better.
    return exposed.some(({ name }) => name === id) ? findCapability(id, exposed) : findCapability(id, all);
  }

  #pin(plugin: LoadedPlugin): Promise<Fingerprint> {
    return pinPlugin(plugin, this.#parts.bundler, this.id);
  }

  /** Trusted, unchanged since, and granted: else a TrustError says which is missing. */
  #verified(plugin: LoadedPlugin): GrantedPlugin {
    const approval = this.#approvals.get(plugin);
    if (approval === undefined) {
      throw new TrustError(
        "ERR_TRUST_UNKNOWN",
        `Cannot run plugin "${plugin.name}": nobody has trusted it. Look at it, then approve its fingerprint`,
        { details: { plugin: plugin.name, directory: plugin.source.directory } },
      );
    }
    const changed = plugin.source.changed();
    if (changed.length > 0) throw changedError(plugin, changed);
    return this.#grant(plugin, approval);
  }

  #grant(plugin: LoadedPlugin, approval: Approval): GrantedPlugin {
    const trusted: TrustedPlugin = {
      ...plugin,
      fingerprint: approval.fingerprint,
      approver: approval.approver,
    };
    return grantPlugin(trusted, approval, this.#policy, join(this.#parts.dataRoot, plugin.name));
  }

  #unit(plugin: GrantedPlugin, capability: Capability): Unit {
    if (capability.target === undefined) {
      throw new TypeError(`capability "${capability.fullId}" has no target`);
    }
    const target = { path: capability.target.path, export: capability.target.exportName };
    const { read } = plugin.manifest.permissions;
    const isMutable = typeof read === "object" && "mutable" in read && read.mutable === true;
    return {
      key: `${plugin.fingerprint.hash} ${capability.fullId}`,
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
      grant: plugin.grant,
      context: plugin.context,
      bundle: bundleFiles(plugin.source, isMutable),
      environment: this.#policy.environment ?? {},
      limits: limitsOf(plugin.manifest.limits, this.#policy),
    };
  }

  #row(plugin: LoadedPlugin, all: readonly LoadedPlugin[]): PluginRow {
    const { manifest, location } = plugin;
    return {
      name: plugin.name,
      version: manifest.version,
      description: manifest.description ?? null,
      ...this.#stateOf(plugin, all),
      directory: location.directory,
      origin: location.origin,
      capabilities: plugin.capabilities.map(({ fullId, surface, description }) => ({
        id: fullId,
        surface,
        description: description ?? null,
        live: isLive(surface),
        exposed: this.#exposed.has(fullId),
      })),
      permissions: manifest.permissions,
    };
  }

  #stateOf(
    plugin: LoadedPlugin,
    all: readonly LoadedPlugin[],
  ): { state: PluginState; reason: string | null } {
    const unusable = unusableState(plugin, all);
    if (unusable !== null) return unusable;
    if (!this.#approvals.has(plugin)) return { state: "untrusted", reason: null };
    const changed = plugin.source.changed();
    return changed.length === 0
      ? { state: "active", reason: null }
      : { state: "changed", reason: `changed since it was trusted: ${changed.join(", ")}` };
  }
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

function unusableState(
  plugin: LoadedPlugin,
  all: readonly LoadedPlugin[],
): { state: PluginState; reason: string } | null {
  const twin = all.find((other) => other !== plugin && other.name === plugin.name);
  if (twin !== undefined) {
    return {
      state: "collision",
      reason: `"${plugin.source.directory}" and "${twin.source.directory}" have one name`,
    };
  }
  return plugin.incompatibleRange === null
    ? null
    : { state: "incompatible", reason: `it asks for Sallyport ${plugin.incompatibleRange}` };
}

function refuseUnusable(plugin: LoadedPlugin, all: readonly LoadedPlugin[]): void {
  const unusable = unusableState(plugin, all);
  if (unusable === null) return;
  const details = { plugin: plugin.name, ...unusable };
  throw new TrustError(
    "ERR_TRUST_INCOMPATIBLE",
    `Cannot use plugin "${plugin.name}": ${unusable.reason}`,
    { details },
  );
}

function refuseNotLive(plugin: LoadedPlugin, capability: Capability): void {
  const what = !isLive(capability.surface)
    ? `surface "${capability.surface}"`
    : !isDeepStrictEqual(plugin.manifest.lifecycle, {})
    ? "lifecycle code"
    : null;
  if (what === null) return;
  throw new CapabilityError(
    "ERR_CAPABILITY_NOT_LIVE",
    `Cannot use "${capability.fullId}": this version lists ${what} and cannot run it yet`,
    { details: { capability: capability.fullId, surface: capability.surface } },
  );
}

function changedError(plugin: LoadedPlugin, changed: readonly string[]): TrustError {
  return new TrustError(
    "ERR_TRUST_CHANGED",
    `Cannot run plugin "${plugin.name}": its files changed since it was trusted (${
      changed.join(", ")
    }). Look at it again, and trust it anew`,
    { details: { plugin: plugin.name, changed } },
  );
}

function namesOf(plugins: readonly LoadedPlugin[]): string {
  return plugins.length === 0
    ? "there are no plugins"
    : `there are ${plugins.map(({ name }) => `"${name}"`).join(", ")}`;
}
