/** The host: what embeds Sallyport. It composes the parts and holds no rules. */
import { homedir } from "node:os";
import { join } from "node:path";
import { HostError, type Kind, type KindTable, kindTable, UsageError } from "../permissions/mod.ts";
import {
  type Asker,
  Asks,
  type AuditEvent,
  type AuditSink,
  Broker,
  CodeCache,
  type ConfinementDemand,
  type ConfinementPlan,
  type CordonChoice,
  defineOp,
  diskFiles,
  type EarlyWorker,
  ENDOWMENTS,
  type NetPowers,
  type OpDefinition,
  pinnedNet,
  planConfinement,
  type PoolLimits,
  Redactor,
  rememberedJail,
  RUNTIME_LIMITS,
  sandboxedRun,
  WorkerPool,
} from "../runtime/mod.ts";
import { boundedAudit } from "./audit/bounded.ts";
import { jsonlAudit } from "./audit/jsonl.ts";
import { redactingAudit } from "./audit/redacting.ts";
import { alteringBundler, rememberingBundler } from "./bundle_memory.ts";
import { CallRate } from "./call_rate.ts";
import { Bundler, type TargetBundle } from "./bundler/mod.ts";
import { FairTurns } from "./fair_turns.ts";
import { findHome, type Home, realAncestor } from "./home.ts";
import { openOwnSpaces, type OwnSpaces } from "./own_spaces.ts";
import type { Explain } from "./explain.ts";
import { fileRetiredStore } from "./retired_data.ts";
import { Runner } from "./runner.ts";
import { openScript, type Script, type ScriptOptions } from "./script.ts";
import { Quarantine, quarantinedError } from "./quarantine.ts";
import { fileQuarantineStore, type QuarantineRecord, type QuarantineStore } from "./quarantine_store.ts";
import { memorySecretStore, openSecrets, type TenantSecrets } from "./secrets/mod.ts";
import { type CacheStore, layeredCache, memoryCache } from "./stores/cache.ts";
import { Validator } from "./validator/mod.ts";
import { LIFECYCLE_LIMITS } from "./lifecycle_limits.ts";
import { POINT_LIMITS } from "./points/limits.ts";
import { HOOK_EVENTS } from "./surfaces/mod.ts";
import { Tenant } from "./tenant.ts";
import type { TenantOptions } from "./tenant_types.ts";

/** How a host is made. */
export interface HostOptions {
  /** The least confinement of workers that is accepted; `strong` wants bubblewrap, `best` takes what there is. */
  readonly confinement?: ConfinementDemand;
  /** Directory of Sallyport's own state; `~/.sallyport` when absent. Nothing is made in it before it is needed. */
  readonly home?: string;
  /** Where a tenant's audit goes; JSON Lines under `home` when absent. */
  readonly audit?: (tenant: string) => AuditSink;
  /** Kinds of permission beside the built-in ones, made with `definePermission`. */
  readonly permissions?: readonly Kind[];
  /** Names of events beside the built-in ones, as hooks name them: `DeployStarted`. Nobody decides about them. */
  readonly events?: readonly string[];
  /** Ops beside the built-in ones, made with `defineOp`; guests call them as `context.host.NAME(…)`. */
  readonly ops?: readonly OpDefinition[];
  /**
   * Where bundles are kept beyond the process, as `diskCache` does; absent is nowhere. Tenants share it: it answers with
   * what was made of the very bytes that are asked about.
   */
  readonly cache?: CacheStore;
  /**
   * How far a worker process is shared by plugins that hold nothing grave; absent is by those of one tenant. Who holds
   * something grave, guardrails and suspects share with nobody, whatever this says.
   */
  readonly cordon?: CordonChoice;
  /** Bounds of workers other than those that follow from the machine. */
  readonly workers?: Partial<PoolLimits>;
  /** Where it is kept which plugins were stopped for killing workers; `quarantine.json` under `home` when absent. */
  readonly quarantine?: QuarantineStore;
  /** Who is asked, one question at a time, about what flags and trust records did not grant; absent is nobody. */
  readonly asker?: Asker;
}

/** What an embedder adds. */
interface Additions {
  readonly asks?: Asks;
  readonly kinds: KindTable;
  readonly ops: readonly OpDefinition[];
  readonly events: readonly string[];
}

/** What stands in for the world, for who tests plugins. */
export interface StandIns {
  /** The network; absent is the machine's. */
  readonly net?: NetPowers;
  /** Changes what was bundled before it runs. */
  readonly alterBundle?: (bundle: TargetBundle) => TargetBundle;
}

