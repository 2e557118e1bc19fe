/** Writing down before acting: where the log cannot be written, nothing is done. */
import { HostError, LimitError } from "../../permissions/mod.ts";
import { type AuditEvent, type AuditSink, writeTo } from "../../runtime/mod.ts";

/**
 * Writes one event; with `isSoon` it may wait for `eventsWritten`. Throws HostError `ERR_AUDIT_FAILED` when the sink cannot take it, LimitError when the plugin has written
 * as much as it may.
 */
export function writeEvent(audit: AuditSink, event: AuditEvent, isSoon = false): void {
  try {
    writeTo(audit, event, isSoon);
  } catch (cause) {
    throw failed(audit, cause);
  }
}

/** Waits until what was taken is written, where it is not. Throws as `writeEvent` does. */
export async function eventsWritten(audit: AuditSink): Promise<void> {
  try {
    await audit.written?.();
  } catch (cause) {
    throw failed(audit, cause);
  }
}

function failed(audit: AuditSink, cause: unknown): Error {
  if (cause instanceof LimitError) return cause;
  return new HostError("ERR_AUDIT_FAILED", `Cannot write the audit log${placeOf(audit, cause)}`, { cause });
}

/** Where and why, for a log that has a path of its own; what the sink of an embedder says stays in the cause. */
function placeOf(audit: AuditSink, cause: unknown): string {
  if (audit.path === undefined) return ", so nothing was done";
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "it failed";
  return ` "${audit.path}" (${code}), so nothing was done. Make room for it, or set SALLYPORT_HOME to a directory that can be written`;
}
