/** A process for each plugin, of Node.js (which confines nothing) or of Deno without any permission. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { bundleOf } from "../bundles.ts";
import { denoPath } from "../deno.ts";
import { WORK } from "../places.ts";
import { type Message, messageSandbox } from "./messages.ts";
import type { Peer, Sandbox } from "./peer.ts";

const GUEST = join(import.meta.dirname, "../fixtures/process_guest.mjs");
const MEMORY = "--max-old-space-size=128";
const DENO_FLAGS = [
  "--quiet",
  "--no-prompt",
  "--no-remote",
  "--no-npm",
  "--no-config",
  "--no-check",
];

/** Makes the peer. */
export async function childProcess(variant: string): Promise<Peer> {
  const [command, args] = variant === "deno"
    ? [denoPath(), ["run", ...DENO_FLAGS, `--v8-flags=${MEMORY}`, GUEST]]
    : [process.execPath, [MEMORY, GUEST]];
  return { open: async (fixture) => start(command, args, bundleOf(fixture)) };
}

function start(
  command: string,
  args: readonly string[],
  source: string,
): Sandbox {
  const child = spawn(command, args, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { DENO_DIR: join(WORK, "deno"), NO_COLOR: "1" },
  });
  const post = (message: object): void => void child.stdin.write(JSON.stringify(message) + "\n");
  const { sandbox, take } = messageSandbox(post, () =>
    new Promise((done) => {
      child.once("exit", () => done());
      child.kill("SIGKILL");
    }));
  createInterface({ input: child.stdout }).on(
    "line",
    (line) => take(JSON.parse(line) as Message),
  );
  post({ source });
  return sandbox;
}
