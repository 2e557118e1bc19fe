/**
 * Entry of a bundler process: bytes in, bytes out over one pipe. Its engine is a build of esbuild that has no file
 * system at all; every path that it asks for is answered by the host (T05, T06).
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Socket } from "node:net";
import process from "node:process";
import type { BuildFailure, BuildOptions, BuildResult, Message, Plugin } from "esbuild-wasm";
import { encodeFrame, type Frame, FrameDecoder, joinParts, splitParts, textOf } from "../../runtime/wire.ts";
import { dropAuthority } from "../../runtime/worker/confine_self.ts";
import {
  type BuildMessage,
  type BuildOrder,
  type BuildReport,
  ENGINE_OPTIONS,
  FROM_BUNDLER,
  type LoadAnswer,
  type LoadQuestion,
  META,
  type ResolveAnswer,
  type ResolveQuestion,
  TO_BUNDLER,
} from "./protocol.ts";

interface Engine {
  initialize(options: { wasmModule: unknown; worker: boolean }): Promise<void>;
  build(options: BuildOptions): Promise<BuildResult>;
}

/** Types of the parts of WebAssembly that are used; the project's own types do not have them. */
interface WebAssemblyLike {
  readonly Module: new (bytes: Uint8Array) => unknown;
}

const FRAME_BYTES_MAX = 64 * 1_048_576;

const [enginePath, wasmPath] = process.argv.slice(2);
if (enginePath === undefined || wasmPath === undefined) {
  throw new Error("the bundler was started without its engine");
}
(globalThis as { self?: unknown }).self = globalThis; // the browser build looks for it
// The engine writes only when it has failed for good, and then never settles what it was doing.
for (const name of ["log", "warn", "error"] as const) console[name] = () => process.exit(1);
const engine = createRequire(import.meta.url)(enginePath) as Engine;
const { Module } = (globalThis as unknown as { WebAssembly: WebAssemblyLike }).WebAssembly;
const wasmModule = new Module(readFileSync(wasmPath));
dropAuthority();

const pipe = new Socket({ fd: 3, readable: true, writable: true });
pipe.on("close", () => process.exit(0));
pipe.on("error", () => process.exit(0));
const waiting = new Map<number, (frame: Frame) => void>();
let lastId = 0;

await engine.initialize({ wasmModule, worker: false });
const decoder = new FrameDecoder(FRAME_BYTES_MAX);
pipe.on("data", (chunk: Buffer) => {
  for (const frame of decoder.push(chunk)) {
    if (frame.type === TO_BUNDLER.build) void build(JSON.parse(textOf(frame)) as BuildOrder);
    else waiting.get(frame.id)?.(frame);
  }
});
pipe.write(encodeFrame(FROM_BUNDLER.ready, 0, 0, ""));

async function build(order: BuildOrder): Promise<void> {
  try {
    const result = await engine.build({ ...OPTIONS, plugins: [fromHost(order)] });
    const textFile = (end: string) => result.outputFiles?.find((file) => file.path.endsWith(end))?.contents;
    const code = textFile(".js") ?? new Uint8Array();
    const map = textFile(".js.map") ?? new Uint8Array();
    report({ ok: true, errors: [], warnings: result.warnings.map(flat), codeBytes: code.byteLength }, [
      code,
      map,
    ]);
  } catch (error) {
    const { errors, warnings } = error as Partial<BuildFailure>;
    // Only a failed build has both lists. Anything else is the engine itself, which does not recover.
    const isBroken = !Array.isArray(errors) || !Array.isArray(warnings);
    const lists = isBroken
      ? { errors: [{ id: "", text: String(error), file: "", line: 0, column: 0 }], warnings: [] }
      : { errors: errors!.map(flat), warnings: warnings!.map(flat) };
    report({ ok: false, ...lists, codeBytes: 0, isBroken }, []);
    if (isBroken) pipe.end(() => process.exit(1));
  }
}

