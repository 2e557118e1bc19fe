/** One bundler process: started confined, does one build at a time, is killed on any doubt. */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { BundleError, HostError } from "../../permissions/mod.ts";
import {
  type ConfinedProcess,
  type ConfinementPlan,
  encodeFrame,
  type Frame,
  FrameDecoder,
  joinParts,
  splitParts,
  startConfined,
  textOf,
} from "../../runtime/mod.ts";
import type { BundleLimits, BundlerPoolLimits } from "./limits.ts";
import {
  type BuildReport,
  FROM_BUNDLER,
  type LoadQuestion,
  type ResolveQuestion,
  TO_BUNDLER,
} from "./protocol.ts";
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

/** What a bundler process needs besides work. */
export interface BundlerProcessOptions {
  /** How it is confined. */
  readonly plan: ConfinementPlan;
  /** Bounds of a build. */
  readonly limits: BundleLimits;
  /** Bounds of the process. */
  readonly poolLimits: BundlerPoolLimits;
}

const WASM_PAGES_PER_MB = 16;
/** A deep but honest file needs more stack than Node gives; a dishonest one ends the process all the same. */
const STACK_KB = 3_900;

/** A started process. */
export class BundlerProcess {
  readonly #child: ConfinedProcess;
  readonly #options: BundlerProcessOptions;
  readonly #decoder: FrameDecoder;
  #onFrame: (frame: Frame) => void = () => this.kill(); // it has nothing to say without work
  readonly #waiting: Frame[] = [];
  #isDraining = false;
  #isGone = false;

