/** What a tenant approves and takes back: looking, trusting, and what follows for what runs. */
import canonicalize from "canonicalize";
import {
  BundleError,
  CollisionError,
  HostError,
  type KindTable,
  ManifestError,
  type PathContext,
  TrustError,
} from "../permissions/mod.ts";
import type { Answered, AuditSink } from "../runtime/mod.ts";
import { writeEvent } from "./audit/write_event.ts";
import type { Authority } from "./authority.ts";
import type { Bundler } from "./bundler/mod.ts";
import type { Catalog } from "./catalog.ts";
import { diffPins, type PluginDiff } from "./diff.ts";
import type { Generations } from "./generations.ts";
import { refuseBrokenDocuments } from "./documents/own_documents.ts";
import { contextOf, grantPlugin } from "./grant_plugin.ts";
import { type OwnSpaces, temporaryLineage } from "./own_spaces.ts";
import type { Manifest } from "./manifest/mod.ts";
import { type GrantedPlugin, type LoadedPlugin, placeOf } from "./plugin.ts";
import { packageVersions } from "./npm_packages.ts";
import { type NamingParts, refuseAct, rivalsOf, twinsOf } from "./naming.ts";
import { approvalOf, lookAgain, refuseUnusable } from "./plugin_state.ts";
import type { TenantPolicy } from "./policy.ts";
import { findCapability } from "./registry.ts";
import { type FormerTrust, type PluginReview, previewGrants, reviewPlugin } from "./review.ts";
import { type RequestedSecret, requestedSecrets, type TenantSecrets } from "./secrets/mod.ts";
import type { ApprovalOptions, TrustOptions } from "./tenant_types.ts";
import {
  type Approval,
  type Approvals,
  argvHashes,
  type Fingerprint,
  grantsOf,
  type Narrowing,
  newLineage,
  onlyKey,
  type Pins,
  placeOfKey,
  type TrustKey,
  type TrustRecord,
  withAnswers,
} from "./trust/mod.ts";
import { pinPlugin } from "./trust/pin_plugin.ts";

/** What trusting works with. */
export interface TenantTrustParts {
  /** Id of the tenant. */
  readonly tenant: string;
  /** The ceiling. */
  readonly policy: TenantPolicy;
  /** Cuts down what every plugin is granted. */
  readonly narrowing: Narrowing | undefined;
  /** Its plugins. */
  readonly catalog: Catalog;
  /** What it approved. */
  readonly approvals: Approvals;
  /** What runs under approvals. */
  readonly authority: Authority;
  /** Where decisions are written down. */
  readonly audit: AuditSink;
  /** What bundles. */
  readonly bundler: Pick<Bundler, "bundle">;
  /** What workers reach, for the audit. */
  readonly confinement: string;
  /** What plugins keep between calls. */
  readonly spaces: OwnSpaces;
  /** What its owner keeps for its plugins. */
  readonly secrets: Pick<TenantSecrets, "bindings">;
  /** The kinds of permission that exist. */
  readonly kinds: KindTable;
  /** What names are looked up with. */
  readonly naming: NamingParts;
  /** Full ids that these plugins expose. */
  readonly exposed: (plugins: readonly LoadedPlugin[]) => Promise<ReadonlySet<string>>;
  /** Called when the first plugin may run. */
  readonly warm: () => void;
  /** Makes a change of what is offered. */
  readonly commit: Generations["commit"];
}

/** Approves for one tenant. */
export class TenantTrust {
  readonly #parts: TenantTrustParts;

  /** Approves nothing yet. */
  constructor(parts: TenantTrustParts) {
    this.#parts = parts;
  }

