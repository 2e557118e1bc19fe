/**
 * Bundles targets: from a cache where the same bytes were bundled before, else in expendable processes. Builds of a tenant
 * run one after the other (T05).
 */
import { LimitError } from "../../permissions/mod.ts";
import type { ConfinementPlan } from "../../runtime/mod.ts";
import type { CacheStore } from "../stores/cache.ts";
import type { Builds } from "./builds.ts";
import { BundleCache } from "./bundle_cache.ts";
import { closed } from "./closed.ts";
import { BUNDLE_LIMITS, type BundleLimits, BUNDLER_POOL_LIMITS, type BundlerPoolLimits } from "./limits.ts";
import type { BundleRequest, TargetBundle } from "./types.ts";

/** How a Bundler is made. */
export interface BundlerOptions {
  /** How its processes are confined. */
  readonly plan: ConfinementPlan;
  /** Where bundles are kept for those who bundle the same bytes again; absent is nowhere. */
  readonly cache?: CacheStore;
  /** Bounds of a build other than the defaults. */
  readonly limits?: Partial<BundleLimits>;
  /** Bounds of the processes other than the defaults. */
  readonly poolLimits?: Partial<BundlerPoolLimits>;
}

/** The bundler of one host. Nothing starts before the first build; `close` ends all. */
export class Bundler {
  readonly #plan: ConfinementPlan;
  readonly #limits: BundleLimits;
  readonly #poolLimits: BundlerPoolLimits;
  readonly #cache: BundleCache | null;
  readonly #tenants = new Map<string, { last: Promise<unknown>; waiting: number }>();
  #builds: Builds | undefined;
  #isClosed = false;

  /** Makes a bundler; starts nothing. */
  constructor(options: BundlerOptions) {
    this.#plan = options.plan;
    this.#limits = { ...BUNDLE_LIMITS, ...options.limits };
    this.#poolLimits = { ...BUNDLER_POOL_LIMITS, ...options.poolLimits };
    this.#cache = options.cache === undefined ? null : new BundleCache(options.cache, this.#limits);
  }

  /** Processes that were wanted for work since the bundler was made; a spare one counts when it is taken. */
  get started(): number {
    return this.#builds?.started ?? 0;
  }

  /** Numbers of the processes that build now; for tests and reports. */
  get busyPids(): readonly number[] {
    return this.#builds?.busyPids ?? [];
  }

  /**
   * Bundles one target. Throws a BundleError for what the plugin's code is or imports, a HostError when there can be no
   * process, a LimitError when the tenant has too many builds waiting, or the reason of `signal`.
   */
  async bundle(request: BundleRequest): Promise<TargetBundle> {
    const { tenant, signal } = request;
    const lane = this.#tenants.get(tenant) ?? { last: Promise.resolve(), waiting: 0 };
    if (lane.waiting >= this.#poolLimits.bundlerWaitingMax) {
      throw new LimitError(
        "ERR_LIMIT_RATE",
        `Cannot bundle: ${lane.waiting} builds wait already (bundlerWaitingMax)`,
      );
    }
    this.#tenants.set(tenant, lane);
    lane.waiting++;
    const turn = lane.last;
    const { promise: done, resolve: leave } = Promise.withResolvers<void>();
    lane.last = done;
    try {
      await turn;
      signal?.throwIfAborted();
      if (this.#isClosed) throw closed();
      return await this.#bundle(request);
    } finally {
      leave();
      if (--lane.waiting === 0) this.#tenants.delete(tenant);
    }
  }

  /** Ends all processes; builds under way fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#builds?.close();
  }

  /** Closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #bundle(request: BundleRequest): Promise<TargetBundle> {
    const { source, target } = request;
    const known = this.#cache?.get(source, target) ?? null;
    if (known !== null) return known;
    const { bundle, observations } = await (await this.#loaded()).build(request);
    this.#cache?.put(source, target, bundle, observations);
    return bundle;
  }

  async #loaded(): Promise<Builds> {
    const { Builds } = await import("./builds.ts");
    if (this.#isClosed) throw closed();
    return this.#builds ??= new Builds({
      plan: this.#plan,
      limits: this.#limits,
      poolLimits: this.#poolLimits,
    });
  }
}
