/**
 * Tenants beside one another: whoever makes many more calls than the others is let in a few a millisecond while others make some
 * as well, so that the host's one thread, and the processors, have time for theirs. Who is alone waits for nobody.
 */
import { LimitError } from "../permissions/mod.ts";
import { RUNTIME_LIMITS } from "../runtime/mod.ts";

interface Own {
  readonly waiting: (() => void)[];
  since: number;
  begun: number;
}

/** The turns of all tenants of one host. */
export class FairTurns {
  readonly #own = new Map<string, Own>();
  readonly #now: () => number;
  /** Who made the last call, and who did before them, with when. */
  #last = { tenant: "", at: -Infinity };
  #before = { tenant: "", at: -Infinity };
  #tick: NodeJS.Timeout | undefined;

  /** `now` is a clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * A call of a tenant: undefined where it may begin at once, else what settles when it may. Throws LimitError `ERR_LIMIT_RATE`
   * when too many wait.
   */
  take(tenant: string): Promise<void> | undefined {
    const now = this.#now();
    if (tenant !== this.#last.tenant) this.#before = this.#last;
    this.#last = { tenant, at: now };
    const own = this.#own.get(tenant) ?? { waiting: [], since: now, begun: 0 };
    this.#own.set(tenant, own);
    if (now - own.since >= 1) {
      own.since = now;
      own.begun = 0;
    }
    const { callsPerMsBesideOthersMax, callsWaitingMax } = RUNTIME_LIMITS;
    const isFree = own.waiting.length === 0 && own.begun < callsPerMsBesideOthersMax;
    if (isFree || !this.#isBesideOthers(tenant, now)) {
      own.begun += 1;
      return undefined;
    }
    if (own.waiting.length >= callsWaitingMax) {
      throw new LimitError(
        "ERR_LIMIT_RATE",
        `Cannot start the call: ${callsWaitingMax} calls of tenant "${tenant}" wait for their turn already (callsWaitingMax)`,
        { details: { callsWaitingMax } },
      );
    }
    this.#tick ??= setTimeout(() => this.#letIn(), 1);
    return new Promise((resolve) => own.waiting.push(resolve));
  }

  /** Forgets a tenant; whoever waits of it is let in, and told that it is gone. */
  forget(tenant: string): void {
    for (const resolve of this.#own.get(tenant)?.waiting ?? []) resolve();
    this.#own.delete(tenant);
  }

  #isBesideOthers(tenant: string, now: number): boolean {
    return this.#before.tenant !== tenant && now - this.#before.at <= RUNTIME_LIMITS.besideOthersMs;
  }

  #letIn(): void {
    this.#tick = undefined;
    const now = this.#now();
    let isAnyWaiting = false;
    for (const own of this.#own.values()) {
      const next = own.waiting.splice(0, RUNTIME_LIMITS.callsPerMsBesideOthersMax);
      if (next.length === 0) continue;
      own.since = now;
      own.begun = next.length;
      for (const resolve of next) resolve();
      isAnyWaiting ||= own.waiting.length > 0;
    }
    if (isAnyWaiting) this.#tick = setTimeout(() => this.#letIn(), 1);
  }
}