  /** The fingerprint of what is there now. */
  pin(plugin: LoadedPlugin): Promise<Fingerprint> {
    return pinPlugin(plugin, this.#parts.bundler, this.#parts.tenant);
  }

  /** Approves what has this fingerprint, and nothing else. */
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

  /** Looks at a plugin for an approval of the very bytes that were looked at (T17). */
  async review(name: string): Promise<PluginReview> {
    const { catalog, kinds, naming } = this.#parts;
    const plugin = await catalog.plugin(name);
    const { plugins } = await catalog.discover();
    const { isActive } = naming;
    refuseUnusable(plugin, await rivalsOf(plugin, plugins, isActive));
    await this.#refuseTwin(plugin, plugins);
    refuseBrokenDocuments(plugin);
    const fingerprint = await this.pin(plugin);
    const record = await this.#quietRecord(plugin);
    const context = this.contextOf(plugin, record?.lineage ?? newLineage());
    return {
      ...reviewPlugin(plugin, fingerprint, kinds),
      former: await this.#former(plugin, fingerprint, record, context),
      grants: (flags) => previewGrants(grantsOf(plugin.manifest.permissions, flags, context), context),
      approve: (options) => this.#parts.commit(() => this.#approve(plugin, fingerprint, options)),
    };
  }

  /** What became of a plugin since it was approved. Throws TrustError where it was not. */
  async diff(name: string): Promise<PluginDiff> {
    const { catalog, approvals } = this.#parts;
    const plugin = await catalog.plugin(name);
    const approval = await approvals.approved(plugin);
    if (approval === null) {
      throw new TrustError(
        "ERR_TRUST_UNKNOWN",
        `Cannot tell what changed in plugin "${name}": there is no trust record to compare it with. ${
          lookAgain(placeOf(plugin))
        }`,
        { details: { plugin: name, directory: plugin.source.directory } },
      );
    }
    const { fingerprint: before, approver, lineage } = approval;
    const { pins, found, problem } = await this.#pinsNow(plugin, before);
    return {
      name,
      directory: plugin.source.directory,
      trusted: before.hash,
      approver,
      found,
      problem,
      ...diffPins(before, pins, this.contextOf(plugin, lineage), {
        before: approval.packages ?? {},
        after: packageVersions(plugin.source, Object.keys(pins.files)),
      }),
    };
  }

  /** Takes trust back; what runs under it has ended when this settles. */
  async untrust(nameOrDirectory: string): Promise<TrustKey> {
    const { approvals, authority } = this.#parts;
    const keys = await approvals.matching((key) =>
      key.name === nameOrDirectory || placeOfKey(key) === nameOrDirectory
    );
    const key = onlyKey(nameOrDirectory, keys);
    this.audit("revoke", key.name, null, { directory: key.directory });
    await approvals.forget(key);
    authority.revoke(key);
    return key;
  }

  /** Adds what was agreed to at the prompt to the plugin's record. */
  async saveAnswers(name: string, answers: readonly Answered[], approver: string): Promise<TrustRecord> {
    const { approvals, catalog, authority } = this.#parts;
    const plugin = await catalog.plugin(name);
    const approval = approvalOf(plugin, await approvals.standing(plugin));
    const record = await approvals.record(plugin);
    if (record === null) {
      throw new TrustError(
        "ERR_TRUST_UNKNOWN",
        `Cannot save answers about plugin "${name}": it has no trust record. Trust it first`,
        { details: { plugin: name } },
      );
    }
    const context = this.contextOf(plugin, approval.lineage);
    const grants = withAnswers(plugin.manifest.permissions, record.grants, answers, context);
    const { hash } = approval.fingerprint;
    this.audit("trust", name, hash, { approver, kept: true, exposed: record.exposed, grants });
    await approvals.keep(plugin, { ...approval, approver, grants });
    await authority.reconsider();
    return { ...record, approver, grants };
  }

  /** What a plugin asks of secrets, and how it stands: as it is trusted or, if it is not, once it is. */
  async requestedSecrets(plugin: LoadedPlugin): Promise<readonly RequestedSecret[]> {
    const { approvals, secrets } = this.#parts;
    const { name, manifest, source } = plugin;
    const lineage = approvals.lineage(plugin) ?? (await this.#quietRecord(plugin))?.lineage ?? newLineage();
    const user = { plugin: name, place: source.directory, bundle: plugin, own: { lineage } };
    return requestedSecrets(manifest.permissions, await orNull(secrets.bindings()), user);
  }

  /** What an approval grants. Throws NotCapableError where less is granted than is required. */
  grant(plugin: LoadedPlugin, { fingerprint, approver, lineage, grants, flags }: Approval): GrantedPlugin {
    const { narrowing, policy, spaces, kinds } = this.#parts;
    const trusted = { ...plugin, fingerprint, approver, lineage };
    return grantPlugin(trusted, { grants, flags, narrowing }, policy, spaces.dataOf(lineage), kinds);
  }

  /** Where the paths of a plugin start. */
  contextOf(plugin: LoadedPlugin, lineage: string): PathContext {
    const { policy, spaces, kinds } = this.#parts;
    return contextOf(plugin.source.directory, policy, spaces.dataOf(lineage), kinds);
  }

  /** Writes down a decision about a plugin. Throws HostError `ERR_AUDIT_FAILED`. */
  audit(
    type: "trust" | "revoke" | "grant" | "expose",
    plugin: string,
    fingerprint: string | null,
    details: Readonly<Record<string, unknown>>,
  ): void {
    const { audit, tenant, confinement } = this.#parts;
    writeEvent(audit, { type, tenant, plugin, fingerprint, call: null, confinement, details });
  }

  async #approve(plugin: LoadedPlugin, fingerprint: Fingerprint, options: ApprovalOptions): Promise<void> {
    const { approvals, authority, warm } = this.#parts;
    const { approver, flags, keep = true } = options;
    const exposed = (options.expose ?? []).map((id) => findCapability(id, plugin.capabilities).fullId);
    await this.#refuseCollision(plugin, exposed);
    const isKept = keep && approvals.isKept;
    const before = isKept ? (await approvals.record(plugin))?.lineage : approvals.lineage(plugin);
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
          this.contextOf(plugin, lineage),
        ),
      }
      : { fingerprint, approver, lineage, exposed, grants: options.grants, flags };
    await approvals.refuseUnbelievable(plugin, approval);
    this.grant(plugin, approval); // what is required must be granted, or there is nothing to approve
    this.audit("trust", plugin.name, fingerprint.hash, { approver, kept: isKept, exposed });
    if (isKept) await approvals.keep(plugin, approval);
    else approvals.approve(plugin, approval);
    await authority.reconsider();
    warm();
  }

  /** What was trusted before, and what differs from it. */
  async #former(
    plugin: LoadedPlugin,
    fingerprint: Fingerprint,
    record: TrustRecord | null,
    context: PathContext,
  ): Promise<FormerTrust | null> {
    const approval = await orNull(this.#parts.approvals.approved(plugin));
    if (approval === null) return null;
    const { fingerprint: before, approver, exposed, grants = plugin.manifest.permissions } = approval;
    const diff = diffPins(before, fingerprint, context);
    const granted = previewGrants(grants, context);
    // The cast holds: pins are made of manifests that were read and found valid.
    const isAsRecorded = record?.argv === undefined ||
      canonicalize(record.argv) === canonicalize(argvHashes(before.manifest as Manifest));
    // For another project all of it is asked about anew (T13).
    const isSamePlace = record === null || granted.project === null ||
      record.projects?.includes(granted.project) === true;
    return {
      approver,
      exposed,
      grants: granted,
      diff: { ...diff, isArgvAlone: diff.isArgvAlone && isAsRecorded && isSamePlace },
    };
  }

  /** Where the plugin cannot be bundled as it is, the graph is the one that was approved, and files are compared one by one. */
  async #pinsNow(
    plugin: LoadedPlugin,
    before: Pins,
  ): Promise<{ readonly pins: Pins; readonly found: string | null; readonly problem: string | null }> {
    try {
      const now = await this.pin(plugin);
      return { pins: now, found: now.hash, problem: null };
    } catch (error) {
      if (!(error instanceof BundleError || error instanceof ManifestError)) throw error;
      const hashOf = (path: string): readonly (readonly [string, string])[] => {
        try {
          return [[path, plugin.source.hash(path)]];
        } catch {
          return []; // gone, or no file any more
        }
      };
      const files = Object.fromEntries(Object.keys(before.files).flatMap(hashOf));
      return { pins: { ...before, manifest: plugin.manifest, files }, found: null, problem: error.message };
    }
  }

  /** What an approval exposes takes no name that another one has; what is offered stays so (T23). */
  async #refuseCollision(plugin: LoadedPlugin, ids: readonly string[]): Promise<void> {
    const { catalog, naming, exposed } = this.#parts;
    const { plugins } = await catalog.discover();
    await refuseAct(
      { what: `trust plugin "${plugin.name}" and expose it`, plugin, ids },
      plugins,
      await exposed(plugins),
      naming,
    );
  }

  /** Of two that nobody has trusted, a name does not say which one is to be (T13). */
  async #refuseTwin(plugin: LoadedPlugin, all: readonly LoadedPlugin[]): Promise<void> {
    const twins = twinsOf(plugin, all);
    if (twins.length === 0 || await this.#parts.approvals.isKnown(plugin)) return;
    const candidates = [plugin, ...twins].map(placeOf);
    throw new CollisionError(
      "ERR_NAME_AMBIGUOUS",
      `Cannot tell which "${plugin.name}" is meant: ${
        candidates.join(", ")
      } have that name. Name the directory`,
      { details: { name: plugin.name, candidates } },
    );
  }

  /** For a display: a store that cannot be used refuses when it is written. */
  #quietRecord(plugin: LoadedPlugin): Promise<TrustRecord | null> {
    return orNull(this.#parts.approvals.record(plugin));
  }
}

function orNull<Value>(store: Promise<Value>): Promise<Value | null> {
  return store.catch((error: unknown) => {
    if (error instanceof HostError) return null;
    throw error;
  });
}
