/** One writer at a time, over processes: a file that exists only while somebody holds it. */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { HostError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import { isGone, ownIdentity, readIdentity } from "./process_identity.ts";
import type { TrustLimits } from "./limits.ts";

/**
 * Does the work while holding the lock at `path`. A lock is taken over only from a process that has surely ended, however
 * old it is. Throws HostError `ERR_STORE` naming the holder when it stays held for `lockWaitMs`, and what the work throws.
 */
export async function withLock<Value>(
  path: string,
  limits: Pick<TrustLimits, "lockWaitMs" | "lockPollMs">,
  work: () => Value | Promise<Value>,
): Promise<Value> {
  // The lock appears with its content in one step, so nobody ever sees one without a holder.
  const own = `${path}.${randomUUID()}`;
  writeFileSync(own, JSON.stringify({ ...ownIdentity(), nonce: randomUUID() }), { flag: "wx", mode: 0o600 });
  try {
    await acquire(own, path, limits);
  } finally {
    unlinkSync(own);
  }
  try {
    return await work();
  } finally {
    unlinkSync(path);
    // Whoever writes in a row would otherwise always be back before those who only look now and then.
    if (isWaitedFor(path)) await sleep(limits.lockPollMs * 2);
  }
}

/** Whether somebody alive waits; what was left by those who do not live any more is removed. */
function isWaitedFor(path: string): boolean {
  const own = basename(path);
  const waiting = readdirSync(dirname(path)).filter((name) =>
    name.startsWith(`${own}.`) && name !== `${own}.guard`
  );
  return waiting.map((name) => join(dirname(path), name)).some((file) => {
    const identity = readIdentity(contentOf(file) ?? "");
    if (identity === null || !isGone(identity)) return identity !== null;
    rmSync(file, { force: true });
    return false;
  });
}

async function acquire(
  own: string,
  path: string,
  { lockWaitMs, lockPollMs }: Pick<TrustLimits, "lockWaitMs" | "lockPollMs">,
): Promise<void> {
  for (const start = performance.now();;) {
    if (isDone(() => linkSync(own, path))) return;
    const holder = contentOf(path);
    const identity = holder === null ? null : readIdentity(holder);
    if (identity !== null && isGone(identity)) takeAway(path, holder!);
    else if (performance.now() - start > lockWaitMs) throw stillHeld(path, holder);
    else await sleep(lockPollMs);
  }
}

/**
 * Removes the lock of a process that is gone. Two that wait may both have found it so; the guard lets one look again and
 * remove it at a time, so that none removes the lock which the other has taken by then.
 */
function takeAway(path: string, content: string): void {
  const guard = `${path}.guard`;
  if (!isDone(() => closeSync(openSync(guard, "wx", 0o600)))) return;
  try {
    if (contentOf(path) === content) unlinkSync(path);
  } finally {
    unlinkSync(guard);
  }
}

function isDone(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function contentOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function stillHeld(path: string, holder: string | null): HostError {
  const pid = holder === null ? undefined : readIdentity(holder)?.pid;
  return new HostError(
    "ERR_STORE",
    `Cannot write Sallyport's settings: ${pid === undefined ? "somebody" : `process ${pid}`} holds "${
      display(path)
    }". Wait for it; if no Sallyport is running, remove that file, and "${
      display(path)
    }.guard" if it is there`,
    { details: { lock: path, pid: pid ?? null } },
  );
}
