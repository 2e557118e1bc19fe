/** The process of a worker before anybody has spoken to it: what it runs, what it may read, how the engine is set. */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { type ConfinedProcess, startConfined } from "./confine.ts";
import type { ConfinementPlan } from "./confine_plan.ts";
import { RUNTIME_LIMITS } from "./limits.ts";

const SOURCE = import.meta.url.endsWith(".ts");
/** The files that a worker may read while it starts; nothing here belongs to anybody but Sallyport. */
const WORKER_FILES = SOURCE
  ? [
    "./worker/serve.ts",
    "./worker/isolate.ts",
    "./worker/timers.ts",
    "./worker/compiling.ts",
    "./worker/cpu.ts",
    "./worker/guest_words.ts",
    "./worker/pace.ts",
    "./worker/tidying.ts",
    "./worker/confine_self.ts",
    "./wakeful.ts",
    "./wire.ts",
    "./protocol.ts",
    "./limits.ts",
    "../package.json",
  ]
  : [];
/**
 * How the engine is set. Without the first, an ordinary allocating loop defeats time-outs, memory limits and dispose on Node 24 and
 * 26; the last one is what `worker/tidying.ts` takes out of each context.
 */
export const ENGINE_FLAGS: readonly string[] = [
  "--no-turboshaft-loop-unrolling",
  "--no-node-snapshot",
  "--expose-gc-as=Atomics",
];

/** Starts it; `engine` is the absolute path of the engine's binary. */
export function launchWorker(plan: ConfinementPlan, engine: string): Promise<ConfinedProcess> {
  const { guestKb, ownKb } = stackSizes();
  return startConfined({
    plan,
    entry: fileOf(`./worker/main.${SOURCE ? "ts" : "cjs"}`),
    readable: WORKER_FILES.map(fileOf),
    addon: engine,
    nodeFlags: [...ENGINE_FLAGS, `--stack-size=${ownKb}`],
    args: [{ file: engine }, String(guestKb), String(awakeUs(RUNTIME_LIMITS.workerAwakeUsMax))],
  });
}

/**
 * A guest that runs on the worker's own thread should find about as much stack as on a thread of the engine, which is what the
 * system gives to any; and what it calls from the end of that must still find some. Half as much as usual where the system gives
 * little or does not say.
 */
function stackSizes(): { readonly guestKb: number; readonly ownKb: number } {
  try {
    const limit = /^Max stack size\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))![1]!;
    const isUsual = limit === "unlimited" || Number(limit) >= 8 * 1_048_576;
    return isUsual ? { guestKb: 6_144, ownKb: 7_168 } : SMALL_STACKS;
  } catch {
    return SMALL_STACKS;
  }
}

const SMALL_STACKS = { guestKb: 492, ownKb: 984 };

function fileOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

/** As long as the bound where there are two processors at least: on the only one, whoever stays awake keeps the other from answering. */
export function awakeUs(usMax: number): number {
  return availableParallelism() > 1 ? usMax : 0;
}
