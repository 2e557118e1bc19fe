/** How a worker ended, and to whom that can be put (T11). */
import type { ProcessExit } from "./confine.ts";

/** Whose code an isolate runs: what a death is charged to. */
export interface IsolateOwner {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Name of the plugin, or of the script file. */
  readonly plugin: string;
  /** Hash of what runs; null for what nobody approved, such as a script. */
  readonly fingerprint: string | null;
}

/** Why the host ends a worker. */
export type KillReason = "memory" | "silence" | "parked" | "breach" | "stuck" | "closing" | "retired";

/** Why a worker ended, as far as the host can tell. */
export interface WorkerEnd {
  /** Why the host killed it; null when it ended by itself or by somebody else's hand. */
  readonly killedFor: KillReason | null;
  /** How the process ended. */
  readonly exit: ProcessExit;
  /** Calls that were under way in it. */
  readonly callsInFlight: number;
  /** Everybody whose code may have brought it about; none when the host wanted it, or somebody outside. */
  readonly suspects: readonly IsolateOwner[];
  /** The end of what it wrote to stderr, for the operator. */
  readonly stderr: string;
}

/** What is known of the isolates of a worker when it ends. */
export interface EndFacts {
  /** Owners of isolates in which code was running, or which were told to go and did not. */
  readonly running: Iterable<IsolateOwner>;
  /** Owners of all isolates that ever ran in it. */
  readonly ever: Iterable<IsolateOwner>;
  /** Whether it held more memory than its own when it was last looked at. */
  readonly isLarge: boolean;
}

/** Signals by which the engine itself gives up, as when a single allocation is too large for it. */
export const ENGINE_ABORTS: ReadonlySet<string> = new Set([
  "SIGABRT",
  "SIGTRAP",
  "SIGILL",
  "SIGSEGV",
  "SIGBUS",
]);

/** Everybody whose code may have brought the end about, each once. */
export function suspectsOf(
  { killedFor, exit }: Pick<WorkerEnd, "killedFor" | "exit">,
  facts: EndFacts,
): readonly IsolateOwner[] {
  if (killedFor === "closing" || killedFor === "retired") return [];
  if (killedFor === null && isFromOutside(exit, facts.isLarge)) return [];
  // Who took a worker over may have done so long before it is seen.
  return distinct(killedFor === "breach" ? facts.ever : facts.running);
}

/** No guest can send a signal; but a system that runs out of memory kills whoever is large. */
function isFromOutside({ signal }: ProcessExit, isLarge: boolean): boolean {
  return signal !== null && !ENGINE_ABORTS.has(signal) && !(signal === "SIGKILL" && isLarge);
}

/** The one text for an owner. */
export function ownerKey({ tenant, plugin, fingerprint }: IsolateOwner): string {
  return JSON.stringify([tenant, plugin, fingerprint]);
}

/** Owners that are remembered; the oldest is forgotten when there are many. */
export class OwnerSet {
  readonly #most: number;
  readonly #keys = new Set<string>();

  /** Remembers at most so many. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Remembers one. */
  add(owner: IsolateOwner): void {
    const [oldest] = this.#keys;
    if (oldest !== undefined && this.#keys.size >= this.#most) this.#keys.delete(oldest);
    this.#keys.add(ownerKey(owner));
  }

  /** Whether it is remembered. */
  has(owner: IsolateOwner): boolean {
    return this.#keys.has(ownerKey(owner));
  }
}

function distinct(owners: Iterable<IsolateOwner>): readonly IsolateOwner[] {
  const found = new Map<string, IsolateOwner>();
  for (const { tenant, plugin, fingerprint } of owners) {
    const owner = { tenant, plugin, fingerprint };
    found.set(ownerKey(owner), owner);
  }
  return [...found.values()];
}
