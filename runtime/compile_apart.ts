/**
 * Makes code caches in a worker that does nothing else: it runs no guest, so that what it makes may be kept, and ends when it
 * has compiled, so that nothing which was in a hostile text can wait in it for somebody else's.
 */
import type { CodeCache } from "./code_cache.ts";
import { GUEST_LIMITS, RUNTIME_LIMITS } from "./limits.ts";
import { orderIsolate } from "./order_isolate.ts";
import { TO_WORKER } from "./protocol.ts";
import { joinParts } from "./wire.ts";
import type { WorkerProcess } from "./worker_process.ts";

/** Compiles what is wanted, one text after the other, when there has been time for more urgent things. */
export class Compiler {
  readonly #cache: CodeCache;
  readonly #start: () => Promise<WorkerProcess>;
  readonly #waiting = new Set<string>();
  #worker: Promise<WorkerProcess> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `start` gives a fresh worker. */
  constructor(cache: CodeCache, start: () => Promise<WorkerProcess>) {
    this.#cache = cache;
    this.#start = start;
  }

  /** Wants the cache of a text; forgotten where many are wanted already. */
  want(code: string): void {
    if (this.#isClosed || this.#waiting.size >= RUNTIME_LIMITS.compilesWaitingMax) return;
    this.#waiting.add(code);
    this.#schedule();
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await (await this.#worker?.catch(() => undefined))?.close();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#worker !== undefined || this.#isClosed) return;
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#waiting.delete(next);
      void this.#make(next);
    }, RUNTIME_LIMITS.compileDelayMs);
    this.#timer.unref();
  }

  /** Never rejects: without a cache the next isolate starts slower, and that is all. */
  async #make(code: string): Promise<void> {
    try {
      if (this.#cache.find(code) !== null || this.#isClosed) return;
      this.#worker = this.#start();
      const worker = await this.#worker;
      try {
        const made = await compileIn(worker, code);
        if (made !== null) this.#cache.keep(code, made);
      } finally {
        await worker.close("retired");
      }
    } catch {
      // There is no worker to be had.
    } finally {
      this.#worker = undefined;
      this.#schedule();
    }
  }
}

async function compileIn(worker: WorkerProcess, code: string): Promise<Uint8Array | null> {
  const id = await orderIsolate(worker, GUEST_LIMITS.memoryMb);
  const { promise, resolve } = Promise.withResolvers<Uint8Array | null>();
  const lie = (): void => worker.kill("breach");
  const timer = setTimeout(() => resolve(null), RUNTIME_LIMITS.isolateStartMs);
  worker.retain();
  worker.assign(id, {
    owner: null,
    callsInFlight: () => 0,
    isRunning: () => false,
    onCreated: lie,
    onResult: lie,
    onOp: lie,
    onLog: lie,
    onBreach: lie,
    onFault: lie,
    onIdle: lie,
    onBlocked: () => {},
    onCompiled: (_order, cache) => resolve(cache),
    onGone: () => resolve(null),
    onWorkerLost: () => resolve(null),
  });
  worker.send(TO_WORKER.compile, id, 0, joinParts({ filename: "plugin:compiled" }, code));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    worker.release();
  }
}
