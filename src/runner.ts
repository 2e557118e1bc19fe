/**
 * Runs targets: bundles from the bytes that were hashed, starts an isolate at the first use and keeps it, calls it, and
 * turns what comes back into a value or an error. Plugins and single scripts take the same way.
 */
import { randomUUID } from "node:crypto";
import {
  ActivationError,
  BundleError,
  check,
  type Decision,
  type Grant,
  GuestError,
  HostError,
  LimitError,
  type PathContext,
  SallyportError,
  selectEnvironment,
} from "../permissions/mod.ts";
import {
  type AuditEvent,
  type AuditSink,
  type Broker,
  type BundleFiles,
  type CallOrigin,
  type Denial,
  depthOfJson,
  failureToError,
  type GuestAnswer,
  guestConfig,
  type GuestFailure,
  GuestIsolate,
  type GuestLimits,
  type GuestLine,
  newDenialPrefix,
  type OwnSpace,
  type Principal,
  type Redactor,
  RUNTIME_LIMITS,
  SYSTEM_FACTS,
  type SystemFact,
  type Use,
  type WorkerPool,
} from "../runtime/mod.ts";
import { writeEvent } from "./audit/write_event.ts";
import type { Bundler, BundleTarget, TargetBundle } from "./bundler/mod.ts";
import { display } from "./display.ts";
import { environmentRules } from "./environment.ts";
import { entriesOf, type FindEntry, shownStack } from "./frames.ts";
import type { PluginSource } from "./source.ts";

/** One target with all that decides how it runs. */
export interface Unit {
  /** What isolates are kept under: the same target, bytes and grant. */
  readonly key: string;
  /** Name of the plugin, or of the script file. */
  readonly plugin: string;
  /** How messages call it: `Plugin "x"`, `Script "x.ts"`. */
  readonly title: string;
  /** The decision about calling the capability, by its full id; absent for a script, which is none. */
  readonly call?: Decision;
  /** Its files. */
  readonly source: PluginSource;
  /** What is bundled. */
  readonly target: BundleTarget;
  /** Where the target is declared, for messages; null for a script. */
  readonly declaredIn: string | null;
  /** Hash of what runs; null for a script before `--lock`. */
  readonly fingerprint: string | null;
  /** Throws when a bundle is not what was approved. */
  readonly verify: (bundle: TargetBundle) => void;
  /** What it may do. */
  readonly grant: Grant;
  /** Where its paths start. */
  readonly context: PathContext;
  /** Real path of the plugin's directory, or of the script. */
  readonly place: string;
  /** Its own verified files; null for a script. */
  readonly bundle: BundleFiles | null;
  /** What is its own to write to. */
  readonly own: OwnSpace;
  /** The environment that its tenant maps. */
  readonly environment: Readonly<Record<string, string>>;
  /** What it may use. */
  readonly limits: GuestLimits;
  /** Whether the guest tells of each variable and fact that it reads, for finding out what it needs. */
  readonly tellsReads?: boolean;
}

/** What a caller may say about one call. */
export interface CallOptions {
  /** Ends the call. */
  readonly signal?: AbortSignal;
  /** Lowers the bound of this call, milliseconds. */
  readonly wallMs?: number;
  /** Gets console lines of the guest; their text is not safe for a terminal. */
  readonly onLine?: (line: GuestLine) => void;
  /** Gets every refusal, those that the guest caught included. */
  readonly onDenial?: (denial: Denial) => void;
  /** Gets each decision about a use, as it is made. */
  readonly onUse?: (use: Use) => void;
}

/** What the host says of one call besides. */
export interface InnerCallOptions extends CallOptions {
  /** The plugin's call that makes this one: its chain and its deadline are inherited. */
  readonly origin?: CallOrigin;
}

/** What a runner works with; belongs to one tenant. */
export interface RunnerOptions {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Where isolates come from. */
  readonly pool: WorkerPool;
  /** What bundles. */
  readonly bundler: Pick<Bundler, "bundle">;
  /** Where ops go. */
  readonly broker: Broker;
  /** Where calls are written down. */
  readonly audit: AuditSink;
  /** What workers reach, for the audit. */
  readonly confinement: string;
  /** What all that leaves passes: results, errors, console lines, refusals. */
  readonly redactor: Redactor;
  /** Told before each call, since the call may repeat what was set meanwhile. */
  readonly secrets: { learn(): Promise<void> };
  /** Names of the ops that the embedder added, for the guests; absent is none. */
  readonly hostOps?: readonly string[];
}

interface Active {
  readonly isolate: GuestIsolate;
  readonly bundle: TargetBundle;
  readonly principal: Principal;
  /** Finds places in the bundle; its map is read once for all errors of the isolate. */
  readonly find: FindEntry;
}