/** What was there before the host. */
interface HostBeginnings {
  readonly standIns?: StandIns | undefined;
  readonly cache?: CacheStore | undefined;
  readonly early?: EarlyWorker | undefined;
  readonly cordon?: CordonChoice | undefined;
  readonly workers?: Partial<PoolLimits> | undefined;
  readonly quarantine?: QuarantineStore | undefined;
}

/** Majors of Node that the isolate engine has a binary for. */
const NODE_MAJORS: readonly string[] = ["24", "26"];

interface Opened {
  readonly tenant: Tenant;
  readonly spaces: OwnSpaces;
  readonly runner: Runner;
  readonly bundler: Pick<Bundler, "bundle">;
  readonly secrets: TenantSecrets;
  readonly explain: Explain;
  readonly redactor: Redactor;
}

/** A host with its workers; ends them when it is disposed of. */
export class Host {
  readonly #plan: ConfinementPlan;
  readonly #home: Home;
  readonly #pool: WorkerPool;
  readonly #turns = new FairTurns();
  readonly #quarantine: Quarantine;
  readonly #bundler: Bundler;
  readonly #openAudit: (tenant: string) => AuditSink;
  readonly #added: Additions;
  readonly #tenants = new Map<string, Pick<Opened, "tenant" | "spaces"> & { readonly audit: AuditSink }>();
  readonly #jail = rememberedJail();
  #sealedPlaces: { readonly of: readonly (readonly string[])[]; readonly list: readonly string[] };
  readonly #cordon: CordonChoice | undefined;
  readonly #standIns: StandIns;
  /** Tenants whose programs may be unconfined. */
  readonly #unconfined: string[] = [];
  /** Plugins whose missing answers let things pass. */
  readonly #unanswered: string[] = [];
  #closing: Promise<void> | undefined;

