/** What a worker says in the name of one isolate, and who is told. */
import { FROM_WORKER, type GoneReason } from "./protocol.ts";
import { callOf, type Frame, textBehindCall, textOf } from "./wire.ts";
import type { IsolateOwner, WorkerEnd } from "./worker_end.ts";

/** What an isolate's owner is told. Texts are the guest's word. */
export interface IsolateEvents {
  /** Whose code runs in it; null while it is blank. */
  readonly owner: IsolateOwner | null;
  /** Calls under way in this isolate. */
  callsInFlight(): number;
  /** Whether code of it may be running: a call is under way, or the last one has not come to rest. */
  isRunning(): boolean;
  /** The worker has done nothing but run guest code since it last answered, for so much processor time. */
  onBlocked(cpuMs: number): void;
  /** The code cache of what was to be compiled; empty where there is none. */
  onCompiled(order: number, cache: Uint8Array): void;
  /** It was made. */
  onCreated(): void;
  /** The answer to a load or call. */
  onResult(call: number, text: string): void;
  /** A request for an operation. */
  onOp(op: number, call: number, text: string): void;
  /** A console line behind the character of its level. */
  onLog(call: number, text: string): void;
  /** A bound was reached. */
  onBreach(call: number, what: string): void;
  /** Something went wrong outside any answer. */
  onFault(call: number, text: string): void;
  /** No code of its guest runs until the next call. */
  onIdle(): void;
  /** It is no more. */
  onGone(reason: GoneReason, message: string): void;
  /** Its process is no more. */
  onWorkerLost(end: WorkerEnd): void;
}

/** Tells an isolate's owner; false for a word that no worker says. */
export function tellOwner(events: IsolateEvents, frame: Frame): boolean {
  const tell = WORDS[frame.type];
  tell?.(events, frame);
  return tell !== undefined;
}

const WORDS: Readonly<Record<number, (events: IsolateEvents, frame: Frame) => void>> = {
  [FROM_WORKER.created]: (events) => events.onCreated(),
  [FROM_WORKER.result]: (events, frame) => events.onResult(frame.id, textOf(frame)),
  [FROM_WORKER.op]: (events, frame) => {
    events.onOp(frame.id, callOf(frame), textBehindCall(frame));
  },
  [FROM_WORKER.log]: (events, frame) => events.onLog(frame.id, textOf(frame)),
  [FROM_WORKER.breach]: (events, frame) => events.onBreach(frame.id, textOf(frame)),
  [FROM_WORKER.fault]: (events, frame) => events.onFault(frame.id, textOf(frame)),
  [FROM_WORKER.idle]: (events) => events.onIdle(),
  [FROM_WORKER.compiled]: (events, frame) => events.onCompiled(frame.id, frame.payload),
};