/** The running targets of one tenant. */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #active = new Map<string, Promise<Active>>();
  readonly #failures = new Map<string, SallyportError>();
  readonly #calls = new Set<Promise<unknown>>();
  #isClosed = false;

  /** Starts nothing. */
  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /**
   * Calls a target with a JSON value and gives its JSON value. Throws BundleError, ActivationError, NotCapableError,
   * GuestError, LimitError or HostError.
   */
  async call(unit: Unit, input: unknown, options: InnerCallOptions = {}): Promise<unknown> {
    if (this.#isClosed) {
      throw new HostError("ERR_HOST_CLOSED", `Cannot call ${unit.title}: the host is closed`);
    }
    const call = this.#call(unit, input, options);
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
    }
  }

  async #call(unit: Unit, input: unknown, options: InnerCallOptions): Promise<unknown> {
    const { redactor, secrets } = this.#options;
    await secrets.learn();
    const run = startRun(unit, options, redactor);
    const text = inputText(unit, input, run);
    this.#audit(
      unit,
      run,
      "call",
      { target: targetText(unit), phase: "start", ...chainOf(run) },
      callFacts(unit),
    );
    try {
      const active = await this.#activate(unit, run);
      // One that was cancelled meanwhile never reaches the isolate, which it would end for its neighbours.
      if (hasEnded(run)) throw tooLate(unit, run);
      const answer = await active.isolate.call(text, run);
      const value = redactor.value(valueOf(unit, active, answer, run.denials));
      this.#audit(unit, run, "call", { phase: "end", ok: true });
      return value;
    } catch (error) {
      const code = error instanceof SallyportError ? error.code : "unexpected";
      this.#audit(unit, run, error instanceof LimitError ? "limit" : "call", {
        phase: "end",
        ok: false,
        code,
      });
      throw error instanceof SallyportError ? redactor.error(error) : error;
    } finally {
      for (const denial of run.denials) options.onDenial?.(redactor.value(denial));
    }
  }

  /** Ends all isolates; settles when the last call has ended, which needs the workers to be ended as well. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const active of this.#active.values()) {
      void active.then(({ isolate }) => isolate.dispose(), () => {});
    }
    this.#active.clear();
    await Promise.allSettled(this.#calls);
  }

  /** Two first callers share one activation; a failure of the plugin's own is remembered until its bytes change (L25). */
  async #activate(unit: Unit, run: Run): Promise<Active> {
    const failure = this.#failures.get(unit.key);
    if (failure !== undefined) throw failure;
    const known = this.#active.get(unit.key);
    if (known === undefined) return await this.#activateFirst(unit, run);
    const active = await orGiveUp(unit, run, known).catch((error: unknown) => {
      // Whoever came first has given up; that is no reason for those who still wait.
      if (run.giveUp.aborted || !isGivenUp(error)) throw error;
      return null;
    });
    if (active?.isolate.isAlive) return active;
    if (this.#active.get(unit.key) === known) this.#active.delete(unit.key);
    return await this.#activate(unit, run);
  }

  async #activateFirst(unit: Unit, run: Run): Promise<Active> {
    const starting = this.#start(unit, run);
    this.#active.set(unit.key, starting);
    try {
      return await starting;
    } catch (error) {
      if (this.#active.get(unit.key) === starting) this.#active.delete(unit.key);
      if (error instanceof BundleError || error instanceof ActivationError || error instanceof GuestError) {
        this.#failures.set(unit.key, error);
      }
      throw error;
    }
  }

  async #start(unit: Unit, run: Run): Promise<Active> {
    const { tenant, pool, bundler, broker, confinement } = this.#options;
    const bundling = bundler.bundle({
      source: unit.source,
      target: unit.target,
      tenant,
      signal: run.giveUp,
    });
    const principal: Principal = {
      tenant,
      plugin: unit.plugin,
      title: unit.title,
      fingerprint: unit.fingerprint,
      confinement,
      grant: unit.grant,
      context: unit.context,
      place: unit.place,
      bundle: unit.bundle,
      own: unit.own,
      environment: unit.environment,
      denialPrefix: newDenialPrefix(),
    };
    // The worker starts while the bundler works; whichever fails first is told, and the other's end is waited for.
    const isolating = pool.isolate(cordonOf(tenant, unit), broker, principal, unit.limits);
    isolating.catch(() => {});
    const bundle = await bundling.catch(async (error: unknown) => {
      await isolating.then((isolate) => isolate.dispose(), () => {});
      throw run.giveUp.aborted ? tooLate(unit, run) : error;
    });
    const isolate = await isolating;
    try {
      unit.verify(bundle);
      this.#audit(unit, run, "activate", { target: targetText(unit) });
      const config = this.#configOf(unit, principal, run);
      const filename = `plugin:${unit.plugin}/${unit.target.path}`;
      const isScript = unit.target.export === null;
      const answer = await isolate.load(bundle.code, { filename, config, isScript }, run);
      const active: Active = { isolate, bundle, principal, find: entriesOf(bundle.map) };
      refuseFailedLoad(unit, active, answer, run.denials);
      return active;
    } catch (error) {
      isolate.dispose();
      throw error;
    }
  }

  /** What the guest platform is told. Granted environment is pushed with the isolate, and written down here. */
  #configOf(unit: Unit, principal: Principal, run: Run): string {
    const env = selectEnvironment(unit.grant, unit.environment);
    for (const [value, text] of Object.entries(env)) {
      this.#audit(unit, run, "grant", {}, { op: "env_push", kind: "env", value, decision: "granted" });
      // A script's reader is the one whose environment it is, and printing it is what many scripts are for.
      if (unit.target.export !== null) this.#options.redactor.know(text);
    }
    return JSON.stringify(guestConfig({
      env,
      sys: this.#factsOf(unit, run),
      ...environmentRules(unit.grant),
      denialPrefix: principal.denialPrefix,
      dynamicCode: this.#isOn(unit, run, "dynamicCode", "dynamic_code"),
      wasm: this.#isOn(unit, run, "wasm", "wasm"),
      isScript: unit.target.export === null,
      tellsReads: unit.tellsReads === true,
      hostOps: this.#options.hostOps ?? [],
    }));
  }

  /** Whether the guest is given what has no entries. */
  #isOn(unit: Unit, run: Run, kind: string, op: string): boolean {
    if (!isGranted(unit, kind)) return false;
    this.#audit(unit, run, "grant", {}, { op, kind, value: null, decision: "granted" });
    return true;
  }

  /** Granted facts about the machine, as they are now. */
  #factsOf(unit: Unit, run: Run): Readonly<Record<string, string>> {
    const words = Object.keys(SYSTEM_FACTS).filter((word): word is SystemFact =>
      isGranted(unit, "sys", word)
    );
    return Object.fromEntries(words.map((value) => {
      this.#audit(unit, run, "grant", {}, { op: "sys_push", kind: "sys", value, decision: "granted" });
      return [value, JSON.stringify(SYSTEM_FACTS[value]())];
    }));
  }

  #audit(
    unit: Unit,
    { id: call, origin }: Run,
    type: AuditEvent["type"],
    details: Readonly<Record<string, unknown>>,
    facts: Partial<AuditEvent> = {},
  ): void {
    const { tenant, audit, confinement } = this.#options;
    const { plugin, fingerprint } = unit;
    const parent = origin === undefined ? {} : { parent: origin.call };
    writeEvent(audit, { type, tenant, plugin, fingerprint, call, ...parent, confinement, ...facts, details });
  }
}

