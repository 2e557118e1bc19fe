/** A peer's process, seen from the harness. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { denoPath } from "./deno.ts";
import type { Order } from "./measure.ts";
import { type PeerName, PEERS } from "./peers/mod.ts";
import { BENCH, RUN, WORK } from "./places.ts";

interface Answer {
  readonly samples?: readonly number[];
  readonly error?: string;
}

const SERVE = join(BENCH, "serve.ts");
const NODE_FLAGS = [
  "--expose-gc",
  "--no-node-snapshot",
  "--disable-warning=ExperimentalWarning",
];
/** The longest that a peer may take over what is not bounded otherwise. */
const ORDER_MS = 60_000;
const DENO_FLAGS = [
  "run",
  "--allow-all",
  "--quiet",
  "--no-config",
  "--no-check",
  "--unstable-worker-options",
  "--v8-flags=--expose-gc",
];

/** One started peer. */
export class RemotePeer {
  /** Which one. */
  readonly name: PeerName;
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;

  private constructor(name: PeerName) {
    const [command, flags] = PEERS[name].runtime === "deno"
      ? [denoPath(), DENO_FLAGS]
      : [process.execPath, NODE_FLAGS];
    this.name = name;
    this.#child = spawn(command, [...flags, SERVE, name], {
      stdio: ["pipe", "pipe", "inherit"],
      detached: true, // a group of its own, so that all that it starts ends with it
      env: {
        ...process.env,
        SALLYPORT_BENCH_RUN: RUN,
        DENO_DIR: join(WORK, "deno"),
        NO_COLOR: "1",
      },
    });
    this.#answers = createInterface({ input: this.#child.stdout! })
      [Symbol.asyncIterator]();
  }

  /** Starts a peer; settles when it is ready. Rejects when it cannot start. */
  static async start(name: PeerName): Promise<RemotePeer> {
    const peer = new RemotePeer(name);
    await peer.#answer(ORDER_MS);
    return peer;
  }

  /** Has something measured. Rejects when the peer fails, or has no answer in time; then it is ended. */
  async order(order: Order, limitMs = ORDER_MS): Promise<readonly number[]> {
    this.#child.stdin!.write(JSON.stringify(order) + "\n");
    return await this.#answer(limitMs);
  }

  /** Kills it with all that it started. */
  async end(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const ended = new Promise((done) => this.#child.once("exit", done));
    process.kill(-pid, "SIGKILL");
    await ended;
  }

  async #answer(limitMs: number): Promise<readonly number[]> {
    const timer = setTimeout(() => void this.end(), limitMs);
    try {
      const { value, done } = await this.#answers.next();
      if (done) throw new Error("its process ended, or took too long");
      const { samples, error } = JSON.parse(value) as Answer;
      if (samples === undefined) throw new Error(error);
      return samples;
    } finally {
      clearTimeout(timer);
    }
  }
}
