/**
 * Descriptors that the host itself was started with and that a child would inherit: Node closes its own in children, and
 * leaves these open. Nobody knows what they lead to, so no confined child gets one (T01, T07).
 */
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";

/** What a child gets in place of each descriptor; unlike Node's own type it may be filled. */
export type ChildStdio = (number | "pipe" | "ignore" | undefined)[];

/** O_CLOEXEC as Linux prints it in `fdinfo`. */
const CLOSED_IN_CHILDREN = 0o2_000_000;

/** Those above the standard three; empty where the system does not tell. */
export function strayDescriptors(): readonly number[] {
  try {
    return readdirSync("/proc/self/fd").map(Number).filter((fd) => fd > 2 && isInherited(fd));
  } catch {
    return [];
  }
}

/**
 * Puts nothing in the place of every stray descriptor that the child has no use for, while `start` starts it. Gives what
 * `start` gives; it is told the places that nothing stands in.
 */
export function withoutStray<Child>(
  used: ChildStdio,
  start: (stdio: (number | "pipe" | "ignore")[], emptied: readonly number[]) => Child,
): Child {
  const emptied = strayDescriptors().filter((fd) => used[fd] === undefined);
  if (emptied.length === 0) return start(filled(used), emptied);
  const nothing = openSync("/dev/null", "r");
  try {
    const stdio = [...used];
    for (const fd of emptied) stdio[fd] = nothing;
    return start(filled(stdio), emptied);
  } finally {
    closeSync(nothing);
  }
}

function filled(stdio: ChildStdio): (number | "pipe" | "ignore")[] {
  return Array.from(stdio, (each) => each ?? "ignore");
}

function isInherited(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "0";
    return (parseInt(flags, 8) & CLOSED_IN_CHILDREN) === 0;
  } catch {
    return false; // closed since it was listed, as the list's own is
  }
}
