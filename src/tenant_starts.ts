/** How a tenant's plugins are started before they are called, all together where that is asked for, and built anew. */
import { ActivationError, LimitError, SallyportError } from "../permissions/mod.ts";
import type { Authority, Callable } from "./authority.ts";
import type { Catalog, Found } from "./catalog.ts";
import { isLive } from "./check_plugin.ts";
import type { Generations } from "./generations.ts";
import { withCleanup } from "./lifecycle.ts";
import type { LifecycleLimits } from "./lifecycle_limits.ts";
import type { LoadedPlugin } from "./plugin.ts";
import { approvalOf } from "./plugin_state.ts";
import { isGivenUp } from "./run.ts";
import type { Runner } from "./runner.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Stage } from "./stage.ts";
import { type StartedMany, startMany } from "./start_many.ts";
import type { Approvals } from "./trust/mod.ts";
import type { Unit } from "./unit.ts";
import { hasCode } from "./unit_of.ts";

/** How plugins are started. */
export interface ActivateOptions {
  /** Gives the start up: what was begun is undone. */
  readonly signal?: AbortSignal;
}

/** How many are. */
export interface ActivateAllOptions extends ActivateOptions {
  /** Names of plugins without which nothing is started at all. */
  readonly required?: readonly string[];
}

/** What became of the start of one plugin. */
export interface StartedPlugin {
  /** Its name. */
  readonly plugin: string;
  /** Whether it runs. */
  readonly state: "active" | "failed";
  /** Why it does not. */
  readonly error: SallyportError | null;
}

/** How far a plugin has come in the present build. */
export interface PluginProgress {
  /** Its name. */
  readonly plugin: string;
  /** `disposed`: the tenant has stopped. */
  readonly state: "discovered" | "activating" | "active" | "failed" | "disposed";
}

/** What starting works with. */
export interface TenantStartsParts {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Its plugins. */
  readonly catalog: Catalog;
  /** What runs. */
  readonly runner: Runner;
  /** What it offered, and offers. */
  readonly generations: Generations;
  /** What runs under approvals. */
  readonly authority: Authority;
  /** What it approved. */
  readonly approvals: Approvals;
  /** The bounds. */
  readonly limits: LifecycleLimits;
  /** How a capability runs; among the plugins that were found, where these are not the present ones. */
  readonly callable: (id: string, found?: Found) => Promise<Callable>;
  /** Full ids that these plugins expose. */
  readonly exposures: (plugins: readonly LoadedPlugin[]) => Promise<ReadonlySet<string>>;
}

interface Row {
  readonly plugin: LoadedPlugin;
  readonly units: readonly Unit[];
  /** What was begun for it, and by nobody else. */
  readonly begun: Unit[];
}

/** Starts the plugins of one tenant. */
export class TenantStarts {
  readonly #parts: TenantStartsParts;
  #required: readonly string[] = [];
  #running: Promise<Snapshot> | null = null;
  #queued: Promise<Snapshot> | null = null;
  #isStopped = false;

  /** Starts nothing yet. */
  constructor(parts: TenantStartsParts) {
    this.#parts = parts;
  }

  /** Starts all that a plugin exposes, or nothing of it. */
  async activate(name: string, { signal }: ActivateOptions = {}): Promise<void> {
    const { catalog, approvals, runner } = this.#parts;
    const plugin = await catalog.plugin(name);
    approvalOf(plugin, await approvals.standing(plugin));
    await this.#startOne(await this.#rowOf(plugin), runner.stage, signal);
  }

