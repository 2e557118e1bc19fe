/**
 * Asking those who decide, one after the other (T33): the first block is final, and what one puts in the place of what
 * passes is what the next one is shown. No answer is a block, unless the tenant's policy says otherwise for that plugin (T11).
 */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { BlockedError, GuestError, NotCapableError, SallyportError } from "../../permissions/mod.ts";
import type { AuditEvent } from "../../runtime/mod.ts";
import { display } from "../display.ts";
import type { Post } from "./in_force.ts";
import { POINT_LIMITS } from "./limits.ts";
import type { Verdict } from "./verdict.ts";
import type { Asked } from "./way.ts";

/** What passes a point. */
export interface Passing {
  /** How messages call it: `call "plugin__notes__add"`. */
  readonly what: string;
  /** Full id of what is called; null for what is nobody's call. */
  readonly target: string | null;
  /** Id of the call in the audit. */
  readonly call: string;
  /** What decides about changes, and how it is spelled there. */
  readonly point: string;
  /** What is shown to one of them, of the value as it is by now. */
  readonly event: (asked: Asked, value: unknown) => Readonly<Record<string, unknown>>;
  /** Throws for what may not take the value's place. */
  readonly validate: (value: unknown) => Promise<void>;
}

/** What asking works with. */
export interface AskParts {
  /** Asks one of them. Throws where there is no answer. */
  readonly answer: (post: Post, event: Readonly<Record<string, unknown>>) => Promise<Verdict>;
  /** Whether the tenant's policy lets pass what a plugin does not answer. */
  readonly mayPass: (plugin: string) => boolean;
  /** Writes down what somebody did to what passes, before it is done. */
  readonly note: (facts: Partial<AuditEvent> & Pick<AuditEvent, "plugin" | "fingerprint" | "call">) => void;
  /** Whether nobody waits for what passes any more; what then fails is no answer of anybody. */
  readonly isOver: () => boolean;
  /** Told of one that gave no answer, and was let pass. */
  readonly onPassed?: (asked: Asked, error: SallyportError) => void;
}

/** The value as it leaves the point. Throws BlockedError `ERR_BLOCKED`, naming who stopped it and why. */
export async function askAll(
  asked: readonly Asked[],
  passing: Passing,
  given: unknown,
  parts: AskParts,
): Promise<unknown> {
  let value = given;
  for (const each of asked) {
    const { post } = each;
    let verdict: Verdict | null = null;
    try {
      verdict = await parts.answer(post, passing.event(each, value));
      if (verdict.decision === "replace") {
        refuseChange(each, passing);
        await passing.validate(verdict.value);
      }
    } catch (error) {
      if (!(error instanceof SallyportError) || parts.isOver()) throw error;
      const isPassed = parts.mayPass(post.plugin);
      const refused = verdict?.decision === "replace" ? { refused: verdict.decision } : {};
      const details = {
        verdict: "none",
        code: error.code,
        ...refused,
        ...(isPassed ? { policy: "continue" } : {}),
      };
      note(parts, each, passing, details);
      if (!isPassed) throw unanswered(post, passing, error);
      parts.onPassed?.(each, error);
      continue;
    }
    if (verdict.decision === "block") {
      note(parts, each, passing, { verdict: "block" });
      throw blocked(post, passing, verdict.reason);
    }
    if (verdict.decision === "replace") {
      note(parts, each, passing, { verdict: "replace", before: hashOf(value), after: hashOf(verdict.value) });
      value = verdict.value;
    }
  }
  return value;
}

/** Who may see what passes, and not change it, has answered nothing that counts. */
function refuseChange({ post, change }: Asked, { what, target, point }: Passing): void {
  if (change === null || change.state === "granted") return;
  const { kind, rule, reason, remedy } = change;
  throw new NotCapableError(
    "ERR_NOT_CAPABLE",
    `Plugin "${post.plugin}" may not change what passes, to ${what}: ${reason}. ${remedy}`,
    { details: { kind, value: valueOf(point, target), reason, rule, remedy } },
  );
}

function blocked(post: Post, { what, target }: Passing, reason: string): BlockedError {
  const said = display(reason, { max: POINT_LIMITS.reasonBytesMax });
  return new BlockedError(
    "ERR_BLOCKED",
    `Cannot ${what}: "${display(post.id)}" of plugin "${post.plugin}" stopped it, in its own words: ${said}`,
    { details: { ...by(post), target, reason: said, answered: true } },
  );
}

function unanswered(post: Post, { what, target }: Passing, error: SallyportError): BlockedError {
  const shown = error instanceof GuestError ? display(error.message) : error.message;
  return new BlockedError(
    "ERR_BLOCKED",
    `Cannot ${what}: "${
      display(post.id)
    }" of plugin "${post.plugin}" gave no answer (${error.code}): ${shown}\n` +
      "What gives no answer stops what it guards. Mend it; or hide it, disable or untrust its plugin, or let the tenant's policy say what passes without it (onNoAnswer)",
    { details: { ...by(post), target, reason: null, answered: false, code: error.code }, cause: error },
  );
}

/** What comes piece by piece can be decided about by nobody who has to see all of it. */
export function piecemeal(post: Post, target: string, cause: SallyportError): BlockedError {
  return new BlockedError(
    "ERR_BLOCKED",
    `Cannot read the stream of "${target}": "${
      display(post.id)
    }" of plugin "${post.plugin}" decides about what it gives, and can do so of a whole value alone`,
    { details: { ...by(post), target, reason: null, answered: false, code: cause.code }, cause },
  );
}

/** What goes in piece by piece is shown to nobody who decides about what goes in. */
export function unseenBody(post: Post, target: string): BlockedError {
  return new BlockedError(
    "ERR_BLOCKED",
    `Cannot call "${target}" with a body: "${
      display(post.id)
    }" of plugin "${post.plugin}" decides about what goes in, and sees no body`,
    { details: { ...by(post), target, reason: null, answered: false } },
  );
}

function by({ id, plugin, station }: Post): Readonly<Record<string, unknown>> {
  return { by: id, plugin, point: station?.name ?? null };
}

/** Who may change what passes is told with what they made of it, and with what they were refused. */
function note(
  { note: write }: AskParts,
  { post, change }: Asked,
  { target, call, point }: Passing,
  facts: Readonly<Record<string, unknown>>,
): void {
  const { plugin, fingerprint, id, station } = post;
  const isAboutChange = facts.verdict === "replace" || facts.refused !== undefined;
  const decided = change === null || !isAboutChange
    ? {}
    : { kind: change.kind, value: valueOf(point, target), decision: change.state, rule: change.rule };
  const phase = station?.phase === undefined ? {} : { phase: station.phase };
  const details = { by: id, point: station?.name ?? null, ...phase, target, ...facts };
  write({ plugin, fingerprint, call, ...decided, details });
}

function valueOf(point: string, target: string | null): string {
  return target === null ? point : `${point} ${target}`;
}

/** Of values that are JSON; the same whatever the order of their members. */
function hashOf(value: unknown): string {
  return `sha256:${createHash("sha256").update(canonicalize(value) ?? "null").digest("hex")}`;
}
