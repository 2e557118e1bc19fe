/** Entry of the worker process: one pipe, one engine, many isolates, no authority. */
import { createRequire } from "node:module";
import { Socket } from "node:net";
import process from "node:process";
import { FROM_WORKER } from "../protocol.ts";
import { encodeFrame } from "../wire.ts";
import { dropAuthority } from "./confine_self.ts";
import { type Engine, Isolates } from "./isolate.ts";
import { serve } from "./serve.ts";

const SIGKILL = 9;
const addonPath = process.argv[2];
if (addonPath === undefined) throw new Error("the worker was started without the path of its engine");
const engine = createRequire(import.meta.url)(addonPath) as Engine;
const end = ownEnd();
const left = dropAuthority();

const pipe = new Socket({ fd: 3, readable: true, writable: true });
// Without its host a worker has no reason to be; this also ends it when the host is killed outright.
pipe.on("close", end);
pipe.on("error", end);

const isolates = new Isolates(engine, (type, isolate, id, payload) => {
  pipe.write(encodeFrame(type, isolate, id, payload));
});
serve(pipe, isolates, {
  onBoot: () => {
    const facts = { node: process.version, addon: left.addon, fsRead: left.fsRead };
    pipe.write(encodeFrame(FROM_WORKER.ready, 0, 0, JSON.stringify(facts)));
  },
  onNonsense: end,
});

/**
 * Ends this process by its own hand. `process.exit` waits for the engine's threads, so while a guest loops it never ends;
 * the function is taken before signals are given up, and only the end of the host, or of its sense, leads to it.
 */
function ownEnd(): () => void {
  const { _kill: kill, pid } = process as typeof process & { _kill(pid: number, signal: number): number };
  return () => void kill(pid, SIGKILL);
}
