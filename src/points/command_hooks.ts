/**
 * Hooks that are executables of their bundle (T07). One is an op `run` that the host asks of the broker on the plugin's
 * behalf: parsed, decided by the plugin's own grant, written down, and only then started, from verified bytes in the
 * sandbox of programs. Here is what goes in, and what its end means.
 */
import { randomUUID } from "node:crypto";
import { HostError, LimitError, SallyportError } from "../../permissions/mod.ts";
import {
  type AuditEvent,
  type AuditSink,
  type Broker,
  type Denial,
  type GuestFacts,
  newDenialPrefix,
  type Principal,
  type Redactor,
  wallError,
} from "../../runtime/mod.ts";
import { writeEvent } from "../audit/write_event.ts";
import { bundleFiles } from "../bundle_files.ts";
import { grantCapability } from "../grant_plugin.ts";
import type { OwnSpaces } from "../own_spaces.ts";
import { limitsOf, type TenantPolicy } from "../policy.ts";
import { type Quarantine, quarantinedError } from "../quarantine.ts";
import type { Capability, CommandHook } from "../surfaces/mod.ts";
import { memberOf } from "../surfaces/surface.ts";
import type { Admitted, TenantCalls } from "../tenant_calls.ts";
import { errorOf, type Subject, verdictOf } from "./command_outcome.ts";
import type { Verdict } from "./verdict.ts";

/** What the command hooks of one tenant are run with. */
export interface CommandHooksParts {
  /** Id of the tenant. */
  readonly tenant: string;
  /** The ceiling. */
  readonly policy: TenantPolicy;
  /** What workers reach, for the audit. */
  readonly confinement: string;
  /** Finds out what may run. */
  readonly calls: Pick<TenantCalls, "admitted">;
  /** The one place that ops pass. */
  readonly dispatch: Broker["dispatch"];
  /** Where it is written down. */
  readonly audit: AuditSink;
  /** What all that leaves passes. */
  readonly redactor: Redactor;
  /** What plugins keep between calls. */
  readonly spaces: Pick<OwnSpaces, "spaceOf">;
  /** Who is not run any more. */
  readonly quarantine: Pick<Quarantine, "find">;
}

/** How one is run. */
export interface CommandHookOptions {
  /** When it is over, milliseconds from now; absent is the plugin's own bound. */
  readonly deadlineMs?: number;
  /** Ends it. */
  readonly signal?: AbortSignal;
  /** Id of the call at whose point it runs. */
  readonly parent?: string;
  /** Gets every refusal. */
  readonly onDenial?: (denial: Denial) => void;
}

/** Runs the command hooks of one tenant. */
export class CommandHooks {
  readonly #parts: CommandHooksParts;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  /** Runs nothing yet. */
  constructor(parts: CommandHooksParts) {
    this.#parts = parts;
  }

  /**
   * Runs a hook, by its full id, with an event as JSON text, and gives its verdict. Nothing is remembered from the time
   * before: what may run, and whether it still is what was approved, is found out each time. Throws what a call throws before
   * it reaches code; NotCapableError, LimitError, GuestError for a hook that failed; HostError.
   */
  run(id: string, event: string, options: CommandHookOptions = {}): Promise<Verdict> {
    const running = this.#run(id, event, options);
    this.#running.add(running);
    const forget = (): void => void this.#running.delete(running);
    running.then(forget, forget);
    return running;
  }

