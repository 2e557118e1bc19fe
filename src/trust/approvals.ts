/** What one tenant has approved: for this process, and in its store. */
import { CollisionError, HostError, type PermissionRequest, TrustError } from "../../permissions/mod.ts";
import type { LoadedPlugin } from "../plugin.ts";
import { type Fingerprint, fingerprintOf } from "./fingerprint.ts";
import type { Narrowing } from "./grants.ts";
import { TRUST_ALGORITHM, type TrustKey, type TrustRecord } from "./record.ts";
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
  /** Names storage and data folder. */
  readonly lineage: string;
  /** Full ids that may be called. */
  readonly exposed: readonly string[];
}

/** How a plugin stands with its approvals. */
export type Standing =
  | { readonly state: "approved"; readonly approval: Approval }
  | { readonly state: "untrusted"; readonly reason: string | null; readonly cause: HostError | null }
  | { readonly state: "changed"; readonly reason: string; readonly changed: readonly string[] };

/** The approvals of one tenant. */
export class Approvals {
  readonly #tenant: string;
  readonly #store: TrustStore | undefined;
  readonly #ofProcess = new Map<string, Approval>();
  /** Pins that a plugin's memory was compared with and found equal to; that memory never changes. */
  readonly #verified = new WeakMap<LoadedPlugin, Fingerprint>();

  /** Readings that are not what was approved: the next question takes a new one, since what was changed may be undone. */
  readonly #departed = new WeakSet<LoadedPlugin>();

  /** Reads nothing yet. */
  constructor(tenant: string, store: TrustStore | undefined) {
    this.#tenant = tenant;
    this.#store = store;
  }

  /** Whether approvals outlive the process. */
  get isKept(): boolean {
    return this.#store !== undefined;
  }

