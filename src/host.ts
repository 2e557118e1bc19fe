/** The host: what embeds Sallyport. It composes the parts and holds no rules. */
import { homedir } from "node:os";
import { join } from "node:path";
import { HostError, UsageError } from "../permissions/mod.ts";
import {
  type AuditSink,
  Broker,
  type ConfinementDemand,
  type ConfinementPlan,
  diskFiles,
  ENDOWMENTS,
  planConfinement,
  WorkerPool,
} from "../runtime/mod.ts";
import { jsonlAudit } from "./audit/jsonl.ts";
import { rememberingBundler } from "./bundle_memory.ts";
import { Bundler } from "./bundler/mod.ts";
import { findHome, type Home } from "./home.ts";
import { Runner } from "./runner.ts";
import { openScript, type Script, type ScriptOptions } from "./script.ts";
import { Tenant, type TenantOptions } from "./tenant.ts";

/** How a host is made. */
export interface HostOptions {
  /** The least confinement of workers that is accepted; `strong` wants bubblewrap, `best` takes what there is. */
  readonly confinement?: ConfinementDemand;
  /** Directory of Sallyport's own state; `~/.sallyport` when absent. Nothing is made in it before it is needed. */
  readonly home?: string;
  /** Where a tenant's audit goes; JSON Lines under `home` when absent. */
  readonly audit?: (tenant: string) => AuditSink;
}

interface Opened {
  readonly tenant: Tenant;
  readonly runner: Runner;
  readonly bundler: Pick<Bundler, "bundle">;
}

/** A host with its workers; ends them when it is disposed of. */
export class Host {
  readonly #plan: ConfinementPlan;
  readonly #home: Home;
  readonly #pool: WorkerPool;
  readonly #bundler: Bundler;
  readonly #openAudit: (tenant: string) => AuditSink;
  readonly #tenants = new Map<string, { readonly tenant: Tenant; readonly audit: AuditSink }>();
  #closing: Promise<void> | undefined;

  /** Use `createHost`. */
  constructor(plan: ConfinementPlan, home: Home, openAudit: (tenant: string) => AuditSink) {
    this.#plan = plan;
    this.#home = home;
    this.#openAudit = openAudit;
    this.#pool = new WorkerPool(plan);
    this.#bundler = new Bundler({ plan });
  }

  /** What workers reach on this machine, and why it is not better. */
  get confinement(): ConfinementPlan {
    return this.#plan;
  }

  /** Process ids of the workers that serve plugins; for tests and reports. */
  workerPids(): Promise<number[]> {
    return this.#pool.pids();
  }

  /** Starts a worker before it is needed, once something is about to run. */
  warm(): void {
    this.#pool.warm();
  }

  /** Opens a single script for a tenant of its own. Throws UsageError as `tenant` does, and for a file that is none. */
  script(id: string, file: string, options: ScriptOptions): Script {
    const { runner, bundler } = this.#open(id, { plugins: [] });
    this.warm();
    return openScript(file, options, { runner, bundler, tenant: id });
  }

  /**
   * Opens a tenant. Nothing is read before its first question. Throws UsageError for an id that is malformed or in use,
   * HostError `ERR_HOST_CLOSED`.
   */
  tenant(id: string, options: TenantOptions): Tenant {
    return this.#open(id, options).tenant;
  }

  /** Ends all calls, workers and logs; closing twice gives the same promise. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #open(id: string, options: TenantOptions): Opened {
    if (this.#closing !== undefined) {
      throw new HostError("ERR_HOST_CLOSED", "Cannot open a tenant: the host is closed");
    }
    if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(id)) {
      throw new UsageError(
        "ERR_USAGE",
        `Cannot open tenant "${id}": an id has 1 to 64 of a-z, 0-9, "-" and "_"`,
      );
    }
    if (this.#tenants.has(id)) {
      throw new UsageError("ERR_USAGE", `Cannot open tenant "${id}" twice: keep the first one`);
    }
    const audit = this.#openAudit(id);
    const sealed = (): readonly string[] => [this.#home.root, ...tenant.pluginRoots()];
    const broker = new Broker({
      ops: ENDOWMENTS.flatMap(({ ops }) => ops),
      audit,
      powers: { files: diskFiles() },
      sealed,
    });
    const bundler = rememberingBundler(this.#bundler);
    const runner = new Runner({
      tenant: id,
      pool: this.#pool,
      bundler,
      broker,
      audit,
      confinement: this.#plan.level,
    });
    const tenant = new Tenant(id, options, {
      runner,
      audit,
      bundler,
      confinement: this.#plan.level,
      dataRoot: join(this.#home.data, id),
      warm: () => this.#pool.warm(),
    });
    this.#tenants.set(id, { tenant, audit });
    return { tenant, runner, bundler };
  }

  async #close(): Promise<void> {
    for (const { tenant } of this.#tenants.values()) tenant.close();
    await Promise.all([this.#pool.close(), this.#bundler.close()]);
    for (const { audit } of this.#tenants.values()) audit.close();
  }
}

/**
 * Makes a host. Throws HostError `ERR_CONFINEMENT` when workers cannot be confined as strongly as is asked.
 *
 * @example
 * ```ts
 * await using host = await createHost({ confinement: "best" });
 * const tenant = host.tenant("acme", { plugins: ["./examples/word-count"] });
 * ```
 */
export function createHost(options: HostOptions = {}): Promise<Host> {
  const plan = planConfinement(options.confinement ?? "strong");
  const home = options.home === undefined
    ? findHome({ userHome: homedir(), cwd: process.cwd() })
    : findHome({ userHome: homedir(), fromEnvironment: options.home, cwd: process.cwd() });
  const openAudit = options.audit ??
    ((tenant: string) =>
      jsonlAudit({ directory: home.audit, tenant, keyFile: home.auditKey, now: () => Date.now() }));
  return Promise.resolve(new Host(plan, home, openAudit));
}
