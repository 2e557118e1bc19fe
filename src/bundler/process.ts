/** One bundler process: started confined, does one build at a time, is killed on any doubt. */
import { BundleError, HostError } from "../../permissions/mod.ts";
import type { ConfinedProcess, ConfinementPlan } from "../../runtime/mod.ts";
import type { BuildOutput, Dialect } from "./dialect.ts";
import { startEngine } from "./engines.ts";
import type { BundleLimits, BundlerPoolLimits } from "./limits.ts";
import type { BuildSession } from "./session.ts";

/** What a bundler process needs besides work. */
export interface BundlerProcessOptions {
  /** How it is confined. */
  readonly plan: ConfinementPlan;
  /** Bounds of a build. */
  readonly limits: BundleLimits;
  /** Bounds of the process. */
  readonly poolLimits: BundlerPoolLimits;
}

/** A started process. */
export class BundlerProcess {
  readonly #child: ConfinedProcess;
  readonly #options: BundlerProcessOptions;
  readonly #dialect: Dialect<unknown>;
  #onMessage: (message: unknown) => void = () => this.kill(); // it has nothing to say without work
  readonly #waiting: unknown[] = [];
  #isDraining = false;
  #isGone = false;

  private constructor(child: ConfinedProcess, dialect: Dialect<unknown>, options: BundlerProcessOptions) {
    this.#child = child;
    this.#dialect = dialect;
    this.#options = options;
    void child.exited.then(() => this.#isGone = true);
    child.output.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** Starts a process and waits for its first word; throws a HostError. */
  static async start(options: BundlerProcessOptions): Promise<BundlerProcess> {
    const { child, dialect } = await startEngine(options.plan, options.limits);
    const started = new BundlerProcess(child, dialect, options);
    const isReady = await started.#untilReady();
    child.hold(false); // nobody waits for a process without work
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
    this.#child.hold(true);
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
    this.#onMessage = (message) => {
      try {
        const output = this.#serve(session, message);
        if (output !== null) resolve(output);
      } catch (error) {
        reject(error instanceof BundleError ? error : lost(session.target, error));
      }
    };
    this.#child.hold(true);
    try {
      signal?.throwIfAborted();
      this.#child.pipe.write(this.#dialect.order(session));
      const output = await promise;
      if (output.report.isBroken) throw lost(session.target);
      return output;
    } catch (error) {
      this.kill();
      throw error;
    } finally {
      this.#child.hold(false);
      this.#onMessage = () => this.kill();
      clearTimeout(deadline);
      clearInterval(poll);
      signal?.removeEventListener("abort", abort);
    }
  }

  #serve(session: BuildSession, message: unknown): BuildOutput | null {
    const { reply, output } = this.#dialect.serve(session, message);
    if (reply !== undefined) this.#child.pipe.write(reply);
    if (output === undefined) return null;
    if (output.report.codeBytes > this.#options.limits.bundleCodeBytesMax) {
      throw overBound(session.target, "code", "bundleCodeBytesMax", this.#options.limits);
    }
    return output;
  }

  #read(chunk: Buffer): void {
    if (this.#isGone) return;
    try {
      this.#waiting.push(...this.#dialect.read(chunk));
    } catch {
      return this.kill(); // a message out of bounds: the build that runs ends as lost
    }
    if (!this.#isDraining) this.#drain();
  }

  /** Answers in turns: resolving is the host's own work, and a plugin with many imports must not keep it from others. */
  #drain(): void {
    const end = performance.now() + this.#options.poolLimits.bundlerTurnMs;
    let next = 0;
    while (next < this.#waiting.length && performance.now() < end && !this.#isGone) {
      this.#onMessage(this.#waiting[next++]!);
    }
    this.#waiting.splice(0, next);
    this.#isDraining = this.#waiting.length > 0 && !this.#isGone;
    if (this.#isDraining) setImmediate(() => this.#drain());
  }

  async #untilReady(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#onMessage = (message) => resolve(this.#dialect.isReady(message));
    const timer = setTimeout(() => resolve(false), this.#options.poolLimits.bundlerStartMs);
    void this.#child.exited.then(() => resolve(false));
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#onMessage = () => this.kill();
    }
  }
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
