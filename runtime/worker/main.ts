/** Entry of the worker process: one pipe, one engine, many isolates, no authority. */
import { Socket } from "node:net";
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { FROM_WORKER } from "../protocol.ts";
import { FrameWriter } from "../wire.ts";
import { dropAuthority } from "./confine_self.ts";
import { type Engine, Isolates } from "./isolate.ts";
import { Wakeful } from "../wakeful.ts";
import { serve } from "./serve.ts";

const SIGKILL = 9;
const [, , addonPath, guestStackKb, awakeUs] = process.argv;
if (addonPath === undefined) throw new Error("the worker was started without the path of its engine");
// For the isolates to come, on this thread: what a guest calls at the end of its stack finds what this process has more.
setFlagsFromString(`--stack-size=${Number(guestStackKb)}`);
// As `require` does it, without the look at the files around it, which costs more than the rest.
const addon: { exports: unknown } = { exports: {} };
process.dlopen(addon, addonPath);
const engine = addon.exports as Engine;
const end = ownEnd();
const left = dropAuthority();

const pipe = new Socket({ fd: 3, readable: true, writable: true });
// Without its host a worker has no reason to be; this also ends it when the host is killed outright.
pipe.on("close", end);
pipe.on("error", end);

const awake = new Wakeful(Number(awakeUs));
pipe.on("data", () => awake.heard());
const host = new FrameWriter((bytes) => {
  pipe.write(bytes);
  awake.said();
});
serve({ pipe, host, isolates: new Isolates(engine, host) }, {
  onBoot: () => {
    const facts = { node: process.version, addon: left.addon, fsRead: left.fsRead };
    host.send(FROM_WORKER.ready, 0, 0, JSON.stringify(facts));
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