function report(
  report: Omit<BuildReport, "isBroken"> & { isBroken?: boolean },
  parts: readonly Uint8Array[],
): void {
  const header: BuildReport = { isBroken: false, ...report };
  pipe.write(encodeFrame(FROM_BUNDLER.built, 0, 0, joinParts(header, Buffer.concat(parts))));
}

const OPTIONS: BuildOptions = {
  ...ENGINE_OPTIONS,
  entryPoints: ["entry"],
  write: false,
  absWorkingDir: "/",
  logLevel: "silent",
};

function fromHost(order: BuildOrder): Plugin {
  return {
    name: "sallyport",
    setup(build) {
      build.onResolve({ filter: /.*/ }, async (args) => {
        if (args.kind === "entry-point") return { path: "entry", namespace: "entry" };
        const isOfPlugin = args.namespace === "plugin" || args.namespace === "module";
        if (isOfPlugin && args.path === META.specifier) {
          return { path: realOf(args.importer, args.namespace), namespace: "meta", sideEffects: false };
        }
        const question: ResolveQuestion = {
          importer: isOfPlugin ? realOf(args.importer, args.namespace) : "",
          specifier: args.path,
          kind: args.kind,
          attributes: args.with,
        };
        const frame = await ask(FROM_BUNDLER.resolve, question);
        const answer = JSON.parse(textOf(frame)) as ResolveAnswer;
        if (answer.state === "found") {
          // Interop with CommonJS goes by extension; a namespace of its own keeps the made-up name from being a file.
          const place = answer.isModule
            ? { path: `${answer.path}.mjs`, namespace: "module" }
            : { path: answer.path, namespace: "plugin" };
          return { ...place, sideEffects: answer.sideEffects };
        }
        if (answer.state === "disabled") return { path: args.path, namespace: "disabled" };
        // Without a directory to resolve in, the engine says "Could not resolve": an error, or nothing inside `try`.
        if (answer.state === "absent") return undefined;
        return { errors: [{ text: `Cannot import "${args.path}"` }] };
      });
      build.onLoad({ filter: /.*/, namespace: "entry" }, () => ({ contents: order.entry, loader: "js" }));
      build.onLoad({ filter: /.*/, namespace: "meta" }, ({ path }) => {
        const url = `plugin:${path.slice("/p/".length)}`;
        return { contents: `export const meta = { url: ${JSON.stringify(url)} };`, loader: "js" };
      });
      build.onLoad(
        { filter: /.*/, namespace: "disabled" },
        () => ({ contents: "module.exports = {};", loader: "js" }),
      );
      build.onLoad(
        { filter: /^/, namespace: "plugin" },
        ({ path, with: attributes }) => load(path, attributes),
      );
      build.onLoad(
        { filter: /^/, namespace: "module" },
        ({ path, with: attributes }) => load(realOf(path, "module"), attributes),
      );
      build.onLoad(
        { filter: /.*/, namespace: "file" },
        ({ path }) => ({ errors: [{ text: `Cannot read "${path}"` }] }),
      );
    },
  };
}

async function load(path: string, attributes: Record<string, string>) {
  const question: LoadQuestion = { path, attributes };
  const { header, body } = splitParts((await ask(FROM_BUNDLER.load, question)).payload);
  const { loader } = header as LoadAnswer;
  if (loader === null) return { errors: [{ text: "Cannot use this file" }] };
  return { contents: new Uint8Array(body), loader: loader as "js" };
}

function ask(type: number, question: unknown): Promise<Frame> {
  const id = ++lastId;
  return new Promise((resolve) => {
    waiting.set(id, (frame) => {
      waiting.delete(id);
      resolve(frame);
    });
    pipe.write(encodeFrame(type, 0, id, JSON.stringify(question)));
  });
}

function realOf(path: string, namespace: string): string {
  return namespace === "module" ? path.slice(0, -".mjs".length) : path;
}

function flat(message: Message): BuildMessage {
  const { id, text, location } = message;
  const file = location?.file ?? "";
  const real = file.startsWith("module:")
    ? realOf(file.slice("module:".length), "module")
    : file.replace(/^plugin:/, "");
  return { id, text, file: real, line: location?.line ?? 0, column: location?.column ?? 0 };
}