function isGranted({ grant, context }: Unit, kind: string, value: string | null = null): boolean {
  return check(grant, { kind, value }, context).state === "granted";
}

/** WebAssembly's memory is not counted by the engine: whoever takes too much of it dies with its worker, and alone. */
function needsOwnWorker(unit: Unit): boolean {
  return isGranted(unit, "wasm");
}

/** Whose isolates share a worker: those of one plugin, and apart from them those that need a worker of their own. */
function cordonOf(tenant: string, unit: Unit): string {
  return `${tenant}/${unit.plugin}${needsOwnWorker(unit) ? "/wasm" : ""}`;
}

interface Run {
  readonly id: string;
  readonly deadline: number;
  readonly wallMs: number;
  readonly signal: AbortSignal | undefined;
  /** Aborts when the caller has cancelled, or at the deadline. */
  readonly giveUp: AbortSignal;
  readonly onLine: ((line: GuestLine) => void) | undefined;
  readonly denials: Denial[];
  readonly onUse: ((use: Use) => void) | undefined;
  /** What a person took to answer does not count. */
  readonly paused: { ms: number };
  readonly origin: CallOrigin | undefined;
  /** Full ids of the capabilities that called one another, this one last. */
  readonly chain: readonly string[];
}

/** Whether nobody waits for it any more. */
function hasEnded({ signal, deadline, paused }: Run): boolean {
  return signal?.aborted === true || performance.now() >= deadline + paused.ms;
}

