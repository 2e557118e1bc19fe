/** `--input`: JSON, `@file`, or `-` for standard input. */
import { readFileSync } from "node:fs";
import { UsageError } from "../../permissions/mod.ts";
import { RUNTIME_LIMITS } from "../../runtime/mod.ts";

/** The value of `--input`; an empty object when it is absent. Throws UsageError naming what cannot be read. */
export function readInput(given: unknown): unknown {
  if (given === undefined) return {};
  const text = String(given);
  const source = text === "-"
    ? "standard input"
    : text.startsWith("@")
    ? `file "${text.slice(1)}"`
    : "--input";
  const json = text === "-" ? read(0, source) : text.startsWith("@") ? read(text.slice(1), source) : text;
  try {
    return JSON.parse(json) as unknown;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(
      "ERR_USAGE",
      `Cannot read the input from ${source}: ${why}. It is JSON, such as '{"text": "…"}'`,
      { cause },
    );
  }
}

function read(file: string | number, source: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (cause) {
    throw new UsageError(
      "ERR_USAGE",
      `Cannot read the input from ${source}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
  if (bytes.byteLength > RUNTIME_LIMITS.inputBytesMax) {
    throw new UsageError(
      "ERR_USAGE",
      `Cannot read the input from ${source}: it has more than ${RUNTIME_LIMITS.inputBytesMax} bytes`,
    );
  }
  return bytes.toString("utf8");
}
