/**
 * Runs targets: starts each at its first use and keeps it, calls it, and turns what comes back into a value or an error.
 * Plugins and single scripts take the same way.
 */
import {
  ActivationError,
  BundleError,
  CapabilityError,
  GuestError,
  HostError,
  LimitError,
  SallyportError,
} from "../permissions/mod.ts";
import type { AuditEvent, Tenure } from "../runtime/mod.ts";
import { activate, type ActivationParts, type Active } from "./activation.ts";
import { eventsWritten, writeEvent } from "./audit/write_event.ts";
import { inputText, valueOf } from "./result.ts";
import {
  ended,
  endIo,
  hasEnded,
  type InnerCallOptions,
  isGivenUp,
  orGiveUp,
  type Run,
  startRun,
  tooLate,
  withGiveUp,
} from "./run.ts";
import { isWaitingFor, type Slot, Stage, type Stopping } from "./stage.ts";
import { targetText, type Unit } from "./unit.ts";

interface Place {
  readonly stage: Stage;
  /** Starts under way that wait for what happens here. */
  readonly starts: Slot[];
}

/** The running targets of one tenant. */
export class Runner {
  readonly #parts: ActivationParts;
  #stage = new Stage();
  /** Builds that are not there yet, and builds that another one has taken the place of. */
  readonly #others = new Set<Stage>();
  /** Where each run is, by its id in the audit, and which starts wait for it. */
  readonly #places = new Map<string, Place>();
  #isClosed = false;
  #stopping: Promise<readonly SallyportError[]> | undefined;

  /** Starts nothing. */
  constructor(parts: ActivationParts) {
    this.#parts = parts;
  }

  /** What new calls run in. */
  get stage(): Stage {
    return this.#stage;
  }

