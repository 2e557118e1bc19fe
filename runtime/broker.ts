/**
 * The one place that ops pass: parse → check → audit → act → envelope. It trusts nothing that a guest sends, and it
 * never rejects: whatever happens becomes an answer.
 */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import {
  check,
  checkAddress,
  type Decision,
  type Grant,
  HostError,
  isWithin,
  KINDS,
  type KindTable,
  type PathContext,
  type Requirement,
} from "../permissions/mod.ts";
import { Answers, type Prospect, refusalBy } from "./answers.ts";
import type { Asks } from "./ask.ts";
import type { AuditEvent, AuditSink } from "./audit.ts";
import { CheckedAddress, CheckedPath, CheckedValue } from "./checked.ts";
import { knownValue } from "./known_value.ts";
import { depthOfJson } from "./json_depth.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import type { BundleFiles, OpDefinition, OpTools, OwnPermissions, OwnSpace } from "./op.ts";
import { type CallOrigin, PowerError, type Powers } from "./powers.ts";
import { SYSTEM_FACTS } from "./powers/sys.ts";
import { type Redactor, withoutQuery } from "./redact.ts";
import { type Denial, RefusedError, toGuest } from "./refusal.ts";
import { askedSecrets, isBound, type PlacedSecret, type SecretSource, withOwner } from "./secrets.ts";

/** On whose behalf an op runs. */
export interface Principal {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Name of the plugin. */
  readonly plugin: string;
  /** Real path of the plugin's directory, or of the script. */
  readonly place?: string | undefined;
  /** How messages call it: `Plugin "x"`, `Script "x.ts"`. */
  readonly title: string;
  /** Hash of what runs, `sha256:…`. */
  readonly fingerprint: string | null;
  /** How strongly its worker is confined. */
  readonly confinement: string;
  /** What was approved. */
  readonly grant: Grant;
  /** Where its paths start. */
  readonly context: PathContext;
  /** Its own verified files, or null for a script. */
  readonly bundle: BundleFiles | null;
  /** What is its own to write to; absent is nothing. */
  readonly own?: OwnSpace | undefined;
  /** The environment that its tenant maps, from which `env` grants; absent is empty. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Start of the ids of its refusals; random, so that a guest cannot invent one. */
  readonly denialPrefix: string;
}

/** The call that an op belongs to. */
export interface CallScope {
  /** Id in the audit. */
  readonly id: string;
  /** Ends when the call ends. */
  readonly signal: AbortSignal;
  /** Remembers a refusal, so that the caller can be told what the guest was not. */
  deny(denial: Denial): void;
  /** Told of each decision about a use. */
  decided?(use: Use): void;
  /** Waits for a person: the call's deadline stands still meanwhile. */
  pause?<Value>(work: () => Promise<Value>): Promise<Value>;
  /** Full ids of the capabilities that called one another, this one last; absent is none. */
  readonly chain?: readonly string[];
  /** Id of the call that made this one, where a plugin did. */
  readonly parent?: string | undefined;
  /** How long the call may still take; absent is without end. */
  remainingMs?(): number;
}

/** One use that was decided about. */
export interface Use {
  /** The decision. */
  readonly decision: Decision;
  /** The address that the value was resolved to, where the decision is about one. */
  readonly address: string | null;
}

/** Whose grant a question is about, when nothing runs. */
export type GrantHolder = Pick<Principal, "grant" | "context" | "bundle">;

/** One op as it came from a worker. */
export interface OpRequest {
  /** On whose behalf. */
  readonly principal: Principal;
  /** In which call. */
  readonly scope: CallScope;
  /** The guest's number of the op. */
  readonly op: number;
  /** The guest's own text: `[name, [arguments]]`. */
  readonly text: string;
}

