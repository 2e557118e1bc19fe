/**
 * Who works for whom: one worker a plugin, one spare worker ready, one blank isolate ready in each. Nothing is started
 * before the first plugin that may run (R42).
 */
import { HostError } from "../permissions/mod.ts";
import type { Broker, Principal } from "./broker.ts";
import { type ConfinementPlan } from "./confine.ts";
import { enginePath } from "./engine.ts";
import { GuestIsolate, orderIsolate } from "./guest_isolate.ts";
import { GUEST_LIMITS, type GuestLimits } from "./limits.ts";
import { composePlatform } from "./platform.ts";
import { type IsolateEvents, WorkerProcess } from "./worker_process.ts";

/** A worker with its blank isolate, if that could be made. */
interface Seat {
  readonly worker: WorkerProcess;
  blank: Promise<number | undefined>;
}

/** The workers of one host. */
export class WorkerPool {
  readonly #plan: ConfinementPlan;
  readonly #seats = new Map<string, Promise<Seat>>();
  #spare: Promise<Seat> | undefined;
  #platform: string | undefined;
  #isClosed = false;

  /** `plan` says how workers are confined. */
  constructor(plan: ConfinementPlan) {
    this.#plan = plan;
  }

  /** Starts the spare worker, if none is there. Failures are told to whoever needs the worker. */
  warm(): void {
    if (this.#isClosed || this.#spare !== undefined) return;
    this.#spare = this.#start();
    this.#spare.catch(() => {});
  }

  /**
   * Gives an isolate in the worker of a cordon. Throws HostError: `ERR_HOST_CLOSED`, `ERR_ENGINE`, `ERR_CONFINEMENT`
   * or `ERR_WORKER_LOST`.
   */
  async isolate(
    cordon: string,
    broker: Broker,
    principal: Principal,
    limits: GuestLimits,
  ): Promise<GuestIsolate> {
    const seat = await this.#seatOf(cordon);
    const { worker } = seat;
    worker.retain();
    try {
      const blank = limits.memoryMb === GUEST_LIMITS.memoryMb ? await takeBlank(seat) : undefined;
      return await GuestIsolate.create({ worker, blank, broker, principal, limits });
    } finally {
      worker.release();
    }
  }

  /** Process ids of the workers that serve a cordon; for tests and reports. */
  async pids(): Promise<number[]> {
    const seats = await Promise.allSettled(this.#seats.values());
    return seats.flatMap((seat) =>
      seat.status === "fulfilled" && seat.value.worker.isUsable ? [seat.value.worker.pid] : []
    );
  }

  /** Kills all workers and waits until they are gone. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const seats = await Promise.allSettled([
      ...this.#seats.values(),
      ...(this.#spare === undefined ? [] : [this.#spare]),
    ]);
    await Promise.all(
      seats.map((seat) => seat.status === "fulfilled" ? seat.value.worker.close() : undefined),
    );
  }

  async #seatOf(cordon: string): Promise<Seat> {
    if (this.#isClosed) throw new HostError("ERR_HOST_CLOSED", "Cannot start a worker: the host is closed");
    const known = this.#seats.get(cordon);
    if (known !== undefined) {
      const seat = await known.catch(() => undefined);
      await seat?.worker.settled();
      if (seat?.worker.isUsable) return seat;
      if (this.#seats.get(cordon) === known) this.#seats.delete(cordon);
      else return await this.#seatOf(cordon); // somebody else has replaced it meanwhile
    }
    const spare = this.#spare;
    this.#spare = undefined;
    const seat = this.#usable(spare);
    this.#seats.set(cordon, seat);
    return await seat;
  }

  async #usable(spare: Promise<Seat> | undefined): Promise<Seat> {
    const seat = await spare?.catch(() => undefined);
    return seat?.worker.isUsable ? seat : await this.#start();
  }

  async #start(): Promise<Seat> {
    this.#platform ??= composePlatform();
    const worker = await WorkerProcess.start({
      plan: this.#plan,
      platform: this.#platform,
      engine: enginePath(),
    });
    if (this.#isClosed) await worker.close();
    return { worker, blank: makeBlank(worker) };
  }
}

/** Takes the blank isolate; the next one is made when the present plugin has had time to start. */
async function takeBlank(seat: Seat): Promise<number | undefined> {
  const blank = seat.blank;
  seat.blank = Promise.resolve(undefined);
  const taken = await blank;
  if (taken !== undefined) {
    setTimeout(() => void (seat.blank = makeBlank(seat.worker)), BLANK_DELAY_MS).unref();
  }
  return taken;
}

const BLANK_DELAY_MS = 100;

async function makeBlank(worker: WorkerProcess): Promise<number | undefined> {
  try {
    return await orderIsolate(worker, GUEST_LIMITS.memoryMb, () => NOBODY);
  } catch {
    return undefined; // whoever needs an isolate will order one and learn why it cannot be had
  }
}

/** The owner of an isolate that no plugin has. */
const NOBODY: IsolateEvents = {
  callsInFlight: () => 0,
  onCreated() {},
  onResult() {},
  onOp() {},
  onLog() {},
  onBreach() {},
  onFault() {},
  onIdle() {},
  onGone() {},
  onWorkerLost() {},
};
