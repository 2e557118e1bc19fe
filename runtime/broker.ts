/**
 * The one place that ops pass: parse → check → audit → act → envelope. It trusts nothing that a guest sends, and it
 * never rejects: whatever happens becomes an answer.
 */
import { check, type Decision, type Grant, type Requirement } from "../permissions/mod.ts";
import type { Asks } from "./ask.ts";
import { Asking } from "./asking.ts";
import type { AuditEvent, AuditSink } from "./audit.ts";
import { CheckedAddress, CheckedPath, CheckedValue } from "./checked.ts";
import { Decider } from "./deciding.ts";
import { hasMoreNodes, isDeeper } from "./json_depth.ts";
import { knownValue } from "./known_value.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import type { OpDefinition, OpTools } from "./op.ts";
import { factsOf, type OpAudit, opAudit, opsWritten } from "./op_audit.ts";
import { type CallOrigin, PowerError, type Powers } from "./powers.ts";
import type { GrantHolder, OpRequest, Principal } from "./principal.ts";
import type { Redactor } from "./redact.ts";
import { type Denial, RefusedError, toGuest } from "./refusal.ts";
import { askedSecrets, isBound, type PlacedSecret, type SecretSource, withOwner } from "./secrets.ts";

/** Settings of a broker. */
export interface BrokerOptions {
  /** The ops that exist. */
  readonly ops: readonly OpDefinition[];
  /** Where decisions are written before anything happens. */
  readonly audit: AuditSink;
  /** The effects that ops may have. */
  readonly powers: Powers;
  /**
   * Absolute paths that no grant reaches: Sallyport's own state, and every plugin's directory. They may be links. The same
   * list for as long as nothing changed in it.
   */
  readonly sealed: () => readonly string[];
  /** Who is asked about what was not granted; absent is nobody. */
  readonly asks?: Asks | undefined;
  /** The tenant's secrets, for the broker alone; absent is none. */
  readonly secrets?: SecretSource | undefined;
  /** What audit values must not repeat; absent is nothing. */
  readonly redactor?: Redactor | undefined;
}

/** Runs ops. */
export class Broker {
  readonly #ops: ReadonlyMap<string, OpDefinition>;
  readonly #options: BrokerOptions;
  readonly #decider: Decider;
  readonly #asking: Asking;
  readonly #audit: OpAudit;
  /** What can be cancelled, by guest and by the guest's own key; bounded by the ops under way. */
  readonly #cancels = new WeakMap<Principal, Map<number, AbortController>>();

  /** Throws a TypeError when two ops share a name. */
  constructor(options: BrokerOptions) {
    this.#options = options;
    this.#ops = new Map(options.ops.map((op) => [op.name, op]));
    if (this.#ops.size !== options.ops.length) throw new TypeError("two ops have one name");
    const { asks, redactor } = options;
    this.#decider = new Decider(options.sealed);
    this.#audit = opAudit(options.audit, redactor);
    this.#asking = new Asking({ asks, decider: this.#decider, audit: this.#audit, redactor });
  }

  /** Answers one op with the JSON text of an envelope; never rejects. */
  async dispatch(request: OpRequest): Promise<string> {
    try {
      const value = await this.#perform(request);
      const text = `{"ok":true,"value":${JSON.stringify(value) ?? "null"}}`;
      if (isLonger(text, RUNTIME_LIMITS.opAnswerBytesMax)) {
        throw new PowerError("InvalidData", "ERR_LIMIT_SIZE", "The answer is larger than it may be");
      }
      return text;
    } catch (error) {
      return `{"ok":false,"error":${JSON.stringify(toGuest(error))}}`;
    }
  }

  /** Decides as an op would be decided about; writes nothing down. */
  explain(holder: GrantHolder, requirement: Requirement): Decision {
    return this.#decider.unlessSealed(
      holder,
      requirement,
      check(holder.grant, requirement, holder.context),
    );
  }

  /** Writes down what happened to a principal outside of any op. Never throws: what has happened cannot be refused. */
  note(
    principal: Principal,
    type: AuditEvent["type"],
    call: string | null,
    details: Readonly<Record<string, unknown>>,
  ): void {
    const { tenant, plugin, fingerprint, confinement } = principal;
    try {
      this.#options.audit.write({ type, tenant, plugin, fingerprint, call, confinement, details });
    } catch {
      // Whoever acts next on a log that cannot be written is refused.
    }
  }

