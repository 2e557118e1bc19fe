/** Writes down what ops ask for and what was decided, before anything is done about it. */
import { createHash } from "node:crypto";
import { type Decision, HostError, LimitError } from "../permissions/mod.ts";
import { type AuditEvent, type AuditSink, writeTo } from "./audit.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import type { OpRequest } from "./principal.ts";
import { type Redactor, withoutQuery } from "./redact.ts";

/** What of an event its request does not say. */
export type OpFacts = Pick<AuditEvent, "type"> & Partial<AuditEvent>;

/**
 * Writes one event; with `isSoon`, nothing may be done before `opsWritten`. Throws HostError `ERR_AUDIT_FAILED`, or LimitError when the plugin has written as much as it may; then
 * nothing may be done.
 */
export type OpAudit = (
  request: Pick<OpRequest, "principal" | "scope">,
  facts: OpFacts,
  isSoon?: boolean,
) => void;

/** Makes the writer; values are redacted and bounded by it. */
export function opAudit(audit: AuditSink, redactor: Redactor | undefined): OpAudit {
  return ({ principal, scope }, facts, isSoon = false) => {
    try {
      const event: AuditEvent = {
        tenant: principal.tenant,
        plugin: principal.plugin,
        fingerprint: principal.fingerprint,
        call: scope.id,
        ...(scope.parent === undefined ? {} : { parent: scope.parent }),
        confinement: principal.confinement,
        ...facts,
        ...(typeof facts.value === "string" ? shown(facts.value, facts, redactor) : {}),
      };
      writeTo(audit, event, isSoon);
    } catch (cause) {
      throw failed(cause);
    }
  };
}

/** Settles when what was written soon is written; undefined where it is. Rejects as the writer throws. */
export function opsWritten(audit: AuditSink): Promise<void> | undefined {
  return audit.written?.()?.catch((cause: unknown) => {
    throw failed(cause);
  });
}

function failed(cause: unknown): Error {
  if (cause instanceof LimitError) return cause; // the plugin has written as much as it may
  return new HostError("ERR_AUDIT_FAILED", "Cannot write the audit log, so nothing was done", { cause });
}

/** A decision as an event has it. */
export function factsOf({ kind, value, state, rule }: Decision): Partial<AuditEvent> {
  return { kind, value, decision: state, rule };
}

/** Redacted before it is cut to its bound: of half a secret nobody could tell any more what it is. */
function shown(
  value: string,
  { kind, rule }: Partial<AuditEvent>,
  redactor: Redactor | undefined,
): Partial<AuditEvent> {
  const plain = kind === "net" ? withoutQuery(value) : value;
  const bounded = boundedValue(redactor?.evidence(plain) ?? plain);
  // The rule by which a value is malformed quotes it.
  return rule === undefined || plain === value
    ? { value: bounded }
    : { value: bounded, rule: rule.replace(JSON.stringify(value), () => JSON.stringify(plain)) };
}

function boundedValue(value: string): string {
  const bytesMax = RUNTIME_LIMITS.auditValueBytesMax;
  // No character is more than three bytes of UTF-8 for each of its units.
  if (value.length * 3 <= bytesMax || Buffer.byteLength(value) <= bytesMax) return value;
  const head = Buffer.from(value).subarray(0, bytesMax).toString("utf8");
  return `${head}… sha256:${createHash("sha256").update(value).digest("hex")}`;
}
