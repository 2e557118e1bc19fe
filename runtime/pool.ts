/**
 * Who works for whom: cordons say who may share a worker, one spare worker is ready, and blank isolates are ready in each.
 * Nothing is started before the first plugin that may run (R42). What is idle ends, what is old or large is replaced.
 */
import { availableParallelism, totalmem } from "node:os";
import { HostError, LimitError, type SallyportError } from "../permissions/mod.ts";
import type { Broker } from "./broker.ts";
import type { ConfinedProcess } from "./confine.ts";
import type { ConfinementPlan } from "./confine_plan.ts";
import type { CodeCache } from "./code_cache.ts";
import { Compiler } from "./compile_apart.ts";
import { type CordonChoice, cordonOf } from "./cordon.ts";
import type { EarlyWorker } from "./early.ts";
import { enginePath } from "./engine.ts";
import { GuestIsolate } from "./guest_isolate.ts";
import { GUEST_LIMITS, type GuestLimits, type PoolLimits, poolLimits, RUNTIME_LIMITS } from "./limits.ts";
import { composePlatform } from "./platform.ts";
import { Slots } from "./powers/slots.ts";
import type { Principal } from "./principal.ts";
import { Seat } from "./seat.ts";
import { type IsolateOwner, ownerKey, OwnerSet, type WorkerEnd } from "./worker_end.ts";
import { WorkerProcess } from "./worker_process.ts";

/** How a pool is made. */
export interface PoolOptions {
  /** How workers are confined. */
  readonly plan: ConfinementPlan;
  /** Bounds other than those for this machine. */
  readonly limits?: Partial<PoolLimits> | undefined;
  /** How far workers are shared by plugins that hold nothing grave; absent is by those of one tenant. */
  readonly cordon?: CordonChoice | undefined;
  /** Whether a plugin may have killed a worker, and therefore works alone. */
  readonly isSuspect?: (owner: IsolateOwner) => boolean;
  /** Told of each worker that ended, and by whose code that may have come. */
  readonly onEnd?: (end: WorkerEnd) => void;
  /** Where code caches are kept; absent is nowhere. */
  readonly codeCache?: CodeCache | undefined;
  /** A worker that was started before; the first that is needed. */
  readonly early?: EarlyWorker | undefined;
}

/** What an isolate is wanted for. */
export interface IsolateRequest {
  /** Where its ops go. */
  readonly broker: Broker;
  /** Whose it is. */
  readonly principal: Principal;
  /** What it may use. */
  readonly limits: GuestLimits;
  /** Whether it must not share its worker with another plugin, whatever it holds. */
  readonly isAlone?: boolean;
  /** The one name of the workers that it may live in, where its owner is none of the plugins. */
  readonly cordon?: string;
  /** Ends the waiting; the reason is what is thrown. */
  readonly signal?: AbortSignal;
}