function startRun(unit: Unit, options: InnerCallOptions, redactor: Redactor): Run {
  const { onLine, origin } = options;
  const cut = redactor.lines();
  const inherited = Math.max(1, Math.floor(origin?.remainingMs() ?? Infinity));
  const wallMs = Math.min(unit.limits.wallMs, options.wallMs ?? Infinity, inherited);
  const inTime = AbortSignal.timeout(wallMs);
  return {
    id: randomUUID(),
    deadline: performance.now() + wallMs,
    wallMs,
    signal: options.signal,
    giveUp: options.signal === undefined ? inTime : AbortSignal.any([inTime, options.signal]),
    onLine: onLine === undefined ? undefined : ({ level, text }) => onLine({ level, text: cut(text) }),
    denials: [],
    onUse: options.onUse,
    paused: { ms: 0 },
    origin,
    chain: [...origin?.chain ?? [], ...unit.call === undefined ? [] : [unit.call.value ?? ""]],
  };
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

function inputText(unit: Unit, input: unknown, { wallMs, origin }: Run): string {
  const text = JSON.stringify(input) as string | undefined;
  if (text === undefined) {
    throw new GuestError("ERR_RESULT_INVALID", `Cannot call ${unit.title}: the input is not JSON`);
  }
  if (Buffer.byteLength(text) > RUNTIME_LIMITS.inputBytesMax) {
    throw new LimitError(
      "ERR_LIMIT_SIZE",
      `Cannot call ${unit.title}: the input has more than ${RUNTIME_LIMITS.inputBytesMax} bytes (inputBytesMax). Pass less, or a file to read`,
    );
  }
  const caller = origin === undefined ? {} : { caller: origin.chain };
  const context = { plugin: unit.plugin, deadline: Date.now() + wallMs, ...caller };
  return `{"input":${text},"context":${JSON.stringify(context)}}`;
}

function refuseFailedLoad(unit: Unit, active: Active, answer: GuestAnswer, denials: readonly Denial[]): void {
  if (!answer.ok) throw errorOf(unit, active, answer.error, denials);
  if (unit.target.export === null || (answer.text === '"function"' && !active.bundle.isExportMissing)) return;
  throw new ActivationError(
    "ERR_ACTIVATION_FAILED",
    `Cannot start "${
      targetText(unit)
    }" of plugin "${unit.plugin}": the file exports no function "${unit.target.export}". ` +
      `Export it, or correct the target in ${unit.declaredIn}`,
    { details: { plugin: unit.plugin, target: targetText(unit), manifest: unit.declaredIn } },
  );
}

function valueOf(unit: Unit, active: Active, answer: GuestAnswer, denials: readonly Denial[]): unknown {
  if (!answer.ok) throw errorOf(unit, active, answer.error, denials);
  try {
    // The text is the guest's word: a depth that would overflow whoever walks the value is refused before it is built.
    if (depthOfJson(answer.text) > RUNTIME_LIMITS.resultDepthMax) {
      throw new RangeError("it is nested too deeply");
    }
    return JSON.parse(answer.text) as unknown;
  } catch (error) {
    const why = error instanceof RangeError ? error.message : "it is not JSON";
    throw new GuestError("ERR_RESULT_INVALID", `Cannot use the result of "${unit.plugin}": ${why}`);
  }
}

function errorOf(
  unit: Unit,
  active: Active,
  failure: GuestFailure,
  denials: readonly Denial[],
): SallyportError {
  const shown = { ...failure, name: display(failure.name), message: display(failure.message) };
  const stack = shownStack(failure.stack, {
    plugin: unit.plugin,
    path: unit.target.path,
    find: active.find,
  });
  return failureToError(shown, denials, { title: unit.title, plugin: unit.plugin, stack });
}

function tooLate(unit: Unit, { wallMs, signal }: Run): SallyportError {
  if (signal?.aborted) {
    return new HostError("ERR_CALL_CANCELLED", `The call to "${unit.plugin}" was cancelled by its caller`);
  }
  return new LimitError(
    "ERR_LIMIT_WALL",
    `${unit.title} was not started within ${wallMs} ms. Raise limits.wallMs if it needs longer`,
    { details: { wallMs } },
  );
}

/** Ends a wait for somebody else's work when the caller has cancelled or its deadline has come. */
async function orGiveUp<Value>(unit: Unit, run: Run, work: Promise<Value>): Promise<Value> {
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(tooLate(unit, run));
  run.giveUp.addEventListener("abort", giveUp, { once: true });
  if (run.giveUp.aborted) giveUp();
  try {
    return await Promise.race([work, givenUp]);
  } finally {
    run.giveUp.removeEventListener("abort", giveUp);
  }
}

function isGivenUp(error: unknown): boolean {
  return error instanceof SallyportError && GIVEN_UP.has(error.code);
}

const GIVEN_UP: ReadonlySet<string> = new Set(["ERR_CALL_CANCELLED", "ERR_LIMIT_WALL"]);

function targetText({ target }: Unit): string {
  return target.export === null ? target.path : `${target.path}:${target.export}`;
}
