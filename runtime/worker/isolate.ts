/**
 * The isolates of one worker: the only file that knows isolated-vm. Only strings come out of a guest; a guest never
 * holds an engine handle; every slice of its code runs through a timed call.
 */
import type ivm from "isolated-vm";
import { randomBytes } from "node:crypto";
import { RUNTIME_LIMITS } from "../limits.ts";
import {
  type CreateOrder,
  FROM_GUEST,
  FROM_WORKER,
  type GoneReason,
  type LoadOrder,
  TARGET_HEAD,
  TO_GUEST,
} from "../protocol.ts";
import { joinParts } from "../wire.ts";
import { GuestTimers } from "./timers.ts";

/** What the native addon exports. */
export interface Engine {
  /** The public module of isolated-vm. */
  readonly ivm: typeof ivm;
}

/** How a worker sends a frame. */
export type SendFrame = (type: number, isolate: number, id: number, payload: Uint8Array | string) => void;

type Entry = (tag: string, id: number, argument: string | ivm.Dereference<unknown>) => void;

/** One slice of guest code that waits for its turn. */
interface Slice {
  readonly tag: string;
  readonly id: number;
  /** The call that all it does is attributed to; 0 when none. */
  readonly call: number;
  readonly argument: () => string | ivm.Dereference<unknown>;
}

interface Isolate {
  readonly id: number;
  readonly engine: ivm.Isolate;
  readonly context: ivm.Context;
  readonly entry: ivm.Reference<Entry>;
  readonly sliceMs: number;
  readonly slices: Slice[];
  /** Calls that have not been answered: without any, no code of the guest runs, since no deadline would end it. */
  readonly calls: Set<number>;
  readonly timers: GuestTimers;
  /** Call of each op that has not been answered. */
  readonly ops: Map<number, number>;
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
  readonly #send: SendFrame;
  readonly #isolates = new Map<number, Isolate>();
  #platform = "";
  #platformCache: ivm.ExternalCopy<ArrayBuffer> | undefined;

  /** Takes the loaded engine and the way back to the host. */
  constructor(engine: Engine, send: SendFrame) {
    this.#ivm = engine.ivm;
    this.#send = send;
  }

  /** Takes the text of the guest platform; evaluated in every isolate before anything else. */
  boot(platform: string): void {
    this.#platform = platform;
  }

