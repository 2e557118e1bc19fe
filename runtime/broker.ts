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
  type PathContext,
  type Requirement,
} from "../permissions/mod.ts";
import type { AuditSink } from "./audit.ts";
import { CheckedAddress, CheckedPath, CheckedValue } from "./checked.ts";
import { depthOfJson } from "./json_depth.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import type { BundleFiles, OpDefinition, OpTools, OwnSpace } from "./op.ts";
import { PowerError, type Powers } from "./powers.ts";
import { type Denial, RefusedError, toGuest } from "./refusal.ts";

/** On whose behalf an op runs. */
export interface Principal {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Name of the plugin. */
  readonly plugin: string;
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
}

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
}

/** Kinds whose values are paths, and which therefore cannot reach Sallyport's own state (T03). */
const PATH_KINDS = new Set(["read", "write", "run", "ffi"]);

/** A folder of this name is Sallyport's own wherever it is: a project's plugins may be put there at any time. */
const STATE_FOLDER = ".sallyport";

/** Runs ops. */
export class Broker {
  readonly #ops: ReadonlyMap<string, OpDefinition>;
  readonly #options: BrokerOptions;
  /** What can be cancelled, by guest and by the guest's own key; bounded by the ops under way. */
  readonly #cancels = new WeakMap<Principal, Map<number, AbortController>>();

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

  async #perform(request: OpRequest): Promise<unknown> {
    const { op, args } = this.#parse(request.text);
    const spelled = typeof args[0] === "string" ? args[0] : null;
    const granted: CheckedValue[] = [];
    for (const requirement of op.requires?.(args) ?? []) {
      const decision = this.#authorize(request, op.name, requirement, spelled);
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
        const decision = checkAddress(principal.grant, { kind, value }, address, principal.context);
        return CheckedAddress.fromDecision(this.#settle(request, op, decision, spelled ?? value));
      },
      granted,
      cancellable: (key, work) => this.#cancellable(request, key, work),
      cancel: (key) => this.#cancels.get(principal)?.get(key)?.abort(),
      wouldGrant: (kind, value) =>
        this.#decide(principal, { kind, value, absolute: true }).state === "granted",
      isGranted: (requirement) => this.#decide(principal, requirement).state === "granted",
      sealed: this.#options.sealed,
      own: principal.own ?? null,
      powers: this.#options.powers,
      context: principal.context,
      bundle: principal.bundle,
      signal: scope.signal,
      lane: principal.own?.lineage ?? principal.plugin,
    };
  }

  /** Decides, writes the decision down, and only then lets the op go on. */
  #authorize(request: OpRequest, op: string, requirement: Requirement, spelled: string | null): Decision {
    const decision = this.#decide(request.principal, requirement);
    return this.#settle(request, op, decision, spelled ?? requirement.value);
  }

  #settle(request: OpRequest, op: string, decision: Decision, spelled: string | null): Decision {
    const { principal, scope } = request;
    this.#audit(request, op, decision);
    if (decision.state === "granted") return decision;
    const denial: Denial = {
      id: principal.denialPrefix + request.op,
      title: principal.title,
      decision,
      spelled,
    };
    scope.deny(denial);
    throw new RefusedError(denial);
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
    const decision = check(principal.grant, requirement, principal.context);
    if (decision.state === "denied" || !PATH_KINDS.has(decision.kind) || decision.value === null) {
      return decision;
    }
    const { value } = decision;
    if (ownPlaces(principal, decision.kind).some((root) => isWithin(value, root))) return decision;
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
      isWithin(path, root) || (isRecursive && isWithin(root, path))
    );
    return sealed ?? path.split("/").find((part) => part.toLowerCase() === STATE_FOLDER);
  }

  #audit({ principal, scope }: OpRequest, op: string, decision: Decision): void {
    try {
      this.#options.audit.write({
        type: "op",
        tenant: principal.tenant,
        plugin: principal.plugin,
        fingerprint: principal.fingerprint,
        call: scope.id,
        confinement: principal.confinement,
        op,
        kind: decision.kind,
        value: boundedValue(decision.value),
        decision: decision.state,
        rule: decision.rule,
      });
    } catch (cause) {
      throw new HostError("ERR_AUDIT_FAILED", "Cannot write the audit log, so nothing was done", { cause });
    }
  }
}

/** What is the plugin's own by construction: its bundle for reading, its data folder for both. */
function ownPlaces({ bundle, context }: Principal, kind: string): readonly string[] {
  const places = [
    kind === "read" ? bundle?.root : undefined,
    kind === "read" || kind === "write" ? context.data : undefined,
  ];
  return places.filter((place) => place !== undefined);
}

function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith("/") ? root : root + "/");
}

function boundedValue(value: string | null): string | null {
  if (value === null || Buffer.byteLength(value) <= RUNTIME_LIMITS.auditValueBytesMax) return value;
  const head = Buffer.from(value).subarray(0, RUNTIME_LIMITS.auditValueBytesMax).toString("utf8");
  return `${head}… sha256:${createHash("sha256").update(value).digest("hex")}`;
}