/** Settings of a broker. */
export interface BrokerOptions {
  /** The ops that exist. */
  readonly ops: readonly OpDefinition[];
  /** Where decisions are written before anything happens. */
  readonly audit: AuditSink;
  /** The effects that ops may have. */
  readonly powers: Powers;
  /** Absolute paths that no grant reaches: Sallyport's own state, and every plugin's directory. They may be links. */
  readonly sealed: () => readonly string[];
  /** Who is asked about what was not granted; absent is nobody. */
  readonly asks?: Asks | undefined;
  /** The tenant's secrets, for the broker alone; absent is none. */
  readonly secrets?: SecretSource | undefined;
  /** What audit values must not repeat; absent is nothing. */
  readonly redactor?: Redactor | undefined;
}

/** A folder of this name is Sallyport's own wherever it is: a project's plugins may be put there at any time. */
const STATE_FOLDER = ".sallyport";

/** Runs ops. */
export class Broker {
  readonly #ops: ReadonlyMap<string, OpDefinition>;
  readonly #options: BrokerOptions;
  /** What can be cancelled, by guest and by the guest's own key; bounded by the ops under way. */
  readonly #cancels = new WeakMap<Principal, Map<number, AbortController>>();
  readonly #answers = new WeakMap<Principal, Answers>();

