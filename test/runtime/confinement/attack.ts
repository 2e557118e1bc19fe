/** Starts the probe under a plan, with a host to attack: a listener, a process to kill, files to read. */
import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type ConfinementPlan, enginePath, startConfined } from "../../../runtime/mod.ts";

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** What each attack came to: `succeeded`, or `refused: CODE`. */
export async function attackUnder(plan: ConfinementPlan): Promise<Record<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-probe-"));
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const victim = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  const addon = join(folder, "x.node");
  copyFileSync(enginePath(), addon);
  writeFileSync(join(folder, "secret"), "secret");
  const facts = {
    hostPid: process.pid,
    victimPid: victim.pid,
    port: (server.address() as { port: number }).port,
    addon,
    secretFile: join(folder, "secret"),
    databaseFile: join(folder, "x.db"),
  };
  try {
    const probe = await startConfined({
      plan,
      entry: fileOf("./probe.ts"),
      readable: [fileOf("../../../runtime/worker/confine_self.ts"), fileOf("../../../package.json")],
      addon: enginePath(),
      nodeFlags: ["--no-turboshaft-loop-unrolling", "--no-node-snapshot"],
      args: [{ file: enginePath() }, JSON.stringify(facts)],
    });
    let text = "";
    probe.pipe.setEncoding("utf8").on("data", (chunk: string) => text += chunk);
    const exit = await probe.exited;
    if (text === "") throw new Error(`the probe said nothing: ${JSON.stringify(exit)} ${probe.stderrTail()}`);
    return JSON.parse(text) as Record<string, string>;
  } finally {
    victim.kill("SIGKILL");
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
