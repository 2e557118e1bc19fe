/** Writing down before acting: where the log cannot be written, nothing is done. */
import { HostError, LimitError } from "../../permissions/mod.ts";
import type { AuditEvent, AuditSink } from "../../runtime/mod.ts";

/**
 * Writes one event; one about what `isOver` may wait for the next. Throws HostError `ERR_AUDIT_FAILED` when the sink cannot take it, LimitError when the plugin has written
 * as much as it may.
 */
export function writeEvent(audit: AuditSink, event: AuditEvent, isOver = false): void {
  try {
    if (isOver && audit.writeSoon !== undefined) audit.writeSoon(event);
    else audit.write(event);
  } catch (cause) {
    if (cause instanceof LimitError) throw cause;
    throw new HostError("ERR_AUDIT_FAILED", `Cannot write the audit log${placeOf(audit, cause)}`, { cause });
  }
}

/** Where and why, for a log that has a path of its own; what the sink of an embedder says stays in the cause. */
function placeOf(audit: AuditSink, cause: unknown): string {
  if (audit.path === undefined) return ", so nothing was done";
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "it failed";
  return ` "${audit.path}" (${code}), so nothing was done. Make room for it, or set SALLYPORT_HOME to a directory that can be written`;
}
