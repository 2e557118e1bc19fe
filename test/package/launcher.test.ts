import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { VERSION } from "../../src/version.ts";

const ROOT = join(import.meta.dirname, "../..");
const work = mkdtempSync(join(tmpdir(), "sallyport-launcher-"));
/** Makes any Node say that it is one which the engine has no binary for. */
const OLD = "data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '20.11.0' })";

afterAll(() => rmSync(work, { recursive: true, force: true }));

function launch(bin: string, ...flags: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [...flags, bin, "--version"], {
    encoding: "utf8",
    env: { HOME: work, PATH: "/usr/bin:/bin" },
  });
}

describe("the launcher", () => {
  test("[T21] on a Node that the engine supports it runs the command line with that one", () => {
    expect(launch(join(ROOT, "bin/sallyport.js"))).toMatchObject({ status: 0, stdout: `${VERSION}\n` });
  });

  test("[T21] on another Node it finds the one that was installed with it", () => {
    expect(launch(join(ROOT, "bin/sallyport.js"), "--import", OLD)).toMatchObject({
      status: 0,
      stdout: `${VERSION}\n`,
    });
  });

  test("[T21] where none was installed it says so in one line, with the cure, and ends with 6", () => {
    const alone = join(work, "alone/bin");
    mkdirSync(alone, { recursive: true });
    cpSync(join(ROOT, "bin/sallyport.js"), join(alone, "sallyport.mjs"));
    const { status, stdout, stderr } = launch(join(alone, "sallyport.mjs"), "--import", OLD);
    expect({ status, stdout }).toEqual({ status: 6, stdout: "" });
    expect(stderr.trim().split("\n")).toEqual([
      expect.stringMatching(/Node 20\.11\.0 cannot run .* Install Node 24 or 26/),
    ]);
  });

  test("[T21] the package brings Node along, in the version that it is tested with", () => {
    expect(packageJson.optionalDependencies.node).toBe(packageJson.devDependencies.node);
    expect(packageJson.version).toBe(VERSION);
  });
});
