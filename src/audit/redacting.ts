/** What the tenant is known to hold is never written down: the audit keeps its hash. */
import { type AuditSink, type Redactor, writeTo } from "../../runtime/mod.ts";

/** A sink that writes events to another one as the redactor leaves them. */
export function redactingAudit(sink: AuditSink, redactor: Redactor): AuditSink {
  return {
    ...(sink.path === undefined ? {} : { path: sink.path }),
    write: (event) => sink.write(redactor.event(event)),
    writeSoon: (event) => writeTo(sink, redactor.event(event), true),
    written: () => sink.written?.(),
    close: () => sink.close(),
  };
}
