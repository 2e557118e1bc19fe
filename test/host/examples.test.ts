/** The examples: each is clean, and there is one for each surface. */
import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { PluginCheck } from "../../src/mod.ts";
import { SURFACES } from "../../src/surfaces/mod.ts";
import { hosted, ROOT } from "./support.ts";

/** It needs a package that is installed beside it, and is run by the demonstration. */
const INSTALLED = "markdown-report";
const directories = globSync("examples/**/plugin.yaml", { cwd: ROOT })
  .map((path) => join(ROOT, dirname(path)))
  .filter((directory) => !directory.endsWith(INSTALLED));
const checks = new Map<string, PluginCheck>();

beforeAll(async () => {
  const host = await hosted();
  const tenant = host.tenant("acme", { plugins: directories });
  for (const { name } of await tenant.list()) checks.set(name, await tenant.check(name));
}, 120_000);

test("each passes the check of its author without a problem or a word of advice", () => {
  expect(checks.size).toBe(directories.length);
  for (const { name, problems, advice } of checks.values()) {
    // The thief uses what it does not ask for; that is what it is for.
    expect([name, problems, name === "thief" ? [] : advice]).toEqual([name, [], []]);
  }
});

test.each(Object.keys(SURFACES))("there is one for %s, beside the one for everything", (surface) => {
  const names = [...checks.values()].filter(({ capabilities }) =>
    capabilities.some((each) => each.surface === surface && each.live)
  ).map(({ name }) => name);
  expect(names).toContain("everything");
  expect(names.length).toBeGreaterThan(1);
});
