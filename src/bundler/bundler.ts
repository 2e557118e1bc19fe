/**
 * Bundles targets in expendable processes. A process serves one plugin source only, so bytes of one plugin never meet
 * those of another; builds of a tenant run one after the other (T05).
 */
import { BundleError, HostError, LimitError } from "../../permissions/mod.ts";
import type { ConfinementPlan } from "../../runtime/mod.ts";
import type { PluginSource } from "../source.ts";
import { type BundleMessage, cleanMessage, failureOf } from "./failure.ts";
import { BUNDLE_LIMITS, type BundleLimits, BUNDLER_POOL_LIMITS, type BundlerPoolLimits } from "./limits.ts";
import { type BuildOutput, BundlerProcess } from "./process.ts";
import type { BuildReport } from "./protocol.ts";
import { BuildSession, type BundleTarget, type ImportEdge } from "./session.ts";
import { type BundleMap, parseMap } from "./source_map.ts";

/** One build. */
export interface BundleRequest {
  /** The plugin. */
  readonly source: PluginSource;
  /** What of it. */
  readonly target: BundleTarget;
  /** Whose build it is: one at a time. */
  readonly tenant: string;
  /** Cancels the build. */
  readonly signal?: AbortSignal;
}

/** A target as one text, and all that had a say in it. */
export interface TargetBundle {
  /** Body of `async (__sallyport_register__) => { "use strict"; … }`: it holds no import or export statement. */
  readonly code: string;
  /** Source map of `code`. */
  readonly map: BundleMap;
  /** Files of the plugin that are in it or were read for it, relative and in order. */
  readonly inputs: readonly string[];
  /** package.json files that were consulted, relative and in order. */
  readonly packageFiles: readonly string[];
  /** Who imports what, in order. */
  readonly resolution: readonly ImportEdge[];
  /** Whether the target is known not to have the export; what is registered is then undefined. */
  readonly isExportMissing: boolean;
  /** What the bundler would warn of. */
  readonly warnings: readonly BundleMessage[];
}

/** How a Bundler is made. */
export interface BundlerOptions {
  /** How its processes are confined. */
  readonly plan: ConfinementPlan;
  /** Bounds of a build other than the defaults. */
  readonly limits?: Partial<BundleLimits>;
  /** Bounds of the processes other than the defaults. */
  readonly poolLimits?: Partial<BundlerPoolLimits>;
}

interface Slot {
  readonly process: BundlerProcess;
  readonly source: PluginSource;
  readonly timer: NodeJS.Timeout;
}

/** The bundler processes of one host. Nothing starts before the first build; `close` ends all. */
export class Bundler {
  readonly #options: BundlerOptions;
  readonly #limits: BundleLimits;
  readonly #poolLimits: BundlerPoolLimits;
  readonly #busy = new Set<BundlerProcess>();
  readonly #idle: Slot[] = [];
  readonly #tenants = new Map<string, { last: Promise<unknown>; waiting: number }>();
  readonly #wakers: (() => void)[] = [];
  #places = 0;
  #started = 0;
  #isClosed = false;

  /** Makes a bundler; starts nothing. */
  constructor(options: BundlerOptions) {
    this.#options = options;
    this.#limits = { ...BUNDLE_LIMITS, ...options.limits };
    this.#poolLimits = { ...BUNDLER_POOL_LIMITS, ...options.poolLimits };
  }

  /** Processes started since the bundler was made. */
  get started(): number {
    return this.#started;
  }

  /** Numbers of the processes that build now; for tests and reports. */
  get busyPids(): readonly number[] {
    return [...this.#busy].map(({ pid }) => pid);
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
      return await this.#build(request);
    } finally {
      leave();
      if (--lane.waiting === 0) this.#tenants.delete(tenant);
    }
  }

