/** The one place that writes to the terminal. Whatever Sallyport did not write itself passes display() on its way (T16). */
import process from "node:process";
import { display } from "../display.ts";

/** Where a command writes. */
export interface Terminal {
  /** Writes a line of Sallyport's own to stdout; parts by others must have passed display(). */
  out(line: string): void;
  /** Writes a line of Sallyport's own to stderr. */
  err(line: string): void;
  /** Writes JSON to stdout, whole. */
  json(value: unknown): void;
  /** Writes another's text to stdout: escaped on a terminal unless `isRaw`, as it is when piped. */
  result(text: string, isRaw: boolean): void;
  /**
   * Writes a part of another's text to stdout, escaped as `result` does; bytes go there as they are, unless it is a terminal.
   * Settles when the next part may come: false says that nobody reads any more. A terminal without it gets parts as results.
   */
  chunk?(part: string | Uint8Array, isRaw: boolean): Promise<boolean>;
  /** Writes a line of a plugin to stderr behind its name, or of a script to stdout. */
  guest(prefix: string | null, text: string): void;
  /** The same for how far it is, where stderr is a terminal; a log has no use for it, and neither has a terminal without it. */
  progress?(prefix: string, text: string): void;
}

/** The process's own terminal. */
export function processTerminal(): Terminal {
  const { stdout, stderr } = process;
  for (const stream of [stdout, stderr]) stream.on("error", ignoreClosedPipe);
  const guest: Terminal["guest"] = (prefix, text) => {
    const stream = prefix === null ? stdout : stderr;
    // Piped output of a script is data; on a terminal it could still move the cursor.
    if (prefix === null && !stdout.isTTY) stream.write(text + "\n");
    else {
      for (const line of text.split("\n")) {
        stream.write((prefix === null ? "" : `${prefix} | `) + display(line) + "\n");
      }
    }
  };
  return {
    out: (line) => void stdout.write(line + "\n"),
    err: (line) => void stderr.write(line + "\n"),
    json: (value) => void stdout.write(plainJson(value, stdout.isTTY) + "\n"),
    result: (text, isRaw) => void stdout.write((stdout.isTTY && !isRaw ? shownLines(text) : text) + "\n"),
    chunk: (part, isRaw) => {
      const isShown = stdout.isTTY && !isRaw;
      const shown = !isShown
        ? part
        : typeof part === "string"
        ? shownLines(part)
        : `[${part.byteLength} bytes]\n`;
      return written(stdout, shown);
    },
    guest,
    progress: (prefix, text) => {
      if (stderr.isTTY) guest(prefix, text);
    },
  };
}

/** Whether a part was written: false where whoever reads has stopped. */
function written(stream: NodeJS.WriteStream, part: string | Uint8Array): Promise<boolean> {
  if (stream.destroyed || stream.errored) return Promise.resolve(false);
  return new Promise((resolve) => stream.write(part, (error) => resolve(!error)));
}

/** Whoever reads may stop reading, as `head` does; the command still ends as it would have. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
}

/** JSON in which whatever could move a cursor or hide is an escape: the same value to whoever parses it. */
function plainJson(value: unknown, isForPerson: boolean): string {
  const text = JSON.stringify(value, null, isForPerson ? 2 : undefined);
  return text.replace(
    /[^\n -~]/gu,
    (character) =>
      display(character) === character
        ? character
        : [...Array(character.length).keys()].map((at) =>
          `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`
        ).join(""),
  );
}

/** Each line made safe to show; the line feeds are ours to keep. */
export function shownLines(text: string): string {
  return text.split("\n").map((line) => display(line)).join("\n");
}
