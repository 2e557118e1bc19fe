/** The audit: what a plugin was allowed and refused, written before it happens. No audit, no op. */

/** What happened; the sink adds the sequence number and the time. */
export interface AuditEvent {
  /** What kind of fact this is. */
  readonly type:
    | "trust"
    | "grant"
    | "activate"
    | "call"
    | "op"
    | "limit"
    | "crash"
    | "revoke"
    | "expose"
    | "intercept";
  /** Id of the tenant. */
  readonly tenant: string;
  /** Name of the plugin, or null when none is concerned. */
  readonly plugin: string | null;
  /** Hash of what runs, `sha256:…`, or null before anything was hashed. */
  readonly fingerprint: string | null;
  /** Id of the call, or null outside of any. */
  readonly call: string | null;
  /** Id of the call that made this one, where a plugin did. */
  readonly parent?: string;
  /** How strongly the workers of this host are confined. */
  readonly confinement: string;
  /** Name of the op. */
  readonly op?: string;
  /** Permission kind. */
  readonly kind?: string;
  /** What was asked for, normalised; bounded, with the hash of the rest. */
  readonly value?: string | null;
  /** What was decided. */
  readonly decision?: "granted" | "denied";
  /** The rule that decided. */
  readonly rule?: string;
  /** Further facts of this type. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Where audit events go. */
export interface AuditSink {
  /** Where it is kept, for messages; absent where that is no file. */
  readonly path?: string;
  /** Writes one event; returns once the system has taken it. Throws when it cannot. */
  write(event: AuditEvent): void;
  /**
   * Takes an event that is written with the next one, or at the end of this turn; whoever may only act once it is written waits for
   * `written`. Absent is `write`. Throws as `write` does.
   */
  writeSoon?(event: AuditEvent): void;
  /** Settles when all that was taken is written; undefined where it is. Rejects when it cannot be. */
  written?(): Promise<void> | undefined;
  /** Ends the log. */
  close(): void;
}

/** Writes an event to a sink; with `isSoon` it may wait for what comes next, where the sink can do that. Throws as the sink does. */
export function writeTo(sink: AuditSink, event: AuditEvent, isSoon: boolean): void {
  if (isSoon && sink.writeSoon !== undefined) sink.writeSoon(event);
  else sink.write(event);
}

/** Keeps events in memory: for tests and for embedders that forward them. */
export function memoryAudit(): AuditSink & { readonly events: readonly AuditEvent[] } {
  const events: AuditEvent[] = [];
  return {
    events,
    write: (event) => void events.push(event),
    close: () => {},
  };
}
