/** Users for children where the host is root: a user of its own for each, who owns nothing. */
import { readFileSync } from "node:fs";

/** First of the user ids that are given to children. */
export const UNPRIVILEGED_UID_BASE = 61_000;
const UNPRIVILEGED_UID_COUNT = 4_000;

/** A user for one child alone where the host is root, whom neither modes nor limits of processes hold. */
export function childIdentity(): { uid: number; gid: number } | Record<never, never> {
  return process.getuid?.() === 0 && isUserMapped(UNPRIVILEGED_UID_BASE + UNPRIVILEGED_UID_COUNT)
    ? unprivilegedIdentity(UNPRIVILEGED_UID_BASE)
    : {};
}

/** Whether a user of this number exists here: in a user namespace of its own, root may be alone. */
function isUserMapped(uid: number): boolean {
  try {
    return readFileSync("/proc/self/uid_map", "utf8").trim().split("\n").some((line) => {
      const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number);
      return first <= uid && uid < first + count;
    });
  } catch {
    return true;
  }
}

/** A user and group that no other child has. */
export function unprivilegedIdentity(base: number): { uid: number; gid: number } {
  // Two workers of one user could signal each other, so each gets its own.
  const uid = base + Math.floor(Math.random() * UNPRIVILEGED_UID_COUNT);
  return { uid, gid: uid };
}
