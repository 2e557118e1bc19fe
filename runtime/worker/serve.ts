/** Reads the host's frames and hands them to the isolates. */
import type { Socket } from "node:net";
import { RUNTIME_LIMITS } from "../limits.ts";
import { type CreateOrder, FROM_WORKER, type LoadOrder, TO_WORKER } from "../protocol.ts";
import { type Frame, FrameDecoder, splitParts, textOf } from "../wire.ts";
import type { HostWriter } from "./guest_words.ts";
import type { TargetCode } from "./compiling.ts";
import type { Isolates } from "./isolate.ts";

/** Serves until the pipe closes. A host that speaks nonsense is no host: the worker ends. */
export function serve(
  { pipe, host, isolates }: Serving,
  { onBoot, onNonsense }: ServeEvents,
): void {
  const decoder = new FrameDecoder(RUNTIME_LIMITS.frameBytesMax);
  pipe.on("data", (chunk: Buffer) => {
    try {
      for (const frame of decoder.push(chunk)) HANDLERS[frame.type]!({ frame, host, isolates, onBoot });
    } catch (error) {
      console.error(error);
      onNonsense();
    }
  });
}

/** What is served. */
export interface Serving {
  /** Where the host's frames come from. */
  readonly pipe: Socket;
  /** The way back. */
  readonly host: HostWriter;
  /** What the frames are for. */
  readonly isolates: Isolates;
}

/** What is told to whoever started serving. */
export interface ServeEvents {
  /** The platform is there. */
  readonly onBoot: () => void;
  /** The host sent what no host sends. */
  readonly onNonsense: () => void;
}

interface Served {
  readonly frame: Frame;
  readonly host: HostWriter;
  readonly isolates: Isolates;
  readonly onBoot: () => void;
}

const HANDLERS: Readonly<Record<number, (served: Served) => void>> = {
  [TO_WORKER.boot]: ({ frame, isolates, onBoot }) => {
    isolates.boot(textOf(frame));
    onBoot();
  },
  [TO_WORKER.create]: ({ frame, isolates }) =>
    isolates.create(frame.isolate, JSON.parse(textOf(frame)) as CreateOrder), // the host is the one trusted peer
  [TO_WORKER.load]: ({ frame, isolates }) => {
    const { order, target } = targetOf(frame);
    isolates.load(frame.isolate, frame.id, order, target);
  },
  [TO_WORKER.compile]: ({ frame, isolates }) => {
    const { order, target } = targetOf(frame);
    isolates.compile(frame.isolate, frame.id, order, target.code);
  },
  [TO_WORKER.call]: ({ frame, isolates }) => isolates.call(frame.isolate, frame.id, textOf(frame)),
  [TO_WORKER.reply]: ({ frame, isolates }) => isolates.reply(frame.isolate, frame.id, textOf(frame)),
  [TO_WORKER.dispose]: ({ frame, isolates }) => isolates.dispose(frame.isolate),
  [TO_WORKER.ping]: ({ frame, host }) => host.send(FROM_WORKER.pong, 0, frame.id, ""),
};

function targetOf(frame: Frame): { readonly order: LoadOrder; readonly target: TargetCode } {
  const { header, body } = splitParts(frame.payload);
  const order = header as LoadOrder; // the host is the one trusted peer
  const codeBytes = body.byteLength - (order.cacheBytes ?? 0);
  const code = body.toString("utf8", 0, codeBytes);
  return {
    order,
    target: order.cacheBytes === undefined ? { code } : { code, cache: body.subarray(codeBytes) },
  };
}
