/** Which plugins share a worker process, by what they hold, offer and may be asked about. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type HostOptions, type PermissionRequest } from "../../src/mod.ts";
import { approved, hosted, pluginOf } from "./support.ts";

const GO = "export const go = () => 1;";
const POLICY = { permissions: { env: true, storage: true } as PermissionRequest, environment: { WORD: "w" } };

/** How many workers serve these plugins of one tenant, given by the heads of their manifests, after each was called. */
async function workersOf(heads: readonly string[], options: HostOptions = {}): Promise<number> {
  const host = await hosted(options);
  const plugins = heads.map((head, n) =>
    pluginOf(`p${n}`, { [`go${n}`]: GO.replace("go", `go${n}`) }, { head })
  );
  const tenant = await approved(host, "acme", { plugins, policy: POLICY });
  for (const [n] of heads.entries()) expect(await tenant.call(`go${n}`, {})).toBe(1);
  return (await host.workerPids()).length;
}

test("[T15] plugins of one tenant share a worker, but for those that hold something grave", async () => {
  const harmless = ["", "permissions: { storage: true }\n"];
  expect(await workersOf(harmless)).toBe(1);
  const grave = 'permissions: { env: ["WORD"] }\n';
  expect(await workersOf([...harmless, grave, grave])).toBe(3);
});

test("[T15] as many as the host's maker wants, and never more than a grave grant allows", async () => {
  const grave = 'permissions: { env: ["WORD"] }\n';
  expect(await workersOf(["", ""], { cordon: "plugin" })).toBe(2);
  expect(await workersOf(["", "", grave], { cordon: () => "host" })).toBe(2);
});

test("[T15] where a person may grant more while it runs, a plugin works alone", async () => {
  const asker = { name: "nobody", ask: () => Promise.resolve("no" as const) };
  expect(await workersOf(["", ""], { asker })).toBe(2);
});

test("[T11] a plugin that offers a guardrail works alone, though it holds nothing grave", async () => {
  const host = await hosted();
  const guard = pluginOf("guard", { look: GO.replace("go", "look") });
  const manifest = readFileSync(join(guard, "plugin.yaml"), "utf8");
  const guardrail = '  guardrails:\n    - { name: g, target: "guard.ts:guard", on: [tool.input] }\n';
  writeFileSync(join(guard, "plugin.yaml"), manifest + guardrail);
  writeFileSync(join(guard, "guard.ts"), "export const guard = () => {};\n");
  const tenant = await approved(host, "acme", { plugins: [pluginOf("plain", { go: GO }), guard] });
  expect([await tenant.call("go", {}), await tenant.call("look", {})]).toEqual([1, 1]);
  expect(await host.workerPids()).toHaveLength(2);
});

test("[A07] one bundle under two cordons has the same manifest and gives the same results", async () => {
  const directory = pluginOf("same", { go: "export const go = ({ n }) => ({ n, twice: n * 2 });" });
  const seen = await Promise.all((["plugin", "tenant"] as const).map(async (cordon) => {
    const host = await hosted({ cordon });
    const tenant = await approved(host, "acme", {
      plugins: [directory, pluginOf("beside", { stay: GO.replace("go", "stay") })],
    });
    const results = [await tenant.call("go", { n: 21 }), await tenant.call("stay", {})];
    return { manifest: await tenant.manifest("same"), results, workers: (await host.workerPids()).length };
  }));
  expect(seen.map(({ workers }) => workers)).toEqual([2, 1]);
  expect(seen[0]!.manifest).toEqual(seen[1]!.manifest);
  expect(seen[0]!.results).toEqual(seen[1]!.results);
});
