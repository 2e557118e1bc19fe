/**
 * The one place that ops pass: parse → check → audit → act → envelope. It trusts nothing that a guest sends, and it
 * never rejects: whatever happens becomes an answer.
 */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import {
  check,
  type Decision,
  type Grant,
  HostError,
  NotCapableError,
  type PathContext,
  type Requirement,
} from "../permissions/mod.ts";
import type { AuditSink } from "./audit.ts";
import { CheckedPath } from "./checked.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import type { BundleFiles, OpDefinition, OpTools } from "./op.ts";
import { PowerError, type Powers } from "./powers.ts";
import { type Denial, toGuest } from "./refusal.ts";

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
  /** Absolute paths that no grant reaches: Sallyport's own state, and every plugin's directory. */
  readonly sealed: () => readonly string[];
}

/** Kinds whose values are paths, and which therefore cannot reach Sallyport's own state (T03). */
const PATH_KINDS = new Set(["read", "write", "run", "ffi"]);

/** Runs ops. */
export class Broker {
  readonly #ops: ReadonlyMap<string, OpDefinition>;
  readonly #options: BrokerOptions;

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
      return `{"ok":true,"value":${JSON.stringify(value) ?? "null"}}`;
    } catch (error) {
      return `{"ok":false,"error":${JSON.stringify(toGuest(error))}}`;
    }
  }

  async #perform(request: OpRequest): Promise<unknown> {
    const { op, args } = this.#parse(request.text);
    const spelled = typeof args[0] === "string" ? args[0] : null;
    for (const requirement of op.requires?.(args) ?? []) {
      this.#authorize(request, op.name, requirement, spelled);
    }
    if (request.scope.signal.aborted) {
      throw new PowerError("Interrupted", "ERR_CALL_ENDED", "The call has ended");
    }
    return await op.act(args, this.#tools(request, op.name, spelled));
  }

  #parse(text: string): { readonly op: OpDefinition; readonly args: readonly unknown[] } {
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

  #tools(request: OpRequest, op: string, spelled: string | null): OpTools {
    const { principal, scope } = request;
    return {
      authorize: (kind, value) =>
        CheckedPath.fromDecision(this.#authorize(request, op, { kind, value, absolute: true }, spelled)),
      wouldGrant: (kind, value) =>
        this.#decide(principal, { kind, value, absolute: true }).state === "granted",
      powers: this.#options.powers,
      context: principal.context,
      bundle: principal.bundle,
      signal: scope.signal,
    };
  }

  /** Decides, writes the decision down, and only then lets the op go on. */
  #authorize(request: OpRequest, op: string, requirement: Requirement, spelled: string | null): Decision {
    const { principal, scope } = request;
    const decision = this.#decide(principal, requirement);
    this.#audit(request, op, decision);
    if (decision.state === "granted") return decision;
    const denial: Denial = {
      id: principal.denialPrefix + request.op,
      title: principal.title,
      decision,
      spelled: spelled ?? requirement.value,
    };
    scope.deny(denial);
    throw new RefusedError(denial);
  }

  #decide(principal: Principal, requirement: Requirement): Decision {
    const decision = check(principal.grant, requirement, principal.context);
    if (decision.state === "denied" || !PATH_KINDS.has(decision.kind) || decision.value === null) {
      return decision;
    }
    const { value } = decision;
    if (ownPlaces(principal, decision.kind).some((root) => isWithin(value, root))) return decision;
    const sealed = this.#options.sealed().find((root) => isWithin(value, root));
    if (sealed === undefined) return decision;
    return {
      ...decision,
      state: "denied",
      rule: `built-in deny of Sallyport's own state and of plugins' directories (${basename(sealed)})`,
      reason: "it is Sallyport's own state or a plugin's directory, which no grant reaches",
      remedy: "Nothing allows this; keep the plugin's data elsewhere, such as $data",
    };
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

/** Carries a refusal from the check to the envelope. */
class RefusedError extends NotCapableError {
  readonly denial: Denial;

  constructor(denial: Denial) {
    super("ERR_NOT_CAPABLE", "refused");
    this.denial = denial;
  }
}

/** What is the plugin's own by construction: its bundle for reading, its data folder for both. */
function ownPlaces({ bundle, context }: Principal, kind: string): readonly string[] {
  const places = [...(bundle !== null && kind === "read" ? [bundle.root] : []), context.data];
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
