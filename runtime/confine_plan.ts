/**
 * How children can be confined on this machine: bubblewrap where the system has it, an unprivileged user where the host is
 * root, the permission model alone elsewhere. What is reached is tried, never assumed (T01).
 */
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { HostError } from "../permissions/mod.ts";
import { UNPRIVILEGED_UID_BASE, unprivilegedIdentity } from "./confine_identity.ts";
import { findBubblewrap, jailArgs } from "./confine_jail.ts";

/** How strongly a child is confined; the order is from best to least. */
export type Confinement = "strong" | "medium" | "weak";

/** What a host accepts: a least level, or the best that the machine offers. */
export type ConfinementDemand = Confinement | "best";

/** How children are started on this machine, found once per host. */
export interface ConfinementPlan {
  /** What children of this plan reach. */
  readonly level: Confinement;
  /** Why it is not better; empty when it is strong. */
  readonly reasons: readonly string[];
  /** Absolute path of bubblewrap when it is used. */
  readonly bubblewrap?: string;
  /** First of the user ids that children get when bubblewrap is not used and the host is root. */
  readonly uidBase?: number;
}

const RANK: Readonly<Record<Confinement, number>> = { strong: 2, medium: 1, weak: 0 };

/**
 * Finds out how children can be confined here. Throws `ERR_CONFINEMENT` when less than `demand` is reached.
 * `without` leaves ways out, so that the lesser ones can be tested on a machine that has the better.
 */
export function planConfinement(
  demand: ConfinementDemand,
  without: readonly ("bubblewrap" | "uid")[] = [],
): ConfinementPlan {
  const plan = bestPlan(without);
  if (demand !== "best" && RANK[plan.level] < RANK[demand]) {
    throw new HostError(
      "ERR_CONFINEMENT",
      `Cannot start workers with confinement "${demand}": only "${plan.level}" is possible here (${
        plan.reasons.join("; ")
      }). Install bubblewrap, or accept less with the option confinement: "${plan.level}"`,
      { details: { demand, reached: plan.level, reasons: plan.reasons } },
    );
  }
  return plan;
}

function bestPlan(without: readonly string[]): ConfinementPlan {
  const reasons: string[] = [];
  if (process.platform !== "linux") {
    return { level: "weak", reasons: [`bubblewrap does not exist for ${process.platform}`] };
  }
  const bubblewrap = without.includes("bubblewrap") ? undefined : findBubblewrap();
  if (bubblewrap === undefined) reasons.push("bubblewrap is not installed: install bubblewrap");
  else {
    const failure = probe(bubblewrap);
    if (failure === null) return { level: "strong", reasons: [], bubblewrap };
    reasons.push(`bubblewrap cannot run: ${failure}`);
  }
  if (process.getuid?.() !== 0) return { level: "weak", reasons: [...reasons, "the host is not root"] };
  if (without.includes("uid")) return { level: "weak", reasons };
  const hidden = [process.execPath, import.meta.filename].find((path) => !isReadableByAll(path));
  if (hidden !== undefined) {
    return {
      level: "weak",
      reasons: [...reasons, "an unprivileged user cannot reach Sallyport's own files"],
    };
  }
  const refusal = probeIdentity();
  if (refusal !== null) {
    return {
      level: "weak",
      reasons: [...reasons, `the host cannot start a process as another user: ${refusal}`],
    };
  }
  return { level: "medium", reasons, uidBase: UNPRIVILEGED_UID_BASE };
}

/** Root of a container may have no user but itself: only a try tells. */
function probeIdentity(): string | null {
  const { status, error } = spawnSync(process.execPath, ["--version"], {
    env: {},
    cwd: "/",
    stdio: "ignore",
    timeout: 5_000,
    ...unprivilegedIdentity(UNPRIVILEGED_UID_BASE),
  });
  return status === 0 ? null : error?.message ?? `it ended with ${status}`;
}

function probe(bubblewrap: string): string | null {
  const program = ["/usr/bin/true", "/bin/true"].find((path) => existsSync(path)) ?? "/usr/bin/true";
  const args = [...jailArgs(), "--ro-bind", program, "/sallyport/true", "/sallyport/true"];
  const { status, error, stderr } = spawnSync(bubblewrap, args, {
    env: {},
    encoding: "utf8",
    timeout: 5_000,
  });
  if (status === 0) return null;
  return (error?.message ?? stderr.trim().split("\n")[0]) || `it ended with ${status}`;
}

function isReadableByAll(path: string): boolean {
  if ((statSync(path).mode & 0o004) === 0) return false;
  for (let folder = dirname(path);; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
