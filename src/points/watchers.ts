/**
 * Those who only watch: each plugin has a queue of its own, one event at a time, with bounds. Nobody waits for it; what finds
 * no room is dropped, counted and told (R29).
 */
import { LimitError } from "../../permissions/mod.ts";
import { Rate } from "../../runtime/mod.ts";
import { POINT_LIMITS } from "./limits.ts";

/** What became of events that one plugin was to be told of. */
export interface WatchStats {
  /** Name of the plugin. */
  readonly plugin: string;
  /** Events that its code was told of. */
  readonly delivered: number;
  /** Events at which its code failed, or was not to be had. */
  readonly failed: number;
  /** Events that found no room in its queue. */
  readonly dropped: number;
  /** Events that wait. */
  readonly waiting: number;
}

/** What the queues work with. */
export interface WatchersParts {
  /** Told that events of a plugin were dropped, with how many since it was last told; at most once a second. */
  readonly onDropped: (plugin: string, count: number) => void;
  /** Bounds of each queue. */
  readonly limits?: Readonly<Record<"watchWaitingMax" | "watchWaitingBytesMax", number>>;
}

interface Queue {
  readonly works: { readonly bytes: number; readonly work: () => Promise<unknown> }[];
  readonly tell: Rate;
  underWay: number;
  bytes: number;
  untold: number;
  isRunning: boolean;
  delivered: number;
  failed: number;
  dropped: number;
}

/** The queues of one tenant. */
export class Watchers {
  readonly #parts: WatchersParts;
  readonly #limits: NonNullable<WatchersParts["limits"]>;
  readonly #queues = new Map<string, Queue>();
  #isClosed = false;

  /** Makes no queue yet. */
  constructor(parts: WatchersParts) {
    this.#parts = parts;
    this.#limits = parts.limits ?? POINT_LIMITS;
  }

  /**
   * Tells a plugin of something when its turn comes; false where there is no room, or it is over. `text` is made only where
   * there may be room.
   */
  add(plugin: string, text: () => string, tell: (text: string) => Promise<unknown>): boolean {
    if (this.#isClosed) return false;
    const queue = this.#queueOf(plugin);
    const { watchWaitingMax, watchWaitingBytesMax } = this.#limits;
    const event = queue.works.length >= watchWaitingMax ? null : text();
    if (event === null || queue.bytes + event.length > watchWaitingBytesMax) {
      this.#drop(plugin, queue);
      return false;
    }
    queue.works.push({ bytes: event.length, work: () => tell(event) });
    queue.bytes += event.length;
    if (!queue.isRunning) void this.#run(queue);
    return true;
  }

  /** Tells a plugin of something at once, for somebody who waits for what becomes of it. Throws LimitError where there is no room. */
  async during<Value>(plugin: string, work: () => Promise<Value>): Promise<Value> {
    const queue = this.#queueOf(plugin);
    const { watchWaitingMax } = this.#limits;
    if (this.#isClosed || queue.underWay >= watchWaitingMax) {
      this.#drop(plugin, queue);
      throw new LimitError(
        "ERR_LIMIT_RATE",
        `Cannot tell plugin "${plugin}" of an event: ${watchWaitingMax} others wait (watchWaitingMax)`,
        { details: { plugin, watchWaitingMax } },
      );
    }
    queue.underWay += 1;
    try {
      const value = await work();
      queue.delivered += 1;
      return value;
    } catch (error) {
      queue.failed += 1;
      throw error;
    } finally {
      queue.underWay -= 1;
    }
  }

  /** What became of what, by plugin. */
  get stats(): readonly WatchStats[] {
    return [...this.#queues].map(([plugin, { delivered, failed, dropped, works: { length: waiting } }]) => {
      return Object.freeze({ plugin, delivered, failed, dropped, waiting });
    });
  }

  /** Takes no more, and forgets what waits. */
  close(): void {
    this.#isClosed = true;
    for (const queue of this.#queues.values()) queue.works.length = 0;
  }

  async #run(queue: Queue): Promise<void> {
    queue.isRunning = true;
    for (let next = queue.works.shift(); next !== undefined; next = queue.works.shift()) {
      queue.bytes -= next.bytes;
      try {
        await next.work();
        queue.delivered += 1;
      } catch {
        queue.failed += 1; // whoever watches changes nothing; its own lines in the audit say what went wrong
      }
    }
    queue.isRunning = false;
  }

  #drop(plugin: string, queue: Queue): void {
    queue.dropped += 1;
    queue.untold += 1;
    if (!queue.tell.take()) return;
    this.#parts.onDropped(plugin, queue.untold);
    queue.untold = 0;
  }

  #queueOf(plugin: string): Queue {
    const known = this.#queues.get(plugin);
    if (known !== undefined) return known;
    const counts = { underWay: 0, bytes: 0, untold: 0, delivered: 0, failed: 0, dropped: 0 };
    const queue: Queue = { works: [], tell: new Rate(1, 1), isRunning: false, ...counts };
    this.#queues.set(plugin, queue);
    return queue;
  }
}
