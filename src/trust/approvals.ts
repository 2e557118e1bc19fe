/** What one tenant has approved: for this process, and in its store. */
import canonicalize from "canonicalize";
import { HostError, namesProject, type PermissionRequest, TrustError } from "../../permissions/mod.ts";
import { packageVersions } from "../npm_packages.ts";
import type { LoadedPlugin } from "../plugin.ts";
import { argvHashes } from "./argv.ts";
import { type Fingerprint, fingerprintOf } from "./fingerprint.ts";
import type { Narrowing } from "./grants.ts";
import { isGone } from "./gone.ts";
import { TRUST_LIMITS } from "./limits.ts";
import {
  idOfKey,
  keyAlone,
  type RecordChange,
  TRUST_ALGORITHM,
  type TrustKey,
  type TrustRecord,
  withChange,
} from "./record.ts";
import { lookEntry, looksAs, type StatIndex } from "./stat_index.ts";
import { ignoreStore, isSame, liveView, type RecordView, tell, type Told, toldView } from "./told.ts";
import type { TrustStore } from "./store.ts";
import { differences } from "./verify.ts";

/** One approval, wherever it is kept. */
export interface Approval {
  /** What was approved. */
  readonly fingerprint: Fingerprint;
  /** Who approved. */
  readonly approver: string;
  /** For what; absent is all that the manifest asks for. */
  readonly grants?: PermissionRequest | undefined;
  /** Cuts the grants down further, in this process. */
  readonly flags?: Narrowing | undefined;
  /** Whether the plugin is switched off. */
  readonly isDisabled?: boolean | undefined;
  /** Names storage and data folder. */
  readonly lineage: string;
  /** Full ids that may be called. */
  readonly exposed: readonly string[];
  /** Versions that npm packages in it said they are, by folder; for displays. */
  readonly packages?: Readonly<Record<string, string>> | undefined;
}

/** How a plugin stands with its approvals. */
export type Standing =
  | { readonly state: "approved"; readonly approval: Approval }
  | { readonly state: "untrusted"; readonly reason: string | null; readonly cause: HostError | null }
  | { readonly state: "disabled"; readonly reason: string; readonly isBlocked: boolean }
  | { readonly state: "changed"; readonly reason: string; readonly changed: readonly string[] };

/** Whose approvals they are. */
export interface ApprovalsOptions {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Where they outlive the process; absent is nowhere. */
  readonly store?: TrustStore | undefined;
  /** What `$project` stands for; absent is unmapped. */
  readonly project?: string | undefined;
  /** Fingerprints that nobody may run, beside those of the store. */
  readonly blocked?: readonly string[] | undefined;
  /** Whether a record is believed, beside its own soundness; absent is always. */
  readonly verify?: VerifyApproval | undefined;
  /** Where it is kept how files looked that were as approved; absent is nowhere. */
  readonly index?: StatIndex | undefined;
  /** Told of what a plugin kept under a record that is about to be forgotten. Throws HostError `ERR_STORE`. */
  readonly retire?: (lineage: string, key: TrustKey) => Promise<void>;
}

/** Says whether an approval counts: a second signature, a rule of the house. What it throws is a no. */
export type VerifyApproval = (record: TrustRecord) => boolean | Promise<boolean>;

/**
 * How a plugin stands as far as a list tells: what keeps it from running or, of what is approved, its fingerprint. `verified` is
 * false where nothing was hashed for it in this process (T27).
 */
export type Glance =
  & { readonly verified: boolean }
  & (
    | { readonly standing: Exclude<Standing, { readonly state: "approved" }> }
    | { readonly standing: null; readonly fingerprint: string }
  );

/** What one approval exposes, whatever its plugin is now. */
export interface ApprovedExposure extends Pick<Approval, "exposed" | "grants" | "flags" | "lineage"> {
  /** Which plugin. */
  readonly key: TrustKey;
  /** Whether the plugin is switched off. */
  readonly isDisabled: boolean;
  /** `sha256:…` of what was approved. */
  readonly hash: string;
  /** What was approved; null where the list of it is gone or damaged. */
  readonly pins: () => Promise<Fingerprint | null>;
}

