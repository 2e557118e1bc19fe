import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { directoryLoader } from "../../src/mod.ts";
import { approved, hosted, pluginOf, temporary } from "./support.ts";

/** Process ids whose parent is this process. */
function children(): readonly number[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const stat = readFileSync(join("/proc", pid, "stat"), "utf8");
      const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return Number(parent) === process.pid ? [Number(pid)] : [];
    } catch {
      return []; // it has ended meanwhile
    }
  });
}

test("[R42] with no plugin, and with plugins that nobody trusts, no process is started; with a trusted one, some are", async () => {
  const before = children().length;
  const host = await hosted();
  const none = host.tenant("none", {
    plugins: directoryLoader([{ directory: temporary(), origin: "user" }]),
  });
  expect(await none.list()).toEqual([]);
  const untrusted = host.tenant("untrusted", {
    plugins: [pluginOf("idle", { go: "export const go = () => 1;" })],
  });
  expect((await untrusted.list()).map(({ state }) => state)).toEqual(["untrusted"]);
  expect(children().length).toBe(before);
  expect(await host.workerPids()).toEqual([]);
  const trusted = await approved(host, "trusted", {
    plugins: [pluginOf("busy", { go: "export const go = () => 1;" })],
  });
  expect(await trusted.call("go", {})).toBe(1);
  expect(children().length).toBeGreaterThan(before);
});
