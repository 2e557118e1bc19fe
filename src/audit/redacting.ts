/** What the tenant is known to hold is never written down: the audit keeps its hash. */
import type { AuditSink, Redactor } from "../../runtime/mod.ts";

/** A sink that writes events to another one as the redactor leaves them. */
export function redactingAudit(sink: AuditSink, redactor: Redactor): AuditSink {
  return {
    ...(sink.path === undefined ? {} : { path: sink.path }),
    write: (event) => sink.write(redactor.event(event)),
    writeSoon: (event) => (sink.writeSoon ?? sink.write).call(sink, redactor.event(event)),
    written: () => sink.written?.(),
    close: () => sink.close(),
  };
}
