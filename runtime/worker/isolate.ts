/**
 * The isolates of one worker: the only file that knows isolated-vm. Only strings come out of a guest; a guest never
 * holds an engine handle. No slice has a time-out of the engine's own: the host's deadlines, and the processor time that is
 * looked at here, end it by ending its isolate, and each timed call leaves memory behind in the engine.
 */
import type ivm from "isolated-vm";
import { randomBytes } from "node:crypto";
import { RUNTIME_LIMITS } from "../limits.ts";
import {
  type CreateOrder,
  FROM_WORKER,
  type GoneReason,
  type LoadOrder,
  TARGET_HEAD,
  TO_GUEST,
} from "../protocol.ts";
import { bufferOf, EagerCompiling, type TargetCode } from "./compiling.ts";
import { CpuMeter } from "./cpu.ts";
import { type HostWriter, onGuestText, type Speaker } from "./guest_words.ts";
import { Pace } from "./pace.ts";
import { Tidying } from "./tidying.ts";
import { GuestTimers } from "./timers.ts";

/** What the native addon exports. */
export interface Engine {
  /** The public module of isolated-vm. */
  readonly ivm: typeof ivm;
}

type Entry = (
  tag: string,
  id: number,
  argument: string | ivm.Dereference<unknown>,
  isInline: boolean,
) => void;

/** The engine's own collector; no guest ever sees it. */
type Collect = ivm.Reference<(options: object) => void>;

/** One slice of guest code that waits for its turn. */
interface Slice {
  readonly tag: string;
  readonly id: number;
  /** The call that all it does is attributed to; 0 when none. */
  readonly call: number;
  readonly argument: () => string | ivm.Dereference<unknown>;
}

interface Isolate extends Speaker {
  readonly engine: ivm.Isolate;
  readonly context: ivm.Context;
  readonly collect: Collect | null;
  readonly entry: ivm.Reference<Entry>;
  readonly slices: Slice[];
  readonly cpu: CpuMeter;
  /** What each call may use. */
  cpuNsMax: bigint | null;
  pace: Pace;
  /** Whose code it runs, as the host numbers them; 0 while it is blank. */
  owner: number;
  /** Whose tenant's, likewise. */
  tenant: number;
  isInline: boolean;
  /** Whether a target was loaded into it. */
  hasLoaded: boolean;
  /** Whether what runs now is the platform alone, before any target is there. */
  isReady: boolean;
  isRunning: boolean;
  isGone: boolean;
  goneReason: GoneReason;
  /** Engine work under way; only when none is left is the isolate really gone. */
  busy: number;
  currentCall: number;
}

const RANDOM_BYTES_MAX = 65_536;

/** All isolates of this process. */
export class Isolates {
  readonly #ivm: typeof ivm;
  readonly #host: HostWriter;
  readonly #isolates = new Map<number, Isolate>();
  /** From then on nothing that is made here may be kept as code. */
  #hasRunGuests = false;
  readonly #eager = new EagerCompiling();
  /** Whether more than one plugin's code is in this worker. */
  #isShared = false;
  /** Whether more than one tenant's is. */
  #isMixed = false;
  /** When the first inline slice of this turn of the loop began. */
  #turnBegan: number | null = null;
  readonly #tidying = new Tidying<Isolate>((isolate) => this.#tidy(isolate));
  #platform = "";
  #platformCache: ivm.ExternalCopy<ArrayBuffer> | undefined;
  #cpuPoll: NodeJS.Timeout | undefined;

  /** Takes the loaded engine and the way back to the host. */
  constructor(engine: Engine, host: HostWriter) {
    this.#ivm = engine.ivm;
    this.#host = host;
  }

  /** Takes the text of the guest platform; evaluated in every isolate before anything else. */
  boot(platform: string): void {
    this.#platform = platform;
  }