  async #perform(request: OpRequest): Promise<unknown> {
    const { principal, scope } = request;
    refuseEnded(principal);
    const { op, args } = this.#parse(request.text);
    const spelled = typeof args[0] === "string" ? args[0] : null;
    const granted: CheckedValue[] = [];
    for (const requirement of op.requires?.(args) ?? []) {
      const found = this.#decider.decide(principal, requirement);
      const decision = found.state === "granted" || op.unasked !== undefined
        ? found
        : await this.#asking.ask(request, op.name, requirement, found, spelled);
      scope.decided?.({ decision, address: null });
      this.#settle(request, op.name, decision, spelled ?? requirement.value, undefined, true);
      if (decision.asked !== null) granted.push(CheckedValue.fromDecision(decision));
    }
    const written = opsWritten(this.#options.audit);
    if (written !== undefined) {
      await written;
      refuseEnded(principal);
    }
    if (scope.signal.aborted) {
      throw new PowerError("Interrupted", "ERR_CALL_ENDED", "The call has ended");
    }
    return await op.act(args, this.#tools(request, op.name, spelled, granted));
  }

  #parse(text: string): { readonly op: OpDefinition; readonly args: readonly unknown[] } {
    // The platform bounds both first, but a guest that has got past it is not bound by it.
    if (isLonger(text, RUNTIME_LIMITS.opBytesMax)) {
      throw new PowerError("TypeError", "ERR_LIMIT_SIZE", "The arguments are larger than they may be");
    }
    if (isDeeper(text, RUNTIME_LIMITS.opDepthMax)) {
      throw new PowerError("TypeError", "ERR_OP_INVALID", "The request is nested too deeply");
    }
    if (hasMoreNodes(text, RUNTIME_LIMITS.opNodesMax)) {
      throw new PowerError("TypeError", "ERR_LIMIT_SIZE", "The arguments hold more values than they may");
    }
    let request: unknown;
    try {
      request = JSON.parse(text);
    } catch {
      throw new PowerError("TypeError", "ERR_OP_INVALID", "The request is not JSON");
    }
    const [name, rest] = Array.isArray(request) ? request as unknown[] : [];
    const op = typeof name === "string" ? this.#ops.get(name) : undefined;
    if (op === undefined) throw new PowerError("TypeError", "ERR_OP_UNKNOWN", "There is no such operation");
    const args = op.args.safeParse(rest);
    if (!args.success) {
      const why = args.error.issues.map((issue) => issue.message).join("; ");
      throw new PowerError("TypeError", "ERR_OP_INVALID", `Invalid arguments of "${op.name}": ${why}`);
    }
    return { op, args: args.data };
  }

