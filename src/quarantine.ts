/**
 * Plugins that killed workers (T11). A death with several possible culprits charges nobody, or a plugin could have its
 * neighbour stopped by dying beside it: all of them work alone from then on, and only a death alone counts.
 */
import { HostError, TrustError } from "../permissions/mod.ts";
import { type IsolateOwner, ownerKey, type WorkerEnd } from "../runtime/mod.ts";
import { display } from "./display.ts";
import type { QuarantineRecord, QuarantineStore } from "./quarantine_store.ts";
import { quoteArgument } from "./quote.ts";

/** Bounds of the counting of deaths. */
export interface QuarantineLimits {
  /** Deaths that a plugin alone brought about, within the window, after which it is not run any more. */
  readonly deathsMax: number;
  /** How long a death counts, and a suspect works alone. */
  readonly deathWindowMs: number;
}

/** The defaults. */
export const QUARANTINE_LIMITS: QuarantineLimits = Object.freeze({
  deathsMax: 3,
  deathWindowMs: 600_000,
});

/** What a quarantine works with. */
export interface QuarantineOptions {
  /** Where it outlives the process. */
  readonly store: QuarantineStore;
  /** Told when a plugin is quarantined. */
  readonly onQuarantined?: (record: QuarantineRecord) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Other bounds. */
  readonly limits?: Partial<QuarantineLimits>;
}

/** Who is charged, suspected and quarantined on one host. */
export class Quarantine {
  readonly #store: QuarantineStore;
  readonly #onQuarantined: (record: QuarantineRecord) => void;
  readonly #now: () => number;
  readonly #limits: QuarantineLimits;
  /** When each owner killed a worker alone. */
  readonly #deaths = new Map<string, readonly number[]>();
  /** Until when each owner works alone. */
  readonly #suspects = new Map<string, number>();
  /** What the store could not take: it holds in this process. */
  readonly #unwritten = new Map<string, QuarantineRecord>();
  #records: Promise<ReadonlyMap<string, QuarantineRecord>> | undefined;

  /** Reads nothing before the first question. */
  constructor({ store, onQuarantined = () => {}, now = () => Date.now(), limits }: QuarantineOptions) {
    this.#store = store;
    this.#onQuarantined = onQuarantined;
    this.#now = now;
    this.#limits = { ...QUARANTINE_LIMITS, ...limits };
  }

  /** Takes note of the end of a worker. */
  onEnd({ suspects }: Pick<WorkerEnd, "suspects">): void {
    if (suspects.length === 0) return;
    const now = this.#now();
    this.#forgetBefore(now - this.#limits.deathWindowMs);
    for (const owner of suspects) this.#suspects.set(ownerKey(owner), now + this.#limits.deathWindowMs);
    const [alone, another] = suspects;
    if (alone !== undefined && another === undefined) this.#charge(alone, now);
  }

  /** Whether it may have killed a worker, and therefore works alone. */
  isSuspect(owner: IsolateOwner): boolean {
    return (this.#suspects.get(ownerKey(owner)) ?? 0) > this.#now();
  }

  /** What keeps a plugin from running, or null. Throws HostError `ERR_STORE`. */
  async find(owner: IsolateOwner): Promise<QuarantineRecord | null> {
    const key = ownerKey(owner);
    const unwritten = this.#unwritten.get(key);
    if (unwritten !== undefined) return unwritten;
    if (!(await this.#known()).has(key)) return null;
    // It may have been let run again by another process.
    this.#records = undefined;
    return (await this.#known()).get(key) ?? null;
  }

  /** Lets a plugin run again, whatever its fingerprint is; false when it was not quarantined. Throws HostError `ERR_STORE`. */
  async clear(tenant: string, plugin: string): Promise<boolean> {
    const isOf = (key: string): boolean => {
      const [ofTenant, ofPlugin] = JSON.parse(key) as string[]; // made by ownerKey
      return ofTenant === tenant && ofPlugin === plugin;
    };
    const wasUnwritten = [...this.#unwritten.keys()].some(isOf);
    for (const counted of [this.#deaths, this.#suspects, this.#unwritten]) {
      for (const key of counted.keys()) if (isOf(key)) counted.delete(key);
    }
    await this.#records?.catch(() => {}); // what is being written comes first
    this.#records = undefined;
    return await this.#store.remove(tenant, plugin) || wasUnwritten;
  }

  #charge(owner: IsolateOwner, now: number): void {
    // A script runs because a person typed its name, each time.
    if (owner.fingerprint === null) return;
    const key = ownerKey(owner);
    const deaths = [...this.#deaths.get(key) ?? [], now];
    this.#deaths.set(key, deaths);
    if (deaths.length < this.#limits.deathsMax) return;
    this.#deaths.delete(key);
    const record = {
      tenant: owner.tenant,
      plugin: owner.plugin,
      fingerprint: owner.fingerprint,
      deaths: deaths.length,
      since: new Date(now).toISOString(),
    };
    // It holds in this process at once, and for good once it is written.
    this.#unwritten.set(key, record);
    const written = this.#store.put(record).then(() => void this.#unwritten.delete(key), () => {});
    this.#records = written.then(() => this.#list());
    this.#records.catch(() => {}); // told to whoever asks next
    this.#onQuarantined(record);
  }

  #known(): Promise<ReadonlyMap<string, QuarantineRecord>> {
    this.#records ??= this.#list();
    return this.#records.catch((error: unknown) => {
      this.#records = undefined; // the failure may be over at the next question
      throw error;
    });
  }

  async #list(): Promise<ReadonlyMap<string, QuarantineRecord>> {
    return new Map((await this.#store.list()).map((record) => [ownerKey(record), record]));
  }

  #forgetBefore(time: number): void {
    for (const [key, deaths] of this.#deaths) {
      const left = deaths.filter((at) => at > time);
      if (left.length === 0) this.#deaths.delete(key);
      else this.#deaths.set(key, left);
    }
    for (const [key, until] of this.#suspects) if (until <= this.#now()) this.#suspects.delete(key);
  }
}

/** Why a plugin does not run, and what to do, in one sentence each. */
export function quarantineReason({ deaths, since, plugin }: QuarantineRecord): string {
  return `it killed ${deaths} workers by itself, the last one at ${since}. ` +
    `Look at what it does, then let it run again with \`sallyport enable ${quoteArgument(plugin)}\``;
}

/** How a list shows a plugin that is quarantined, or null for one that is not. A store that cannot be read is the reason. */
export async function quarantinedState(
  quarantine: Pick<Quarantine, "find">,
  owner: IsolateOwner,
): Promise<{ readonly state: "quarantined"; readonly reason: string } | null> {
  try {
    const record = await quarantine.find(owner);
    return record === null ? null : { state: "quarantined", reason: quarantineReason(record) };
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    return { state: "quarantined", reason: error.message };
  }
}

/** The refusal of a plugin that is quarantined. */
export function quarantinedError(record: QuarantineRecord): TrustError {
  return new TrustError(
    "ERR_TRUST_QUARANTINED",
    `Cannot run plugin "${display(record.plugin)}": ${quarantineReason(record)}`,
    { details: { plugin: record.plugin, deaths: record.deaths, since: record.since } },
  );
}
