/**
 * What runs of one tenant since it was last built: its targets, each started at its first use, in the order in which they began
 * to be there. The next build has a stage of its own; this one then answers what was begun in it, stops, and is gone.
 */
import type { SallyportError } from "../permissions/mod.ts";
import type { Tenure } from "../runtime/mod.ts";
import type { Active } from "./activation.ts";
import type { LifecycleLimits } from "./lifecycle_limits.ts";
import type { Offering } from "./snapshot.ts";
import type { Unit } from "./unit.ts";

/** One target that runs, or is being started. */
export interface Slot {
  /** How it runs. */
  readonly unit: Unit;
  /** Settles when it is there, or when all that its start did is undone. */
  readonly starting: Promise<Active>;
  /** What came of it: later calls wait for nothing. */
  active: Active | null;
  /** Slots that its start waits for. */
  readonly waitsFor: Set<Slot>;
}

/** Whether a start waits for another one, through whatever it waits for. */
export function isWaitingFor(slot: Slot, other: Slot): boolean {
  // No wait is begun that would close a cycle, so this ends.
  return slot === other || [...slot.waitsFor].some((each) => isWaitingFor(each, other));
}

interface Trouble {
  readonly error: SallyportError;
  readonly unit: Unit;
}

/** What is stopped. */
export interface Stopping {
  /** Which units; absent is all. */
  readonly isMeant?: (unit: Unit) => boolean;
  /** What whoever still waits for a call is told. */
  readonly reason?: SallyportError;
}

/** The running targets of one build. */
export class Stage {
  readonly #slots = new Map<string, Slot>();
  /** In the order of their commits. */
  readonly #activated = new Set<Slot>();
  readonly #failures = new Map<string, SallyportError>();
  /** What is not offered since it failed to start, by plugin and unit. */
  readonly #troubles = new Map<string, Map<string, Trouble>>();
  readonly #onIdle: (() => void)[] = [];
  #underWay = 0;

  /** What runs under this key, or is being started. */
  slot(key: string): Slot | undefined {
    return this.#slots.get(key);
  }

