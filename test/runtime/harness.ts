/**
 * A host without the floors above the runtime: a pool of real workers, a broker that audits to memory, and guests whose
 * code is given as text, as a bundler would have made it.
 */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { grantOf, layerOf, type LayerSource, type PermissionRequest } from "../../permissions/mod.ts";
import {
  type Asks,
  type AuditEvent,
  type AuditSink,
  Broker,
  type BundleFiles,
  type ConfinementPlan,
  type Denial,
  diskFiles,
  ENDOWMENTS,
  failureToError,
  GUEST_LIMITS,
  type GuestAnswer,
  type GuestConfig,
  guestConfig,
  GuestIsolate,
  type GuestLimits,
  type GuestLine,
  memoryAudit,
  newDenialPrefix,
  type OpDefinition,
  type OwnSpace,
  planConfinement,
  type PoolOptions,
  type Powers,
  type Principal,
  type RunOptions,
  WorkerPool,
  type WorkerProcess,
} from "../../runtime/mod.ts";

/** How a bench is set up; everything has a default that is the product's. */
export interface BenchOptions {
  readonly plan?: ConfinementPlan;
  /** Further ops beside the endowments' own. */
  readonly ops?: readonly OpDefinition[];
  readonly audit?: AuditSink;
  readonly powers?: Powers;
  readonly sealed?: () => readonly string[];
  readonly asks?: Asks;
  /** How the pool differs from the product's. */
  readonly pool?: Omit<PoolOptions, "plan">;
  /** Makes isolates in this worker instead of the pool's. */
  readonly worker?: WorkerProcess;
}

/** How a guest is started. */
export interface GuestOptions {
  readonly permissions?: PermissionRequest;
  readonly cwd?: string;
  readonly cordon?: string;
  /** Leaves the cordon to the pool. */
  readonly isCordoned?: boolean;
  readonly tenant?: string;
  readonly plugin?: string;
  readonly fingerprint?: string;
  readonly limits?: Partial<GuestLimits>;
  readonly memoryMb?: number;
  readonly config?: Partial<
    Pick<GuestConfig, "env" | "envAllow" | "envDeny" | "sys" | "dynamicCode" | "wasm" | "isScript">
  >;
  readonly bundle?: BundleFiles;
  readonly data?: string;
  readonly own?: OwnSpace;
  readonly environment?: Readonly<Record<string, string>>;
  /** Whose word the permissions are; a manifest's may not name a relative path for writing. */
  readonly source?: LayerSource;
  readonly loadMs?: number;
}

/** One call's outcome, with how long it took. */
export interface Outcome {
  readonly value?: unknown;
  readonly code?: string;
  readonly error?: Error & { readonly code: string; readonly details: Readonly<Record<string, unknown>> };
  readonly tookMs: number;
  readonly denials: readonly Denial[];
  readonly lines: readonly GuestLine[];
}

const DEFAULT_WALL_MS = 20_000;

/** The bound of a call that must end late, and the time that issue and machine allow above it. */
export const GRACE_MS = 2_000;

/** A host of the runtime alone. */
export class Bench {
  readonly pool: WorkerPool;
  readonly broker: Broker;
  readonly events: readonly AuditEvent[];
  readonly #worker: WorkerProcess | undefined;
  #calls = 0;

  constructor(options: BenchOptions = {}) {
    const audit = memoryAudit();
    this.events = audit.events;
    this.#worker = options.worker;
    this.pool = new WorkerPool({ plan: options.plan ?? planConfinement("best"), ...options.pool });
    this.broker = new Broker({
      ops: [...ENDOWMENTS.flatMap(({ ops }) => ops), ...(options.ops ?? [])],
      audit: options.audit ?? audit,
      powers: options.powers ?? { files: diskFiles() } as Powers, // no guest of these tests asks for another
      sealed: options.sealed ?? (() => []),
      asks: options.asks,
    });
  }

