/** How the host speaks with one kind of bundler process; what is said is the same with each. */
import type { BuildReport } from "./protocol.ts";
import type { BuildSession } from "./session.ts";

/** What came out of a build, as the process says it. */
export interface BuildOutput {
  /** Messages and outcome. */
  readonly report: BuildReport;
  /** Code. */
  readonly code: string;
  /** Source map, not parsed. */
  readonly map: string;
}

/** What the host does about one message: answers, or has its result, or neither. */
export interface Reaction {
  /** Bytes to send. */
  readonly reply?: Uint8Array;
  /** The end of the build. */
  readonly output?: BuildOutput;
}

/**
 * One language. It remembers what has arrived of the next message, so each process has one of its own. Methods throw a
 * RangeError for what no honest process says, and what the session throws.
 */
export interface Dialect<Message> {
  /** The messages that are whole by now. */
  read(chunk: Buffer): readonly Message[];
  /** Whether a message is the first word of a process that is ready. */
  isReady(message: Message): boolean;
  /** The order to build. */
  order(session: BuildSession): Uint8Array;
  /** Serves one message of a build. */
  serve(session: BuildSession, message: Message): Reaction;
}
