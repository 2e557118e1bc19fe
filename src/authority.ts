/**
 * Whether what was approved still stands while it runs (T14). A call compares one number, the epoch: as long as it is the same,
 * nothing that a call rests on has changed, as far as the last look tells. Looks are few and cheap, and are taken only
 * while something of the tenant runs or was called of late; when they end, so does the epoch.
 */
import { setImmediate as turn } from "node:timers/promises";
import { HostError, includes, TrustError } from "../permissions/mod.ts";
import { isBound, type OwnedSecret, Tenure } from "../runtime/mod.ts";
import { changedError, lookAgain, standingError } from "./plugin_state.ts";
import { type GrantedPlugin, type LoadedPlugin, placeOf } from "./plugin.ts";
import type { CallSchemas } from "./schemas.ts";
import type { Capability } from "./surfaces/mod.ts";
import { type Approval, type Approvals, AUTHORITY_LIMITS, placeOfKey, type TrustKey } from "./trust/mod.ts";
import type { Unit } from "./unit.ts";

/** One approval of one plugin, with what was made of it once. */
export interface Holding {
  /** Names the plugin and the approval. */
  readonly key: string;
  /** The plugin as it was last read; what runs has the same content. */
  plugin: LoadedPlugin;
  /** What was approved. */
  readonly approval: Approval;
  /** What it may do. */
  granted: GrantedPlugin;
  /** Until when. */
  readonly tenure: Tenure;
  /** How its capabilities run, by full id. */
  readonly units: Map<string, Unit>;
  /** Whether somebody called it since the last look. */
  isUsed: boolean;
  /** Looks since somebody did; above a bound it is no longer looked at. */
  idleLooks: number;
  /** It was switched off, and what its code wants done at its end is being done under its grants. */
  isStopping: boolean;
  /** The plugin was approved anew: what still runs under this one may finish. */
  isSuperseded: boolean;
}

/** A capability that may be called, for as long as the epoch is the one in which that was found. */
export interface Callable {
  /** Its plugin. */
  readonly plugin: LoadedPlugin;
  /** What is called. */
  readonly capability: Capability;
  /** How it runs. */
  readonly unit: Unit;
  /** What its input and result are held to. */
  readonly schemas: CallSchemas;
  /** Under which approval. */
  readonly holding: Holding;
}

/** Calls a work again and again until it is told to stop; never keeps a process alive. */
export type Every = (ms: number, work: () => void) => () => void;

/** What an authority works with. */
export interface AuthorityParts {
  /** What was approved. */
  readonly approvals: Approvals;
  /** What an approval grants; throws where less is granted than is required. */
  readonly grant: (plugin: LoadedPlugin, approval: Approval) => GrantedPlugin;
  /** The plugin as it is on the disk. */
  readonly fresh: (plugin: LoadedPlugin) => LoadedPlugin;
  /** Secrets that were taken from somebody since it was last asked. Throws HostError `ERR_STORE`. */
  readonly secretsTaken: () => Promise<readonly OwnedSecret[]>;
  /** Told when what runs under an approval must end, which its tenure has done by then. */
  readonly onEnd: (holding: Holding) => void;
  /** The clock; absent is the real one. */
  readonly every?: Every | undefined;
}

/** The authority of one tenant's plugins. */
export class Authority {
  readonly #parts: AuthorityParts;
  readonly #every: Every;
  readonly #holdings = new Map<string, Holding>();
  readonly #callables = new Map<string, Callable>();
  #epoch = 0;
  #stop: (() => void) | null = null;
  #looks = 0;
  #isSweeping = false;
  #isAsking = false;
  #isClosed = false;

  /** Looks at nothing yet. */
  constructor(parts: AuthorityParts) {
    this.#parts = parts;
    this.#every = parts.every ?? everyUnheld;
  }

  /** Changes whenever what a call rests on may have. */
  get epoch(): number {
    return this.#epoch;
  }

  /** What was found to be callable under this id in the present epoch. */
  recall(id: string): Callable | undefined {
    const callable = this.#callables.get(id);
    if (callable !== undefined) callable.holding.isUsed = true;
    return callable;
  }

