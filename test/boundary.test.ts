import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LEVELS, PLACE } from "../src/boundary.ts";
import { planConfinement } from "../runtime/mod.ts";
import { pluginOf, ROOT, temporary } from "./host/support.ts";
import { programs, shell } from "./cli/support.ts";

test("[A17] info tells the boundary in the words of SECURITY.md, with the level that this machine reaches", {
  timeout: 60_000,
}, async () => {
  const page = readFileSync(join(ROOT, "SECURITY.md"), "utf8").replaceAll("**", "").replaceAll(/\s+/g, " ");
  expect(page).toContain(PLACE);
  for (const [level, words] of Object.entries(LEVELS)) {
    expect(page).toMatch(new RegExp(`- ${level}: .*${words}`));
  }
  const cwd = temporary();
  pluginOf("one", { go: "export const go = () => 1;" }, { under: cwd });
  const { stdout } = await shell("sallyport info ./one", { cwd, home: temporary(), path: programs() });
  const { level } = planConfinement("best");
  expect(stdout).toContain(`${PLACE}; confinement ${level}: ${LEVELS[level]}`);
});
