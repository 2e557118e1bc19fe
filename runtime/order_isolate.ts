/** Having an isolate made by a worker. Until it is somebody's, its worker has nothing to say in its name. */
import { HostError } from "../permissions/mod.ts";
import { hostClosed } from "./guest_errors.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import type { WorkerProcess } from "./worker_process.ts";

/** Orders a blank isolate and gives its number once it is made. Throws a HostError when it is not. */
export async function orderIsolate(worker: WorkerProcess, memoryMb: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const fail = (why: string): void =>
    reject(new HostError("ERR_WORKER_LOST", `Cannot make an isolate: ${why}. The call may be made again`));
  // No plugin's code is in it, so whatever else is said in its name is said by somebody who took the worker over (T15).
  const lie = (): void => worker.kill("breach");
  const id = worker.createIsolate({ memoryMb }, {
    owner: null,
    callsInFlight: () => 0,
    isRunning: () => false,
    onBlocked: () => {},
    onCompiled: lie,
    onCreated: () => resolve(id),
    onResult: lie,
    onOp: lie,
    onLog: lie,
    onBreach: lie,
    onFault: lie,
    onIdle: lie,
    onGone: (reason, message) => fail(message || reason),
    onWorkerLost: ({ killedFor }) =>
      killedFor === "closing" ? reject(hostClosed()) : fail("its worker ended"),
  });
  const timer = setTimeout(() => {
    fail("its worker did not answer");
    worker.disposeIsolate(id);
  }, RUNTIME_LIMITS.isolateStartMs);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}