  #tools(
    request: OpRequest,
    op: string,
    spelled: string | null,
    granted: readonly CheckedValue[],
  ): OpTools {
    const { principal, scope } = request;
    const decider = this.#decider;
    return {
      authorize: (kind, value) =>
        CheckedPath.fromDecision(this.#authorize(request, op, { kind, value, absolute: true }, spelled)),
      authorizeValue: (kind, value) =>
        CheckedValue.fromDecision(this.#authorize(request, op, { kind, value }, spelled)),
      authorizeAddress: ({ kind, value }, address) => {
        const decision = decider.decideAddress(principal, { kind, value }, address);
        scope.decided?.({ decision, address });
        return CheckedAddress.fromDecision(this.#settle(request, op, decision, spelled ?? value));
      },
      authorizeProgram: ({ kind, value }, real, facts) => {
        const found = decider.decideAddress(principal, { kind, value }, real);
        const decision = decider.unlessSealed(principal, { kind, value }, found);
        return CheckedPath.fromDecision(this.#settle(request, op, decision, spelled ?? value, facts));
      },
      refuse: (kind, value, why) => {
        const decision: Decision = { ...why, kind, value, asked: value, state: "denied", layer: "none" };
        this.#audit(request, { type: "op", op, ...factsOf(decision) });
        return this.#deny(request, decision, spelled ?? value);
      },
      secretsOf: (checked, addresses) => this.#secretsOf(request, op, spelled, checked, addresses),
      granted,
      cancellable: (key, work) => this.#cancellable(request, key, work),
      cancel: (key) => this.#cancels.get(principal)?.get(key)?.abort(),
      wouldGrant: (kind, value) =>
        decider.decide(principal, { kind, value, absolute: true }).state === "granted",
      isGranted: (requirement) => decider.decide(principal, requirement).state === "granted",
      permissions: this.#asking.permissions(request, op),
      sealed: this.#options.sealed,
      own: principal.own ?? null,
      powers: this.#options.powers,
      context: principal.context,
      io: scope.io,
      origin: () => originOf(request, decider.remaining(principal)), // hardly any op asks for it; a getter would be kept longer than the op
      bundle: principal.bundle,
      signal: scope.signal,
      lane: principal.own?.lineage ?? principal.plugin,
    };
  }

  /** Decides, writes the decision down, and only then lets the op go on. */
  #authorize(request: OpRequest, op: string, requirement: Requirement, spelled: string | null): Decision {
    const decision = this.#decider.decide(request.principal, requirement);
    request.scope.decided?.({ decision, address: null });
    return this.#settle(request, op, decision, spelled ?? requirement.value);
  }

  #settle(
    request: OpRequest,
    op: string,
    decision: Decision,
    spelled: string | null,
    facts?: Readonly<Record<string, unknown>>,
    isSoon = false,
  ): Decision {
    // An op that was under way when the approval ended gets no further.
    refuseEnded(request.principal);
    const { kind, value, state, rule } = decision;
    this.#audit(
      request,
      facts === undefined
        ? { type: "op", op, kind, value, decision: state, rule }
        : { type: "op", op, kind, value, decision: state, rule, details: facts },
      isSoon,
    );
    return state === "granted" ? decision : this.#deny(request, decision, spelled);
  }

  #deny({ principal, scope, op }: OpRequest, decision: Decision, spelled: string | null): never {
    const denial: Denial = {
      id: principal.denialPrefix + op,
      title: principal.title,
      decision,
      spelled,
    };
    scope.deny(denial);
    throw new RefusedError(denial);
  }

  async #secretsOf(
    request: OpRequest,
    op: string,
    spelled: string | null,
    checked: CheckedValue,
    addresses: readonly CheckedAddress[],
  ): Promise<readonly PlacedSecret[]> {
    const { principal } = request;
    const placed: PlacedSecret[] = [];
    for (const use of askedSecrets(principal.grant, checked, principal.context)) {
      const secret = await this.#options.secrets?.find(use.name) ?? null;
      if (use.isOpen && !isBound(secret, use, principal)) continue;
      const found = this.#decider.decide(principal, { kind: "secrets", value: use.value });
      const decision = withOwner(found, use, secret, principal, { request: checked, addresses });
      request.scope.decided?.({ decision, address: null });
      this.#settle(request, op, decision, spelled ?? use.value);
      // What the owner does not have, the owner did not bind: it was refused above.
      const { value } = secret!;
      await this.#options.secrets?.used?.(use.name, principal);
      placed.push({
        header: use.header,
        text: use.format.replace("{}", () => value),
        known: knownValue(value),
      });
    }
    return placed;
  }

  async #cancellable<Value>(
    { principal, scope }: OpRequest,
    key: number,
    work: (signal: AbortSignal) => Promise<Value>,
  ): Promise<Value> {
    const controller = new AbortController();
    const controllers = this.#cancels.get(principal) ?? new Map<number, AbortController>();
    this.#cancels.set(principal, controllers);
    controllers.set(key, controller);
    try {
      return await work(AbortSignal.any([scope.signal, controller.signal]));
    } finally {
      // A guest that gives one key twice has given up on the first.
      if (controllers.get(key) === controller) controllers.delete(key);
    }
  }
}

/** The call that an op belongs to, for whom it calls another plugin. */
function originOf({ principal, scope }: OpRequest, grant: Grant): CallOrigin {
  return {
    plugin: principal.plugin,
    call: scope.id,
    chain: scope.chain ?? [],
    grant,
    signal: scope.signal,
    remainingMs: () => scope.remainingMs?.() ?? Infinity,
    deny: (denial) => scope.deny(denial),
    pause: (work) => scope.pause === undefined ? work() : scope.pause(work),
  };
}

/** Nothing is done for whom nobody has approved any more (T14). */
function refuseEnded({ tenure }: Principal): void {
  const error = tenure?.error ?? null;
  if (error !== null) throw error;
}

/** Whether a text has more bytes in UTF-8; most are far too short for that to be counted. */
function isLonger(text: string, bytesMax: number): boolean {
  return text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax;
}