  /** Makes an isolate with the platform in it and says `created`, or `gone`. */
  create(id: number, order: CreateOrder): void {
    void this.#create(id, order).then(
      () => this.#host.send(FROM_WORKER.created, id, 0, ""),
      (error: unknown) => this.#gone(id, "failed", String(error)),
    );
  }

  /**
   * Compiles a target and gives its code cache: all of its functions, none of them run. Gives nothing once a guest ran here,
   * and nothing for what the engine refuses.
   */
  compile(id: number, orderId: number, order: LoadOrder, code: string): void {
    const isolate = this.#isolates.get(id);
    if (isolate === undefined) return;
    const answer = (bytes: Uint8Array): void => {
      const made = this.#hasRunGuests ? NOTHING : bytes;
      if (!isolate.isGone) this.#host.send(FROM_WORKER.compiled, id, orderId, made);
    };
    if (this.#hasRunGuests) return answer(NOTHING);
    isolate.busy += 1;
    void this.#eager.run(() => compileScript(isolate, order, code, { produceCachedData: true })).then(
      (script) => answer(new Uint8Array((script as ivm.CachedDataResult).cachedData?.copy() ?? NOTHING)),
    ).catch((error: unknown) => {
      // Whoever loads it next learns what the engine thinks of it.
      if (isolate.engine.isDisposed) this.#afterFailure(isolate, 0, error);
      else answer(NOTHING);
    }).finally(() => this.#onWorkDone(isolate));
  }

  /** Compiles a target and lets the platform evaluate it; the platform answers `result` for `callId`. */
  load(id: number, callId: number, order: LoadOrder, { code, cache }: TargetCode): void {
    const isolate = this.#isolates.get(id);
    if (isolate === undefined) return;
    this.#hasRunGuests = true;
    isolate.calls.add(callId);
    isolate.cpuNsMax = order.cpuMs === undefined ? null : BigInt(order.cpuMs) * 1_000_000n;
    isolate.pace = new Pace(order.mayRunInline === true);
    isolate.owner = order.owner ?? 0;
    isolate.tenant = order.tenant ?? 0;
    this.#countOwners();
    const isFresh = !isolate.hasLoaded;
    isolate.hasLoaded = true;
    isolate.isReady = isFresh;
    for (const tag of [TO_GUEST.config, TO_GUEST.stage]) {
      const text = order[tag];
      if (text !== undefined) this.#enqueue(isolate, { tag, id: 0, call: callId, argument: () => text });
    }
    isolate.isReady = false;
    const isQuick = isFresh && cache === undefined && code.length <= RUNTIME_LIMITS.inlineCompileCharsMax;
    const compiled = isQuick
      ? this.#compileNow(isolate, order, code)
      : this.#compile(isolate, order, code, cache);
    void compiled.then(
      (evaluate) => {
        this.#enqueue(isolate, {
          tag: TO_GUEST.load,
          id: callId,
          call: callId,
          argument: () => evaluate.derefInto(),
        });
      },
      (error: unknown) => this.#onLoadRefused(isolate, callId, error),
    );
  }

  /** Starts a call; the platform answers `result` for `callId`. */
  call(id: number, callId: number, text: string): void {
    const isolate = this.#isolates.get(id);
    if (isolate === undefined) return;
    isolate.calls.add(callId);
    this.#enqueue(isolate, { tag: TO_GUEST.call, id: callId, call: callId, argument: () => text });
  }

  /** Hands an op's answer to the guest, under the call that asked for it. */
  reply(id: number, opId: number, text: string): void {
    const isolate = this.#isolates.get(id);
    const call = isolate?.ops.get(opId);
    if (isolate === undefined || call === undefined) return;
    isolate.ops.delete(opId);
    this.#enqueue(isolate, { tag: TO_GUEST.reply, id: opId, call, argument: () => text });
  }

  /** Disposes an isolate and says `gone`. */
  dispose(id: number): void {
    const isolate = this.#isolates.get(id);
    if (isolate === undefined) return;
    this.#forget(isolate);
    try {
      isolate.engine.dispose();
    } catch {
      // The engine disposed it first, over its memory limit.
    }
    // Some builtins do not hear of it: as long as one runs, the host must not believe that the isolate is gone.
    if (isolate.busy === 0) this.#gone(id, "disposed", "");
  }

  async #create(id: number, order: CreateOrder): Promise<void> {
    const engine = new this.#ivm.Isolate({
      memoryLimit: order.memoryMb,
      // Without a handler the engine aborts the process, and with it every other isolate's calls.
      onCatastrophicError: (message: string) => this.#gone(id, "catastrophic", message),
    });
    const context = await engine.createContext();
    const collect = takeCollector(context);
    const script = await engine.compileScript(this.#platform, {
      filename: "sallyport:platform",
      ...(this.#platformCache === undefined
        ? { produceCachedData: true }
        : { cachedData: this.#platformCache }),
    }) as ivm.Script & ivm.CachedDataResult; // the engine adds what was asked for
    // Made by compiling in this very process before any plugin's code ran here; never leaves it.
    this.#platformCache ??= script.cachedData;
    const start = await script.run(context, { reference: true, timeout: RUNTIME_LIMITS.isolateStartMs });
    const onText = (text: unknown): boolean => {
      const isolate = this.#isolates.get(id);
      if (isolate !== undefined) onGuestText(isolate, text, this.#host);
      return true;
    };
    const send = new this.#ivm.Callback(onText, { ignored: true });
    // For slices on this very thread, which would otherwise be over before anything that they say is heard.
    const sendNow = new this.#ivm.Callback(onText);
    const random = new this.#ivm.Callback((size: unknown) => randomText(size));
    const entry = await start.apply(undefined, [send, random, sendNow], {
      result: { reference: true },
      timeout: RUNTIME_LIMITS.isolateStartMs,
    }) as ivm.Reference<Entry>; // the platform is ours and gives its entry function
    this.#isolates.set(id, {
      id,
      engine,
      context,
      collect,
      entry,
      slices: [],
      calls: new Set(),
      timers: new GuestTimers((timer, call) => this.#onTimer(id, timer, call)),
      ops: new Map(),
      cpu: new CpuMeter(),
      cpuNsMax: null,
      pace: new Pace(false),
      owner: 0,
      tenant: 0,
      isInline: false,
      hasLoaded: false,
      isReady: false,
      isRunning: false,
      isGone: false,
      goneReason: "disposed",
      busy: 0,
      currentCall: 0,
    });
  }

  async #compile(
    isolate: Isolate,
    order: LoadOrder,
    code: string,
    cache: Uint8Array | undefined,
  ): Promise<ivm.Reference> {
    isolate.busy += 1;
    try {
      const script = cache === undefined
        ? await compileScript(isolate, order, code, {})
        : await this.#eager.run(() =>
          compileScript(isolate, order, code, {
            cachedData: new this.#ivm.ExternalCopy(bufferOf(cache), { transferOut: true }),
          })
        );
      return await script.run(isolate.context, { reference: true });
    } finally {
      this.#onWorkDone(isolate);
    }
  }

  /** In an isolate that has run nothing yet, and of little text: a hop to a thread of the engine would take longer. */
  async #compileNow(isolate: Isolate, { filename }: LoadOrder, code: string): Promise<ivm.Reference> {
    isolate.busy += 1;
    try {
      const script = isolate.engine.compileScriptSync(wrapped(code), { filename });
      return await Promise.resolve(script.runSync(isolate.context, { reference: true }));
    } finally {
      this.#onWorkDone(isolate);
    }
  }

  #enqueue(isolate: Isolate, slice: Slice): void {
    isolate.slices.push(slice);
    this.#run(isolate);
  }

  /**
   * Runs waiting slices one after the other, so that whatever a slice sends belongs to its call. When the last call is
   * answered, timers and answers of ops wait for the next one.
   */
  #run(isolate: Isolate): void {
    if (isolate.isRunning || isolate.calls.size === 0) return;
    this.#tidying.works(isolate);
    isolate.isRunning = true;
    isolate.busy += 1;
    this.#goOn(isolate);
  }

  #goOn(isolate: Isolate): void {
    while (isolate.calls.size > 0 && isolate.slices.length > 0) {
      const slice = isolate.slices.shift()!;
      isolate.isInline = isolate.isReady || (isolate.pace.isInline && !this.#isMixed && this.#hasTime());
      if (!isolate.isInline) return void this.#runApart(isolate, slice);
      this.#runInline(isolate, slice);
    }
    isolate.isRunning = false;
    this.#sayIfIdle(isolate);
    this.#onWorkDone(isolate);
  }

  /** Whether this turn of the loop has time for an inline slice: many short ones keep others waiting as one long one would. */
  #hasTime(): boolean {
    if (!this.#isShared) return true;
    const now = performance.now();
    if (this.#turnBegan === null) {
      this.#turnBegan = now;
      setImmediate(() => this.#turnBegan = null);
    }
    return now - this.#turnBegan <= RUNTIME_LIMITS.inlineSharedTurnMsMax;
  }

  #runInline(isolate: Isolate, slice: Slice): void {
    isolate.currentCall = slice.call;
    this.#beginSlice(isolate);
    try {
      isolate.entry.applySync(undefined, [slice.tag, slice.id, slice.argument(), true]);
    } catch (error) {
      this.#afterFailure(isolate, slice.call, error);
    }
    this.#endSlice(isolate);
  }

  /** Runs one slice on a thread of the engine, and goes on with those that wait. */
  async #runApart(isolate: Isolate, slice: Slice): Promise<void> {
    isolate.currentCall = slice.call;
    this.#beginSlice(isolate);
    try {
      await isolate.entry.apply(undefined, [slice.tag, slice.id, slice.argument(), false]);
    } catch (error) {
      this.#afterFailure(isolate, slice.call, error);
    }
    this.#endSlice(isolate);
    this.#goOn(isolate);
  }

  /**
   * Others' calls wait for the thread that inline slices hold: for those of their own tenant's plugins, which are shorter then, and
   * for nobody else's.
   */
  #countOwners(): void {
    const ofGuests = [...this.#isolates.values()].filter(({ owner }) => owner !== 0);
    this.#isShared = new Set(ofGuests.map(({ owner }) => owner)).size > 1;
    this.#isMixed = new Set(ofGuests.map(({ tenant }) => tenant)).size > 1;
  }

  #beginSlice(isolate: Isolate): void {
    if (isolate.engine.isDisposed) return;
    isolate.cpu.begin(isolate.currentCall, isolate.engine.cpuTime);
    // A slice that does not end is seen from here, since guest code runs on threads of its own.
    this.#cpuPoll ??= setInterval(() => this.#pollCpu(), RUNTIME_LIMITS.cpuPollMs).unref();
  }

  #endSlice(isolate: Isolate): void {
    if (isolate.isGone || isolate.engine.isDisposed) return;
    this.#boundCpu(isolate);
    isolate.pace.took(Number(isolate.cpu.end(isolate.engine.cpuTime)) / 1e6, this.#isShared);
    isolate.cpu.keep(isolate.calls);
  }

  #pollCpu(): void {
    let isAnyRunning = false;
    for (const isolate of this.#isolates.values()) {
      if (!isolate.isRunning || isolate.engine.isDisposed) continue;
      isAnyRunning = true;
      this.#boundCpu(isolate);
    }
    if (isAnyRunning) return;
    clearInterval(this.#cpuPoll);
    this.#cpuPoll = undefined;
  }

  /** The host ends the call, and the isolate with it; a call that it has ended already is no news to it. */
  #boundCpu(isolate: Isolate): void {
    const { cpuNsMax, cpu, engine, id, currentCall } = isolate;
    if (cpuNsMax === null || cpu.usedByCurrent(engine.cpuTime) <= cpuNsMax) return;
    this.#host.send(FROM_WORKER.breach, id, currentCall, "cpu");
  }

  #onWorkDone(isolate: Isolate): void {
    isolate.busy -= 1;
    if (isolate.isGone && isolate.busy === 0) this.#gone(isolate.id, isolate.goneReason, "");
  }

  /** Judges by the engine's state, never by a message: a guest can throw any text. */
  #afterFailure(isolate: Isolate, call: number, error: unknown): void {
    if (isolate.isGone) return;
    isolate.pace.demote();
    if (isolate.engine.isDisposed) {
      isolate.goneReason = "memory";
      this.#forget(isolate);
      if (isolate.busy === 0) this.#gone(isolate.id, isolate.goneReason, "");
      return;
    }
    // The platform's entry never throws: this is a rejection that nobody handled, a syntax the engine refused, or a
    // slice that ran into the engine's own time-out, which the host's deadline has answered or will answer.
    this.#host.send(FROM_WORKER.fault, isolate.id, call, textOfError(error));
  }

  /** Code that the engine refuses to compile never reaches the platform, which would have answered. */
  #onLoadRefused(isolate: Isolate, callId: number, error: unknown): void {
    if (isolate.isGone || isolate.engine.isDisposed) return this.#afterFailure(isolate, callId, error);
    isolate.calls.delete(callId);
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    const facts = { name, message: message.slice(0, RUNTIME_LIMITS.errorTextBytesMax) };
    this.#host.send(FROM_WORKER.result, isolate.id, callId, JSON.stringify({ ok: false, error: facts }));
    this.#sayIfIdle(isolate);
  }

  #sayIfIdle(isolate: Isolate): void {
    if (isolate.isGone || isolate.isRunning || isolate.calls.size > 0) return;
    this.#host.send(FROM_WORKER.idle, isolate.id, 0, "");
    this.#tidying.rests(isolate);
  }

  /** Slices wait meanwhile; no guest code runs. */
  async #tidy(isolate: Isolate): Promise<void> {
    const { collect, engine } = isolate;
    if (collect === null || isolate.isRunning || isolate.isGone || engine.isDisposed) return;
    isolate.isRunning = true;
    isolate.busy += 1;
    try {
      if (isSmall(engine)) await collectAll(collect);
    } catch {
      // It was disposed meanwhile, or is too full for it: its next call shows.
    }
    isolate.isRunning = false;
    this.#onWorkDone(isolate);
    this.#run(isolate);
  }

  #forget(isolate: Isolate): void {
    this.#tidying.works(isolate);
    isolate.isGone = true;
    isolate.slices.length = 0;
    isolate.timers.clearAll();
    this.#isolates.delete(isolate.id);
    this.#countOwners();
  }

  #gone(id: number, reason: GoneReason, message: string): void {
    this.#host.send(FROM_WORKER.gone, id, 0, JSON.stringify({ reason, message: message.slice(0, 1_000) }));
  }

  #onTimer(id: number, timer: number, call: number): void {
    const isolate = this.#isolates.get(id);
    if (isolate !== undefined) {
      this.#enqueue(isolate, { tag: TO_GUEST.timer, id: timer, call, argument: () => "" });
    }
  }
}