  /** Ends all; settles when they have ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
  }

  async #run(id: string, event: string, options: CommandHookOptions): Promise<Verdict> {
    const { calls, redactor } = this.#parts;
    const admitted = await calls.admitted(id);
    const { tenure } = admitted.holding;
    tenure.calls += 1;
    try {
      return await this.#called(admitted, event, options);
    } catch (error) {
      throw error instanceof SallyportError ? redactor.error(error) : error;
    } finally {
      tenure.calls -= 1;
    }
  }

  async #called(admitted: Admitted, event: string, options: CommandHookOptions): Promise<Verdict> {
    const { tenant, quarantine, redactor } = this.#parts;
    const { plugin, capability, holding: { approval: { fingerprint } }, decision } = admitted;
    const record = await quarantine.find({ tenant, plugin: plugin.name, fingerprint: fingerprint.hash });
    if (record) throw quarantinedError(record);
    const call = randomUUID();
    const { kind, value, state, rule } = decision;
    const subject = subjectOf(capability);
    const started = { target: hookOf(capability).command[0], phase: "start" };
    this.#note(admitted, call, options, { kind, value, decision: state, rule, details: started });
    try {
      const outcome = await this.#outcome(admitted, event, call, options);
      const verdict = verdictOf(outcome, subject, redactor);
      this.#note(admitted, call, options, {
        details: { phase: "end", ok: true, decision: verdict.decision },
      });
      return verdict;
    } catch (error) {
      const code = error instanceof SallyportError ? error.code : "unexpected";
      const type = error instanceof LimitError ? "limit" : "call";
      this.#note(admitted, call, options, { type, details: { phase: "end", ok: false, code } });
      throw error;
    }
  }

  /** What the op answered. Throws what ended it, or kept it from being started. */
  async #outcome(
    admitted: Admitted,
    event: string,
    call: string,
    { deadlineMs = Infinity, signal, parent, onDenial }: CommandHookOptions,
  ): Promise<unknown> {
    const { policy, dispatch, redactor } = this.#parts;
    const { plugin: { manifest }, capability, holding: { tenure } } = admitted;
    const subject = subjectOf(capability);
    const { command: [executable, ...args] } = hookOf(capability);
    const wallMs = Math.max(1, Math.min(deadlineMs, limitsOf(manifest.limits, policy).wallMs));
    const late = AbortSignal.timeout(wallMs);
    const sources = [signal, tenure.signal, late, this.#closing.signal].filter((each) => each !== undefined);
    const denials: Denial[] = [];
    const answer = await dispatch({
      principal: this.#principal(admitted),
      scope: {
        id: call,
        parent,
        signal: AbortSignal.any(sources),
        chain: [subject.id],
        deny: (denial) => void denials.push(denial),
      },
      op: 1,
      // Bytes, since some texts mean something else to the op.
      text: JSON.stringify(["run", [
        `./${executable}`,
        args,
        [Buffer.from(event).toString("base64")],
        null,
        null,
      ]]),
    });
    for (const denial of denials) onDenial?.(redactor.value(denial));
    // The cast is safe: the broker made the text.
    const envelope = JSON.parse(answer) as { ok: true; value: unknown } | { ok: false; error: GuestFacts };
    if (tenure.error !== null) throw tenure.error;
    if (envelope.ok) return envelope.value;
    if (this.#closing.signal.aborted) {
      throw new HostError("ERR_HOST_CLOSED", `${subject.title} was ended: the host is closed`);
    }
    if (signal?.aborted) {
      throw new HostError("ERR_CALL_CANCELLED", `${subject.title} was cancelled by its caller`);
    }
    if (late.aborted) throw wallError(subject, wallMs);
    throw errorOf(envelope.error, denials, subject);
  }

  /** On whose behalf it runs: the plugin, which sees of its own bundle what the hook declares. */
  #principal({ plugin, capability, holding }: Admitted): Principal {
    const { tenant, confinement, spaces } = this.#parts;
    const { granted, approval, tenure } = holding;
    const { source, name } = plugin;
    const pinned = new Set(Object.keys(approval.fingerprint.files));
    return {
      tenant,
      plugin: name,
      place: source.directory,
      title: `Plugin "${name}"`,
      fingerprint: approval.fingerprint.hash,
      confinement,
      grant: grantCapability(granted, capability),
      tenure,
      context: granted.context,
      bundle: {
        ...bundleFiles(source, false, pinned),
        beside: (hookOf(capability).files ?? []).map((path) => `${source.directory}/${path}`),
      },
      own: spaces.spaceOf(approval.lineage),
      denialPrefix: newDenialPrefix(),
    };
  }

  #note(
    { plugin: { name }, holding: { approval } }: Admitted,
    call: string,
    { parent }: CommandHookOptions,
    { type = "call", ...facts }: Partial<AuditEvent>,
  ): void {
    const { audit, tenant, confinement } = this.#parts;
    const { hash: fingerprint } = approval.fingerprint;
    const caller = parent === undefined ? {} : { parent };
    writeEvent(audit, { type, tenant, plugin: name, fingerprint, call, ...caller, confinement, ...facts });
  }
}

/** How messages call it. */
function subjectOf({ fullId }: Capability): Subject {
  return { title: `Hook "${fullId}"`, id: fullId };
}

/** Its entry in the manifest. Throws a TypeError for anything else: whoever runs hooks knows what they are. */
function hookOf({ raw, fullId }: Capability): CommandHook {
  // The cast holds: the schema of hooks tells its two shapes by this member.
  if (memberOf(raw, "type") === "command") return raw as CommandHook;
  throw new TypeError(`"${fullId}" is no command hook`);
}
