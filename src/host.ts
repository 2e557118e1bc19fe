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
  pinnedNet,
  planConfinement,
  RUNTIME_LIMITS,
  WorkerPool,
} from "../runtime/mod.ts";
import { jsonlAudit } from "./audit/jsonl.ts";
import { rememberingBundler } from "./bundle_memory.ts";
import { Bundler } from "./bundler/mod.ts";
import { findHome, type Home } from "./home.ts";
import { openOwnSpaces, type OwnSpaces } from "./own_spaces.ts";
import { Runner } from "./runner.ts";
import { openScript, type Script, type ScriptOptions } from "./script.ts";
import { Validator } from "./validator/mod.ts";
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

/** Majors of Node that the isolate engine has a binary for. */
const NODE_MAJORS: readonly string[] = ["24", "26"];

interface Opened {
  readonly tenant: Tenant;
  readonly spaces: OwnSpaces;
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
  readonly #tenants = new Map<string, Pick<Opened, "tenant" | "spaces"> & { readonly audit: AuditSink }>();
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
    const { runner, bundler, spaces } = this.#open(id, { plugins: [] });
    this.warm();
    return openScript(file, options, { runner, bundler, tenant: id, spaces });
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
    const spaces = openOwnSpaces({
      temporaryRoot: this.#home.temporary,
      dataRoot: join(this.#home.data, id),
      storageFile: join(this.#home.storage, `${id}.sqlite`),
      storageBytesMax: options.policy?.storageBytesMax ?? RUNTIME_LIMITS.storageBytesPerTenantMax,
    });
    const broker = new Broker({
      ops: ENDOWMENTS.flatMap(({ ops }) => ops),
      audit,
      powers: {
        files: diskFiles({ unlinked: [this.#home.data, this.#home.temporary] }),
        net: pinnedNet(),
        storage: spaces.storage,
      },
      sealed: () => this.#sealed(),
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
    const validator = new Validator({ tenant: id, pool: this.#pool, bundler, broker });
    const tenant = new Tenant(id, options, {
      runner,
      validator,
      audit,
      bundler,
      confinement: this.#plan.level,
      spaces,
      warm: () => this.#pool.warm(),
    });
    this.#tenants.set(id, { tenant, audit, spaces });
    return { tenant, runner, bundler, spaces };
  }

  /** What no grant reaches (T03): all state, and the plugins of every tenant. */
  #sealed(): readonly string[] {
    const plugins = [...this.#tenants.values()].flatMap(({ tenant }) => tenant.pluginRoots());
    return [...new Set([this.#home.root, ...plugins])];
  }

  async #close(): Promise<void> {
    const tenants = [...this.#tenants.values()].map(({ tenant }) => tenant.close());
    await Promise.all([...tenants, this.#pool.close(), this.#bundler.close()]);
    for (const { audit, spaces } of this.#tenants.values()) {
      await spaces.close();
      audit.close();
    }
  }
}

/**
 * Makes a host. Throws HostError `ERR_CONFINEMENT` when workers cannot be confined as strongly as is asked, `ERR_ENGINE` on a
 * Node that the isolate engine has no binary for.
 *
 * @example
 * ```ts
 * await using host = await createHost({ confinement: "best" });
 * const tenant = host.tenant("acme", { plugins: ["./examples/word-count"] });
 * ```
 */
export async function createHost(options: HostOptions = {}): Promise<Host> {
  refuseOtherNode(process.versions.node);
  const plan = planConfinement(options.confinement ?? "strong");
  const home = options.home === undefined
    ? findHome({ userHome: homedir(), cwd: process.cwd() })
    : findHome({ userHome: homedir(), fromEnvironment: options.home, cwd: process.cwd() });
  const openAudit = options.audit ??
    ((tenant: string) =>
      jsonlAudit({ directory: home.audit, tenant, keyFile: home.auditKey, now: () => Date.now() }));
  return new Host(plan, home, openAudit);
}

function refuseOtherNode(version: string): void {
  if (NODE_MAJORS.includes(version.split(".")[0]!)) return;
  throw new HostError(
    "ERR_ENGINE",
    `Cannot start a host on Node ${version}: the isolate engine needs Node 24 or 26. Run your program with \`npx node\`, which Sallyport installed`,
    { details: { node: version } },
  );
}