/** The approvals of one tenant. */
export class Approvals {
  readonly #tenant: string;
  readonly #store: TrustStore | undefined;
  readonly #project: string | undefined;
  readonly #blocked: readonly string[];
  readonly #verify: VerifyApproval | undefined;
  readonly #index: StatIndex | undefined;
  readonly #retire: ApprovalsOptions["retire"];
  readonly #ofProcess = new Map<string, Approval>();
  /** Pins that a plugin's memory was compared with and found equal to; that memory never changes. */
  readonly #verified = new WeakMap<LoadedPlugin, Fingerprint>();
  /** Readings that are not what was approved: the next question takes a new one, since what was changed may be undone. */
  readonly #departed = new WeakSet<LoadedPlugin>();
  /** What the store said at the last look; why it cannot be believed, where it could not. */
  #seen: Told | string | null = null;

  /** Reads nothing yet. */
  constructor({ tenant, store, project, blocked = [], verify, index, retire }: ApprovalsOptions) {
    this.#tenant = tenant;
    this.#store = store;
    this.#project = project;
    this.#blocked = blocked;
    this.#verify = verify;
    this.#index = index;
    this.#retire = retire;
  }

  /** Whether approvals outlive the process. */
  get isKept(): boolean {
    return this.#store !== undefined;
  }

