/** One segment of the audit as text: how a line is sealed to the one before, and how it is taken apart again. */
import { createHmac } from "node:crypto";

/** What stands for the line before the first one. */
export const GENESIS = "0".repeat(64);

/** The type of the first line of a segment, which names the head of the one before. */
export const SEGMENT_HEADER = "segment";

/** Where a chain ends: the last line's number and seal. */
export interface Head {
  /** Number of the line. */
  readonly seq: number;
  /** Its seal. */
  readonly mac: string;
}

/** One line, taken apart. */
export interface SealedLine extends Head {
  /** The line's own text, without its seal. */
  readonly text: string;
  /** What it says. */
  readonly event: Readonly<Record<string, unknown>>;
}

/** The seal of a line behind the one that was sealed with `head`. */
export function sealOf(key: Uint8Array, head: string, text: string): string {
  return createHmac("sha256", key).update(head).update(text).digest("hex");
}

/** A line with its seal, as it stands in the file. */
export function sealedText(text: string, mac: string): string {
  return `${text.slice(0, -1)},"mac":"${mac}"}\n`;
}

const SEAL = /,"mac":"([0-9a-f]{64})"\}$/;

/** Takes a line apart; null for what no segment holds. */
export function parseLine(line: string): SealedLine | null {
  const seal = SEAL.exec(line);
  if (seal === null) return null;
  const text = `${line.slice(0, seal.index)}}`;
  try {
    const event = Object(JSON.parse(text)) as Readonly<Record<string, unknown>>;
    return Number.isInteger(event.seq) ? { seq: Number(event.seq), mac: seal[1]!, text, event } : null;
  } catch {
    return null;
  }
}