  private constructor(child: ConfinedProcess, options: BundlerProcessOptions) {
    this.#child = child;
    this.#options = options;
    this.#decoder = new FrameDecoder(options.limits.bundleFrameBytesMax);
    void child.exited.then(() => this.#isGone = true);
    child.pipe.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** Starts a process and waits for its first word; throws a HostError. */
  static async start(options: BundlerProcessOptions): Promise<BundlerProcess> {
    const require = createRequire(import.meta.url);
    const engine = { file: require.resolve("esbuild-wasm/lib/browser.min.js") };
    const wasm = { file: require.resolve("esbuild-wasm/esbuild.wasm") };
    const child = await startConfined({
      plan: options.plan,
      entry: ownFile("./child"),
      readable: [...importsOfEntry(), engine.file, wasm.file],
      nodeFlags: [
        `--wasm-max-mem-pages=${options.limits.bundleMemoryMb * WASM_PAGES_PER_MB}`,
        `--max-old-space-size=${options.limits.bundleMemoryMb}`,
        `--stack-size=${STACK_KB}`,
        // The engine lives for few builds: compiling it better costs more than it gives (1.4 s instead of 3.9 s for 169 files).
        "--liftoff-only",
      ],
      args: [engine, wasm],
    });
    const started = new BundlerProcess(child, options);
    const isReady = await started.#untilReady();
    if (isReady) return started;
    started.kill();
    throw new HostError(
      "ERR_WORKER_LOST",
      "Cannot start the bundler process: it ended or stayed silent. Try again",
      {
        details: { stderr: child.stderrTail().slice(-500) },
      },
    );
  }

  /** Number of the process. */
  get pid(): number {
    return this.#child.pid;
  }

  /** Whether it can take no more work. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Kills it; what it was doing fails. */
  kill(): void {
    this.#isGone = true;
    this.#child.kill();
  }

  /** Settles when it is gone. */
  async ended(): Promise<void> {
    await this.#child.exited;
  }

  /**
   * Does one build. Throws a BundleError when the build passes a bound, or the process dies of it: it runs alone here,
   * so nothing else can be the cause. After any throw the process is gone.
   */
  async build(session: BuildSession, signal?: AbortSignal): Promise<BuildOutput> {
    const { promise, resolve, reject } = Promise.withResolvers<BuildOutput>();
    const { limits, poolLimits } = this.#options;
    promise.catch(() => {}); // when cancelled before it is awaited, the end of the process still rejects it
    const over = (what: string, name: BoundName) => reject(overBound(session.target, what, name, limits));
    const deadline = setTimeout(() => over("time", "bundleWallMs"), limits.bundleWallMs);
    const poll = setInterval(() => {
      const bytes = this.#child.rssBytes() ?? 0;
      if (bytes > limits.bundleMemoryMb * 1_048_576) over("memory", "bundleMemoryMb");
    }, poolLimits.bundlerPollMs);
    const abort = () => reject(signal?.reason);
    signal?.addEventListener("abort", abort);
    void this.#child.exited.then(() => reject(lost(session.target)));
    this.#onFrame = (frame) => {
      try {
        const output = this.#serve(session, frame);
        if (output !== null) resolve(output);
      } catch (error) {
        reject(error instanceof BundleError ? error : lost(session.target, error));
      }
    };
    try {
      signal?.throwIfAborted();
      this.#send(TO_BUNDLER.build, 0, JSON.stringify({ entry: session.entry }));
      const output = await promise;
      if (output.report.isBroken) throw lost(session.target);
      return output;
    } catch (error) {
      this.kill();
      throw error;
    } finally {
      this.#onFrame = () => this.kill();
      clearTimeout(deadline);
      clearInterval(poll);
      signal?.removeEventListener("abort", abort);
    }
  }

  #serve(session: BuildSession, frame: Frame): BuildOutput | null {
    if (frame.type === FROM_BUNDLER.resolve) {
      const answer = session.resolve(resolveQuestion(JSON.parse(textOf(frame))));
      this.#send(TO_BUNDLER.resolved, frame.id, JSON.stringify(answer));
      return null;
    }
    if (frame.type === FROM_BUNDLER.load) {
      const { header, content } = session.load(loadQuestion(JSON.parse(textOf(frame))));
      this.#send(TO_BUNDLER.loaded, frame.id, joinParts(header, content));
      return null;
    }
    if (frame.type !== FROM_BUNDLER.built) throw new RangeError("a frame of an unknown type");
    const { header, body } = splitParts(frame.payload);
    const report = header as BuildReport;
    if (!Array.isArray(report.errors) || !Array.isArray(report.warnings)) throw new RangeError("no report");
    if (report.codeBytes > this.#options.limits.bundleCodeBytesMax) {
      throw overBound(session.target, "code", "bundleCodeBytesMax", this.#options.limits);
    }
    const code = body.toString("utf8", 0, report.codeBytes);
    return { report, code, map: body.toString("utf8", report.codeBytes) };
  }

  #read(chunk: Buffer): void {
    if (this.#isGone) return;
    try {
      this.#waiting.push(...this.#decoder.push(chunk));
    } catch {
      return this.kill(); // a frame out of bounds: the build that runs ends as lost
    }
    if (!this.#isDraining) this.#drain();
  }

  /** Answers in turns: resolving is the host's own work, and a plugin with many imports must not keep it from others. */
  #drain(): void {
    const end = performance.now() + this.#options.poolLimits.bundlerTurnMs;
    let next = 0;
    while (next < this.#waiting.length && performance.now() < end && !this.#isGone) {
      this.#onFrame(this.#waiting[next++]!);
    }
    this.#waiting.splice(0, next);
    this.#isDraining = this.#waiting.length > 0 && !this.#isGone;
    if (this.#isDraining) setImmediate(() => this.#drain());
  }

  #send(type: number, id: number, payload: Uint8Array | string): void {
    this.#child.pipe.write(encodeFrame(type, 0, id, payload));
  }

  async #untilReady(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#onFrame = (frame) => resolve(frame.type === FROM_BUNDLER.ready);
    const timer = setTimeout(() => resolve(false), this.#options.poolLimits.bundlerStartMs);
    void this.#child.exited.then(() => resolve(false));
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#onFrame = () => this.kill();
    }
  }
}

const EXTENSION = import.meta.url.endsWith(".ts") ? ".ts" : ".js";

/** In the package the entry is one file; in development it imports its neighbours. */
function importsOfEntry(): readonly string[] {
  if (EXTENSION === ".js") return [];
  return ["./protocol", "../../runtime/wire", "../../runtime/worker/confine_self"].map(ownFile);
}

function ownFile(path: string): string {
  return fileURLToPath(new URL(path + EXTENSION, import.meta.url));
}

type BoundName = "bundleWallMs" | "bundleMemoryMb" | "bundleCodeBytesMax";

function lost(target: string, cause?: unknown): BundleError {
  const why =
    "the bundler process ended while it read the code, which may be nested too deeply or grow too large";
  return new BundleError("ERR_BUNDLE_FAILED", `Cannot bundle "${target}": ${why}`, {
    details: { file: target },
    ...(cause === undefined ? {} : { cause }),
  });
}

function overBound(target: string, what: string, name: BoundName, limits: BundleLimits): BundleError {
  return new BundleError(
    "ERR_BUNDLE_FAILED",
    `Cannot bundle "${target}": it takes more ${what} than ${name} allows (${limits[name]})`,
    { details: { file: target, limit: name, max: limits[name] } },
  );
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

function attributesOf(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(value ?? {});
  if (entries.some(([, text]) => typeof text !== "string")) throw new RangeError("not import attributes");
  return Object.fromEntries(entries) as Record<string, string>;
}