  /**
   * Begins to look, before anything is read that is to be remembered, and gives the epoch to remember it for. Throws
   * HostError `ERR_STORE` when the secrets cannot be read.
   */
  async watch(): Promise<number> {
    if (!this.#isClosed) this.#stop ??= this.#every(AUTHORITY_LIMITS.storePollMs, () => this.#look());
    // What the next looks are compared with; and what changed while nobody looked.
    await this.#askStore();
    await this.reconsiderSecrets();
    return this.#epoch;
  }

  /** Remembers what was found, unless something has changed since. */
  remember(id: string, callable: Callable, epoch: number): void {
    if (epoch === this.#epoch && this.#stop !== null) this.#callables.set(id, callable);
  }

  /** What was made of this approval, once. */
  hold(plugin: LoadedPlugin, approval: Approval): Holding {
    const key = keyOf(plugin, approval);
    const known = this.#holdings.get(key);
    if (known !== undefined && known.tenure.error === null) {
      this.#adopt(known, plugin);
      known.isUsed = true;
      return known;
    }
    const holding: Holding = {
      key,
      plugin,
      approval,
      granted: this.#parts.grant(plugin, approval),
      tenure: new Tenure(),
      units: new Map(),
      isUsed: true,
      idleLooks: 0,
      isSuperseded: false,
      isStopping: false,
    };
    for (const other of this.#holdings.values()) {
      if (isOf(other, { place: placeOf(plugin), name: plugin.name })) other.isSuperseded = true;
    }
    this.#holdings.set(key, holding);
    return holding;
  }

  /** What calls rest on has changed in this process: what is exposed, or what is known of a plugin. */
  bump(): void {
    this.#epoch += 1;
    this.#callables.clear();
  }

  /** An approval was taken back in this process: what runs under it ends at once. */
  revoke(key: TrustKey): void {
    this.bump();
    for (const holding of [...this.#holdings.values()]) {
      if (!isOf(holding, { place: placeOfKey(key), name: key.name })) continue;
      this.#end(
        holding,
        standingError(holding.plugin, { state: "untrusted", reason: null, cause: null }),
      );
    }
  }

  /** Approvals were changed in this process: what is no longer approved ends before this settles. */
  async reconsider(): Promise<void> {
    this.bump();
    for (const holding of [...this.#holdings.values()]) await this.#weigh(holding);
  }

  /** Does a plugin's last work under what it holds, which is taken back when it has settled; it has a bound of its own. */
  async during<Value>(plugin: LoadedPlugin, work: () => Promise<Value>): Promise<Value> {
    const { name } = plugin;
    const place = placeOf(plugin);
    const holdings = [...this.#holdings.values()].filter((each) => isOf(each, { place, name }));
    this.bump();
    for (const holding of holdings) holding.isStopping = true;
    try {
      return await work();
    } finally {
      for (const holding of holdings) holding.isStopping = false;
      await this.reconsider();
    }
  }

  /** Secrets were changed in this process: what they were taken from ends before this settles. */
  async reconsiderSecrets(): Promise<void> {
    for (const secret of await this.#parts.secretsTaken()) this.#takeFrom(secret);
  }

  /** Looks no more. */
  close(): void {
    this.#isClosed = true;
    this.#rest();
  }

  #rest(): void {
    this.#stop?.();
    this.#stop = null;
    this.bump();
  }

  #look(): void {
    this.#looks += 1;
    for (const holding of this.#holdings.values()) {
      holding.idleLooks = holding.isUsed || holding.tenure.calls > 0 ? 0 : holding.idleLooks + 1;
      holding.isUsed = false;
      if (holding.idleLooks >= WATCHED_LOOKS) this.#forget(holding);
    }
    if (![...this.#holdings.values()].some(isWatched)) return this.#rest();
    if (this.#looks % SWEEP_LOOKS === 0) void this.#sweep();
    void this.#ask();
  }

  /** The next call finds anew whether it may be made; what it finds to be as it was is used again. */
  #forget(holding: Holding): void {
    for (const [id, callable] of this.#callables) {
      if (callable.holding === holding) this.#callables.delete(id);
    }
    if (holding.isSuperseded) this.#end(holding, lessError(holding.plugin, "it was trusted anew"));
  }

  /** Pinned files on the disk against what is in memory. Between plugins everybody else has a turn. */
  async #sweep(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    try {
      for (const holding of [...this.#holdings.values()].filter(isWatched)) {
        if (holding.tenure.error === null && holding.plugin.source.changed().length > 0) {
          this.bump();
          await this.#weigh(holding);
        }
        await turn();
      }
    } finally {
      this.#isSweeping = false;
    }
  }

  /** Records and secrets, which other processes change as well. */
  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const late = setTimeout(() => this.#distrust(notAnswered()), AUTHORITY_LIMITS.revokeMs);
    late.unref();
    try {
      await this.#askStore();
    } catch (error) {
      this.#distrust(new HostError("ERR_STORE", "What is trusted could not be asked", { cause: error }));
    } finally {
      clearTimeout(late);
    }
    try {
      await this.reconsiderSecrets();
    } catch {
      this.bump(); // the next call, and the next use of a secret, are told what is wrong
    }
    this.#isAsking = false;
  }

  async #askStore(): Promise<void> {
    if (await this.#parts.approvals.look()) await this.reconsider();
  }

  /** Whether the plugin may still run as it does; it ends where it may not. */
  async #weigh(holding: Holding): Promise<void> {
    if (holding.tenure.error !== null) return;
    const { approvals, fresh, grant } = this.#parts;
    const { plugin: before } = holding;
    try {
      const plugin = fresh(before);
      const standing = await approvals.standing(plugin);
      if (standing.state === "disabled" && !standing.isBlocked && holding.isStopping) return;
      if (standing.state !== "approved") return this.#end(holding, standingError(plugin, standing));
      const { approval } = standing;
      if (keyOf(plugin, approval) === holding.key) return this.#adopt(holding, plugin);
      if (approval.fingerprint.hash !== holding.approval.fingerprint.hash) {
        return this.#end(holding, changedError(before, before.source.changed()));
      }
      // What was granted more since then waits for the next call; what was granted less waits for nobody.
      const isWhole = includes(grant(plugin, approval).grant, holding.granted.grant);
      if (!isWhole || approval.lineage !== holding.approval.lineage) {
        this.#end(holding, lessError(before, "it was trusted anew, for less"));
      }
    } catch (error) {
      this.#end(
        holding,
        error instanceof TrustError ? error : lessError(before, "it is not granted what it was", error),
      );
    }
  }

  /** The same content in another reading: the next look compares with that one. */
  #adopt(holding: Holding, plugin: LoadedPlugin): void {
    if (holding.plugin === plugin) return;
    holding.plugin = plugin;
    holding.granted = { ...holding.granted, ...plugin };
    holding.units.clear();
  }

  /** `secret` is what it was: who was not meant by it then has lost nothing. */
  #takeFrom(secret: OwnedSecret): void {
    for (const holding of [...this.#holdings.values()]) {
      const { plugin, granted, approval: { lineage } } = holding;
      const user = { plugin: plugin.name, place: plugin.source.directory, bundle: plugin, own: { lineage } };
      if (!secret.hosts.some((host) => isBound(secret, { host }, user))) continue;
      const asksForSecrets = granted.grant.layers.every((layer) => layer.kinds.secrets !== undefined);
      if (asksForSecrets) {
        this.#end(holding, lessError(plugin, `the secret "${secret.name}" was taken from it`));
      }
    }
  }

  /** Nothing is trusted while it cannot be told what is. */
  #distrust(cause: HostError): void {
    this.bump();
    for (const holding of [...this.#holdings.values()]) {
      const { plugin } = holding;
      if (this.#parts.approvals.isOfProcess(plugin)) continue;
      this.#end(holding, standingError(plugin, { state: "untrusted", reason: cause.message, cause }));
    }
  }

  #end(holding: Holding, error: TrustError): void {
    this.bump();
    this.#holdings.delete(holding.key);
    if (holding.tenure.error !== null) return;
    holding.tenure.end(error);
    this.#parts.onEnd(holding);
  }
}

const SWEEP_LOOKS = Math.floor(AUTHORITY_LIMITS.sweepMs / AUTHORITY_LIMITS.storePollMs);
const WATCHED_LOOKS = Math.ceil(AUTHORITY_LIMITS.watchedMs / AUTHORITY_LIMITS.storePollMs);

function isWatched({ idleLooks }: Holding): boolean {
  return idleLooks < WATCHED_LOOKS;
}

function isOf(
  { plugin }: Holding,
  { place, name }: { readonly place: string; readonly name: string },
): boolean {
  return placeOf(plugin) === place && plugin.name === name;
}

function everyUnheld(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** An approval of less must not meet the isolate of an approval of more. */
function keyOf({ source, name }: LoadedPlugin, { fingerprint, lineage, grants, flags }: Approval): string {
  return JSON.stringify([source.directory, name, fingerprint.hash, lineage, grants, flags]);
}

function lessError(plugin: LoadedPlugin, why: string, cause?: unknown): TrustError {
  const { name, source } = plugin;
  return new TrustError(
    "ERR_TRUST_CHANGED",
    `Cannot run plugin "${name}" as before: ${why}. ${lookAgain(placeOf(plugin))}`,
    {
      details: { plugin: name, directory: source.directory, changed: [] },
      ...(cause === undefined ? {} : { cause }),
    },
  );
}

function notAnswered(): HostError {
  return new HostError(
    "ERR_STORE",
    `What is trusted could not be asked within ${AUTHORITY_LIMITS.revokeMs} ms (revokeMs)`,
  );
}
