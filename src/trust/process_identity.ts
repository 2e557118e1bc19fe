/** Who holds a lock, told in a way that outlives the reuse of process ids. */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import process from "node:process";

/** One process of one machine. What a system cannot tell is null. */
export interface ProcessIdentity {
  /** Its id. */
  readonly pid: number;
  /** When it started, in ticks since the machine did. */
  readonly started: string | null;
  /** The run of the machine. */
  readonly boot: string | null;
  /** The machine. */
  readonly host: string;
  /** Where its id means it. */
  readonly namespace: string | null;
}

/** This process. */
export function ownIdentity(): ProcessIdentity {
  return {
    pid: process.pid,
    started: startOf(process.pid),
    boot: attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    host: hostname(),
    namespace: attempt(() => readlinkSync("/proc/self/ns/pid")),
  };
}

/** Whether a process has surely ended. Of another machine or container nothing is sure, so it counts as alive. */
export function isGone(other: ProcessIdentity): boolean {
  const own = ownIdentity();
  if (other.host !== own.host) return false;
  if (other.boot !== null && own.boot !== null && other.boot !== own.boot) return true;
  if (other.namespace !== own.namespace) return false;
  try {
    process.kill(other.pid, 0); // signal 0 asks and sends nothing
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return true;
  }
  const started = startOf(other.pid);
  return started === "ended" || (started !== null && other.started !== null && started !== other.started);
}

/** Reads what `ownIdentity` made, or null. */
export function readIdentity(text: string): ProcessIdentity | null {
  const value = attempt(() => JSON.parse(text) as Partial<ProcessIdentity> | null);
  if (typeof value !== "object" || value === null) return null;
  const { pid, started, boot, host, namespace } = value;
  if (!Number.isSafeInteger(pid) || pid! < 1 || typeof host !== "string") return null;
  return { pid: pid!, host, started: wordOf(started), boot: wordOf(boot), namespace: wordOf(namespace) };
}

/** Start of a process; `ended` for one that only waits to be reaped; null where it cannot be told. */
function startOf(pid: number): string | null {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (stat === null) return null;
  // The name stands in parentheses and may hold any character, so fields are counted behind the last one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? "ended" : fields[19] ?? null;
}

function wordOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function attempt<Value>(work: () => Value): Value | null {
  try {
    return work();
  } catch {
    return null;
  }
}
