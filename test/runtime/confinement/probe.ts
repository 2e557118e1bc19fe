/**
 * A test entry that starts as a worker does and then attacks, as code that took a worker over would. It holds on to the
 * functions that a worker takes away from itself, because native code would have them too.
 */
import { createRequire } from "node:module";
import { connect, Socket } from "node:net";
import process from "node:process";
import { dropAuthority } from "../../../runtime/worker/confine_self.ts";

const [enginePath, facts] = [process.argv[2]!, JSON.parse(process.argv[3]!) as Facts];
createRequire(import.meta.url)(enginePath);
const { kill, dlopen, _kill } = process as typeof process & { _kill: unknown };
dropAuthority();
Object.assign(process, { _kill });
const held = { kill: kill.bind(process), dlopen: dlopen.bind(process) };

/** What the host tells of itself, so that the attacks have something to reach. */
export interface Facts {
  readonly hostPid: number;
  readonly victimPid: number;
  readonly port: number;
  readonly addon: string;
  readonly secretFile: string;
  readonly databaseFile: string;
}

const ATTACKS: Readonly<Record<string, () => unknown>> = {
  "read /etc/passwd": async () => (await import("node:fs")).readFileSync("/etc/passwd", "utf8"),
  "read a file of the host's user": async () =>
    (await import("node:fs")).readFileSync(facts.secretFile, "utf8"),
  "write a file": async () => (await import("node:fs")).writeFileSync("/tmp/sallyport-probe", "x"),
  "list a directory": async () => (await import("node:fs")).readdirSync("/"),
  "spawn a process": async () => {
    const { spawnSync } = await import("node:child_process");
    const { error, status } = spawnSync("/bin/true");
    if (error !== undefined || status !== 0) throw error ?? new Error("it did not run");
  },
  "start a worker thread": async () => {
    const { Worker } = await import("node:worker_threads");
    await new Promise((resolve, reject) =>
      new Worker("0", { eval: true }).once("exit", resolve).once("error", reject)
    );
  },
  "connect to a listener of the host": () => connected(facts.port),
  "connect to a listener of the host by name": async () => {
    const { lookup } = await import("node:dns/promises");
    await lookup("localhost");
  },
  "signal the host": () => {
    held.kill(facts.hostPid, 0);
  },
  "open the host's inspector by SIGUSR1": async () => {
    held.kill(facts.victimPid, "SIGUSR1");
    await new Promise((resolve) => setTimeout(resolve, 300));
    await connected(9229);
  },
  "kill a process of the host's user": () => {
    held.kill(facts.victimPid, "SIGKILL");
  },
  "load a native addon from a plugin's directory": () => {
    held.dlopen({ exports: {} }, facts.addon);
  },
  "open a SQLite file": async () => {
    const { DatabaseSync } = await import("node:sqlite");
    new DatabaseSync(facts.databaseFile).exec("create table if not exists t (x)");
  },
  "see the environment": () => {
    if (Object.keys(process.env).length === 0) throw new Error("it is empty");
  },
};

const pipe = new Socket({ fd: 3, readable: true, writable: true });
const results: Record<string, string> = {};
for (const [name, attack] of Object.entries(ATTACKS)) {
  try {
    await attack();
    results[name] = "succeeded";
  } catch (error) {
    results[name] = `refused: ${codeOf(error)}`;
  }
}
pipe.end(JSON.stringify(results), () => process.exit(0));

function connected(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => (socket.destroy(), resolve())).once("error", reject);
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error ? String("code" in error ? error.code : error.message) : String(error);
}
