/**
 * Stacks that a guest reported, in terms of the plugin's own files. A stack is the guest's word: a frame is mapped only
 * to a file that is in the bundle, and everything is made safe to show (T29).
 */
import { SourceMap } from "node:module";
import { RUNTIME_LIMITS, TARGET_HEAD } from "../runtime/mod.ts";
import type { BundleMap } from "./bundler/mod.ts";
import { display } from "./display.ts";

/** Finds the place that a line and a column of a bundle, both from 0, come from; null when its map is not read. */
export type FindEntry = (line: number, column: number) => ReturnType<SourceMap["findEntry"]> | null;

/**
 * What finds places in one bundle. Its map is read at the first question and only once, since that holds up the host; one
 * that is larger than `stackMapBytesMax` is never read.
 */
export function entriesOf(map: BundleMap): FindEntry {
  let read: SourceMap | undefined;
  return (line, column) => {
    if (map.mappings.length > RUNTIME_LIMITS.stackMapBytesMax) return null;
    read ??= new SourceMap({ ...map, file: "", sourceRoot: "", sourcesContent: [] } as never);
    return read.findEntry(line, column);
  };
}

/** What a stack is read against. */
export interface FrameContext {
  /** Name of the plugin. */
  readonly plugin: string;
  /** The target's file. */
  readonly path: string;
  /** What finds a place in its bundle. */
  readonly find: FindEntry;
}

const FRAME = /^\s*at (?:(.{0,200}) \()?plugin:[^:\s]{1,200}:(\d{1,9}):(\d{1,9})\)?$/;

/** The frames of a guest's stack, one a line, at most `stackFramesMax`; lines that are no frame of the plugin's are left out. */
export function shownStack(stack: string, context: FrameContext): string {
  return stack.split("\n", 4 * RUNTIME_LIMITS.stackFramesMax)
    .flatMap((line) => frameOf(line, context))
    .slice(0, RUNTIME_LIMITS.stackFramesMax)
    .join("\n");
}

function frameOf(line: string, { plugin, find }: FrameContext): string[] {
  const [, name, row, column] = FRAME.exec(line) ?? [];
  if (row === undefined || column === undefined) return [];
  // The wrapper puts the code on its first line after its own text, so only that line's columns are off.
  const wrapped = row === "1" ? TARGET_HEAD.length : 0;
  const entry = find(Number(row) - 1, Math.max(0, Number(column) - 1 - wrapped));
  // Text of Sallyport's own or of the bundler's, before all of the plugin's, tells nothing about the plugin.
  if (entry !== null && (!("originalSource" in entry) || entry.originalSource === "")) return [];
  // The map names only files that were handed out.
  const place = entry === null
    ? `<${plugin}>:${row}:${column}`
    : `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  const text = name === undefined ? `at ${place}` : `at ${name} (${place})`;
  return [display(text, { max: RUNTIME_LIMITS.errorTextBytesMax })];
}
