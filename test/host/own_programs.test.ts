/** Programs that a plugin brings along, and programs by their names: what was approved is what runs (T06, T07). */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { rememberedJail } from "../../runtime/mod.ts";
import { findPrograms } from "../../src/programs.ts";
import { approve, approved, failureOf, hosted, pluginOf, refusalOf, temporary } from "./support.ts";

const canRun = process.env.SALLYPORT_TEST_STRONG === "1" || typeof await rememberedJail()() !== "string";
const CODE = `export const go = async ({ name }) => {
  const { stdout } = await new Deno.Command(name, { args: ["x"] }).output();
  return new TextDecoder().decode(stdout);
};`;
const TOOL = '#!/bin/sh\necho "tool $1"\n';
const POLICY = { permissions: { run: true } } as const;

describe("a program of the plugin's own", () => {
  test.skipIf(!canRun)(
    "[T06][T07] is pinned by its entry: it runs as approved, and a change of it ends the trust",
    async () => {
      const host = await hosted();
      const directory = pluginOf("bringer", { go: CODE }, {
        head: "permissions: { run: { allow: [./bin/tool] } }\n",
        files: { "bin/tool": TOOL, "bin/other": TOOL },
      });
      const tenant = await approved(host, "acme", { plugins: [directory], policy: POLICY });
      expect((await tenant.fingerprint("bringer")).files).toHaveProperty("bin/tool");
      expect(await tenant.call("go", { name: "./bin/tool" })).toBe("tool x\n");
      const other = await failureOf(tenant.call("go", { name: "./bin/other" }));
      expect(other.code).toBe("ERR_NOT_CAPABLE");
      writeFileSync(join(directory, "bin/tool"), "#!/bin/sh\necho changed\n");
      const changed = await refusalOf(() => tenant.call("go", { name: "./bin/tool" }));
      expect(changed).toMatchObject({ code: "ERR_TRUST_CHANGED", details: { changed: ["bin/tool"] } });
    },
  );

  test("[T06] that is not there keeps the plugin from being trusted", async () => {
    const host = await hosted();
    const directory = pluginOf("bringer", { go: CODE }, { head: "permissions: { run: [./bin/tool] }\n" });
    const tenant = host.tenant("acme", { plugins: [directory], policy: POLICY });
    const error = await failureOf(approve(tenant, "bringer"));
    expect(error).toMatchObject({ code: "ERR_MANIFEST_INVALID", details: { missing: ["bin/tool"] } });
  });

  test.skipIf(!canRun)("[T07] that no entry names is not run, however wide the grant", async () => {
    const host = await hosted();
    const directory = pluginOf("bringer", { go: CODE }, {
      head: "permissions: { run: true, read: [./bin] }\n",
      files: { "bin/tool": TOOL },
    });
    const neighbour = pluginOf("neighbour", { go: CODE }, { files: { "bin/tool": TOOL } });
    const tenant = host.tenant("acme", { plugins: [directory, neighbour], policy: POLICY });
    await approve(tenant, "bringer");
    for (const name of ["./bin/tool", join(neighbour, "bin/tool")]) {
      const error = await failureOf(tenant.call("plugin__bringer__go", { name }));
      expect([name, error.code]).toEqual([name, "ERR_NOT_CAPABLE"]);
      expect(error.details.rule).toContain("built-in");
    }
    expect(await tenant.call("plugin__bringer__go", { name: "echo" })).toBe("x\n");
  });
});

test("[T34] a name means the first program of that name in fixed places, and for one grant never another", () => {
  const place = temporary();
  const [first, second] = ["first", "second"].map((name) => join(place, name)) as [string, string];
  for (const folder of [first, second]) mkdirSync(folder);
  const which = findPrograms([first, second]);
  expect(which("tool")).toBeUndefined();
  writeFileSync(join(first, "tool"), "no program");
  mkdirSync(join(first, "folder"));
  writeFileSync(join(second, "tool"), TOOL, { mode: 0o755 });
  expect([which("tool"), which("folder")]).toEqual([join(second, "tool"), undefined]);
  chmodSync(join(first, "tool"), 0o755);
  expect([which("tool"), findPrograms([first, second])("tool")]).toEqual([
    join(second, "tool"),
    join(first, "tool"),
  ]);
  expect(findPrograms()("sh")).toMatch(/^\/(?:usr\/)?bin\/sh$/);
});
