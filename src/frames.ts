/**
 * Stacks that a guest reported, in terms of the plugin's own files. A stack is the guest's word: a frame is mapped only
 * to a file that is in the bundle, and everything is made safe to show (T29).
 */
import { SourceMap } from "node:module";
import { RUNTIME_LIMITS, TARGET_HEAD } from "../runtime/mod.ts";
import type { BundleMap } from "./bundler/mod.ts";
import { display } from "./display.ts";

/** What a stack is read against. */
export interface FrameContext {
  /** Name of the plugin. */
  readonly plugin: string;
  /** The target's file. */
  readonly path: string;
  /** Map of its bundle. */
  readonly map: BundleMap;
}

const FRAME = /^\s*at (?:(.{0,200}) \()?plugin:[^:\s]{1,200}:(\d{1,9}):(\d{1,9})\)?$/;

/** The frames of a guest's stack, one a line, at most `stackFramesMax`; lines that are no frame of the plugin's are left out. */
export function shownStack(stack: string, context: FrameContext): string {
  const map = new SourceMap({ ...context.map, file: "", sourceRoot: "", sourcesContent: [] } as never);
  return stack.split("\n", 4 * RUNTIME_LIMITS.stackFramesMax)
    .flatMap((line) => frameOf(line, context, map))
    .slice(0, RUNTIME_LIMITS.stackFramesMax)
    .join("\n");
}

function frameOf(line: string, { plugin, map: { sources } }: FrameContext, map: SourceMap): string[] {
  const [, name, row, column] = FRAME.exec(line) ?? [];
  if (row === undefined || column === undefined) return [];
  // The wrapper puts the code on its first line after its own text, so only that line's columns are off.
  const wrapped = row === "1" ? TARGET_HEAD.length : 0;
  const entry = map.findEntry(Number(row) - 1, Math.max(0, Number(column) - 1 - wrapped));
  const isKnown = "originalSource" in entry && entry.originalSource !== "" &&
    sources.includes(entry.originalSource);
  const place = isKnown
    ? `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
    : `<${plugin}>:${row}:${column}`;
  const text = name === undefined ? `at ${place}` : `at ${name} (${place})`;
  return [display(text, { max: RUNTIME_LIMITS.errorTextBytesMax })];
}
