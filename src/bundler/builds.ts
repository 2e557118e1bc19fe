/**
 * The builds of one host, and the processes that do them. A process serves one plugin source only, so bytes of one plugin
 * never meet those of another (T05). Loaded at the first build, since most starts find their bundles in a cache.
 */
import { BundleError } from "../../permissions/mod.ts";
import type { ConfinementPlan } from "../../runtime/mod.ts";
import type { PluginSource } from "../source.ts";
import { closed } from "./closed.ts";
import type { BuildOutput } from "./dialect.ts";
import { cleanMessage, failureOf } from "./failure.ts";
import type { BundleLimits, BundlerPoolLimits } from "./limits.ts";
import { type Observation, observe } from "./observed.ts";
import { isLight } from "./engines.ts";
import { BundlerProcess } from "./process.ts";
import type { BuildReport } from "./protocol.ts";
import { BuildSession } from "./session.ts";
import { type BundleMap, parseMap } from "./source_map.ts";
import type { BundleRequest, TargetBundle } from "./types.ts";

/** How builds are done. */
export interface BuildsOptions {
  /** How processes are confined. */
  readonly plan: ConfinementPlan;
  /** Bounds of a build. */
  readonly limits: BundleLimits;
  /** Bounds of the processes. */
  readonly poolLimits: BundlerPoolLimits;
}

/** What a build gives. */
export interface Built {
  /** The bundle. */
  readonly bundle: TargetBundle;
  /** What it asked the plugin's files. */
  readonly observations: readonly Observation[];
}

interface Slot {
  readonly process: BundlerProcess;
  /** Whom it served; null for a spare one, which served nobody. */
  readonly source: PluginSource | null;
  readonly timer: NodeJS.Timeout;
}

/** The bundler processes of one host. Nothing starts before the first build; `close` ends all. */
export class Builds {
  readonly #options: BuildsOptions;
  readonly #limits: BundleLimits;
  readonly #poolLimits: BundlerPoolLimits;
  readonly #busy = new Set<BundlerProcess>();
  readonly #idle: Slot[] = [];
  readonly #wakers: (() => void)[] = [];
  #places = 0;
  #started = 0;
  #refill: NodeJS.Timeout | undefined;
  readonly #hasSpare: boolean;
  #isClosed = false;

  /** Starts nothing. */
  constructor(options: BuildsOptions) {
    this.#options = options;
    this.#limits = options.limits;
    this.#poolLimits = options.poolLimits;
    this.#hasSpare = isLight(options.plan);
  }

  /** Processes that were wanted for work so far. */
  get started(): number {
    return this.#started;
  }

  /** Numbers of the processes that build now. */
  get busyPids(): readonly number[] {
    return [...this.#busy].map(({ pid }) => pid);
  }

  /** Does one build; throws as `Bundler.bundle` does. */
  async build(request: BundleRequest): Promise<Built> {
    await this.#enter();
    try {
      const { source, target } = request;
      const observed = observe(source);
      const session = new BuildSession(observed, target, this.#limits);
      const { report, code, map } = await this.#run(session, request);
      // A refusal stands, whatever the process made of it.
      const isRefused = session.issues.some((issue) => issue.isRefused);
      if (!report.ok || isRefused) throw failureOf(session, target.path, report.errors, this.#limits);
      const bundle = bundleOf(session, report, code, map, this.#limits);
      return { bundle, observations: observed.observations() };
    } finally {
      this.#places--;
      this.#wakers.shift()?.();
      this.#refillLater();
    }
  }

  /** Ends all processes; builds under way fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#refill);
    const processes = [...this.#busy, ...this.#idle.map(({ process }) => process)];
    for (const slot of this.#idle.splice(0)) clearTimeout(slot.timer);
    for (const wake of this.#wakers.splice(0)) wake();
    for (const process of processes) process.kill();
    await Promise.all(processes.map((process) => process.ended()));
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
    const ready = own ?? this.#idle.find((slot) => slot.source === null);
    if (ready !== undefined) {
      if (ready !== own) this.#started++;
      this.#idle.splice(this.#idle.indexOf(ready), 1);
      clearTimeout(ready.timer);
      return ready.process;
    }
    // Idle processes of other plugins make room; those that build are within their places.
    while (this.#idle.length > 0 && this.#idle.length + this.#places > this.#poolLimits.bundlerProcessesMax) {
      this.#drop(this.#idle[0]!);
    }
    return await this.#start(false);
  }

  async #start(isRetry: boolean): Promise<BundlerProcess> {
    this.#started++;
    try {
      const process = await BundlerProcess.start(this.#options);
      if (!this.#isClosed) return process;
      process.kill();
    } catch (error) {
      if (isRetry || this.#isClosed) throw error;
      return await this.#start(true);
    }
    throw closed();
  }

  /** Whoever builds will build again: the next plugin finds a process that has started, where that costs little. */
  #refillLater(): void {
    if (this.#isClosed || !this.#hasSpare) return;
    clearTimeout(this.#refill);
    this.#refill = setTimeout(() => void this.#startSpare(), this.#poolLimits.bundlerSpareDelayMs).unref();
  }

  async #startSpare(): Promise<void> {
    const hasRoom = () => this.#idle.length + this.#places < this.#poolLimits.bundlerProcessesMax;
    const hasSpare = () => this.#idle.some(({ source, process }) => source === null && !process.isGone);
    // A process that waits for more of a plugin that was served makes room for one that anybody may have.
    const served = this.#idle.find(({ source }) => source !== null);
    if (!hasRoom() && served !== undefined) this.#drop(served);
    if (!hasRoom() || hasSpare()) return;
    const process = await BundlerProcess.start(this.#options).catch(() => null); // whoever needs one is told
    if (process === null) return;
    if (hasRoom() && !hasSpare()) this.#keep(process, null);
    else process.kill();
  }

  #keep(process: BundlerProcess, source: PluginSource | null): void {
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
