/** Who stands in the way of what passes a point, and in which order they are asked. Pure, but for what a grant decides. */
import { checkIntercept, checkObserve, type Decision } from "../../permissions/mod.ts";
import type { Callable } from "../authority.ts";
import { placeOf } from "../plugin.ts";
import { callPoints } from "../surfaces/stations.ts";
import type { Post } from "./in_force.ts";

/** One that is asked about what passes. */
export interface Asked {
  /** Who. */
  readonly post: Post;
  /** By which decision it may see what passes; null where it is its own, or nothing can be told of it. */
  readonly seen: Decision | null;
  /** Whether it may put something else in its place; null where nobody has to allow that, since it is its own. */
  readonly change: Decision | null;
  /** Whether it may see what went in, where it is asked about what comes out. */
  readonly seesInput: boolean;
}

/** Who is asked about the calls of one target. */
export interface Way {
  /** Before the call; the answers count. */
  readonly before: readonly Asked[];
  /** After it. */
  readonly after: readonly Asked[];
  /** Told after it; no answer counts. */
  readonly watching: readonly Asked[];
}

/** The way of a call, or null where nobody is on it. */
export function wayOf(posts: readonly Post[], noun: string, target: Callable): Way | null {
  const { input, output } = callPoints(noun);
  const before = askedAt(posts, input, target);
  const after = askedAt(posts, output, target).map((each) => ({
    ...each,
    seesInput: coverOf(each.post, input, target) !== null,
  }));
  const way: Way = {
    before: inOrder(before.filter(decides)),
    after: inOrder(after.filter(decides)),
    watching: inOrder([...before, ...after].filter((each) => !decides(each))),
  };
  return Object.values(way).some((asked: readonly Asked[]) => asked.length > 0) ? way : null;
}

/** Who is told of what is nobody's call: with the fields where its grant covers them, else the name alone, and then without a say. */
export function toldOf(posts: readonly Post[], point: string): readonly Asked[] {
  return posts.flatMap((post): Asked[] => {
    const { station } = post;
    if (station !== null && (station.isTargeted || station.point !== point)) return [];
    const cover = coverOf(post, point, null);
    return [{ post, ...cover ?? UNSEEN, seesInput: cover !== null }];
  });
}

/** Whether an answer counts. What cannot be told stands in the way of everything. */
export function decides({ post: { station } }: Pick<Asked, "post">): boolean {
  return station?.decides ?? true;
}

/** By turn, then priority, then as they are; a turn that is left from the inside is asked backwards. */
export function inOrder(asked: readonly Asked[]): readonly Asked[] {
  const sorted = [...asked].sort((a, b) => turnOf(a) - turnOf(b) || priorityOf(a) - priorityOf(b));
  return [...Map.groupBy(sorted, turnOf).values()].flatMap((turn) =>
    turn.every(({ post: { station } }) => station?.isReversed === true) ? turn.reverse() : turn
  );
}

function askedAt(posts: readonly Post[], point: string, target: Callable): readonly Asked[] {
  return posts.flatMap((post): Asked[] => {
    const { station, isMeant } = post;
    if (station !== null && (station.point !== point || !station.isTargeted)) return [];
    if (!isMeant(target.capability)) return [];
    const cover = coverOf(post, point, target);
    return cover === null ? [] : [{ post, ...cover, seesInput: true }];
  });
}

type Cover = Pick<Asked, "seen" | "change">;

const OWN: Cover = { seen: null, change: null };
/** Nobody asks what it would put in the place of what it does not see. */
const UNSEEN: Cover = { seen: null, change: null };

/** What a plugin may see and change of what passes; null where it may not even see it (T04). Its own is its own. */
function coverOf(post: Post, point: string, target: Callable | null): Cover | null {
  const { holder, plugin, place } = post;
  if (holder === null) return OWN;
  if (target !== null && target.plugin.name === plugin && placeOf(target.plugin) === place) return OWN;
  const value = target === null ? point : `${point} ${target.capability.fullId}`;
  const seen = checkObserve(holder.grant, value, holder.context);
  return seen.state === "denied"
    ? null
    : { seen, change: checkIntercept(holder.grant, value, holder.context) };
}

function turnOf({ post: { station } }: Asked): number {
  return station?.turn ?? -1;
}

function priorityOf({ post: { station } }: Asked): number {
  return station?.priority ?? 0;
}
