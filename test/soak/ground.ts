/** What long runs stand on: plugins on a disk, tenants that have approved them, calls at a pace, and what they took. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Host, SallyportError, type Tenant, type TenantPolicy } from "../../src/mod.ts";
import { quantile } from "../bench/stats.ts";

/** One plugin with one tool. */
export interface LongPlugin {
  /** Names it. */
  readonly name: string;
  /** A module that exports `call(input, context)`. */
  readonly source: string;
  /** Lines of its manifest. */
  readonly head?: string | undefined;
}

/** Full id of the one tool of a plugin. */
export function toolOf(plugin: string): string {
  return `plugin__${plugin}__call`;
}

/** Writes plugins below a directory, and gives theirs. */
export function writePlugins(root: string, plugins: readonly LongPlugin[]): readonly string[] {
  return plugins.map(({ name, source, head = "" }) => {
    const directory = join(root, name);
    mkdirSync(directory, { recursive: true });
    writeFileSync(
      join(directory, "plugin.yaml"),
      `name: ${name}\nversion: "1.0.0"\n${head}capabilities:\n  tools:\n    - { name: call, target: "call.js:call" }\n`,
    );
    writeFileSync(join(directory, "call.js"), source);
    return directory;
  });
}

/** Opens a tenant that has approved all of its plugins. */
export async function openTenant(
  host: Host,
  id: string,
  plugins: readonly string[],
  policy: TenantPolicy,
): Promise<Tenant> {
  const tenant = host.tenant(id, { plugins, policy });
  for (const { name } of await tenant.list()) {
    const { hash } = await tenant.fingerprint(name);
    await tenant.trust(name, { fingerprint: hash, approver: "soak", expose: [toolOf(name)] });
  }
  return tenant;
}

/** How a call ended. */
export type End =
  | { readonly kind: "answered"; readonly value: unknown }
  | { readonly kind: "refused"; readonly code: string; readonly retryable: boolean }
  | { readonly kind: "hangs" };

/** Waits for a call, but not for ever. */
export async function endOf(call: Promise<unknown>, hangMs: number): Promise<End> {
  let timer: NodeJS.Timeout | undefined;
  const hangs = new Promise<End>((resolve) => timer = setTimeout(resolve, hangMs, { kind: "hangs" }));
  const answered = call.then(
    (value): End => ({ kind: "answered", value }),
    (error: unknown): End =>
      error instanceof SallyportError
        ? { kind: "refused", code: error.code, retryable: error.retryable }
        : { kind: "refused", code: `unnamed ${String(error)}`, retryable: false },
  );
  try {
    return await Promise.race([answered, hangs]);
  } finally {
    clearTimeout(timer);
  }
}

/** A call at a pace: when it was due, and when it was made. */
export interface Due {
  /** By `performance.now()`. */
  readonly dueAt: number;
  /** The same; late where the event loop was held up. */
  readonly madeAt: number;
}

/**
 * Makes calls at a pace, whether or not those before have ended, as customers do; settles when all have. One that could
 * not be made in time is made at once, so that whoever holds up the host is not spared a figure.
 */
export async function atPace(
  perSecond: number,
  ms: number,
  call: (due: Due) => Promise<void>,
): Promise<void> {
  const begin = performance.now();
  let underWay = 0;
  let onIdle = (): void => {};
  let failure: { readonly error: unknown } | undefined;
  const everyMs = 1_000 / perSecond;
  for (let n = 1, dueAt = begin + everyMs; dueAt < begin + ms; dueAt = begin + ++n * everyMs) {
    const waitMs = dueAt - performance.now();
    if (waitMs > 0) await rest(waitMs);
    underWay += 1;
    // A timer may be a part of a millisecond early; nobody's answer is there before it was asked for.
    const madeAt = performance.now();
    void call({ dueAt: Math.min(dueAt, madeAt), madeAt })
      .catch((error: unknown) => failure = { error })
      .finally(() => --underWay === 0 && onIdle());
  }
  if (underWay > 0) await new Promise<void>((resolve) => onIdle = resolve);
  if (failure !== undefined) throw failure.error;
}

/** Lets time pass. */
export function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What calls took. */
export interface Took {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Sums up what calls took; zeros without any. */
export function took(samples: readonly number[]): Took {
  const at = (share: number): number => samples.length === 0 ? 0 : quantile(samples, share);
  return { count: samples.length, p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Counts one more of something. */
export function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

/** Whether a process runs; one that has ended and that nobody has asked about is none. */
export function isThere(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** How many runnable tasks the machine had lately: what a figure of time is worth. */
export function loadAverage(): string {
  return readFileSync("/proc/loadavg", "utf8").split(" ").slice(0, 3).join(" ");
}
