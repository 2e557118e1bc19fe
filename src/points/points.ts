/**
 * The points of one tenant: where hooks, guardrails and interceptors stand around calls, and where an embedder's events are
 * told. Where nobody stands, a call costs one comparison.
 */
import { randomUUID } from "node:crypto";
import {
  CapabilityError,
  type Decision,
  errorToJson,
  GuestError,
  SallyportError,
} from "../../permissions/mod.ts";
import type { AuditEvent, AuditSink, CallOrigin } from "../../runtime/mod.ts";
import { writeEvent } from "../audit/write_event.ts";
import type { Callable } from "../authority.ts";
import type { TenantPolicy } from "../policy.ts";
import { jsonOf } from "../result.ts";
import type { InnerCallOptions } from "../run.ts";
import { callPoints } from "../surfaces/stations.ts";
import type { TenantCalls } from "../tenant_calls.ts";
import { askAll, type AskParts, type Passing, piecemeal, unseenBody } from "./ask.ts";
import type { CommandHooks } from "./command_hooks.ts";
import { type EmitParts, type Emitted, type EmittedEvent, emitTo, takeEvent } from "./emit.ts";
import { InForce, type InForceParts, type Post, type Posts } from "./in_force.ts";
import { POINT_LIMITS } from "./limits.ts";
import type { Verdict } from "./verdict.ts";
import { Watchers, type WatchStats } from "./watchers.ts";
import { type Asked, type Way, wayOf } from "./way.ts";

/** What the points work with. */
export interface PointsParts extends InForceParts {
  /** Id of the tenant. */
  readonly tenant: string;
  /** The ceiling, with what may pass unanswered. */
  readonly policy: TenantPolicy;
  /** Calls modules, and holds values to schemas. */
  readonly calls: Pick<TenantCalls, "callable" | "admitted" | "run" | "refuseInput" | "refuseOutput">;
  /** Runs commands. */
  readonly commands: Pick<CommandHooks, "run">;
  /** Where decisions are written down. */
  readonly audit: AuditSink;
  /** What workers reach, for the audit. */
  readonly confinement: string;
  /** Events beside the built-in ones. */
  readonly events: readonly string[];
  /** Where plugins are that run, in the order in which they began to. */
  readonly running: () => readonly string[];
}

/** Makes a call that has passed what stands before it. */
type Call = (input: unknown, options: InnerCallOptions) => Promise<unknown>;

/** One call on its way through the points. */
interface Passage {
  readonly callable: Callable;
  readonly noun: string;
  readonly way: Way;
  /** Its id in the audit. */
  readonly id: string;
  readonly origin: CallOrigin;
  /** When its caller stops waiting, by `performance.now()`. */
  readonly deadline: number;
  readonly options: InnerCallOptions;
}

/** The points of one tenant. */
export class Points {
  readonly #parts: PointsParts;
  readonly #inForce: InForce;
  readonly #watchers: Watchers;
  /** Who stands in whose way, as long as the same are in force. */
  #ways: { readonly of: Posts; readonly by: Map<string, Way | null> } | null = null;

