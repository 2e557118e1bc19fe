import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { planConfinement, startConfined } from "../../../runtime/mod.ts";

const plan = planConfinement("best");

test("[T01] a child that is killed while it starts leaves no process behind", async () => {
  const marker = randomUUID();
  for (let round = 0; round < 12; round++) {
    const child = await startConfined({
      plan,
      entry: fileURLToPath(new URL("./probe.ts", import.meta.url)),
      readable: [],
      args: [marker],
    });
    if (round % 2 === 1) await new Promise((resolve) => setTimeout(resolve, round));
    child.kill();
    await child.exited;
  }
  await expect.poll(() => processesWith(marker), { timeout: 5_000 }).toEqual([]);
});

test("[T01] and one that is left alone is there to be seen", async () => {
  const marker = randomUUID();
  const child = await startConfined({
    plan,
    entry: fileURLToPath(new URL("./probe.ts", import.meta.url)),
    readable: [],
    args: [marker],
  });
  if (process.platform === "linux") expect(processesWith(marker).length).toBeGreaterThan(0);
  child.kill();
  await child.exited;
});

/** Processes of this machine whose command line holds a text. */
function processesWith(text: string): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
    } catch {
      return false; // it ended while it was looked at
    }
  });
}
