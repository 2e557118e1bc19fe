/**
 * Asks the person at the terminal, and nobody else: not a pipe, not what was typed before the question was there (T16).
 * Besides terminal.ts the only file that writes to one.
 */
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { isatty, ReadStream } from "node:tty";
import { HostError } from "../../permissions/mod.ts";

/** A terminal with a person at it. */
export interface Prompt {
  /** Shows lines; what others wrote in them has passed display(). */
  show(lines: readonly string[]): void;
  /**
   * Throws away what was typed so far, asks, and gives the line that is typed then; null when there is none, or when the
   * signal aborts.
   */
  ask(question: string, signal?: AbortSignal): Promise<string | null>;
  /** The same for what nobody may see: it is not shown while it is typed. */
  askHidden(question: string): Promise<string | null>;
  /** Lets go of the terminal. */
  close(): void;
}

/** Nothing more is typed ahead when it has been quiet for so long. */
const QUIET_MS = 100;
/** Whoever types without pause for so long is no person. */
const DRAIN_MS_MAX = 5_000;
const ANSWER_CHARS_MAX = 1_024;

/** The terminal, or null when there is none: /dev/tty must open, and stderr be one (decision 33). */
export function openPrompt(): Prompt | null {
  if (!isatty(2)) return null;
  let output: number;
  try {
    output = openSync("/dev/tty", constants.O_WRONLY | (constants.O_NOCTTY ?? 0));
  } catch {
    return null;
  }
  const show = (text: string): void => {
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.byteLength;) done += writeSync(output, bytes, done);
  };
  return {
    show: (lines) => show(lines.map((line) => `${line}\n`).join("")),
    async ask(question, signal) {
      const input = new ReadStream(openSync("/dev/tty", constants.O_RDONLY | (constants.O_NOCTTY ?? 0)));
      const giveUp = (): void => void input.destroy();
      try {
        await drain(input);
        if (signal?.aborted) return null;
        signal?.addEventListener("abort", giveUp, { once: true });
        show(question);
        const answer = await lineOf(input);
        if (answer === null) show("\n"); // what follows begins a line of its own
        return answer;
      } finally {
        signal?.removeEventListener("abort", giveUp);
        input.destroy();
      }
    },
    async askHidden(question) {
      const input = new ReadStream(openSync("/dev/tty", constants.O_RDONLY | (constants.O_NOCTTY ?? 0)));
      try {
        await drain(input);
        input.setRawMode(true);
        show(question);
        return await hiddenLineOf(input);
      } finally {
        input.setRawMode(false);
        show("\n");
        input.destroy();
      }
    },
    close: () => closeSync(output),
  };
}

/** Raw, because a line that is typed and not yet ended is only given out then. */
async function drain(input: ReadStream): Promise<void> {
  input.setRawMode(true);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const start = performance.now();
  let quiet = setTimeout(resolve, QUIET_MS);
  const onData = (): void => {
    clearTimeout(quiet);
    quiet = setTimeout(resolve, QUIET_MS);
    if (performance.now() - start > DRAIN_MS_MAX) {
      reject(new HostError("ERR_UNEXPECTED", "Cannot ask: something types without pause"));
    }
  };
  input.on("data", onData);
  input.on("error", resolve);
  try {
    await promise;
  } finally {
    clearTimeout(quiet);
    input.off("data", onData);
    input.pause();
    input.setRawMode(false);
  }
}

/** A raw terminal leaves it to the reader what the keys mean. */
function hiddenLineOf(input: ReadStream): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  let text = "";
  input.on("data", (chunk: Buffer) => {
    for (const key of chunk.toString("utf8")) {
      if (key === "\r" || key === "\n") return resolve(text);
      if (key === CONTROL_C || key === CONTROL_D) return resolve(null);
      text = key === BACKSPACE || key === DELETE ? text.slice(0, -1) : text + key;
      if (text.length > HIDDEN_CHARS_MAX) return resolve(null);
    }
  });
  for (const event of ["end", "close", "error"]) input.on(event, () => resolve(null));
  input.resume();
  return promise;
}

const CONTROL_C = "\x03";
const CONTROL_D = "\x04";
const BACKSPACE = "\b";
const DELETE = "\x7f";
const HIDDEN_CHARS_MAX = 8_192;

function lineOf(input: ReadStream): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  let text = "";
  input.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
    const end = text.indexOf("\n");
    if (end !== -1) resolve(text.slice(0, end).replace(/\r$/, ""));
    else if (text.length > ANSWER_CHARS_MAX) resolve(null);
  });
  for (const event of ["end", "close", "error"]) input.on(event, () => resolve(null));
  input.resume();
  return promise;
}