  /** Use `createHost`. */
  constructor(
    plan: ConfinementPlan,
    home: Home,
    openAudit: (tenant: string) => AuditSink,
    added: Additions = { kinds: kindTable(), ops: [], events: [] },
    { cache, early, cordon, workers, quarantine, standIns = {} }: HostBeginnings = {},
  ) {
    this.#plan = plan;
    this.#home = home;
    this.#cordon = cordon;
    this.#standIns = standIns;
    this.#sealedPlaces = { of: [], list: [home.root] };
    this.#openAudit = openAudit;
    this.#added = added;
    this.#quarantine = new Quarantine({
      store: quarantine ?? fileQuarantineStore(home.root),
      onQuarantined: (record) => this.#onQuarantined(record),
    });
    const near = memoryCache();
    const kept = cache === undefined ? near : layeredCache(near, cache);
    this.#pool = new WorkerPool({
      plan,
      codeCache: new CodeCache(kept),
      early,
      limits: workers,
      // What a person answers may make a grant grave while it runs.
      cordon: added.asks === undefined ? cordon : "plugin",
      isSuspect: (owner) => this.#quarantine.isSuspect(owner),
      onEnd: (end) => this.#quarantine.onEnd(end),
    });
    if (early !== undefined) this.#pool.warm(); // it has a process already, and can go on with it
    this.#bundler = new Bundler({ plan, cache: kept });
  }

  /** What workers reach on this machine, and why it is not better. */
  get confinement(): ConfinementPlan {
    return this.#plan;
  }

  /** Options in force that make the boundary weaker than its default, a sentence each; for reports. */
  get weakenings(): readonly string[] {
    const cordon = this.#cordon === "host" ? ["tenants share worker processes (cordon: host)"] : [];
    return [
      ...cordon,
      ...this.#unconfined.map((id) =>
        `programs of tenant "${id}" may run without confinement (unconfinedCommands)`
      ),
      ...this.#unanswered,
    ];
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
    const { runner, bundler, spaces, secrets, explain, redactor } = this.#open(
      id,
      {
        plugins: [],
        policy: options.unconfinedCommands === undefined
          ? {}
          : { unconfinedCommands: options.unconfinedCommands },
        ...(options.secrets === undefined ? {} : { secrets: options.secrets }),
      },
    );
    this.warm();
    return openScript(file, options, {
      runner,
      bundler,
      tenant: id,
      spaces,
      kinds: this.#added.kinds,
      secrets,
      explain,
      redactor,
    });
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
    const redactor = new Redactor();
    const audit = redactingAudit(boundedAudit(this.#openAudit(id), () => performance.now()), redactor);
    const spaces = openOwnSpaces({
      tenant: id,
      retired: fileRetiredStore(this.#home.root),
      temporaryRoot: this.#home.temporary,
      dataRoot: join(this.#home.data, id),
      storageFile: join(this.#home.storage, `${id}.sqlite`),
      storageBytesMax: options.policy?.storageBytesMax ?? RUNTIME_LIMITS.storageBytesPerTenantMax,
    });
    const mayBeUnconfined = options.policy?.unconfinedCommands === "allow";
    if (mayBeUnconfined) this.#unconfined.push(id);
    this.#unanswered.push(
      ...Object.keys(options.policy?.onNoAnswer ?? {}).map((plugin) =>
        `what plugin "${plugin}" of tenant "${id}" guards passes when it gives no answer (onNoAnswer)`
      ),
    );
    const confinement = this.#plan.level + (mayBeUnconfined ? ", commands may be unconfined" : "");
    const store = options.secrets ?? memorySecretStore();
    const secrets = openSecrets({ tenant: id, store, redactor, audit, confinement });
    const broker = new Broker({
      ops: [...BUILT_IN_OPS, ...this.#added.ops],
      audit,
      powers: {
        files: diskFiles({ unlinked: [this.#home.data, this.#home.temporary] }),
        net: this.#standIns.net ?? pinnedNet(),
        storage: spaces.storage,
        run: sandboxedRun({ mayBeUnconfined, jail: this.#jail }),
        // The tenant comes last, since it stands on the runner, and that on the broker; no op runs before it is there.
        calls: { call: ({ value }, input, origin) => tenant.callForPlugin(value, input, origin) },
      },
      sealed: () => this.#sealed(),
      asks: this.#added.asks,
      secrets,
      redactor,
    });
    const lifecycle = { ...LIFECYCLE_LIMITS, ...options.lifecycle };
    const explain: Explain = (holder, requirement) => broker.explain(holder, requirement);
    const bundler = alteringBundler(rememberingBundler(this.#bundler), this.#standIns.alterBundle);
    const runner = new Runner({
      tenant: id,
      pool: this.#pool,
      bundler,
      broker,
      audit,
      confinement,
      redactor,
      quarantine: this.#quarantine,
      hostOps: this.#added.ops.map(({ name }) => name),
      lifecycle,
    });
    const validator = new Validator({ tenant: id, pool: this.#pool, bundler, broker });
    const tenant: Tenant = new Tenant(id, options, {
      runner,
      validator,
      audit,
      bundler,
      confinement,
      spaces,
      secrets,
      kinds: this.#added.kinds,
      events: this.#added.events,
      explain,
      dispatch: (request) => broker.dispatch(request),
      redactor,
      quarantine: this.#quarantine,
      calls: new CallRate({
        tenant: id,
        callsPerSecondMax: options.policy?.callsPerSecondMax,
        turns: this.#turns,
        onRefused: (count) =>
          note(audit, { type: "limit", tenant: id, confinement }, { callsRefused: count }),
      }),
      erase: async () => {
        await spaces.erase();
        await spaces.close();
        audit.close();
        this.#tenants.delete(id);
        this.#turns.forget(id);
      },
      warm: () => this.#pool.warm(),
      lifecycle,
    });
    this.#tenants.set(id, { tenant, audit, spaces });
    return { tenant, runner, bundler, spaces, secrets, explain, redactor };
  }

  /** What of it still runs, in whichever worker, ends; and it is written down. */
  #onQuarantined(record: QuarantineRecord): void {
    const { tenant, plugin, fingerprint, deaths } = record;
    this.#pool.end(record, quarantinedError(record));
    const audit = this.#tenants.get(tenant)?.audit;
    const facts = { type: "crash", tenant, plugin, fingerprint, confinement: this.#plan.level } as const;
    if (audit !== undefined) note(audit, facts, { quarantined: true, deaths });
  }

  /** What no grant reaches (T03): all state, and the plugins of every tenant. Asked by each op, so made only once. */
  #sealed(): readonly string[] {
    const roots = [...this.#tenants.values()].map(({ tenant }) => tenant.pluginRoots());
    const { of } = this.#sealedPlaces;
    if (roots.length !== of.length || roots.some((each, place) => each !== of[place])) {
      this.#sealedPlaces = { of: roots, list: [...new Set([this.#home.root, ...roots.flat()])] };
    }
    return this.#sealedPlaces.list;
  }

  async #close(): Promise<void> {
    // What plugins do last needs the workers.
    await Promise.all([...this.#tenants.values()].map(({ tenant }) => tenant.stop()));
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
 * Node that the isolate engine has no binary for, UsageError for a kind, an op or an event whose name is taken.
 *
 * @example
 * ```ts
 * await using host = await createHost({ confinement: "best" });
 * const tenant = host.tenant("acme", { plugins: ["./examples/word-count"] });
 * ```
 */
export function createHost(options: HostOptions = {}, early?: EarlyWorker): Promise<Host> {
  return openHost(options, early === undefined ? {} : { early });
}

/** The same with what stands in for the world: not public, since nothing that runs plugins in earnest may have it. */
export async function openHost(
  options: HostOptions,
  { early, standIns }: Pick<HostBeginnings, "early" | "standIns">,
): Promise<Host> {
  refuseOtherNode(process.versions.node);
  const kinds = kindTable(options.permissions);
  const ops = addedOps(options.ops ?? [], kinds);
  const events = addedEvents(options.events ?? []);
  const plan = early?.plan ?? planConfinement(options.confinement ?? "strong");
  const home = options.home === undefined
    ? findHome({ userHome: homedir(), cwd: process.cwd() })
    : findHome({ userHome: homedir(), fromEnvironment: options.home, cwd: process.cwd() });
  const openAudit = options.audit ??
    ((tenant: string) =>
      jsonlAudit({ directory: home.audit, tenant, keyFile: home.auditKey, now: () => Date.now() }));
  const { asker } = options;
  const asking = asker === undefined ? {} : { asks: new Asks({ asker, real: realAncestor }) };
  return new Host(plan, home, openAudit, { kinds, ops, events, ...asking }, { ...options, early, standIns });
}

/** Writes down what has happened: that it cannot be written undoes nothing, and what is done next is refused by the same log. */
function note(
  audit: AuditSink,
  facts: Pick<AuditEvent, "type" | "tenant" | "confinement"> & Partial<AuditEvent>,
  details: Readonly<Record<string, unknown>>,
): void {
  try {
    audit.write({ plugin: null, fingerprint: null, call: null, ...facts, details });
  } catch {
    // Told by whoever writes next.
  }
}

const BUILT_IN_OPS: readonly OpDefinition[] = ENDOWMENTS.flatMap(({ ops }) => ops);

/** An op that took a built-in one's name would stand in the audit, and in a guest's hands, as something that it isn't. */
function addedOps(ops: readonly OpDefinition[], kinds: KindTable): readonly OpDefinition[] {
  for (const [place, { name }] of ops.entries()) {
    const problem = !/^[a-zA-Z][a-zA-Z0-9_]{0,63}$/.test(name) || name === "then"
      ? "its name is 1 to 64 letters, digits and _, starts with a letter, and is not `then`"
      : BUILT_IN_OPS.some((op) => op.name === name)
      ? "a built-in op has that name"
      : Object.hasOwn(kinds, name)
      ? "a kind of permission has that name"
      : ops.findIndex((op) => op.name === name) !== place
      ? "another one has that name"
      : undefined;
    if (problem !== undefined) {
      throw new UsageError("ERR_USAGE", `Cannot add the op ${JSON.stringify(name)}: ${problem}`);
    }
  }
  return ops.map((op) => defineOp({ ...op }));
}

/** Hooks name them as they name the built-in ones. */
function addedEvents(events: readonly string[]): readonly string[] {
  for (const [place, name] of events.entries()) {
    const problem = place >= POINT_LIMITS.eventsMax
      ? `there are ${POINT_LIMITS.eventsMax} others (eventsMax)`
      : !/^[A-Z][a-zA-Z]{0,63}$/.test(name)
      ? "its name is 1 to 64 letters, and starts with a capital one"
      : HOOK_EVENTS.includes(name)
      ? "a built-in event has that name"
      : events.indexOf(name) !== place
      ? "another one has that name"
      : undefined;
    if (problem !== undefined) {
      throw new UsageError("ERR_USAGE", `Cannot add the event ${JSON.stringify(name)}: ${problem}`);
    }
  }
  return [...events];
}

function refuseOtherNode(version: string): void {
  if (NODE_MAJORS.includes(version.split(".")[0]!)) return;
  throw new HostError(
    "ERR_ENGINE",
    `Cannot start a host on Node ${version}: the isolate engine needs Node 24 or 26. Run your program with \`npx node\`, which Sallyport installed`,
    { details: { node: version } },
  );
}
