/** Frames, as `child.ts` speaks them. */
import { encodeFrame, type Frame, FrameDecoder, joinParts, splitParts, textOf } from "../../runtime/mod.ts";
import type { Dialect } from "./dialect.ts";
import type { BundleLimits } from "./limits.ts";
import {
  type BuildReport,
  FROM_BUNDLER,
  type LoadQuestion,
  type ResolveQuestion,
  TO_BUNDLER,
} from "./protocol.ts";

/** The dialect of the engine without a file system, which runs in Node. */
export function wasmDialect(limits: BundleLimits): Dialect<Frame> {
  const decoder = new FrameDecoder(limits.bundleFrameBytesMax);
  return {
    read: (chunk) => decoder.push(chunk),
    isReady: ({ type }) => type === FROM_BUNDLER.ready,
    order: ({ entry }) => encodeFrame(TO_BUNDLER.build, 0, 0, JSON.stringify({ entry })),
    serve(session, frame) {
      if (frame.type === FROM_BUNDLER.resolve) {
        const answer = session.resolve(resolveQuestion(JSON.parse(textOf(frame))));
        return { reply: encodeFrame(TO_BUNDLER.resolved, 0, frame.id, JSON.stringify(answer)) };
      }
      if (frame.type === FROM_BUNDLER.load) {
        const { header, content } = session.load(loadQuestion(JSON.parse(textOf(frame))));
        return { reply: encodeFrame(TO_BUNDLER.loaded, 0, frame.id, joinParts(header, content)) };
      }
      if (frame.type !== FROM_BUNDLER.built) throw new RangeError("a frame of an unknown type");
      const { header, body } = splitParts(frame.payload);
      const report = header as BuildReport;
      if (!Array.isArray(report.errors) || !Array.isArray(report.warnings)) throw new RangeError("no report");
      const code = body.toString("utf8", 0, report.codeBytes);
      return { output: { report, code, map: body.toString("utf8", report.codeBytes) } };
    },
  };
}

function resolveQuestion(value: unknown): ResolveQuestion {
  const { importer, specifier, kind, attributes } = value as Partial<Record<string, unknown>>;
  if (typeof importer !== "string" || typeof specifier !== "string" || typeof kind !== "string") {
    throw new RangeError("not a question");
  }
  return { importer, specifier, kind, attributes: attributesOf(attributes) };
}

function loadQuestion(value: unknown): LoadQuestion {
  const { path, attributes } = value as Partial<Record<string, unknown>>;
  if (typeof path !== "string") throw new RangeError("not a question");
  return { path, attributes: attributesOf(attributes) };
}

/** The `with { … }` of an import, as a bundler process says it. */
export function attributesOf(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(value ?? {});
  if (entries.some(([, text]) => typeof text !== "string")) throw new RangeError("not import attributes");
  return Object.fromEntries(entries) as Record<string, string>;
}