  /** Starts all plugins that are trusted, in the catalog's order; without a required one, none. */
  async activateAll({ signal, required = [] }: ActivateAllOptions = {}): Promise<readonly StartedPlugin[]> {
    const { catalog, approvals, runner: { stage } } = this.#parts;
    this.#required = [...required];
    for (const name of required) {
      const plugin = await catalog.plugin(name);
      approvalOf(plugin, await approvals.standing(plugin));
    }
    const { plugins } = await catalog.discover();
    const rows: (Row | { readonly plugin: LoadedPlugin; readonly error: SallyportError })[] = [];
    for (const plugin of plugins.map((each) => catalog.fresh(each))) {
      if ((await approvals.standing(plugin)).state !== "approved") continue;
      const row = await this.#rowOf(plugin).catch((error: unknown) => {
        if (!(error instanceof SallyportError) || required.includes(plugin.name)) throw error;
        return { plugin, error };
      });
      rows.push(row);
    }
    const started = rows.filter((row) => "units" in row);
    const isRequired = (place: number): boolean => required.includes(started[place]!.plugin.name);
    const outcome = await this.#startMany(started, stage, signal, isRequired);
    return rows.map((row): StartedPlugin => {
      const error = "error" in row
        ? row.error
        : this.#errorOf(row, outcome.errors[started.indexOf(row)], outcome, stage);
      return { plugin: row.plugin.name, state: error === null ? "active" : "failed", error };
    });
  }

  /** How far each plugin that is trusted has come. */
  async progress(): Promise<readonly PluginProgress[]> {
    const { catalog, approvals, runner: { stage } } = this.#parts;
    const { plugins } = await catalog.discover();
    const rows: PluginProgress[] = [];
    for (const plugin of plugins) {
      const standing = await approvals.standing(catalog.fresh(plugin));
      if (standing.state !== "approved") continue;
      const facts = { place: plugin.source.directory, fingerprint: standing.approval.fingerprint.hash };
      rows.push({ plugin: plugin.name, state: this.#isStopped ? "disposed" : stage.progressOf(facts) });
    }
    return rows;
  }

  /** Builds anew from the disk; while one is being built, exactly one more waits. */
  reload(): Promise<Snapshot> {
    if (this.#running === null) return this.#begin();
    this.#queued ??= this.#running.catch(() => {}).then(() => {
      this.#queued = null;
      return this.#begin();
    });
    return this.#queued;
  }

  /** It has stopped. */
  stopped(): void {
    this.#isStopped = true;
  }

  #begin(): Promise<Snapshot> {
    const running = this.#reload().finally(() => {
      if (this.#running === running) this.#running = null;
    });
    this.#running = running;
    return running;
  }

  /** What runs, and what is required, is started beside what runs; then all of it takes its place, or nothing does. */
  async #reload(): Promise<Snapshot> {
    const { catalog, runner, generations, authority } = this.#parts;
    const found = await catalog.scan();
    const stage = runner.prepare();
    try {
      const rows = await this.#rowsAnew(found);
      await this.#startMany(rows, stage, undefined, () => true);
    } catch (error) {
      const failures = await runner.discard(stage);
      throw error instanceof SallyportError ? withCleanup(this.#parts.tenant, error, failures) : error;
    }
    await generations.commit(() => {
      catalog.adopt(found);
      runner.publish(stage);
      authority.bump();
    });
    return await generations.read();
  }

  /** What ran before, as far as it is still trusted, and what is required in any case. */
  async #rowsAnew(found: Found): Promise<readonly Row[]> {
    const { runner, approvals } = this.#parts;
    const ran = new Map<string, Set<string>>();
    for (const { place, capabilities = [] } of runner.stage.running) {
      ran.set(place, new Set([...ran.get(place) ?? [], ...capabilities]));
    }
    const missing = this.#required.find((name) => !found.plugins.some((plugin) => plugin.name === name));
    if (missing !== undefined) throw required(missing, "it is not there any more");
    const rows: Row[] = [];
    for (const plugin of found.plugins) {
      const isRequired = this.#required.includes(plugin.name);
      const ids = ran.get(plugin.source.directory);
      if (ids === undefined && !isRequired) continue;
      const standing = await approvals.standing(plugin);
      if (standing.state !== "approved" && !isRequired) continue;
      approvalOf(plugin, standing);
      rows.push(await this.#rowOf(plugin, found, isRequired ? undefined : ids));
    }
    return rows;
  }

  /** What of a plugin is started: what it exposes and can run, or of that what is meant. */
  async #rowOf(plugin: LoadedPlugin, found?: Found, meant?: ReadonlySet<string>): Promise<Row> {
    const { callable, exposures } = this.#parts;
    const exposed = await exposures([plugin]);
    const units = new Map<string, Unit>();
    for (const capability of plugin.capabilities) {
      const { fullId, surface } = capability;
      if (!exposed.has(fullId) || !isLive(surface) || !hasCode(capability)) continue;
      if (meant !== undefined && !meant.has(fullId)) continue;
      const { unit } = await callable(fullId, found);
      units.set(unit.key, unit);
    }
    return { plugin, units: [...units.values()], begun: [] };
  }

  /** One after the other; when one fails, those that were begun are stopped again. */
  async #startOne(
    { plugin, units, begun }: Row,
    stage: Stage,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { runner } = this.#parts;
    for (const unit of units) {
      const isOurs = stage.slot(unit.key) === undefined;
      try {
        await runner.start(unit, { stage, ...(signal === undefined ? {} : { signal }) });
      } catch (error) {
        if (error instanceof SallyportError && !(signal?.aborted && isGivenUp(error))) {
          stage.trouble(unit, error);
        }
        const failures = await this.#reap(begun, stage);
        throw error instanceof SallyportError ? withCleanup(plugin.name, error, failures) : error;
      }
      if (isOurs) begun.push(unit);
    }
  }

  async #startMany(
    rows: readonly Row[],
    stage: Stage,
    signal: AbortSignal | undefined,
    isRequired: (place: number) => boolean,
  ): Promise<StartedMany> {
    const { limits, tenant } = this.#parts;
    const starts = rows.map((row) => (giveUp: AbortSignal) => this.#startOne(row, stage, giveUp));
    const outcome = await startMany(starts, { limits, signal, isRequired });
    const { failed, errors } = outcome;
    if (failed === null && !signal?.aborted) return outcome;
    const failures = await this.#reap(rows.flatMap(({ begun }) => begun), stage);
    const error = failed === null
      ? new ActivationError("ERR_ACTIVATION_CANCELLED", "The start of the plugins was cancelled")
      : this.#errorOf(rows[failed]!, errors[failed], outcome, stage);
    throw error instanceof SallyportError ? withCleanup(tenant, error, failures) : errors[failed!];
  }

  async #reap(begun: Unit[], stage: Stage): Promise<readonly SallyportError[]> {
    const keys = new Set(begun.splice(0).map(({ key }) => key));
    return keys.size === 0
      ? []
      : await stage.stop(this.#parts.limits, { isMeant: ({ key }) => keys.has(key) });
  }

  /** What used up the budget of all is told so. */
  #errorOf(
    { plugin, units }: Row,
    error: unknown,
    { isLate }: StartedMany,
    stage: Stage,
  ): SallyportError | null {
    if (error === undefined) return null;
    if (!(error instanceof SallyportError)) throw error;
    if (!isLate || !isGivenUp(error)) return error;
    const { startAllMs } = this.#parts.limits;
    const late = new LimitError(
      "ERR_LIMIT_WALL",
      `Plugin "${plugin.name}" did not start within the ${startAllMs} ms (startAllMs) that all of them have together`,
      { details: { plugin: plugin.name, startAllMs } },
    );
    if (units[0] !== undefined) stage.trouble(units[0], late);
    return late;
  }
}

function required(plugin: string, why: string): ActivationError {
  return new ActivationError(
    "ERR_ACTIVATION_FAILED",
    `Cannot start the required plugin "${plugin}": ${why}`,
    {
      details: { plugin },
    },
  );
}