  /** What a record of this plugin is found by. */
  keyOf({ name, source, location: { link } }: LoadedPlugin): TrustKey {
    return keyAlone({ tenant: this.#tenant, directory: source.directory, name, ...(link && { link }) });
  }

  /**
   * How the plugin stands now: its approval is compared with the bytes in its memory, and those with the disk. A store that
   * cannot be believed has approved nothing.
   */
  async standing(plugin: LoadedPlugin, view: RecordView = liveView(this.#store)): Promise<Standing> {
    const approval = this.#ofProcess.get(idOfKey(this.keyOf(plugin))) ?? await this.#kept(plugin, view);
    if ("state" in approval) return approval;
    const stopped = await this.#stopped(approval.isDisabled, approval.fingerprint.hash, view);
    if (stopped !== null) return stopped;
    const wasVerified = this.#verified.get(plugin)?.hash === approval.fingerprint.hash;
    const changed = wasVerified ? plugin.source.changed() : differences(plugin, approval.fingerprint);
    if (changed.length === 0) {
      this.#verified.set(plugin, approval.fingerprint);
      if (!wasVerified) this.#noteLook(plugin, approval.fingerprint.hash);
      return { state: "approved", approval };
    }
    this.#departed.add(plugin);
    return { state: "changed", reason: `changed since it was trusted: ${changed.join(", ")}`, changed };
  }

  /**
   * How the plugin stands, for a list: where its files look as they did when they were what is approved, they are not read.
   * Nothing that runs may rest on it.
   */
  async glance(plugin: LoadedPlugin, view: RecordView, isHashing: boolean): Promise<Glance> {
    if (!isHashing && this.#index !== undefined && !this.isOfProcess(plugin)) {
      const record = await this.#believed(plugin, view);
      if ("fingerprint" in record && this.#looksApproved(plugin, record.fingerprint, this.#index)) {
        const standing = await this.#stopped(record.disabled, record.fingerprint, view);
        return standing === null
          ? { standing, fingerprint: record.fingerprint, verified: false }
          : { standing, verified: false };
      }
    }
    const standing = await this.standing(plugin, view);
    return standing.state === "approved"
      ? { standing: null, fingerprint: standing.approval.fingerprint.hash, verified: true }
      : { standing, verified: standing.state === "changed" && standing.changed.length > 0 };
  }

  /** What the store says now, asked once for a question about many plugins. */
  view(): Promise<RecordView> {
    return toldView(this.#store, this.#tenant);
  }

  /** Keeps what was seen of files; for the end of a question, so that it is written once. */
  flush(): void {
    this.#index?.flush?.();
  }

  /** Whether this reading of a plugin still is the disk's, as far as it looked, and was not found to be changed. */
  isCurrent(plugin: LoadedPlugin): boolean {
    return !this.#departed.has(plugin) && plugin.source.changed().length === 0;
  }

  /** The sound record of a plugin, whatever its bytes are now; null where there is none. Throws HostError `ERR_STORE`. */
  async record(plugin: LoadedPlugin): Promise<TrustRecord | null> {
    const stored = await liveView(this.#store).get(this.keyOf(plugin));
    return stored?.isSound ? stored.record : null;
  }

  /** Whether the store says something else than at the look before. The first look finds nothing new. */
  async look(): Promise<boolean> {
    const before = this.#seen;
    const now = await tell(this.#store, this.#tenant).catch((error: unknown) => {
      if (error instanceof HostError) return error.message;
      throw error;
    });
    this.#seen = now;
    return before !== null && !isSame(before, now);
  }

  /** Full ids that the approvals of these plugins expose; of a store that cannot be believed, none. */
  async exposed(plugins: readonly LoadedPlugin[]): Promise<readonly string[]> {
    const stored = await this.#store?.list(this.#tenant).catch(ignoreStore) ?? [];
    const kept = new Map(
      stored.flatMap((each) => each.isSound ? [[idOfKey(each.record), each.record.exposed] as const] : []),
    );
    return plugins.flatMap((plugin) => {
      const id = idOfKey(this.keyOf(plugin));
      return this.#ofProcess.get(id)?.exposed ?? kept.get(id) ?? [];
    });
  }

  /** What was approved of a plugin, whatever it is now; null where nothing was, or its pins are gone. Throws HostError `ERR_STORE`. */
  async approved(plugin: LoadedPlugin): Promise<Approval | null> {
    const ofProcess = this.#ofProcess.get(idOfKey(this.keyOf(plugin)));
    if (ofProcess !== undefined) return ofProcess;
    const record = await this.record(plugin);
    const fingerprint = record === null ? null : await this.#pinsOf(record.fingerprint);
    return record === null || fingerprint === null ? null : { ...record, fingerprint };
  }

  /** What every approval exposes, whether or not its plugin is there. Throws HostError `ERR_STORE`. */
  async exposures(): Promise<readonly ApprovedExposure[]> {
    const stored = await this.#store?.list(this.#tenant) ?? [];
    const kept = stored.flatMap((each): ApprovedExposure[] => {
      if (!each.isSound) return [];
      const { fingerprint, exposed, grants, lineage, disabled } = each.record;
      const isDisabled = disabled === true;
      const pins = (): Promise<Fingerprint | null> => this.#pinsOf(fingerprint);
      return [{ key: each.record, exposed, grants, lineage, isDisabled, hash: fingerprint, pins }];
    });
    const ofProcess = [...this.#ofProcess].map(([id, approval]): ApprovedExposure => {
      const { fingerprint, exposed, grants, flags, lineage, isDisabled = false } = approval;
      const pins = (): Promise<Fingerprint> => Promise.resolve(fingerprint);
      return { key: keyOfId(id), exposed, grants, flags, lineage, isDisabled, hash: fingerprint.hash, pins };
    });
    return [...ofProcess, ...kept.filter(({ key }) => !this.#ofProcess.has(idOfKey(key)))];
  }

  /** The lineage under which this process alone approved a plugin. */
  lineage(plugin: LoadedPlugin): string | undefined {
    return this.#ofProcess.get(idOfKey(this.keyOf(plugin)))?.lineage;
  }

  /** The lineages of all that was approved, in the store or in this process; of a broken record, none. Throws HostError `ERR_STORE`. */
  async lineages(): Promise<readonly (TrustKey & Pick<Approval, "lineage">)[]> {
    const stored = await this.#store?.list(this.#tenant) ?? [];
    return [
      ...stored.flatMap((each) => each.isSound ? [each.record] : []),
      ...[...this.#ofProcess].map(([id, { lineage }]) => ({ ...keyOfId(id), lineage })),
    ];
  }

  /** The lineages that any approval names; null where a broken record may name another one. Throws HostError `ERR_STORE`. */
  async lineagesInUse(): Promise<ReadonlySet<string> | null> {
    const stored = await this.#store?.list(this.#tenant) ?? [];
    if (stored.some(({ isSound }) => !isSound)) return null;
    return new Set((await this.lineages()).map(({ lineage }) => lineage));
  }

  /** Whether it was approved, whatever it is now; by a store that cannot be believed, nothing was. */
  async isKnown(plugin: LoadedPlugin): Promise<boolean> {
    if (this.isOfProcess(plugin)) return true;
    const stored = await this.#store?.get(this.keyOf(plugin)).catch(ignoreStore) ?? null;
    return stored !== null && "isSound" in stored;
  }

  /** Whether this process alone approved it. */
  isOfProcess(plugin: LoadedPlugin): boolean {
    return this.#ofProcess.has(idOfKey(this.keyOf(plugin)));
  }

  /** Whether nobody may run these bytes. Throws HostError `ERR_STORE`. */
  async isBlocked(fingerprint: string): Promise<boolean> {
    return this.#blocked.includes(fingerprint) ||
      (await this.#store?.blocked?.() ?? []).includes(fingerprint);
  }

  /** Lets nobody run these bytes any more. Throws TypeError for a store that keeps no such list, HostError `ERR_STORE`. */
  async block(fingerprint: string): Promise<void> {
    if (this.#store?.block === undefined) throw new TypeError("there is no store that blocks");
    await this.#store.block(fingerprint);
  }

  /**
   * Changes what an approval says of its plugin's use, wherever it is kept; false where there is none. Throws HostError
   * `ERR_STORE`.
   */
  async change(plugin: LoadedPlugin, change: RecordChange): Promise<boolean> {
    const key = this.keyOf(plugin);
    const own = this.#ofProcess.get(idOfKey(key));
    if (own !== undefined) {
      const { exposed = own.exposed, disabled = own.isDisabled } = change;
      this.#ofProcess.set(idOfKey(key), { ...own, exposed, isDisabled: disabled });
      return true;
    }
    if (this.#store?.update !== undefined) return await this.#store.update(key, change) !== null;
    const record = await this.record(plugin);
    const pins = record === null ? null : await this.#pinsOf(record.fingerprint);
    if (record === null || pins === null) return false;
    await this.#store!.put(withChange(record, change), pins);
    return true;
  }

  /**
   * Forgets records whose directory is gone for good, and tells which; what merely cannot be reached, as on a disk that is
   * not mounted, is kept (T13). Throws HostError `ERR_STORE`.
   */
  async prune(): Promise<readonly TrustKey[]> {
    const gone = await this.matching(isGone);
    for (const key of gone) await this.forget(key);
    return gone;
  }

  /** What an approval would be as a record. */
  recordOf(plugin: LoadedPlugin, approval: Approval): Omit<TrustRecord, "projects"> {
    const { fingerprint, exposed, approver, lineage } = approval;
    return {
      ...this.keyOf(plugin),
      algorithm: TRUST_ALGORITHM,
      fingerprint: fingerprint.hash,
      grants: approval.grants ?? plugin.manifest.permissions,
      exposed,
      approver,
      approvedAt: new Date().toISOString(),
      lineage,
      ...packagesOf(plugin, fingerprint),
      ...argvOf(plugin),
    };
  }

  /** Throws TrustError where the bytes are blocked, or the host's own check refuses the approval. */
  async refuseUnbelievable(plugin: LoadedPlugin, approval: Approval): Promise<void> {
    const { hash } = approval.fingerprint;
    const isBlocked = await this.isBlocked(hash);
    if (!isBlocked && await this.#isVerified(this.recordOf(plugin, approval))) return;
    const why = isBlocked ? `its fingerprint ${hash} is blocked` : "the host's own check refuses it";
    throw new TrustError(
      isBlocked ? "ERR_TRUST_DISABLED" : "ERR_TRUST_UNKNOWN",
      `Cannot trust plugin "${plugin.name}": ${why}`,
      {
        details: { plugin: plugin.name, fingerprint: hash },
      },
    );
  }

  /** Approves for this process alone. */
  approve(plugin: LoadedPlugin, approval: Approval): void {
    this.#ofProcess.set(idOfKey(this.keyOf(plugin)), {
      ...approval,
      ...packagesOf(plugin, approval.fingerprint),
    });
    this.#verified.set(plugin, approval.fingerprint);
  }

  /** Approves in the store, in the place of what this process had approved. Throws HostError `ERR_STORE`. */
  async keep(plugin: LoadedPlugin, approval: Approval): Promise<void> {
    if (this.#store === undefined) throw new TypeError("there is no store to keep a record in");
    const { fingerprint } = approval;
    const before = await this.record(plugin);
    const fresh = this.recordOf(plugin, approval);
    const record: TrustRecord = { ...fresh, ...this.#projectsOf(fingerprint, fresh.grants, before) };
    await this.#store.put(record, fingerprint);
    this.#ofProcess.delete(idOfKey(record));
    this.#verified.set(plugin, fingerprint);
    this.#noteLook(plugin, fingerprint.hash);
    this.flush();
  }

  /** Keys of all that was approved, in the store or in this process, and is meant. Throws HostError `ERR_STORE`. */
  async matching(isMeant: (key: TrustKey) => boolean): Promise<readonly TrustKey[]> {
    const stored = await this.#store?.list(this.#tenant) ?? [];
    const keys = new Map([...this.#ofProcess.keys()].map((id) => [id, keyOfId(id)] as const));
    for (const each of stored) {
      const key = keyAlone(each.isSound ? each.record : each.key);
      keys.set(idOfKey(key), key);
    }
    return [...keys.values()].filter(isMeant);
  }

  /** Takes an approval back, wherever it is kept. Throws HostError `ERR_STORE`. */
  async forget(key: TrustKey): Promise<void> {
    const stored = await this.#store?.get(key);
    // What cannot be noted stays where it is; that is no reason to go on trusting.
    if (stored?.isSound) await this.#retire?.(stored.record.lineage, key).catch(ignoreStore);
    await this.#store?.remove(key);
    this.#ofProcess.delete(idOfKey(key));
    this.#index?.put(idOfKey(key), null);
  }

  #looksApproved(plugin: LoadedPlugin, fingerprint: string, index: StatIndex): boolean {
    return this.#verified.get(plugin)?.hash !== fingerprint &&
      looksAs(plugin, fingerprint, index.get(idOfKey(this.keyOf(plugin))));
  }

  /** Its bytes were just compared; what says so already is not written again. */
  #noteLook(plugin: LoadedPlugin, fingerprint: string): void {
    const id = idOfKey(this.keyOf(plugin));
    if (this.#index === undefined || this.#ofProcess.has(id)) return;
    if (looksAs(plugin, fingerprint, this.#index.get(id))) return;
    const entry = lookEntry(plugin, fingerprint);
    if (entry !== null) this.#index.put(id, entry);
  }

  async #kept(plugin: LoadedPlugin, view: RecordView): Promise<Approval | Standing> {
    const record = await this.#believed(plugin, view);
    if (!("fingerprint" in record)) return record;
    const { fingerprint: hash, approver, grants, exposed, lineage, disabled: isDisabled } = record;
    const known = this.#verified.get(plugin);
    try {
      const fingerprint = known?.hash === hash ? known : await this.#pinsOf(hash);
      if (fingerprint !== null) return { fingerprint, approver, grants, exposed, lineage, isDisabled };
    } catch (error) {
      return unusableStore(error);
    }
    return { state: "changed", reason: "the list of what was pinned is gone or damaged", changed: [] };
  }

  /** The record that counts here, or how the plugin stands without one. */
  async #believed(plugin: LoadedPlugin, view: RecordView): Promise<TrustRecord | Standing> {
    const untrusted = { state: "untrusted", reason: null, cause: null } as const;
    if (this.#store === undefined) return untrusted;
    try {
      const stored = await view.get(this.keyOf(plugin));
      if (stored === null) return untrusted;
      if (!stored.isSound) return { state: "changed", reason: stored.reason, changed: [] };
      const { record } = stored;
      if (namesProject(record.grants) && !record.projects?.includes(this.#project ?? "")) {
        return { ...untrusted, reason: otherProject(record, this.#project) };
      }
      return await this.#isVerified(record)
        ? record
        : { ...untrusted, reason: "its approval does not count: the host's own check refuses it" };
    } catch (error) {
      return unusableStore(error);
    }
  }

  /** `$project` was shown as one place: elsewhere the same words mean something else, and are asked about anew (T13). */
  #projectsOf(
    { hash }: Fingerprint,
    grants: PermissionRequest,
    before: TrustRecord | null,
  ): Pick<TrustRecord, "projects"> {
    if (this.#project === undefined || !namesProject(grants)) return {};
    // Who approves the same for another project does not take it from the former ones.
    const isSameTrust = before?.fingerprint === hash && canonicalize(before.grants) === canonicalize(grants);
    const others = (isSameTrust ? before.projects ?? [] : []).filter((each) => each !== this.#project);
    return { projects: [...others, this.#project].slice(-TRUST_LIMITS.projectsMax) };
  }

  /** Whatever was approved: what is switched off or blocked does not run. */
  async #stopped(
    isDisabled: boolean | undefined,
    fingerprint: string,
    view: RecordView,
  ): Promise<Extract<Standing, { readonly state: "disabled" }> | null> {
    if (this.#blocked.includes(fingerprint) || (await view.blocked()).includes(fingerprint)) {
      return { state: "disabled", reason: "its fingerprint is blocked", isBlocked: true };
    }
    return isDisabled === true ? { state: "disabled", reason: "it is switched off", isBlocked: false } : null;
  }

  async #isVerified(record: TrustRecord): Promise<boolean> {
    try {
      return this.#verify === undefined || await this.#verify(record) === true;
    } catch {
      return false;
    }
  }

  /** Pins are what their hash says, whichever store brings them. */
  async #pinsOf(hash: string): Promise<Fingerprint | null> {
    const pins = await this.#store?.pins(hash) ?? null;
    if (pins === null) return null;
    const fingerprint = fingerprintOf(pins);
    return fingerprint.hash === hash ? fingerprint : null;
  }
}

function argvOf({ manifest }: LoadedPlugin): Pick<TrustRecord, "argv"> {
  const argv = argvHashes(manifest);
  return Object.keys(argv).length === 0 ? {} : { argv };
}

function packagesOf({ source }: LoadedPlugin, { files }: Fingerprint): Pick<TrustRecord, "packages"> {
  const entries = Object.entries(packageVersions(source, Object.keys(files))).slice(
    0,
    TRUST_LIMITS.packagesMax,
  );
  return entries.length === 0 ? {} : {
    packages: Object.fromEntries(
      entries.map(([path, version]) => [path, version.slice(0, TRUST_LIMITS.versionCharsMax)]),
    ),
  };
}

function otherProject({ projects = [] }: TrustRecord, project: string | undefined): string {
  const shown = projects.length === 0 ? "none" : projects.map((each) => `"${each}"`).join(", ");
  const here = project === undefined ? "it is not mapped here" : `here it is "${project}"`;
  return `it was trusted with another $project (${shown}), and ${here}`;
}

function keyOfId(id: string): TrustKey {
  // The cast holds: `idOfKey` made the text.
  const [tenant, directory, name, link] = JSON.parse(id) as [string, string, string, string?];
  return { tenant, directory, name, ...(link === undefined ? {} : { link }) };
}

function unusableStore(error: unknown): Standing {
  if (!(error instanceof HostError)) throw error;
  return { state: "untrusted", reason: error.message, cause: error };
}
