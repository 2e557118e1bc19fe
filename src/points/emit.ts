/**
 * Telling an embedder's event: one snapshot of it, to those who were in force when it was told, one after the other. One that
 * fails where nobody decides is told of, and the next one is still asked.
 */
import { BlockedError, CapabilityError, type SallyportError, UsageError } from "../../permissions/mod.ts";
import { deepFreeze } from "../deep_freeze.ts";
import { didYouMean } from "../did_you_mean.ts";
import { display } from "../display.ts";
import { eventFacts, HOOK_EVENTS } from "../surfaces/mod.ts";
import { askAll, type AskParts, type Passing } from "./ask.ts";
import type { Post } from "./in_force.ts";
import { POINT_LIMITS } from "./limits.ts";
import { type Asked, decides, inOrder, toldOf } from "./way.ts";

/** An event: its name, and fields that are JSON. */
export interface EmittedEvent {
  /** A built-in one that is not about a call, or one that the host was made with. */
  readonly name: string;
  /** What hooks are shown, as far as their grants cover it. */
  readonly [field: string]: unknown;
}

/** A hook that gave no answer. Frozen. */
export interface HookDiagnostic {
  /** Its full id. */
  readonly id: string;
  /** Whose turn it was, counted from 0. */
  readonly index: number;
  /** What went wrong; not safe for a terminal. */
  readonly message: string;
}

/** What became of an event. Frozen. */
export interface Emitted {
  /** `block`: somebody stopped what the event is about; `replace`: the fields are others now. */
  readonly verdict: "continue" | "block" | "replace";
  /** Who stopped it, by full id; null where nobody did. */
  readonly by: string | null;
  /** Why, in the words of the one that stopped it; null where there are none. Not safe for a terminal. */
  readonly reason: string | null;
  /** The fields of the event, as the last one left them. */
  readonly value: Readonly<Record<string, unknown>>;
  /** Who gave no answer, in the order of their turns. */
  readonly diagnostics: readonly HookDiagnostic[];
}

/** What telling works with. */
export interface EmitParts {
  /** Where plugins are that run, in the order in which they began to. */
  readonly running: readonly string[];
  /** Id of the event in the audit. */
  readonly call: string;
  /** How each is asked. */
  readonly ask: AskParts;
  /** How each is told that does not decide; throws where its plugin has no room for more. */
  readonly tell: (post: Post, event: Readonly<Record<string, unknown>>) => Promise<unknown>;
}

/** Tells it. Throws HostError `ERR_AUDIT_FAILED`. */
export async function emitTo(
  posts: readonly Post[],
  { name, fields }: TakenEvent,
  parts: EmitParts,
): Promise<Emitted> {
  const { point, decides: mayDecide } = eventFacts(name);
  const diagnostics: HookDiagnostic[] = [];
  let value: Readonly<Record<string, unknown>> = fields;
  for (const [index, asked] of inTurn(toldOf(posts, point), parts.running).entries()) {
    const { post, seesInput } = asked;
    const failed = (error: SallyportError): void =>
      void diagnostics.push({ id: post.id, index, message: error.message });
    const shown = (now: unknown) => ({
      ...(seesInput ? now as object : {}),
      name: post.station?.name ?? name,
    });
    if (!mayDecide || !seesInput || !decides(asked)) {
      await parts.tell(post, shown(value)).catch((error: unknown) => failed(error as SallyportError));
      continue;
    }
    const passing: Passing = {
      what: `go on with ${name}`,
      target: null,
      call: parts.call,
      point,
      event: (_asked, now) => shown(now),
      validate: (replaced) => refuseNoFields(name, replaced),
    };
    try {
      // The cast holds: what came in has fields, and what takes their place was held to that.
      value = await askAll([asked], passing, value, {
        ...parts.ask,
        onPassed: (_asked, error) => failed(error),
      }) as typeof value;
    } catch (error) {
      if (!(error instanceof BlockedError)) throw error;
      const { answered, reason } = error.details;
      if (answered !== true) failed(error);
      const why = typeof reason === "string" ? reason : null;
      return deepFreeze({ verdict: "block", by: post.id, reason: why, value, diagnostics });
    }
  }
  const verdict = value === fields ? "continue" : "replace";
  return deepFreeze({ verdict, by: null, reason: null, value, diagnostics });
}

/** By turn and priority; plugins that run come first, in the order in which they began to, and each has its manifest's order. */
function inTurn(asked: readonly Asked[], running: readonly string[]): readonly Asked[] {
  const rank = ({ post: { directory } }: Asked): number => {
    const found = running.indexOf(directory);
    return found === -1 ? running.length : found;
  };
  return inOrder([...asked].sort((a, b) => rank(a) - rank(b)));
}

/** An event as it was when it was told, and stays for all that hear of it. */
interface TakenEvent {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Takes it as it is now. Throws UsageError for what is no event, or not the embedder's to tell; `added` are beside the built-in ones. */
export function takeEvent(event: EmittedEvent, added: readonly string[]): TakenEvent {
  const { name, ...fields } = event;
  if (typeof name !== "string" || ![...HOOK_EVENTS, ...added].includes(name)) {
    const meant = didYouMean(String(name), [...HOOK_EVENTS, ...added]);
    throw unusable(name, `there is no such event${meant === null ? "" : `; did you mean "${meant}"?`}`);
  }
  if (eventFacts(name).isTargeted) {
    throw unusable(name, "it is about a call, and told when one is made");
  }
  let text: string;
  try {
    text = JSON.stringify(fields);
  } catch {
    throw unusable(name, "its fields are no JSON");
  }
  if (text.length > POINT_LIMITS.eventCharsMax) {
    throw unusable(
      name,
      `its fields have more than ${POINT_LIMITS.eventCharsMax} characters (eventCharsMax)`,
    );
  }
  // The cast holds: the text of an object without members that are no JSON.
  return { name, fields: JSON.parse(text) as Readonly<Record<string, unknown>> };
}

function unusable(name: unknown, why: string): UsageError {
  return new UsageError("ERR_USAGE", `Cannot emit "${display(String(name))}": ${why}`);
}

async function refuseNoFields(name: string, value: unknown): Promise<void> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return await Promise.resolve();
  throw new CapabilityError(
    "ERR_CAPABILITY_INPUT_INVALID",
    `Cannot go on with ${name}: what takes the place of its fields is no map`,
    { details: { issues: [] } },
  );
}