  /** What a record of this plugin is found by. */
  keyOf({ name, source }: LoadedPlugin): TrustKey {
    return { tenant: this.#tenant, directory: source.directory, name };
  }

  /**
   * How the plugin stands now: its approval is compared with the bytes in its memory, and those with the disk. A store that
   * cannot be believed has approved nothing.
   */
  async standing(plugin: LoadedPlugin): Promise<Standing> {
    const approval = this.#ofProcess.get(idOf(this.keyOf(plugin))) ?? await this.#kept(plugin);
    if ("state" in approval) return approval;
    const changed = this.#verified.get(plugin)?.hash === approval.fingerprint.hash
      ? plugin.source.changed()
      : differences(plugin, approval.fingerprint);
    if (changed.length === 0) {
      this.#verified.set(plugin, approval.fingerprint);
      return { state: "approved", approval };
    }
    this.#departed.add(plugin);
    return { state: "changed", reason: `changed since it was trusted: ${changed.join(", ")}`, changed };
  }

  /** Whether this reading of a plugin still is the disk's, as far as it looked, and was not found to be changed. */
  isCurrent(plugin: LoadedPlugin): boolean {
    return !this.#departed.has(plugin) && plugin.source.changed().length === 0;
  }

  /** The sound record of a plugin, whatever its bytes are now; null where there is none. Throws HostError `ERR_STORE`. */
  async record(plugin: LoadedPlugin): Promise<TrustRecord | null> {
    const stored = await this.#store?.get(this.keyOf(plugin)) ?? null;
    return stored?.isSound ? stored.record : null;
  }

  /** Full ids that the approvals of these plugins expose; of a store that cannot be believed, none. */
  async exposed(plugins: readonly LoadedPlugin[]): Promise<readonly string[]> {
    const stored = await this.#store?.list(this.#tenant).catch(ignoreStore) ?? [];
    const kept = new Map(
      stored.flatMap((each) => each.isSound ? [[idOf(each.record), each.record.exposed] as const] : []),
    );
    return plugins.flatMap((plugin) => {
      const id = idOf(this.keyOf(plugin));
      return this.#ofProcess.get(id)?.exposed ?? kept.get(id) ?? [];
    });
  }

  /** The lineage under which this process alone approved a plugin. */
  lineage(plugin: LoadedPlugin): string | undefined {
    return this.#ofProcess.get(idOf(this.keyOf(plugin)))?.lineage;
  }

  /** The lineages of all that was approved, in the store or in this process; of a broken record, none. Throws HostError `ERR_STORE`. */
  async lineages(): Promise<readonly (TrustKey & Pick<Approval, "lineage">)[]> {
    const stored = await this.#store?.list(this.#tenant) ?? [];
    return [
      ...stored.flatMap((each) => each.isSound ? [each.record] : []),
      ...[...this.#ofProcess].map(([id, { lineage }]) => ({ ...keyOfId(id), lineage })),
    ];
  }

  /** Approves for this process alone. */
  approve(plugin: LoadedPlugin, approval: Approval): void {
    this.#ofProcess.set(idOf(this.keyOf(plugin)), approval);
    this.#verified.set(plugin, approval.fingerprint);
  }

  /** Approves in the store, in the place of what this process had approved. Throws HostError `ERR_STORE`. */
  async keep(plugin: LoadedPlugin, approval: Approval): Promise<void> {
    if (this.#store === undefined) throw new TypeError("there is no store to keep a record in");
    const { fingerprint, grants, exposed, approver, lineage } = approval;
    const record: TrustRecord = {
      ...this.keyOf(plugin),
      algorithm: TRUST_ALGORITHM,
      fingerprint: fingerprint.hash,
      grants: grants ?? plugin.manifest.permissions,
      exposed,
      approver,
      approvedAt: new Date().toISOString(),
      lineage,
    };
    await this.#store.put(record, fingerprint);
    this.#ofProcess.delete(idOf(record));
    this.#verified.set(plugin, fingerprint);
  }

  /** Keys of all that was approved, in the store or in this process, and is meant. Throws HostError `ERR_STORE`. */
  async matching(isMeant: (key: TrustKey) => boolean): Promise<readonly TrustKey[]> {
    const stored = await this.#store?.list(this.#tenant) ?? [];
    const keys = new Map([...this.#ofProcess.keys()].map((id) => [id, keyOfId(id)] as const));
    for (const each of stored) {
      const { tenant, directory, name } = each.isSound ? each.record : each.key;
      const key = { tenant, directory, name };
      keys.set(idOf(key), key);
    }
    return [...keys.values()].filter(isMeant);
  }

  /** Takes an approval back, wherever it is kept. Throws HostError `ERR_STORE`. */
  async forget(key: TrustKey): Promise<void> {
    await this.#store?.remove(key);
    this.#ofProcess.delete(idOf(key));
  }

  async #kept(plugin: LoadedPlugin): Promise<Approval | Standing> {
    const untrusted = { state: "untrusted", reason: null, cause: null } as const;
    if (this.#store === undefined) return untrusted;
    try {
      const stored = await this.#store.get(this.keyOf(plugin));
      if (stored === null) return untrusted;
      if (!stored.isSound) return { state: "changed", reason: stored.reason, changed: [] };
      const { record } = stored;
      const { fingerprint: hash, approver, grants, exposed, lineage } = record;
      const known = this.#verified.get(plugin);
      const fingerprint = known?.hash === hash ? known : await this.#pinsOf(hash);
      if (fingerprint === null) {
        return { state: "changed", reason: "the list of what was pinned is gone or damaged", changed: [] };
      }
      return { fingerprint, approver, grants, exposed, lineage };
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      return { ...untrusted, reason: error.message, cause: error };
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

/** The one key that is meant. Throws TrustError where there is none, CollisionError where there are several. */
export function onlyKey(what: string, keys: readonly TrustKey[]): TrustKey {
  const [key, ...others] = keys;
  if (key === undefined) {
    throw new TrustError(
      "ERR_TRUST_UNKNOWN",
      `Cannot take trust back from "${what}": nobody has trusted it`,
      {
        details: { plugin: what },
      },
    );
  }
  if (others.length === 0) return key;
  const candidates = keys.map(({ directory }) => directory).sort();
  throw new CollisionError(
    "ERR_NAME_AMBIGUOUS",
    `Cannot tell which "${what}" is meant: ${candidates.join(", ")} have a trust record. Name the directory`,
    { details: { name: what, candidates } },
  );
}

function idOf({ tenant, directory, name }: TrustKey): string {
  return JSON.stringify([tenant, directory, name]);
}

function keyOfId(id: string): TrustKey {
  // The cast holds: `idOf` made the text.
  const [tenant, directory, name] = JSON.parse(id) as [string, string, string];
  return { tenant, directory, name };
}

function ignoreStore(error: unknown): readonly never[] {
  if (error instanceof HostError) return [];
  throw error;
}