  /** Throws a TypeError when two ops share a name. */
  constructor(options: BrokerOptions) {
    this.#options = options;
    this.#ops = new Map(options.ops.map((op) => [op.name, op]));
    if (this.#ops.size !== options.ops.length) throw new TypeError("two ops have one name");
  }

  /** Answers one op with the JSON text of an envelope; never rejects. */
  async dispatch(request: OpRequest): Promise<string> {
    try {
      const value = await this.#perform(request);
      const text = `{"ok":true,"value":${JSON.stringify(value) ?? "null"}}`;
      if (Buffer.byteLength(text) > RUNTIME_LIMITS.opAnswerBytesMax) {
        throw new PowerError("InvalidData", "ERR_LIMIT_SIZE", "The answer is larger than it may be");
      }
      return text;
    } catch (error) {
      return `{"ok":false,"error":${JSON.stringify(toGuest(error))}}`;
    }
  }

  /** Decides as an op would be decided about; writes nothing down. */
  explain(holder: GrantHolder, requirement: Requirement): Decision {
    return this.#unlessSealed(holder, requirement, check(holder.grant, requirement, holder.context));
  }

  async #perform(request: OpRequest): Promise<unknown> {
    const { op, args } = this.#parse(request.text);
    const spelled = typeof args[0] === "string" ? args[0] : null;
    const granted: CheckedValue[] = [];
    for (const requirement of op.requires?.(args) ?? []) {
      const found = this.#decide(request.principal, requirement);
      const decision = found.state === "granted" || op.unasked !== undefined
        ? found
        : await this.#ask(request, op.name, requirement, found, spelled);
      request.scope.decided?.({ decision, address: null });
      this.#settle(request, op.name, decision, spelled ?? requirement.value);
      if (decision.asked !== null) granted.push(CheckedValue.fromDecision(decision));
    }
    if (request.scope.signal.aborted) {
      throw new PowerError("Interrupted", "ERR_CALL_ENDED", "The call has ended");
    }
    return await op.act(args, this.#tools(request, op.name, spelled, granted));
  }

  #parse(text: string): { readonly op: OpDefinition; readonly args: readonly unknown[] } {
    // The platform bounds both first, but a guest that has got past it is not bound by it.
    if (Buffer.byteLength(text) > RUNTIME_LIMITS.opBytesMax) {
      throw new PowerError("TypeError", "ERR_LIMIT_SIZE", "The arguments are larger than they may be");
    }
    if (depthOfJson(text) > RUNTIME_LIMITS.opDepthMax) {
      throw new PowerError("TypeError", "ERR_OP_INVALID", "The request is nested too deeply");
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
    return {
      authorize: (kind, value) =>
        CheckedPath.fromDecision(this.#authorize(request, op, { kind, value, absolute: true }, spelled)),
      authorizeValue: (kind, value) =>
        CheckedValue.fromDecision(this.#authorize(request, op, { kind, value }, spelled)),
      authorizeAddress: ({ kind, value }, address) => {
        const decision = this.#checkAddress(principal, { kind, value }, address);
        scope.decided?.({ decision, address });
        return CheckedAddress.fromDecision(this.#settle(request, op, decision, spelled ?? value));
      },
      authorizeProgram: ({ kind, value }, real, facts) =>
        CheckedPath.fromDecision(
          this.#settle(
            request,
            op,
            this.#unlessSealed(
              principal,
              { kind, value },
              this.#checkAddress(principal, { kind, value }, real),
            ),
            spelled ?? value,
            facts,
          ),
        ),
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
        this.#decide(principal, { kind, value, absolute: true }).state === "granted",
      isGranted: (requirement) => this.#decide(principal, requirement).state === "granted",
      permissions: this.#permissions(request, op),
      sealed: this.#options.sealed,
      own: principal.own ?? null,
      powers: this.#options.powers,
      context: principal.context,
      origin: originOf(request),
      bundle: principal.bundle,
      signal: scope.signal,
      lane: principal.own?.lineage ?? principal.plugin,
    };
  }

  /** Decides, writes the decision down, and only then lets the op go on. */
  #authorize(request: OpRequest, op: string, requirement: Requirement, spelled: string | null): Decision {
    const decision = this.#decide(request.principal, requirement);
    request.scope.decided?.({ decision, address: null });
    return this.#settle(request, op, decision, spelled ?? requirement.value);
  }

  #settle(
    request: OpRequest,
    op: string,
    decision: Decision,
    spelled: string | null,
    facts?: Readonly<Record<string, unknown>>,
  ): Decision {
    this.#audit(request, {
      type: "op",
      op,
      ...factsOf(decision),
      ...(facts === undefined ? {} : { details: facts }),
    });
    return decision.state === "granted" ? decision : this.#deny(request, decision, spelled);
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
      const requirement = { kind: "secrets", value: use.value };
      const found = this.#decide(principal, requirement);
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

  #decide(principal: Principal, requirement: Requirement): Decision {
    const decision = this.#under(principal, (grant) => check(grant, requirement, principal.context));
    return this.#unlessSealed(principal, requirement, decision);
  }

  #checkAddress(principal: Principal, requirement: Requirement, address: string): Decision {
    return this.#under(
      principal,
      (grant) => checkAddress(grant, requirement, address, principal.context),
    );
  }

  /** By the grant, and by what was answered and given up since. */
  #under(principal: Principal, decide: (grant: Grant) => Decision): Decision {
    return this.#answers.get(principal)?.decide(decide) ?? decide(principal.grant);
  }

  /** What the operator makes of a refusal: the decision that then stands. What may not be asked for is left as it is. */
  async #ask(
    request: OpRequest,
    op: string,
    requirement: Requirement,
    found: Decision,
    spelled: string | null,
  ): Promise<Decision> {
    const { asks } = this.#options;
    const { principal, scope } = request;
    const first = this.#prospect(principal, op, requirement, found, spelled);
    if (asks === undefined || first.state === "never") return refusedBy(first, found);
    const work = () =>
      asks.inTurn(scope.signal, async () => {
        // An answer that was given meanwhile may have decided this one as well.
        const now = this.#decide(principal, requirement);
        const prospect = this.#prospect(principal, op, requirement, now, spelled, asks.real);
        if (prospect.state === "never") return refusedBy(prospect, now);
        const given = await asks.answerTo(prospect.question, scope.signal);
        const answer = given ?? "no";
        const { kind, entry } = prospect.question;
        const refusal = refusalBy(given === null ? null : asks.asker.name);
        this.#audit(request, {
          type: "grant",
          op,
          kind,
          value: answer === "always" ? null : entry,
          decision: answer === "no" ? "denied" : "granted",
          rule: refusal.rule,
          details: { answer },
        });
        this.#answersOf(principal).take(prospect, answer, given === null ? null : asks.asker.name);
        asks.asker.onAnswer?.({ plugin: principal.plugin, kind, entry, answer });
        if (answer === "no") return { ...now, ...refusal };
        return this.#decide(principal, requirement);
      });
    return await (scope.pause === undefined ? work() : scope.pause(work));
  }

  #prospect(
    principal: Principal,
    op: string,
    requirement: Requirement,
    decision: Decision,
    spelled: string | null,
    // A guest may ask how it stands as often as it likes, so links are looked up only for a question.
    real: (path: string) => string = (path) => path,
  ): Prospect {
    const { asks } = this.#options;
    if (asks === undefined || decision.state === "granted") return { state: "never", refusal: null };
    const facts = { title: principal.title, op, spelled: spelled ?? requirement.value };
    const isSealed = (found: Decision): boolean =>
      this.#unlessSealed(principal, requirement, found).state === "denied";
    return this.#answersOf(principal).prospect(
      requirement,
      decision,
      facts,
      { limits: asks.limits, real },
      isSealed,
    );
  }

  #answersOf(principal: Principal): Answers {
    const answers = this.#answers.get(principal) ?? new Answers(principal);
    this.#answers.set(principal, answers);
    return answers;
  }

  #permissions(request: OpRequest, op: string): OwnPermissions {
    const { principal } = request;
    return {
      query: (requirement) => {
        const decision = this.#decide(principal, requirement);
        if (decision.state === "granted") return "granted";
        const { state } = this.#prospect(principal, op, requirement, decision, requirement.value);
        return state === "ask" ? "prompt" : "denied";
      },
      request: async (requirement) => {
        const decision = this.#decide(principal, requirement);
        if (decision.state === "granted") return "granted";
        return (await this.#ask(request, op, requirement, decision, requirement.value)).state;
      },
      revoke: (requirement) => this.#answersOf(principal).revoke(requirement),
      held: (kind) => this.#held(request, kind),
    };
  }

  /** What is granted by now of what guests hold. What this one does not hold yet is written down before it gets it. */
  #held(request: OpRequest, kind: string): Readonly<Record<string, string>> | null {
    const { principal } = request;
    const source = HELD[kind]?.(principal);
    if (source === undefined) return null;
    const { handedOver } = this.#answersOf(principal);
    const held: [string, string][] = [];
    for (const [value, read] of Object.entries(source)) {
      const decision = this.#decide(principal, { kind, value });
      if (decision.state === "denied") continue;
      const isNew = check(principal.grant, { kind, value }, principal.context).state === "denied" &&
        !handedOver.has(`${kind} ${value}`);
      if (isNew) this.#audit(request, { type: "grant", op: `${kind}_push`, ...factsOf(decision) });
      handedOver.add(`${kind} ${value}`);
      held.push([value, read()]);
      // A script's reader is the one whose environment it is.
      if (isNew && kind === "env" && principal.bundle !== null) this.#options.redactor?.know(read());
    }
    return Object.fromEntries(held);
  }

  #unlessSealed(principal: GrantHolder, requirement: Requirement, decision: Decision): Decision {
    if (decision.state === "denied" || !namesPaths(principal, decision.kind) || decision.value === null) {
      return decision;
    }
    const { value } = decision;
    if (ownPlaces(principal, decision.kind).some((root) => isWithin(root, value))) return decision;
    const sealed = this.#sealedPlace(value, requirement.recursive === true);
    if (sealed === undefined) return decision;
    return {
      ...decision,
      state: "denied",
      rule: `built-in deny of Sallyport's own state and of plugins' directories (${basename(sealed)})`,
      reason: "it is Sallyport's own state or a plugin's directory, which no grant reaches",
      remedy: "Nothing allows this; keep the plugin's data elsewhere, such as $data",
    };
  }

  /** The sealed place that a path lies in or, for an act on a whole tree, above. */
  #sealedPlace(path: string, isRecursive: boolean): string | undefined {
    const sealed = this.#options.sealed().find((root) =>
      isWithin(root, path) || (isRecursive && isWithin(path, root))
    );
    return sealed ?? path.split("/").find((part) => part.toLowerCase() === STATE_FOLDER);
  }

  /** Redacted before it is cut to its bound: of half a secret nobody could tell any more what it is. */
  #shown(value: string, { kind, rule }: Partial<AuditEvent>): Partial<AuditEvent> {
    const plain = kind === "net" ? withoutQuery(value) : value;
    return {
      value: boundedValue(this.#options.redactor?.evidence(plain) ?? plain),
      // The rule by which a value is malformed quotes it.
      ...(rule === undefined
        ? {}
        : { rule: rule.replace(JSON.stringify(value), () => JSON.stringify(plain)) }),
    };
  }

  #audit({ principal, scope }: OpRequest, facts: Pick<AuditEvent, "type"> & Partial<AuditEvent>): void {
    try {
      this.#options.audit.write({
        tenant: principal.tenant,
        plugin: principal.plugin,
        fingerprint: principal.fingerprint,
        call: scope.id,
        ...(scope.parent === undefined ? {} : { parent: scope.parent }),
        confinement: principal.confinement,
        ...facts,
        ...(typeof facts.value === "string" ? this.#shown(facts.value, facts) : {}),
      });
    } catch (cause) {
      throw new HostError("ERR_AUDIT_FAILED", "Cannot write the audit log, so nothing was done", { cause });
    }
  }
}