  /** All slots, in the order in which they were asked for. */
  get slots(): readonly Slot[] {
    return [...this.#slots.values()];
  }

  /** What can be called without a start. */
  activeOf({ key }: Unit): Active | null {
    const active = this.#slots.get(key)?.active ?? null;
    return active?.isolate.isAlive === true ? active : null;
  }

  /** Units that run, in the order in which they were started. */
  get running(): readonly Unit[] {
    return [...this.#activated].filter(({ active }) => active?.isolate.isAlive).map(({ unit }) => unit);
  }

  /** Counts a piece of work until it has settled. */
  async during<Value>(work: () => Promise<Value>): Promise<Value> {
    this.#underWay += 1;
    try {
      return await work();
    } finally {
      if (--this.#underWay === 0) { for (const settle of this.#onIdle.splice(0)) settle(); }
    }
  }

  /** Settles when nothing is under way. */
  async idle(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  /** Begins to start a unit. What it comes to is there, or gone without a trace, when `starting` has settled. */
  begin(unit: Unit, start: () => Promise<Active>): Slot {
    if (unit.isAttenuated === true) this.#dropDead();
    const starting = this.during(start);
    const slot: Slot = { unit, starting, active: null, waitsFor: new Set() };
    this.#slots.set(unit.key, slot);
    starting.then((active) => {
      slot.active = active;
      this.trouble(unit, null);
      if (active.end !== null) {
        active.isolate.onEvict = () => {
          this.drop(slot);
          void stopOne(active);
        };
      }
      if (this.#slots.get(unit.key) === slot) this.#activated.add(slot);
    }, () => this.drop(slot));
    return slot;
  }

  /** A caller may give up parts of its grant without end, and what it called under each would never be asked for again. */
  #dropDead(): void {
    for (const slot of this.slots) {
      if (slot.unit.isAttenuated === true && slot.active?.isolate.isAlive === false) this.drop(slot);
    }
  }

  /** Forgets a slot. */
  drop(slot: Slot): void {
    this.#activated.delete(slot);
    if (this.#slots.get(slot.unit.key) === slot) this.#slots.delete(slot.unit.key);
  }

  /** Remembers that a unit cannot be started as it is (L25); under a caller's grant it may fail for want of that alone. */
  fail(unit: Unit, error: SallyportError): void {
    if (unit.isAttenuated === true) return;
    this.#failures.set(unit.key, error);
    this.trouble(unit, error);
  }

  /** Why a unit cannot be started as it is. */
  failureOf({ key }: Unit): SallyportError | null {
    return this.#failures.get(key) ?? null;
  }

  /** Remembers why what depends on a unit is not offered, or that it is after all. */
  trouble(unit: Unit, error: SallyportError | null): void {
    const key = pluginKey(unit);
    const known = this.#troubles.get(key) ?? new Map<string, Trouble>();
    this.#troubles.set(key, known);
    if (error === null) known.delete(unit.key);
    else known.set(unit.key, { error, unit });
    if (known.size === 0) this.#troubles.delete(key);
  }

  /** Why a capability is not offered: where lifecycle code failed anywhere, nothing of its plugin is (R09). */
  troubleOf(plugin: Pick<Unit, "place" | "fingerprint">, fullId: string): ReturnType<Offering["troubleOf"]> {
    const known = [...this.#troubles.get(pluginKey(plugin))?.values() ?? []];
    const whole = known.find(({ unit }) => unit.lifecycle?.activate != null);
    const trouble = whole ?? known.find(({ unit }) => unit.capabilities?.includes(fullId));
    if (trouble === undefined) return null;
    const { code, message } = trouble.error;
    return { isWhole: whole !== undefined, code, message };
  }

  /** How far a plugin has come. */
  progressOf(plugin: Pick<Unit, "place" | "fingerprint">): "discovered" | "activating" | "active" | "failed" {
    const key = pluginKey(plugin);
    const own = this.slots.filter(({ unit }) => pluginKey(unit) === key);
    if (own.some(({ active }) => active === null)) return "activating";
    if (this.#troubles.has(key)) return "failed";
    return own.some(({ active }) => active?.isolate.isAlive) ? "active" : "discovered";
  }

  /** Ends all that runs under a tenure that is over, for the reason that it has. No code of it runs any more. */
  end(tenure: Tenure): void {
    const { error } = tenure;
    if (error === null) return;
    for (const slot of this.slots) {
      if (slot.unit.tenure !== tenure) continue;
      this.drop(slot);
      void slot.starting.then(({ isolate }) => isolate.dispose(error), () => {});
      slot.active?.isolate.dispose(error);
    }
  }

  /**
   * Stops what is meant, in the reverse order of its start, one after the other and each whatever became of the others, and
   * gives what failed. Above `stopAllMs` the rest stops at once. What is still being started stops as soon as it is there.
   */
  async stop(
    { stopAllMs }: Pick<LifecycleLimits, "stopAllMs">,
    { isMeant = () => true, reason }: Stopping = {},
  ): Promise<readonly SallyportError[]> {
    const slots = this.slots.filter(({ unit }) => isMeant(unit));
    const order = [...this.#activated].filter((slot) => slots.includes(slot)).reverse();
    for (const slot of slots) this.drop(slot);
    for (const slot of slots.filter((each) => each.active === null)) {
      void slot.starting.then((active) => stopOne(active, reason), () => {});
    }
    const deadline = performance.now() + stopAllMs;
    const failures: SallyportError[] = [];
    const late: Promise<void>[] = [];
    for (const { active } of order) {
      const stopping = stopOne(active!, reason).then((failed) => void failures.push(...failed));
      if (performance.now() < deadline) await stopping;
      else late.push(stopping);
    }
    await Promise.all(late);
    return failures;
  }
}

async function stopOne(
  { isolate, end }: Active,
  reason?: SallyportError,
): Promise<readonly SallyportError[]> {
  const failures = await end?.(reason) ?? [];
  isolate.dispose(reason);
  return failures;
}

function pluginKey({ place, fingerprint }: Pick<Unit, "place" | "fingerprint">): string {
  return JSON.stringify([place, fingerprint]);
}