  /** Makes an isolate with the platform in it and says `created`, or `gone`. */
  create(id: number, order: CreateOrder): void {
    void this.#create(id, order).then(
      () => this.#send(FROM_WORKER.created, id, 0, ""),
      (error: unknown) => this.#gone(id, "failed", String(error)),
    );
  }

  /** Compiles a target and lets the platform evaluate it; the platform answers `result` for `callId`. */
  load(id: number, callId: number, order: LoadOrder, code: string): void {
    const isolate = this.#isolates.get(id);
    if (isolate === undefined) return;
    isolate.calls.add(callId);
    this.#enqueue(isolate, { tag: TO_GUEST.config, id: 0, call: callId, argument: () => order.config });
    void this.#compile(isolate, order, code).then(
      (wrapped) => {
        this.#enqueue(isolate, {
          tag: TO_GUEST.load,
          id: callId,
          call: callId,
          argument: () => wrapped.derefInto(),
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
    const script = await engine.compileScript(this.#platform, {
      filename: "sallyport:platform",
      ...(this.#platformCache === undefined
        ? { produceCachedData: true }
        : { cachedData: this.#platformCache }),
    }) as ivm.Script & ivm.CachedDataResult; // the engine adds what was asked for
    // Made by compiling in this very process before any plugin's code ran here; never leaves it.
    this.#platformCache ??= script.cachedData;
    const start = await script.run(context, { reference: true, timeout: RUNTIME_LIMITS.isolateStartMs });
    const send = new this.#ivm.Callback((text: unknown) => this.#onGuestText(id, text), { ignored: true });
    const random = new this.#ivm.Callback((size: unknown) => randomText(size));
    const entry = await start.apply(undefined, [send, random], {
      result: { reference: true },
      timeout: RUNTIME_LIMITS.isolateStartMs,
    }) as ivm.Reference<Entry>; // the platform is ours and gives its entry function
    this.#isolates.set(id, {
      id,
      engine,
      context,
      entry,
      sliceMs: order.sliceMs,
      slices: [],
      calls: new Set(),
      timers: new GuestTimers((timer, call) => this.#onTimer(id, timer, call)),
      ops: new Map(),
      isRunning: false,
      isGone: false,
      goneReason: "disposed",
      busy: 0,
      currentCall: 0,
    });
  }

  async #compile(isolate: Isolate, order: LoadOrder, code: string): Promise<ivm.Reference> {
    isolate.busy += 1;
    try {
      // The code's last line may be a comment, so the wrapper closes on a line of its own.
      const text = `${TARGET_HEAD}${code}\n})`;
      const script = await isolate.engine.compileScript(text, { filename: order.filename });
      return await script.run(isolate.context, { reference: true, timeout: isolate.sliceMs });
    } finally {
      this.#onWorkDone(isolate);
    }
  }

  #enqueue(isolate: Isolate, slice: Slice): void {
    isolate.slices.push(slice);
    if (!isolate.isRunning && isolate.calls.size > 0) void this.#run(isolate);
  }

  /**
   * Runs waiting slices one after the other, so that whatever a slice sends belongs to its call. When the last call is
   * answered, timers and answers of ops wait for the next one.
   */
  async #run(isolate: Isolate): Promise<void> {
    isolate.isRunning = true;
    isolate.busy += 1;
    while (isolate.calls.size > 0 && isolate.slices.length > 0) {
      const slice = isolate.slices.shift()!;
      isolate.currentCall = slice.call;
      try {
        await isolate.entry.apply(undefined, [slice.tag, slice.id, slice.argument()], {
          timeout: isolate.sliceMs,
        });
      } catch (error) {
        this.#afterFailure(isolate, slice.call, error);
      }
    }
    isolate.isRunning = false;
    this.#sayIfIdle(isolate);
    this.#onWorkDone(isolate);
  }

  #onWorkDone(isolate: Isolate): void {
    isolate.busy -= 1;
    if (isolate.isGone && isolate.busy === 0) this.#gone(isolate.id, isolate.goneReason, "");
  }

  /** Judges by the engine's state, never by a message: a guest can throw any text. */
  #afterFailure(isolate: Isolate, call: number, error: unknown): void {
    if (isolate.isGone) return;
    if (isolate.engine.isDisposed) {
      isolate.goneReason = "memory";
      this.#forget(isolate);
      if (isolate.busy === 0) this.#gone(isolate.id, isolate.goneReason, "");
      return;
    }
    // The platform's entry never throws: this is a rejection that nobody handled, a syntax the engine refused, or a
    // slice that ran into the engine's own time-out, which the host's deadline has answered or will answer.
    this.#send(FROM_WORKER.fault, isolate.id, call, textOfError(error));
  }

  /** Code that the engine refuses to compile never reaches the platform, which would have answered. */
  #onLoadRefused(isolate: Isolate, callId: number, error: unknown): void {
    if (isolate.isGone || isolate.engine.isDisposed) return this.#afterFailure(isolate, callId, error);
    isolate.calls.delete(callId);
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    const facts = { name, message: message.slice(0, RUNTIME_LIMITS.errorTextBytesMax) };
    this.#send(FROM_WORKER.result, isolate.id, callId, JSON.stringify({ ok: false, error: facts }));
    this.#sayIfIdle(isolate);
  }

  #sayIfIdle(isolate: Isolate): void {
    if (isolate.isGone || isolate.isRunning || isolate.calls.size > 0) return;
    this.#send(FROM_WORKER.idle, isolate.id, 0, "");
  }

  #forget(isolate: Isolate): void {
    isolate.isGone = true;
    isolate.slices.length = 0;
    isolate.timers.clearAll();
    this.#isolates.delete(isolate.id);
  }

  #gone(id: number, reason: GoneReason, message: string): void {
    this.#send(FROM_WORKER.gone, id, 0, JSON.stringify({ reason, message: message.slice(0, 1_000) }));
  }

  #onTimer(id: number, timer: number, call: number): void {
    const isolate = this.#isolates.get(id);
    if (isolate !== undefined) {
      this.#enqueue(isolate, { tag: TO_GUEST.timer, id: timer, call, argument: () => "" });
    }
  }

  #onGuestText(id: number, text: unknown): void {
    const isolate = this.#isolates.get(id);
    if (isolate === undefined || typeof text !== "string") return;
    const rest = text.slice(1);
    GUEST_WORDS[text[0]!]?.(isolate, rest, this.#send);
  }
}

type GuestWord = (isolate: Isolate, rest: string, send: SendFrame) => void;

const GUEST_WORDS: Readonly<Record<string, GuestWord>> = {
  [FROM_GUEST.result]: (isolate, rest, send) => {
    const [call, text] = numbered(rest);
    isolate.calls.delete(call);
    send(FROM_WORKER.result, isolate.id, call, text);
  },
  [FROM_GUEST.op]: (isolate, rest, send) => {
    const [op, text] = numbered(rest);
    if (isolate.ops.has(op)) return;
    isolate.ops.set(op, isolate.currentCall);
    send(FROM_WORKER.op, isolate.id, op, joinParts({ call: isolate.currentCall }, text));
  },
  [FROM_GUEST.log]: (isolate, rest, send) => send(FROM_WORKER.log, isolate.id, isolate.currentCall, rest),
  [FROM_GUEST.timer]: (isolate, rest) => {
    const [timer, delay] = numbered(rest);
    isolate.timers.set(timer, Number(delay), isolate.currentCall);
  },
  [FROM_GUEST.clear]: (isolate, rest) => isolate.timers.clear(Number(rest)),
  [FROM_GUEST.breach]: (isolate, rest, send) =>
    send(FROM_WORKER.breach, isolate.id, isolate.currentCall, rest),
  [FROM_GUEST.fault]: (isolate, rest, send) => send(FROM_WORKER.fault, isolate.id, isolate.currentCall, rest),
};

/** Splits "12:rest". */
function numbered(text: string): [number, string] {
  const colon = text.indexOf(":");
  return [Number(text.slice(0, colon)) >>> 0, text.slice(colon + 1)];
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
