import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "%s on the launcher ends the run that it started, and the launcher tells of it",
    { timeout: 30_000 },
    async (signal) => {
      const script = join(work, "wait.ts");
      writeFileSync(script, 'console.log("up");\nawait new Promise((done) => setTimeout(done, 25_000));\n');
      const bin = join(ROOT, "bin/sallyport.js");
      const launcher = spawn(process.execPath, ["--import", OLD, bin, "run", script], {
        env: { HOME: work, PATH: "/usr/bin:/bin" },
        stdio: ["ignore", "pipe", "ignore"],
      });
      const ended = new Promise((resolve) => launcher.once("exit", (code, how) => resolve(how ?? code)));
      // The pipe closes when the last that holds it is gone: the run, not only the launcher.
      const closed = new Promise((resolve) => launcher.stdout.once("close", resolve));
      await new Promise((resolve) => launcher.stdout.once("data", resolve));
      launcher.kill(signal);
      expect(await ended).toBe(signal);
      await closed;
    },
  );

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
