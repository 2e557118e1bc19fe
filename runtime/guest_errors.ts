/** The errors in which calls end that their guest, its worker or their caller ended. */
import { HostError, LimitError } from "../permissions/mod.ts";
import type { Principal } from "./principal.ts";
import { type GuestLimits, RUNTIME_LIMITS } from "./limits.ts";
import type { WorkerEnd } from "./worker_end.ts";

/** For a call that took too long. */
export function wallError({ title }: Pick<Principal, "title">, wallMs: number): LimitError {
  return new LimitError(
    "ERR_LIMIT_WALL",
    `${title} did not answer within ${wallMs} ms and was stopped. Raise limits.wallMs, or --wall-ms on the command line, if it needs longer`,
    { details: { wallMs } },
  );
}

/** For a call whose isolate outgrew its heap. */
export function memoryError({ title }: Principal, memoryMb: number): LimitError {
  return new LimitError(
    "ERR_LIMIT_MEMORY",
    `${title} used more than its ${memoryMb} MB of memory and was stopped. Raise limits.memoryMb, or --memory-mb on the command line, if it needs more`,
    { details: { memoryMb } },
  );
}

/** What a call may ask for too much of, by the platform's word for it or by ours. */
const BREACHES: Readonly<Record<string, { readonly bound: number; readonly text: string }>> & {
  readonly ops: { readonly bound: number; readonly text: string };
} = {
  ops: { bound: RUNTIME_LIMITS.opsPerCallMax, text: "operations" },
  timers: { bound: RUNTIME_LIMITS.timersMax, text: "timers" },
  bytes: {
    bound: RUNTIME_LIMITS.opBytesInFlightMax,
    text: "bytes in operations that are under way (opBytesInFlightMax)",
  },
};

/** By the platform's word, the worker's or ours for what was too much. */
export function breachError({ title }: Principal, what: string, { cpuMs }: GuestLimits): LimitError {
  if (what === "cpu") {
    return new LimitError(
      "ERR_LIMIT_CPU",
      `${title} used more than its ${cpuMs} ms of processor time in one call and was stopped. Raise limits.cpuMs if it needs more`,
      { details: { cpuMs } },
    );
  }
  const { bound, text } = BREACHES[what] ?? BREACHES.ops;
  return new LimitError(
    "ERR_LIMIT_OPS",
    `${title} asked for more than ${bound} ${text} and was stopped`,
    { details: { what, bound } },
  );
}

/** For a failure with which a guest passed on that it was refused for its rate. */
export function rateError({ title }: Principal, { opsPerSecondMax }: GuestLimits): LimitError {
  return new LimitError(
    "ERR_LIMIT_RATE",
    `${title} asked for more than ${opsPerSecondMax} operations a second (opsPerSecondMax)`,
    { details: { opsPerSecondMax } },
  );
}

/** For a call whose worker ended. */
export function lostError({ plugin }: Principal, end: WorkerEnd): HostError {
  return new HostError(
    "ERR_WORKER_LOST",
    `The worker process of "${plugin}" ended during the call (${
      end.killedFor ?? end.exit.signal ?? end.exit.code
    }). The call may be made again`,
    { details: { killedFor: end.killedFor, signal: end.exit.signal, exitCode: end.exit.code } },
  );
}

/** For a call that was under way when its host closed. */
export function hostClosed(): HostError {
  return new HostError("ERR_HOST_CLOSED", "Cannot finish the call: the host was closed");
}

/** For a call whose caller gave up. */
export function cancelled({ plugin }: Principal): HostError {
  return new HostError("ERR_CALL_CANCELLED", `The call to "${plugin}" was cancelled by its caller`);
}
