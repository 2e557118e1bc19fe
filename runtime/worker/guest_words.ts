/** What a guest's platform says, and what becomes of it. Each word is attributed to the slice that runs, unless it names its call. */
import { RUNTIME_LIMITS } from "../limits.ts";
import { FROM_GUEST, FROM_WORKER } from "../protocol.ts";
import type { GuestTimers } from "./timers.ts";

/** The way back to the host. */
export interface HostWriter {
  /** Adds a frame, sent at the end of this turn; with `call`, the call is named in front of the payload. */
  send(type: number, isolate: number, id: number, payload: Uint8Array | string, call?: number): void;
  /** Sends at once what was added. */
  flush(): void;
}

/** As much of an isolate as its guest's words concern. */
export interface Speaker {
  /** Its number. */
  readonly id: number;
  /** Calls that have not been answered: without any, no code of the guest runs, since no deadline would end it. */
  readonly calls: Set<number>;
  /** Call of each op that has not been answered. */
  readonly ops: Map<number, number>;
  /** What waits for the clock. */
  readonly timers: GuestTimers;
  /** The call in whose name the present slice runs; 0 when none. */
  readonly currentCall: number;
  /** Whether the present slice runs on this very thread. */
  readonly isInline: boolean;
}

/**
 * Follows one word. Texts that are none are the guest's mistake, and ignored. One that no frame holds ends its call: the host
 * would end this worker for it, and with it everybody else's.
 */
export function onGuestText(speaker: Speaker, text: unknown, host: HostWriter): void {
  if (typeof text !== "string") return;
  if (isTooLong(text)) return say(FROM_WORKER.breach, speaker, "bytes", host);
  WORDS[text[0]!]?.(speaker, text.slice(1), host);
}

/** Whether a frame could be too small for it; the most that one character takes are three bytes. */
function isTooLong(text: string): boolean {
  const bytesMax = RUNTIME_LIMITS.frameBytesMax - FRAME_HEAD_BYTES;
  return 3 * text.length > bytesMax && Buffer.byteLength(text) > bytesMax;
}

const FRAME_HEAD_BYTES = 32;

type Word = (speaker: Speaker, rest: string, host: HostWriter) => void;

const WORDS: Readonly<Record<string, Word>> = {
  [FROM_GUEST.result]: (speaker, rest, host) => {
    const [call, text] = numbered(rest);
    speaker.calls.delete(call);
    host.send(FROM_WORKER.result, speaker.id, call, text);
  },
  [FROM_GUEST.op]: (speaker, rest, host) => ask(speaker, speaker.currentCall, rest, host),
  [FROM_GUEST.ownOp]: (speaker, rest, host) => {
    const [call, text] = numbered(rest);
    // What is said for a call that has ended, or never was, is nobody's, and the host does nothing for nobody.
    ask(speaker, speaker.calls.has(call) ? call : 0, text, host);
  },
  [FROM_GUEST.log]: (speaker, rest, host) => say(FROM_WORKER.log, speaker, rest, host),
  [FROM_GUEST.timer]: (speaker, rest) => {
    const [timer, delay] = numbered(rest);
    speaker.timers.set(timer, Number(delay), speaker.currentCall);
  },
  [FROM_GUEST.clear]: (speaker, rest) => speaker.timers.clear(Number(rest)),
  [FROM_GUEST.breach]: (speaker, rest, host) => say(FROM_WORKER.breach, speaker, rest, host),
  [FROM_GUEST.fault]: (speaker, rest, host) => say(FROM_WORKER.fault, speaker, rest, host),
};

function ask(speaker: Speaker, call: number, rest: string, host: HostWriter): void {
  const [op, text] = numbered(rest);
  if (speaker.ops.has(op)) return;
  speaker.ops.set(op, call);
  host.send(FROM_WORKER.op, speaker.id, op, text, call);
}

/** What the host should learn even if the slice that says it never ends. */
function say(type: number, speaker: Speaker, rest: string, host: HostWriter): void {
  host.send(type, speaker.id, speaker.currentCall, rest);
  if (speaker.isInline) host.flush();
}

/** Splits "12:rest". */
function numbered(text: string): [number, string] {
  const colon = text.indexOf(":");
  return [Number(text.slice(0, colon)) >>> 0, text.slice(colon + 1)];
}