  /** An isolate that has evaluated `code`; throws what the evaluation came to. */
  async load(code: string, options: GuestOptions = {}): Promise<Guest> {
    const { cwd = "/nonexistent", permissions = {}, bundle = null, data } = options;
    const context = { cwd, ...(data === undefined ? {} : { data }) };
    const principal: Principal = {
      tenant: options.tenant ?? "t",
      plugin: options.plugin ?? "p",
      title: 'Plugin "p"',
      fingerprint: options.fingerprint ?? null,
      confinement: "test",
      grant: grantOf(layerOf(options.source ?? "manifest", permissions, context)),
      context,
      bundle,
      own: options.own,
      ...(options.environment === undefined ? {} : { environment: options.environment }),
      denialPrefix: newDenialPrefix(),
    };
    const limits = {
      ...GUEST_LIMITS,
      memoryMb: options.memoryMb ?? GUEST_LIMITS.memoryMb,
      ...options.limits,
    };
    const { broker } = this;
    const isolate = this.#worker === undefined
      ? await this.pool.isolate({
        broker,
        principal,
        limits,
        ...(options.isCordoned === true ? {} : { cordon: options.cordon ?? "t/p" }),
      })
      : await GuestIsolate.create({ worker: this.#worker, broker, principal, limits });
    const guest = new Guest(isolate, () => `call-${++this.#calls}`);
    const isScript = options.config?.isScript === true;
    const config = JSON.stringify(guestConfig({
      env: {},
      envAllow: [],
      envDeny: [],
      dynamicCode: false,
      isScript: false,
      ...options.config,
      denialPrefix: principal.denialPrefix,
    }));
    const loaded = await guest.during(
      (run) => isolate.load(code, { filename: "plugin:p/main.js", config, isScript }, run),
      options.loadMs,
    );
    if (loaded.error !== undefined) throw loaded.error;
    return guest;
  }

  /** An isolate whose target is the handler, an expression: `async (input, context) => …`. */
  async start(handler: string, options: GuestOptions = {}): Promise<Guest> {
    return await this.load(`__sallyport_register__(${handler}\n)`, options);
  }

  /** Loads, calls once and disposes. */
  async once(
    handler: string,
    options: GuestOptions & { readonly input?: unknown; readonly wallMs?: number } = {},
  ): Promise<Outcome> {
    const guest = await this.start(handler, options);
    try {
      return await guest.call(options.input ?? null, options.wallMs);
    } finally {
      guest.isolate.dispose();
    }
  }

  /** Audit events of ops, in their order, as `kind value decision`. */
  decisions(): string[] {
    return this.events.filter(({ type }) => type === "op")
      .map(({ kind, value, decision }) => `${kind} ${value} ${decision}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool.close();
  }
}

/** A loaded isolate. */
export class Guest {
  readonly isolate: GuestIsolate;
  readonly #nextId: () => string;

  constructor(isolate: GuestIsolate, nextId: () => string) {
    this.isolate = isolate;
    this.#nextId = nextId;
  }

  /** Calls; never rejects. */
  call(
    input: unknown = null,
    wallMs: number = DEFAULT_WALL_MS,
    more: Partial<Pick<RunOptions, "signal" | "id" | "onLine">> = {},
  ): Promise<Outcome> {
    const text = JSON.stringify({ input, context: {} });
    return this.during((run) => this.isolate.call(text, run), wallMs, more);
  }

  /** Runs one load or call and says what it came to. */
  async during(
    work: (run: RunOptions) => Promise<GuestAnswer>,
    wallMs: number = DEFAULT_WALL_MS,
    more: Partial<Pick<RunOptions, "signal" | "id" | "onLine">> = {},
  ): Promise<Outcome> {
    const begin = performance.now();
    const denials: Denial[] = [];
    const lines: GuestLine[] = [];
    const rest = () => ({ tookMs: performance.now() - begin, denials, lines });
    const onLine = (line: GuestLine): void => void lines.push(line);
    try {
      const run = { id: this.#nextId(), deadline: begin + wallMs, wallMs, denials, onLine, ...more };
      const answer = await work(run);
      if (answer.ok) return { value: JSON.parse(answer.text) as unknown, ...rest() };
      throw failureToError(answer.error, denials, {
        title: 'Plugin "p"',
        plugin: "p",
        stack: answer.error.stack,
      });
    } catch (thrown) {
      const error = thrown as NonNullable<Outcome["error"]>; // the runtime throws nothing but SallyportErrors
      return { code: error.code, error, ...rest() };
    }
  }
}

/** A folder of its own below the system's temporary one, by its real path; removed by `using`. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "sallyport-test-")));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Whether a process exists and has not ended; one that only waits for its parent to notice has. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== "linux" || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** Waits until the condition holds; throws when it does not within the time. */
export async function until(holds: () => boolean, withinMs: number): Promise<void> {
  const end = performance.now() + withinMs;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`it did not happen within ${withinMs} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
