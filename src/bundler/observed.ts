/**
 * A plugin's files as a build sees them, with a record of what it asked and was told. A build depends on nothing else, so
 * wherever the same questions have the same answers it would come out the same: "there is nothing" is an answer, too (T06).
 */
import type { PluginSource, SourceKind, SourceUse } from "../source.ts";
import { SourceError } from "../source_file.ts";

/** What of a PluginSource a build asks. */
export interface BuildSource extends Pick<PluginSource, "root" | "kind" | "real" | "bytes"> {}

/** One question and its answer: what is there, where it leads, or which bytes it has when it is opened for a use. */
export type Observation = readonly [ask: "kind" | "real" | SourceUse, path: string, answer: string];

/** A source that writes down what it is asked. */
export interface ObservedSource extends BuildSource {
  /** All that was asked so far, each question once. */
  observations(): readonly Observation[];
}

/** Watches a source for one build. */
export function observe(source: PluginSource): ObservedSource {
  const seen = new Map<string, Observation>();
  const note = <Value>(ask: Observation[0], path: string, work: () => Value, answer: () => string): Value => {
    const key = `${ask} ${path}`;
    if (seen.has(key)) return work();
    try {
      const value = work();
      seen.set(key, [ask, path, answer()]);
      return value;
    } catch (error) {
      if (error instanceof SourceError) seen.set(key, [ask, path, refusalOf(error)]);
      throw error;
    }
  };
  return {
    root: source.root,
    kind: (path): SourceKind => note("kind", path, () => source.kind(path), () => source.kind(path)),
    real: (path) => note("real", path, () => source.real(path), () => source.real(path)),
    bytes: (path, use = "data") =>
      note(use, path, () => source.bytes(path, use), () => source.hash(path, use)),
    observations: () => [...seen.values()],
  };
}

/** Whether a source would answer all of it as it was answered then. Reads what it asks for, and so what will be run. */
export function stillHolds(source: PluginSource, observations: readonly Observation[]): boolean {
  return observations.every(([ask, path, answer]) => answerOf(source, ask, path) === answer);
}

function answerOf(source: PluginSource, ask: Observation[0], path: string): string {
  try {
    if (ask === "kind") return source.kind(path);
    if (ask === "real") return source.real(path);
    source.bytes(path, ask); // whether it may be opened for this use is a part of the answer
    return source.hash(path, ask);
  } catch (error) {
    if (error instanceof SourceError) return refusalOf(error);
    throw error;
  }
}

function refusalOf({ reason }: SourceError): string {
  return `refused: ${reason}`;
}