const NOTHING = new Uint8Array(0);

function compileScript(
  { engine }: Isolate,
  { filename }: LoadOrder,
  code: string,
  options: ivm.CachedDataOptions,
): Promise<ivm.Script> {
  return engine.compileScript(wrapped(code), { filename, ...options });
}

/** The code's last line may be a comment, so the wrapper closes on a line of its own. */
function wrapped(code: string): string {
  return `${TARGET_HEAD}${code}\n})`;
}

function randomText(size: unknown): string {
  const bytes = Number.isInteger(size) ? Math.min(Math.max(size as number, 0), RANDOM_BYTES_MAX) : 0;
  return randomBytes(bytes).toString("latin1");
}

function textOfError(error: unknown): string {
  // What is thrown across can be anything the engine copied; only own data of real errors is read.
  return error instanceof Error
    ? `${error.name}: ${error.message}`.slice(0, 1_000)
    : String(error).slice(0, 1_000);
}

/**
 * The global under which a flag of this process gives each new context its collector: one that guests do not get, and that nobody
 * in this process uses. Any other could not be deleted afterwards.
 */
const PLACE = "Atomics";

/** Takes the collector out of a context, before anything else runs there; null where the engine has put none there. */
function takeCollector(context: ivm.Context): Collect | null {
  const found = context.global.getSync(PLACE, { reference: true }) as ivm.Reference;
  context.global.deleteSync(PLACE);
  // The cast holds: the only function of that name is the collector.
  return found.typeof === "function" ? found as Collect : null;
}

/** Collects all that can be, and gives back what the heap keeps for more. */
async function collectAll(collect: Collect): Promise<void> {
  const how = { type: "major", execution: "sync", flavor: "last-resort" };
  await collect.apply(undefined, [how], { arguments: { copy: true } });
}

/** Whether a heap is so small that collecting it keeps nobody waiting. */
function isSmall(engine: ivm.Isolate): boolean {
  return engine.getHeapStatisticsSync().used_heap_size <= RUNTIME_LIMITS.tidyHeapBytesMax;
}