function originOf({ principal, scope }: OpRequest): CallOrigin {
  return {
    plugin: principal.plugin,
    call: scope.id,
    chain: scope.chain ?? [],
    signal: scope.signal,
    remainingMs: () => scope.remainingMs?.() ?? Infinity,
    deny: (denial) => scope.deny(denial),
    pause: (work) => scope.pause === undefined ? work() : scope.pause(work),
  };
}

function factsOf({ kind, value, state, rule }: Decision): Partial<AuditEvent> {
  return { kind, value, decision: state, rule };
}

/** Kinds whose values guests hold, with how each value is read. */
const HELD: Readonly<Record<string, (principal: Principal) => Readonly<Record<string, () => string>>>> = {
  env: ({ environment = {} }) =>
    Object.fromEntries(Object.entries(environment).map(([name, text]) => [name, () => text])),
  sys: () =>
    Object.fromEntries(
      Object.entries(SYSTEM_FACTS).map(([word, find]) => [word, () => JSON.stringify(find())]),
    ),
};

function refusedBy(prospect: Prospect, decision: Decision): Decision {
  return decision.state === "granted" || prospect.state === "ask"
    ? decision
    : { ...decision, ...prospect.refusal };
}

/** Whether a kind's values are paths, which therefore cannot reach Sallyport's own state (T03). */
function namesPaths({ context }: GrantHolder, kind: string): boolean {
  const table: KindTable = context.kinds ?? KINDS;
  return Object.hasOwn(table, kind) && table[kind]?.namesPaths === true;
}

/** What is the plugin's own by construction: its bundle for reading and, as verified bytes, for running; its data folder for reading and writing. */
function ownPlaces({ bundle, context }: GrantHolder, kind: string): readonly string[] {
  const places = [
    kind === "read" || kind === "run" ? bundle?.root : undefined,
    kind === "read" || kind === "write" ? context.data : undefined,
  ];
  return places.filter((place) => place !== undefined);
}

function boundedValue(value: string | null): string | null {
  if (value === null || Buffer.byteLength(value) <= RUNTIME_LIMITS.auditValueBytesMax) return value;
  const head = Buffer.from(value).subarray(0, RUNTIME_LIMITS.auditValueBytesMax).toString("utf8");
  return `${head}… sha256:${createHash("sha256").update(value).digest("hex")}`;
}
