/** Writing down before acting: where the log cannot be written, nothing is done. */
import { HostError } from "../../permissions/mod.ts";
import type { AuditEvent, AuditSink } from "../../runtime/mod.ts";

/** Writes one event. Throws HostError `ERR_AUDIT_FAILED` when the sink cannot take it. */
export function writeEvent(audit: AuditSink, event: AuditEvent): void {
  try {
    audit.write(event);
  } catch (cause) {
    throw new HostError("ERR_AUDIT_FAILED", "Cannot write the audit log, so nothing was done", { cause });
  }
}
