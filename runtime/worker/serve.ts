/** Reads the host's frames and hands them to the isolates. */
import type { Socket } from "node:net";
import { RUNTIME_LIMITS } from "../limits.ts";
import { type CreateOrder, FROM_WORKER, type LoadOrder, TO_WORKER } from "../protocol.ts";
import { encodeFrame, type Frame, FrameDecoder, splitParts, textOf } from "../wire.ts";
import type { Isolates } from "./isolate.ts";

/** Serves until the pipe closes. A host that speaks nonsense is no host: the worker ends. */
export function serve(pipe: Socket, isolates: Isolates, { onBoot, onNonsense }: ServeEvents): void {
  const decoder = new FrameDecoder(RUNTIME_LIMITS.frameBytesMax);
  pipe.on("data", (chunk: Buffer) => {
    try {
      for (const frame of decoder.push(chunk)) HANDLERS[frame.type]!({ frame, pipe, isolates, onBoot });
    } catch (error) {
      console.error(error);
      onNonsense();
    }
  });
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
  readonly pipe: Socket;
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
    const { header, body } = splitParts(frame.payload);
    isolates.load(frame.isolate, frame.id, header as LoadOrder, body.toString("utf8"));
  },
  [TO_WORKER.call]: ({ frame, isolates }) => isolates.call(frame.isolate, frame.id, textOf(frame)),
  [TO_WORKER.reply]: ({ frame, isolates }) => isolates.reply(frame.isolate, frame.id, textOf(frame)),
  [TO_WORKER.dispose]: ({ frame, isolates }) => isolates.dispose(frame.isolate),
  [TO_WORKER.ping]: ({ frame, pipe }) => {
    pipe.write(encodeFrame(FROM_WORKER.pong, 0, frame.id, ""));
  },
};
