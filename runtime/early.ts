/**
 * A worker whose process is started before its host is there, because that takes longer than to find out what it is for.
 * It has no authority, and nobody speaks to it before there is a host.
 */
import type { ConfinedProcess } from "./confine.ts";
import { findBubblewrap } from "./confine_jail.ts";
import { type ConfinementDemand, type ConfinementPlan, planConfinement } from "./confine_plan.ts";
import { enginePath } from "./engine.ts";
import { launchWorker } from "./launch_worker.ts";

/** The process, and how it is confined. */
export interface EarlyWorker {
  /** How children are confined on this machine. */
  readonly plan: ConfinementPlan;
  /** Gives the process to the first who asks. */
  take(): Promise<ConfinedProcess> | undefined;
}

/** Starts one; undefined where it cannot be, which the host finds out again and says. */
export function startEarly(demand: ConfinementDemand): EarlyWorker | undefined {
  const bubblewrap = findBubblewrap();
  if (bubblewrap === undefined) return undefined;
  try {
    // Whether bubblewrap can run is tried while the process is on its way: that takes a tenth of its start.
    const launched = launchWorker({ level: "strong", reasons: [], bubblewrap }, enginePath());
    launched.catch(() => {}); // whoever takes it is told
    const plan = planConfinement(demand);
    let left = plan.bubblewrap === bubblewrap ? launched : undefined;
    if (left === undefined) void launched.then((process) => process.kill(), () => {});
    return {
      plan,
      take() {
        const taken = left;
        left = undefined;
        return taken;
      },
    };
  } catch {
    return undefined;
  }
}
