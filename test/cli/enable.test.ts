/** A plugin that was stopped for killing workers, as a person at the command line sees it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporary } from "../bundler/support.ts";
import { pluginOf } from "../host/support.ts";
import { programs, shell } from "./support.ts";

test("[T11] it does not run, list and info say why, and enable lets it run again", async () => {
  const cwd = temporary();
  const home = join(temporary(), "home");
  pluginOf("echo", { echo: "export const echo = (input) => input.text;" }, { under: cwd });
  const path = programs();
  const type = (text: string) => shell(text, { cwd, home, path });
  const trusted = await type("sallyport check ./echo --json");
  const { fingerprint } = (JSON.parse(trusted.stdout) as { value: { fingerprint: string } }).value;
  expect((await type(`sallyport trust ./echo --yes --fingerprint ${fingerprint}`)).exit).toBe(0);
  const run = `sallyport run ./echo echo --input '{"text":"hello"}'`;
  expect(await type(run)).toMatchObject({ exit: 0, stdout: expect.stringContaining("hello") });

  const record = {
    tenant: "local",
    plugin: "echo",
    fingerprint,
    deaths: 3,
    since: "2026-01-01T00:00:00.000Z",
  };
  mkdirSync(join(home, "state"), { recursive: true });
  const text = JSON.stringify({ v: 1, quarantined: [record] });
  writeFileSync(join(home, "state/quarantine.json"), text, { mode: 0o600 });
  expect(await type(run)).toMatchObject({
    exit: 3,
    stderr: expect.stringMatching(/ERR_TRUST_QUARANTINED.*killed 3 workers.*sallyport enable echo/s),
  });
  for (const verb of ["list", "info"]) {
    expect((await type(`sallyport ${verb} ./echo`)).stdout).toMatch(/quarantined.*killed 3 workers/s);
  }
  expect(await type("sallyport enable ./echo")).toMatchObject({ exit: 0, stdout: '"echo" may run again\n' });
  expect(await type(run)).toMatchObject({ exit: 0, stdout: expect.stringContaining("hello") });
  expect((await type("sallyport enable ./echo --json")).stdout).toContain('"wasQuarantined":false');
}, 180_000);
