/**
 * No plugin fills the log: the same refusal made again and again is written once with its count, and whatever its ops add beyond
 * a rate is refused, which ends its ops and nobody else's.
 */
import { LimitError } from "../../permissions/mod.ts";
import { type AuditEvent, type AuditSink, writeTo } from "../../runtime/mod.ts";
import { AUDIT_LIMITS, type AuditLimits } from "./limits.ts";

interface Spent {
  readonly since: number;
  bytes: number;
}

interface Repeated {
  readonly key: string;
  readonly event: AuditEvent;
  readonly since: number;
  count: number;
}

const MINUTE_MS = 60_000;
const PLUGINS_MAX = 10_000;

/** What is written of an event beside its own text: number, time, seal. */
const LINE_BYTES = 160;

/** A sink that passes on what a plugin may add to another one. Its `write` throws LimitError `ERR_LIMIT_RATE` above that. */
export function boundedAudit(
  sink: AuditSink,
  now: () => number,
  limits: Pick<AuditLimits, "pluginBytesPerMinute" | "repeatMs"> = AUDIT_LIMITS,
): AuditSink {
  const spent = new Map<string, Spent>();
  const repeated = new Map<string, Repeated>();
  const flush = (plugin: string): void => {
    const last = repeated.get(plugin);
    if (last === undefined) return;
    repeated.delete(plugin);
    if (last.count === 0) return;
    sink.write({ ...last.event, details: { ...last.event.details, repeats: last.count } });
  };
  const take = (event: AuditEvent, isSoon: boolean): void => {
    const { plugin } = event;
    if (event.type !== "op" || plugin === null) {
      if (plugin !== null) flush(plugin);
      return writeTo(sink, event, isSoon);
    }
    const key = repeatKey(event);
    const last = repeated.get(plugin);
    if (last !== undefined && key === last.key && now() - last.since < limits.repeatMs) {
      last.count += 1;
      return;
    }
    flush(plugin);
    charge(spent, plugin, bytesOf(event), now(), limits.pluginBytesPerMinute);
    writeTo(sink, event, isSoon);
    if (key !== null) remember(repeated, plugin, { key, event, since: now(), count: 0 });
  };
  return {
    ...(sink.path === undefined ? {} : { path: sink.path }),
    write: (event) => take(event, false),
    writeSoon: (event) => take(event, true),
    written: () => sink.written?.(),
    close() {
      for (const plugin of [...repeated.keys()]) flush(plugin);
      sink.close();
    },
  };
}

/** What makes two refusals one; null for what is always written. */
function repeatKey({ decision, call, op, kind, value }: AuditEvent): string | null {
  return decision === "denied" ? JSON.stringify([call, op, kind, value]) : null;
}

/** As long as the text is at least: nothing is put into JSON twice for it. */
function bytesOf({ value, rule }: AuditEvent): number {
  return LINE_BYTES + (value?.length ?? 0) + (rule?.length ?? 0);
}

function charge(
  spent: Map<string, Spent>,
  plugin: string,
  bytes: number,
  now: number,
  bytesPerMinute: number,
): void {
  let own = spent.get(plugin);
  if (own === undefined || now - own.since >= MINUTE_MS) {
    remember(spent, plugin, own = { since: now, bytes: 0 });
  }
  if (own.bytes + bytes > bytesPerMinute) {
    throw new LimitError(
      "ERR_LIMIT_RATE",
      `Cannot do more for plugin "${plugin}" in this minute: its ops have filled the ${bytesPerMinute} bytes of the audit log that they may (pluginBytesPerMinute)`,
      { details: { plugin, bytesPerMinute } },
    );
  }
  own.bytes += bytes;
}

/** The oldest is forgotten above the bound. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > PLUGINS_MAX) map.delete(map.keys().next().value!);
}