  /**
   * Calls a target with a JSON value and gives its JSON value, or undefined where it was a stream, and read. Throws BundleError, ActivationError, NotCapableError,
   * GuestError, LimitError or HostError, and TrustError when its tenure is over before it has ended.
   */
  async call(unit: Unit, input: unknown, options: InnerCallOptions = {}): Promise<unknown> {
    if (this.#isClosed) throw closedError(unit);
    const { tenure } = unit;
    if (tenure !== undefined) tenure.calls += 1;
    const { stage, starts } = this.#placeOf(options);
    try {
      return await stage.during(() => this.#call(unit, input, options, { stage, starts: [...starts] }));
    } finally {
      if (tenure !== undefined) tenure.calls -= 1;
    }
  }

  /** Starts a target and calls nothing; settles when all that it did is undone, where it fails. Throws what `call` throws. */
  async start(unit: Unit, options: InnerCallOptions = {}): Promise<void> {
    if (this.#isClosed) throw closedError(unit);
    const place: Place = { stage: options.stage ?? this.#stage, starts: [] };
    const { stage } = place;
    if (stage.activeOf(unit) !== null) return;
    const run: Run = { ...startRun(unit, options, this.#parts.redactor), isActivation: true };
    this.#places.set(run.id, place);
    try {
      await stage.during(() => withGiveUp(unit, run, (giveUp) => this.#activate(unit, run, giveUp, place)));
    } catch (error) {
      const reason = this.#reasonOf(unit, error);
      throw reason instanceof SallyportError ? this.#parts.redactor.error(reason) : reason;
    } finally {
      this.#places.delete(run.id);
    }
  }

  /** A build beside the present one. */
  prepare(): Stage {
    const stage = new Stage();
    this.#others.add(stage);
    return stage;
  }

  /** Puts a build in the place of the present one, which answers what was begun in it and then stops. */
  publish(stage: Stage): void {
    const before = this.#stage;
    this.#stage = stage;
    this.#others.delete(stage);
    this.#others.add(before);
    // Nobody waits for it; what failed of it is in the audit.
    void before.idle().then(() => this.discard(before)).catch(() => {});
  }

  /** Stops a build that is not, or no longer, the present one; gives what failed of that. */
  async discard(stage: Stage): Promise<readonly SallyportError[]> {
    try {
      return await stage.stop(this.#parts.lifecycle);
    } finally {
      this.#others.delete(stage);
    }
  }

  /** Runs what the plugin's code wants done at the end, and ends it; gives what failed of that. Calls under way end as well. */
  async stop(stopping: Stopping): Promise<readonly SallyportError[]> {
    // One plugin has the time of one, however many isolates it has.
    const limits = { stopAllMs: this.#parts.lifecycle.stopMs };
    return (await Promise.all(this.#stages.map((stage) => stage.stop(limits, stopping)))).flat();
  }

  /** Ends all that runs under a tenure that is over, for the reason that it has. */
  end(tenure: Tenure): void {
    for (const stage of this.#stages) stage.end(tenure);
  }

  /** Takes no further call, runs what plugins want done at their end, and gives what failed. Twice gives the same promise. */
  stopAll(): Promise<readonly SallyportError[]> {
    this.#isClosed = true;
    this.#stopping ??= Promise.all(this.#stages.map((stage) => stage.stop(this.#parts.lifecycle)))
      .then((all) => all.flat());
    return this.#stopping;
  }

  /** Ends all isolates; settles when the last call has ended, which needs the workers to be ended as well. */
  async close(): Promise<void> {
    await this.stopAll();
    await Promise.all(this.#stages.map((stage) => stage.idle()));
  }

  get #stages(): readonly Stage[] {
    return [...this.#others, this.#stage];
  }

  /** A plugin's call is where the call is that makes it: what was begun in a build ends in it. */
  #placeOf({ origin, stage }: InnerCallOptions): Place {
    const known = origin === undefined ? undefined : this.#places.get(origin.call);
    return { stage: stage ?? known?.stage ?? this.#stage, starts: known?.starts ?? [] };
  }

  async #call(unit: Unit, input: unknown, options: InnerCallOptions, place: Place): Promise<unknown> {
    const { redactor } = this.#parts;
    const known = place.stage.activeOf(unit);
    const run = startRun(unit, options, redactor);
    const text = inputText(unit, input, run);
    const started = { target: targetText(unit), phase: "start", ...chainOf(run) };
    this.#audit(unit, run, "call", started, callFacts(unit), true);
    await eventsWritten(this.#parts.audit);
    this.#places.set(run.id, place);
    try {
      const active = known ??
        await withGiveUp(unit, run, (giveUp) => this.#activate(unit, run, giveUp, place));
      // One that was cancelled meanwhile never reaches the isolate, which it would end for its neighbours.
      if (hasEnded(unit, run)) throw await ended(unit, run);
      const answer = await active.isolate.call(text, run);
      const value = valueOf(unit, active, answer, run, redactor);
      this.#audit(
        unit,
        run,
        "call",
        value === undefined ? { ...ENDED_WELL, streamed: run.io?.chunks?.given } : ENDED_WELL,
        {},
        true,
      );
      return value;
    } catch (error) {
      const reason = this.#reasonOf(unit, error);
      const code = reason instanceof SallyportError ? reason.code : "unexpected";
      this.#audit(unit, run, reason instanceof LimitError ? "limit" : "call", {
        phase: "end",
        ok: false,
        code,
      });
      await orCallers(run, reason);
      throw reason instanceof SallyportError ? redactor.error(reason) : reason;
    } finally {
      this.#places.delete(run.id);
      endIo(run);
      if (run.denials.length > 0) {
        for (const denial of run.denials) options.onDenial?.(redactor.value(denial));
      }
    }
  }

  /** What ends a call when a host closes, or its approval is over, is told as that, whoever noticed first. */
  #reasonOf(unit: Unit, error: unknown): unknown {
    if (!(error instanceof HostError) || error.code !== "ERR_WORKER_LOST") return error;
    return this.#isClosed ? closedError(unit) : unit.tenure?.error ?? error;
  }

  /** Two first callers share one activation; a failure of the plugin's own is remembered until its bytes change (L25). */
  async #activate(unit: Unit, run: Run, giveUp: AbortSignal, place: Place): Promise<Active> {
    const { stage, starts } = place;
    const failure = stage.failureOf(unit);
    if (failure !== null) throw failure;
    const known = stage.slot(unit.key);
    if (known === undefined) return await this.#activateFirst(unit, run, giveUp, place);
    const waiting = waitFor(known, starts, unit);
    const active = await orGiveUp(unit, run, giveUp, known.starting).finally(waiting).catch(
      (error: unknown) => {
        // Whoever came first has given up; that is no reason for those who still wait.
        if (!isGivenUp(error)) throw error;
        if (giveUp.aborted) throw tooLate(unit, run);
        return null;
      },
    );
    if (active?.isolate.isAlive) return active;
    stage.drop(known);
    return await this.#activate(unit, run, giveUp, place);
  }

  async #activateFirst(unit: Unit, run: Run, giveUp: AbortSignal, place: Place): Promise<Active> {
    const { stage, starts } = place;
    // The signal of whoever came first is over when they have their answer; undoing what was begun goes on then.
    const slot = stage.begin(unit, async () => {
      try {
        return await activate(unit, run, giveUp, this.#parts);
      } catch (error) {
        if (isOwnFault(error)) stage.fail(unit, error);
        throw error;
      }
    });
    const { starting } = slot;
    const waiting = waitFor(slot, starts, unit);
    starts.push(slot);
    const forget = (): void => {
      starts.splice(starts.indexOf(slot), 1);
      waiting();
    };
    starting.then(forget, forget);
    return await (run.isActivation === true ? starting : orGiveUp(unit, run, giveUp, starting));
  }

  #audit(
    { plugin, fingerprint }: Unit,
    { id: call, origin }: Run,
    type: AuditEvent["type"],
    details: Readonly<Record<string, unknown>>,
    facts: Partial<AuditEvent> = {},
    isSoon = false,
  ): void {
    const { tenant, audit, confinement } = this.#parts;
    const parent = origin === undefined ? {} : { parent: origin.call };
    const event = { type, tenant, plugin, fingerprint, call, ...parent, confinement, ...facts, details };
    writeEvent(audit, event, isSoon);
  }
}

/**
 * Notes that starts wait for another one, until the function that it gives is called. Throws ActivationError where that one
 * waits for them (T22): calls of active plugins that go in circles are refused where they are made.
 */
function waitFor(slot: Slot, starts: readonly Slot[], unit: Unit): () => void {
  const cycle = slot.active === null ? starts.find((each) => isWaitingFor(slot, each)) : undefined;
  if (cycle !== undefined) {
    const names = [cycle, slot, cycle].map((each) => each.unit.plugin).join(" → ");
    throw new ActivationError(
      "ERR_ACTIVATION_FAILED",
      `Cannot start plugin "${unit.plugin}": cycle ${names}`,
      {
        details: { plugin: unit.plugin },
      },
    );
  }
  const waiting = [...starts];
  for (const each of waiting) each.waitsFor.add(slot);
  return () => {
    for (const each of waiting) each.waitsFor.delete(slot);
  };
}

/** Where the bound that a call ran into is its caller's, the caller is told of it as its own, whichever came first. */
async function orCallers({ origin }: Run, reason: unknown): Promise<void> {
  const isInherited = reason instanceof LimitError && reason.code === "ERR_LIMIT_WALL" &&
    (origin?.remainingMs() ?? Infinity) < INHERITED_MS;
  if (!isInherited || origin!.signal.aborted) return;
  await new Promise<void>((resolve) =>
    origin!.signal.addEventListener("abort", () => resolve(), { once: true })
  );
}

/** A call's bound is its caller's, in whole milliseconds. */
const INHERITED_MS = 2;

/** Whether starting would fail in the same way again. */
function isOwnFault(error: unknown): error is SallyportError {
  if (isGivenUp(error)) return false;
  return error instanceof BundleError || error instanceof ActivationError || error instanceof GuestError ||
    error instanceof CapabilityError;
}

function closedError({ title }: Unit): HostError {
  return new HostError("ERR_HOST_CLOSED", `Cannot call ${title}: the host is closed`);
}

/** That it may be called is decided before it starts, and written down with its start (R06). */
function callFacts({ call }: Unit): Partial<AuditEvent> {
  return call === undefined
    ? {}
    : { kind: call.kind, value: call.value, decision: call.state, rule: call.rule };
}

function chainOf({ origin, chain }: Run): { readonly chain?: readonly string[] } {
  return origin === undefined ? {} : { chain };
}

const ENDED_WELL = Object.freeze({ phase: "end", ok: true });
