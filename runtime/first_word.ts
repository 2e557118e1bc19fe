/** The first that a worker says: that it is confined and has its platform. */
import { HostError } from "../permissions/mod.ts";
import type { ConfinedProcess } from "./confine.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import { FROM_WORKER, TO_WORKER, type WorkerFacts } from "./protocol.ts";
import { encodeFrame, type FrameDecoder, textOf } from "./wire.ts";

/** Gives it its platform and waits for its word. Throws HostError `ERR_WORKER_LOST` when it does not come in time, or is another. */
export async function firstWord(
  started: ConfinedProcess,
  decoder: FrameDecoder,
  platform: string,
): Promise<WorkerFacts> {
  started.pipe.write(encodeFrame(TO_WORKER.boot, 0, 0, platform));
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<WorkerFacts>((resolve, reject) => {
      const fail = (why: string): void =>
        reject(
          new HostError("ERR_WORKER_LOST", `Cannot start a worker: ${why}`, {
            details: { confinement: started.confinement, stderr: started.stderrTail() },
          }),
        );
      timer = setTimeout(() => fail("it did not become ready in time"), RUNTIME_LIMITS.workerStartMs);
      void started.exited.then(({ code, signal }) =>
        fail(`it ended with ${signal ?? code} while it started`)
      );
      started.pipe.once("data", (chunk: Buffer) => {
        try {
          const [frame] = decoder.push(chunk);
          if (frame?.type !== FROM_WORKER.ready) throw new RangeError("the first frame is not its readiness");
          resolve(JSON.parse(textOf(frame)) as WorkerFacts);
        } catch (error) {
          fail(String(error));
        }
      });
    });
  } catch (error) {
    started.kill();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