  /** Looks at nothing yet. */
  constructor(parts: PointsParts) {
    this.#parts = parts;
    this.#inForce = new InForce(parts);
    this.#watchers = new Watchers({
      onDropped: (plugin, count) => {
        try {
          this.#note({
            type: "limit",
            plugin,
            fingerprint: null,
            call: null,
            details: { eventsDropped: count },
          });
        } catch {
          // It is a warning, not a decision: whatever is done next is refused by the same log.
        }
      },
    });
  }

  /** Whether it is known that nobody stands anywhere. */
  get isQuiet(): boolean {
    return this.#inForce.recall()?.all.length === 0;
  }

  /** What became of events that plugins were told of without anybody waiting. */
  get stats(): readonly WatchStats[] {
    return this.#watchers.stats;
  }

  /** Makes a call, past all that stand around it. Throws BlockedError, and what the call throws. */
  async around(callable: Callable, input: unknown, options: InnerCallOptions, call: Call): Promise<unknown> {
    const noun = callable.schemas.code?.passes;
    const posts = await this.#inForce.find();
    const way = noun === undefined || posts.all.length === 0 ? null : this.#wayOf(posts, noun, callable);
    if (way === null || noun === undefined) return await call(input, options);
    await this.#parts.calls.refuseInput(callable, input);
    const passage = this.#begin(callable, noun, way, options);
    const [first] = passage.way.before;
    if (first !== undefined && options.body !== undefined) {
      throw unseenBody(first.post, callable.capability.fullId);
    }
    // Whoever made the call may go on to change what it gave; what was shown is what goes in.
    const given: unknown = JSON.parse(jsonOf(callable.unit, input));
    const entering = await this.#ask("input", passage, passage.way.before, given, given);
    const value = await this.#called(passage, entering, call);
    const leaving = await this.#ask("output", passage, passage.way.after, value, entering);
    this.#tell(passage, entering, value === undefined ? { streamed: true } : { output: leaving });
    return leaving;
  }

  /** Tells an event to those who are in force, and gives what became of it. */
  async emit(
    event: EmittedEvent,
    options: Pick<InnerCallOptions, "signal" | "onDenial"> = {},
  ): Promise<Emitted> {
    const { events, running } = this.#parts;
    const taken = takeEvent(event, events);
    const posts = await this.#inForce.find();
    const call = randomUUID();
    const origin = originOf(options, call, []);
    const ask = this.#askParts({ origin, deadline: Infinity, options });
    const tell: EmitParts["tell"] = (post, shown) => {
      const work = () => this.#answer(post, shown, { origin, wallMs: POINT_LIMITS.watchMs, ...options });
      return this.#watchers.during(post.plugin, work);
    };
    return await emitTo(posts.all, taken, { running: running(), ask, tell, call });
  }

  /** Takes no more events, and forgets those that wait. */
  close(): void {
    this.#watchers.close();
  }

  #begin(callable: Callable, noun: string, way: Way, given: InnerCallOptions): Passage {
    const { wallMs } = given;
    const id = given.id ?? randomUUID();
    const { fullId } = callable.capability;
    const chain = given.origin?.chain ?? [];
    // Whoever is asked calls what it likes, but not back into what waits for its answer (T22). What others call for it is
    // decided about like anybody's: the chain's depth and its cycles end that.
    const isAnothers = ({ post }: Asked): boolean => !chain.includes(post.id);
    const isDecided = (asked: Asked): boolean =>
      isAnothers(asked) || given.origin?.plugin !== asked.post.plugin;
    return {
      callable,
      noun,
      way: {
        before: way.before.filter(isDecided),
        after: way.after.filter(isDecided),
        watching: way.watching.filter(isAnothers),
      },
      id,
      origin: originOf(given, id, [...chain, fullId]),
      deadline: wallMs === undefined ? Infinity : performance.now() + wallMs,
      options: { ...given, id },
    };
  }

  /** The call itself; what it failed with in its own words is asked about as what it gives is. */
  async #called(passage: Passage, input: unknown, call: Call): Promise<unknown> {
    const { way, deadline, options: { chunks, ...plain } } = passage;
    const left = deadline === Infinity ? {} : { wallMs: leftMs(deadline) };
    // What comes out is decided about as a whole, so nothing of it leaves before.
    const isWhole = way.after.length > 0;
    try {
      return await call(input, { ...plain, ...left, ...(isWhole || chunks === undefined ? {} : { chunks }) });
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error;
      const { fullId } = passage.callable.capability;
      if (chunks !== undefined && isWhole && error.code === "ERR_RESULT_INVALID") {
        throw piecemeal(way.after[0]!.post, fullId, error);
      }
      if (error instanceof GuestError && error.code === "ERR_GUEST_THREW") {
        const asked = way.after.filter(({ post: { station } }) =>
          station === null || station.seesFailures === true
        );
        await this.#ask("failure", passage, asked, errorToJson(error), input);
      }
      this.#tell(passage, input, { error: { code: error.code } });
      throw error;
    }
  }

  /** The value as it leaves the point. */
  async #ask(
    side: "input" | "output" | "failure",
    passage: Passage,
    asked: readonly Asked[],
    value: unknown,
    input: unknown,
  ): Promise<unknown> {
    if (asked.length === 0) return value;
    const { callable, noun, id: call } = passage;
    const { fullId: target } = callable.capability;
    const { calls } = this.#parts;
    const key = side === "failure" ? "error" : side;
    const passing: Passing = {
      what: side === "input" ? `call "${target}"` : `return what "${target}" gave`,
      target,
      call,
      point: callPoints(noun)[side === "input" ? "input" : "output"],
      event: ({ post: { station }, seesInput }, now) => ({
        name: station?.name ?? null,
        ...(station?.phase === undefined ? {} : { phase: station.phase }),
        target,
        ...(seesInput && side !== "input" ? { input } : {}),
        [key]: now ?? null,
        // What is read piece by piece is shown to nobody; that there is something is.
        ...(side === "input" && passage.options.body !== undefined ? { body: true } : {}),
      }),
      validate: (replaced) =>
        side === "input"
          ? calls.refuseInput(callable, replaced)
          : side === "output"
          ? calls.refuseOutput(callable, replaced)
          : Promise.reject(noReplacement(target)),
    };
    return await askAll(asked, passing, value, this.#askParts(passage));
  }

  #askParts(
    { origin, deadline, options: { signal, onDenial } }: Pick<Passage, "origin" | "deadline" | "options">,
  ): AskParts {
    const { policy } = this.#parts;
    const until = performance.now() + POINT_LIMITS.decideAllMs;
    const onward = {
      origin,
      ...(signal === undefined ? {} : { signal }),
      ...(onDenial === undefined ? {} : { onDenial }),
    };
    return {
      answer: (post, event) => {
        const wallMs = Math.min(POINT_LIMITS.decideMs, leftMs(until), leftMs(deadline));
        return this.#answer(post, event, { ...onward, wallMs });
      },
      mayPass: (plugin) =>
        Object.hasOwn(policy.onNoAnswer ?? {}, plugin) && policy.onNoAnswer?.[plugin] === "continue",
      note: (facts) => this.#note({ type: "intercept", ...facts }),
      isOver: () => signal?.aborted === true || performance.now() >= deadline,
    };
  }

  /** Asks one of them. Throws where there is no answer. */
  async #answer(
    { use }: Post,
    event: Readonly<Record<string, unknown>>,
    options: InnerCallOptions & { readonly wallMs: number; readonly origin: CallOrigin },
  ): Promise<Verdict> {
    const { calls, commands } = this.#parts;
    if (use.how === "none") throw use.error;
    if (use.how === "command") {
      const { wallMs, signal, origin, onDenial } = options;
      return await commands.run(use.id, JSON.stringify(event), {
        deadlineMs: wallMs,
        parent: origin.call,
        ...(signal === undefined ? {} : { signal }),
        ...(onDenial === undefined ? {} : { onDenial }),
      });
    }
    const { callable } = use;
    // The cast holds: the surface's schema has read the answer.
    return await calls.run(callable, event, callable.unit, options) as Verdict;
  }

  /** Tells those who watch, when their turn comes; the call does not wait. */
  #tell(
    { callable, way, origin }: Passage,
    input: unknown,
    outcome: Readonly<Record<string, unknown>>,
  ): void {
    const { fullId: target } = callable.capability;
    for (const { post, seesInput } of way.watching) {
      const name = post.station?.name ?? null;
      // As text, since whoever made the call may change what it was given.
      const made = () => JSON.stringify({ name, target, ...(seesInput ? { input } : {}), ...outcome });
      this.#watchers.add(post.plugin, made, async (text) => {
        const event = JSON.parse(text) as Readonly<Record<string, unknown>>;
        const freed = originOf({}, origin.call, origin.chain);
        await this.#answer(post, event, { origin: freed, wallMs: POINT_LIMITS.watchMs });
      });
    }
  }

  /** Found out once for a target; who may see others' calls is written down then. */
  #wayOf(posts: Posts, noun: string, callable: Callable): Way | null {
    const { fullId } = callable.capability;
    if (this.#ways?.of !== posts) this.#ways = { of: posts, by: new Map() };
    const { by } = this.#ways;
    // Two plugins of one name have one id, and not one way.
    const key = `${callable.holding.key} ${fullId}`;
    const known = by.get(key);
    if (known !== undefined) return known;
    const way = wayOf(posts.all, noun, callable);
    const seen = way === null ? [] : [...way.before, ...way.after, ...way.watching];
    for (const { post, seen: decision } of seen) {
      if (decision !== null) this.#noteSeen(post, decision);
    }
    if (by.size >= POINT_LIMITS.targetsRememberedMax) by.clear();
    by.set(key, way);
    return way;
  }

  #noteSeen({ plugin, fingerprint, id }: Post, { kind, value, state, rule }: Decision): void {
    const facts = { kind, value, decision: state, rule, details: { by: id } };
    this.#note({ type: "grant", plugin, fingerprint, call: null, ...facts });
  }

  #note(facts: Pick<AuditEvent, "type" | "plugin" | "fingerprint" | "call"> & Partial<AuditEvent>): void {
    const { audit, tenant, confinement } = this.#parts;
    writeEvent(audit, { tenant, confinement, ...facts });
  }
}

/** On behalf of which call somebody is asked: within what is left to its caller, and told of nobody but those who wait. */
function originOf(
  { origin, signal, onDenial }: Pick<InnerCallOptions, "origin" | "signal" | "onDenial">,
  call: string,
  chain: readonly string[],
): CallOrigin {
  return {
    plugin: origin?.plugin ?? "",
    call: origin?.call ?? call,
    chain,
    signal: signal ?? origin?.signal ?? new AbortController().signal,
    remainingMs: () => origin?.remainingMs() ?? Infinity,
    deny: (denial) => onDenial?.(denial),
    pause: (work) => origin?.pause(work) ?? work(),
  };
}

function leftMs(deadline: number): number {
  return Math.max(1, Math.floor(deadline - performance.now()));
}

function noReplacement(target: string): CapabilityError {
  return new CapabilityError(
    "ERR_CAPABILITY_INPUT_INVALID",
    `Cannot put anything in the place of the failure of "${target}": it can only be let be, or stopped`,
    { details: { capability: target, issues: [] } },
  );
}