  /** Ends all processes; builds under way fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const processes = [...this.#busy, ...this.#idle.map(({ process }) => process)];
    for (const slot of this.#idle.splice(0)) clearTimeout(slot.timer);
    for (const wake of this.#wakers.splice(0)) wake();
    for (const process of processes) process.kill();
    await Promise.all(processes.map((process) => process.ended()));
  }

  /** Closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #build(request: BundleRequest): Promise<TargetBundle> {
    await this.#enter();
    try {
      const { source, target } = request;
      const session = new BuildSession(source, target, this.#limits);
      const { report, code, map } = await this.#run(session, request);
      // A refusal stands, whatever the process made of it.
      const isRefused = session.issues.some((issue) => issue.isRefused);
      if (!report.ok || isRefused) throw failureOf(session, target.path, report.errors, this.#limits);
      return bundleOf(session, report, code, map, this.#limits);
    } finally {
      this.#places--;
      this.#wakers.shift()?.();
    }
  }

  /** A process that is gone before the build asked it anything died of something else, so the build is tried again. */
  async #run(session: BuildSession, request: BundleRequest, isRetry = false): Promise<BuildOutput> {
    const process = await this.#take(request.source);
    this.#busy.add(process);
    try {
      return await process.build(session, request.signal);
    } catch (error) {
      if (this.#isClosed) throw closed();
      if (isRetry || session.hasBegun || !(error instanceof BundleError)) throw error;
    } finally {
      this.#busy.delete(process);
      this.#keep(process, request.source);
    }
    return await this.#run(session, request, true);
  }

  async #enter(): Promise<void> {
    while (this.#places >= this.#poolLimits.bundlerProcessesMax && !this.#isClosed) {
      await new Promise<void>((wake) => this.#wakers.push(wake));
    }
    if (this.#isClosed) throw closed();
    this.#places++;
  }

  async #take(source: PluginSource): Promise<BundlerProcess> {
    for (const slot of this.#idle.filter(({ process }) => process.isGone)) this.#drop(slot);
    const own = this.#idle.find((slot) => slot.source === source);
    if (own !== undefined) {
      this.#idle.splice(this.#idle.indexOf(own), 1);
      clearTimeout(own.timer);
      return own.process;
    }
    // Idle processes of other plugins make room; those that build are within their places.
    while (this.#idle.length > 0 && this.#idle.length + this.#places > this.#poolLimits.bundlerProcessesMax) {
      this.#drop(this.#idle[0]!);
    }
    return await this.#start(false);
  }

  async #start(isRetry: boolean): Promise<BundlerProcess> {
    this.#started++;
    const limits = { limits: this.#limits, poolLimits: this.#poolLimits };
    try {
      const process = await BundlerProcess.start({ plan: this.#options.plan, ...limits });
      if (!this.#isClosed) return process;
      process.kill();
    } catch (error) {
      if (isRetry || this.#isClosed) throw error;
      return await this.#start(true);
    }
    throw closed();
  }

  #keep(process: BundlerProcess, source: PluginSource): void {
    if (process.isGone || this.#isClosed) return process.kill();
    const timer = setTimeout(() => this.#drop(slot), this.#poolLimits.bundlerIdleMs).unref();
    const slot: Slot = { process, source, timer };
    this.#idle.push(slot);
  }

  #drop(slot: Slot): void {
    const index = this.#idle.indexOf(slot);
    if (index >= 0) this.#idle.splice(index, 1);
    clearTimeout(slot.timer);
    slot.process.kill();
  }
}

function bundleOf(
  session: BuildSession,
  report: BuildReport,
  code: string,
  map: string,
  limits: BundleLimits,
): TargetBundle {
  const { inputs } = session;
  const warnings = report.warnings.slice(0, limits.bundleMessagesMax).map((message) =>
    cleanMessage(message, limits)
  );
  return {
    code,
    map: checkedMap(map, inputs),
    inputs,
    packageFiles: session.packageFiles,
    resolution: session.edges,
    isExportMissing: report.warnings.some(({ id, file }) =>
      id === "import-is-undefined" && file === "entry:entry"
    ),
    warnings: warnings.filter(({ file }) => file !== ""),
  };
}

function checkedMap(text: string, inputs: readonly string[]): BundleMap {
  try {
    return parseMap(text, inputs);
  } catch (cause) {
    throw new BundleError(
      "ERR_BUNDLE_FAILED",
      "Cannot bundle the plugin: its source map names what is not in it",
      { cause },
    );
  }
}

function closed(): HostError {
  return new HostError("ERR_HOST_CLOSED", "Cannot bundle: the host is closed");
}