/** The workers of one host. */
export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #limits: PoolLimits;
  /** The worker of each cordon that takes new isolates. */
  readonly #open = new Map<string, Promise<Seat>>();
  /** Every worker that serves somebody, with whom; full and drained ones too. */
  readonly #seats = new Map<Seat, { readonly tenant: string; readonly cordon: string }>();
  readonly #hostPlaces: Slots;
  readonly #tenantPlaces = new Map<string, Slots>();
  /** Many may be wanted in one moment, as when one has died; the host's own thread makes each process. */
  readonly #starts: Slots;
  readonly #closing = new AbortController();
  /** Who waits for a worker that there is no place for, by tenant. */
  readonly #wanted = new Map<string, number>();
  /** Whose code has run into a limit: from then on it never holds a worker's own thread. */
  readonly #slow = new OwnerSet(RUNTIME_LIMITS.slowOwnersMax);
  readonly #compiler: Compiler | undefined;
  #spare: Promise<Seat> | undefined;
  #platform: string | undefined;
  #sweep: NodeJS.Timeout | undefined;
  #respare: NodeJS.Timeout | undefined;

  /** Starts nothing. */
  constructor(options: PoolOptions) {
    this.#options = options;
    const machine = { cpus: availableParallelism(), memoryBytes: totalmem() };
    this.#limits = { ...poolLimits(machine), ...options.limits };
    const { codeCache } = options;
    this.#compiler = codeCache && new Compiler(codeCache, () => this.#startWorker());
    this.#hostPlaces = new Slots(this.#limits.workersPerHostMax);
    this.#starts = new Slots(this.#limits.workersStartingMax);
  }

  /** Starts the spare worker, if none is there. Failures are told to whoever needs the worker. */
  warm(): void {
    if (this.#isClosed || this.#spare !== undefined) return;
    const spare = this.#start();
    this.#spare = spare;
    // One that ended, or never began, is no spare; the next who needs one starts it.
    const forget = (): void => {
      if (this.#spare === spare) this.#spare = undefined;
    };
    spare.then(({ worker }) => worker.ended.then(forget), forget);
  }

  /**
   * Gives an isolate in a worker of its cordon. Throws HostError `ERR_HOST_CLOSED`, `ERR_ENGINE`, `ERR_CONFINEMENT` or
   * `ERR_WORKER_LOST`, LimitError `ERR_LIMIT_RATE` when all isolates that its tenant may have are at work.
   */
  async isolate(request: IsolateRequest): Promise<GuestIsolate> {
    await this.#makeRoomFor(request.principal.tenant);
    for (let attempt = 1;; attempt++) {
      let seat: Seat | undefined;
      try {
        seat = await this.#seatFor(request);
        return await this.#makeIn(seat, request);
      } catch (error) {
        if (this.#isClosed) throw hostIsClosed();
        // Nothing of the caller's was begun in a worker that has just ended, so another may be tried.
        const isLost = error instanceof HostError && error.code === "ERR_WORKER_LOST" &&
          seat?.worker.isUsable === false;
        if (!isLost || attempt >= this.#limits.isolateAttemptsMax) throw error;
      }
    }
  }

  async #makeIn(seat: Seat, { broker, principal, limits }: IsolateRequest): Promise<GuestIsolate> {
    return await seat.enter(limits.memoryMb === GUEST_LIMITS.memoryMb, async (blank) => {
      const { worker } = seat;
      const { codeCache } = this.#options;
      const compiler = this.#compiler;
      const mayRunInline = !this.#slow.has(principal);
      const onEnd = (isOwnFault: boolean): void => {
        seat.isolates.delete(isolate);
        if (isOwnFault) this.#slow.add(principal);
      };
      const isolate = await GuestIsolate.create({
        worker,
        blank,
        broker,
        principal,
        limits,
        codeCache,
        compiler,
        mayRunInline,
        onEnd,
      });
      return isolate;
    });
  }

  /** Process ids of the workers that serve plugins; for tests and reports. */
  async pids(): Promise<number[]> {
    if (this.#seats.size === 0) await Promise.allSettled(this.#open.values());
    return [...this.#seats.keys()].filter(({ worker }) => worker.isUsable).map(({ worker }) => worker.pid);
  }

  /** Process id of the spare worker, once it has started; null when there is none. For tests and reports. */
  async sparePid(): Promise<number | null> {
    const seat = await this.#spare?.catch(() => undefined);
    return seat?.worker.isUsable ? seat.worker.pid : null;
  }

  /** Ends all isolates of a plugin as it was approved, for a reason that its callers are told. */
  end(owner: IsolateOwner, reason: SallyportError): void {
    const key = ownerKey(owner);
    for (const { isolates } of this.#seats.keys()) {
      for (const isolate of isolates) if (ownerKey(isolate.principal) === key) isolate.dispose(reason);
    }
  }

  /** Kills all workers and waits until they are gone. */
  async close(): Promise<void> {
    clearTimeout(this.#sweep);
    clearTimeout(this.#respare);
    this.#closing.abort(hostIsClosed());
    const starting = [...this.#open.values(), ...(this.#spare === undefined ? [] : [this.#spare])];
    const started = (await Promise.allSettled(starting))
      .flatMap((seat) => seat.status === "fulfilled" ? [seat.value] : []);
    const all = new Set([...this.#seats.keys(), ...started]);
    await Promise.all([this.#compiler?.close(), ...[...all].map(({ worker }) => worker.close())]);
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #seatFor(request: IsolateRequest): Promise<Seat> {
    const { principal, signal } = request;
    for (;;) {
      if (this.#isClosed) throw hostIsClosed();
      // Asked anew each time: it may have become a suspect while it waited.
      const cordon = request.cordon ?? this.#cordonOf(request);
      const known = this.#open.get(cordon);
      const seat = await orAborted(known ?? this.#openSeat(cordon, principal.tenant), signal);
      // One that does not follow takes its worker with it, and whoever was let in meanwhile.
      await seat.worker.settled();
      if (seat.isFull) await this.#makeRoomIn(seat);
      if (seat.isOpen && !seat.isFull) return seat;
      if (known === undefined && seat.worker.isUsable) continue;
      if (this.#open.get(cordon) === known) this.#open.delete(cordon);
      if (known === undefined && !this.#isClosed) {
        throw new HostError("ERR_WORKER_LOST", "Cannot make an isolate: its worker ended");
      }
    }
  }

  #cordonOf({ principal, isAlone = false }: IsolateRequest): string {
    const { cordon: choice = "tenant", isSuspect = () => false } = this.#options;
    return cordonOf({ principal, choice, isAlone: isAlone || isSuspect(principal) });
  }

  /** Opens a worker for a cordon, once there is a place for one; tenants take turns. */
  #openSeat(cordon: string, tenant: string): Promise<Seat> {
    const { promise, resolve, reject } = Promise.withResolvers<Seat>();
    this.#open.set(cordon, promise);
    const { signal } = this.#closing;
    let isPlaced = false;
    const serve = async (): Promise<void> => {
      this.#want(tenant, -1);
      isPlaced = true;
      const seat = await this.#takeSpare(cordon);
      this.#seats.set(seat, { tenant, cordon });
      resolve(seat);
      this.#scheduleSweep();
      const end = await seat.worker.ended;
      this.#seats.delete(seat);
      if (this.#open.get(cordon) === promise) this.#open.delete(cordon);
      this.#options.onEnd?.(end);
    };
    this.#want(tenant, 1);
    void this.#placesOf(tenant).take(cordon, signal, () => this.#hostPlaces.take(tenant, signal, serve))
      .catch((error: unknown) => {
        if (!isPlaced) this.#want(tenant, -1);
        if (this.#open.get(cordon) === promise) this.#open.delete(cordon);
        reject(error);
      });
    return promise;
  }

  #want(tenant: string, change: 1 | -1): void {
    const count = (this.#wanted.get(tenant) ?? 0) + change;
    if (count === 0) this.#wanted.delete(tenant);
    else this.#wanted.set(tenant, count);
    if (change === 1) this.#scheduleSweep();
  }

  #placesOf(tenant: string): Slots {
    const known = this.#tenantPlaces.get(tenant) ?? new Slots(this.#limits.workersPerTenantMax);
    this.#tenantPlaces.set(tenant, known);
    return known;
  }

  /** The spare one, or a new one where there is none or it has failed. Another follows a little later. */
  async #takeSpare(cordon: string): Promise<Seat> {
    const spare = this.#spare;
    this.#spare = undefined;
    const ready = await spare?.catch(() => undefined);
    if (ready?.wearOut()) void ready.retire();
    const seat = ready?.isOpen ? ready : await this.#start();
    const isShared = cordon === "host" || cordon.startsWith("tenant ");
    seat.keepBlanks(isShared ? this.#limits.blanksShared : this.#limits.blanksOwn);
    clearTimeout(this.#respare);
    // Whoever starts its worker before anything else runs one thing and ends; a sweep that it lives to see starts a spare.
    if (this.#options.early !== undefined) return seat;
    this.#respare = setTimeout(() => this.warm(), this.#limits.spareDelayMs).unref();
    return seat;
  }

  async #startWorker(launched?: Promise<ConfinedProcess>): Promise<WorkerProcess> {
    this.#platform ??= composePlatform();
    const { plan } = this.#options;
    const { signal } = this.#closing;
    const order = { plan, platform: this.#platform, engine: enginePath(), launched, signal };
    const worker = await this.#starts.take("", signal, () => WorkerProcess.start(order));
    if (this.#isClosed) await worker.close();
    return worker;
  }

  async #start(): Promise<Seat> {
    const worker = await this.#startWorker(this.#options.early?.take());
    return new Seat(worker, this.#limits, this.#limits.blanksShared);
  }

  /** Isolates of one tenant, of all its workers. */
  #isolatesOf(tenant: string): GuestIsolate[] {
    return [...this.#seats.keys()].flatMap(({ isolates }) => [...isolates])
      .filter(({ principal }) => principal.tenant === tenant);
  }

  async #makeRoomFor(tenant: string): Promise<void> {
    const { isolatesPerTenantMax } = this.#limits;
    if (this.#isolatesOf(tenant).length < isolatesPerTenantMax) return;
    await turn();
    const isolates = this.#isolatesOf(tenant);
    if (isolates.length < isolatesPerTenantMax || evictOldest(isolates)) return;
    throw new LimitError(
      "ERR_LIMIT_RATE",
      `Cannot start an isolate: all ${isolatesPerTenantMax} of tenant "${tenant}" (isolatesPerTenantMax) are at work`,
      { details: { tenant, isolatesPerTenantMax } },
    );
  }

  /** A worker whose isolates are all at work is left to them, and its cordon gets another. */
  async #makeRoomIn(seat: Seat): Promise<void> {
    await turn();
    if (seat.isFull) evictOldest([...seat.isolates]);
  }

  #scheduleSweep(): void {
    clearTimeout(this.#sweep);
    if (this.#isClosed || (this.#seats.size === 0 && this.#wanted.size === 0)) return;
    const { sweepMs, sweepWantedMs } = this.#limits;
    this.#sweep = setTimeout(() => {
      this.#onSweep();
      this.#scheduleSweep();
    }, this.#wanted.size > 0 ? sweepWantedMs : sweepMs);
    this.#sweep.unref();
  }

  #onSweep(): void {
    const { idleIsolateMs, idleWorkerMs } = this.#limits;
    const now = performance.now();
    for (const seat of this.#seats.keys()) {
      if (!seat.worker.isUsable) continue;
      const isWornOut = seat.wearOut();
      seat.evictIdle(isWornOut ? 0 : idleIsolateMs);
      const { idleSince } = seat;
      if (idleSince === null || seat.isolates.size > 0) continue;
      if (isWornOut || now - idleSince >= idleWorkerMs) void seat.retire();
    }
    this.#giveUpIdle();
    if (this.#seats.size > 0) this.warm();
  }

  /** Ends the worker that has had nothing to do for longest, for whoever waits for one. */
  #giveUpIdle(): void {
    for (const tenant of this.#wanted.keys()) {
      const seats = [...this.#seats].filter(([{ worker }]) => worker.isUsable);
      const own = seats.filter(([, owner]) => owner.tenant === tenant);
      const candidates = own.length >= this.#limits.workersPerTenantMax
        ? own
        : seats.length >= this.#limits.workersPerHostMax
        ? seats
        : [];
      const idle = candidates.flatMap(([seat]) =>
        seat.idleSince === null ? [] : [{ seat, since: seat.idleSince }]
      );
      idle.sort((a, b) => a.since - b.since);
      if (idle[0] !== undefined) void idle[0].seat.retire();
    }
  }
}

function evictOldest(isolates: readonly GuestIsolate[]): boolean {
  let oldest: { readonly isolate: GuestIsolate; readonly since: number } | undefined;
  for (const isolate of isolates) {
    const { idleSince } = isolate;
    if (idleSince !== null && idleSince < (oldest?.since ?? Infinity)) oldest = { isolate, since: idleSince };
  }
  oldest?.isolate.evict();
  return oldest !== undefined;
}

/** Who has just found an isolate alive calls it before this turn of the loop ends; nothing is evicted under its hands. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function orAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return await work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function hostIsClosed(): HostError {
  return new HostError("ERR_HOST_CLOSED", "Cannot start a worker: the host is closed");
}
