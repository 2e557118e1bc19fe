/**
 * Command lines as folders: `command` is a shell script, `fixtures/` its working directory, `stdout`, `stderr` and `exit`
 * what it must leave; a missing stderr is an empty one. Where there is a file `needs_sandbox`, programs of plugins must be
 * confined, or it is left out. SALLYPORT_TEST_WRITE=1 writes what came instead of comparing.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { temporary } from "../bundler/support.ts";
import { rememberedJail } from "../../runtime/mod.ts";
import { VERSION } from "../../src/mod.ts";
import { type Outcome, programs, ROOT, shell } from "./support.ts";

const SPECS = join(ROOT, "test/specs");

/** Runs every second spec, beginning with the first or the second: a file of tests has one processor, and there are many. */
export async function runSpecs(first: 0 | 1): Promise<void> {
  const path = programs();
  const canRun = process.env.SALLYPORT_TEST_STRONG === "1" || typeof await rememberedJail()() !== "string";
  for (const name of readdirSync(SPECS).sort().filter((_name, place) => place % 2 === first)) {
    const folder = join(SPECS, name);
    const title = readFileSync(join(folder, "command"), "utf8").split("\n")[0]!.replace(/^# /, "");
    const isLeftOut = existsSync(join(folder, "needs_sandbox")) && !canRun;
    test.skipIf(isLeftOut)(`${name}: ${title}`, { timeout: 180_000 }, async () => {
      const place = temporary();
      const cwd = join(place, "work");
      mkdirSync(cwd);
      if (existsSync(join(folder, "fixtures"))) {
        cpSync(join(folder, "fixtures"), cwd, { recursive: true, verbatimSymlinks: true });
      }
      const home = join(place, "home");
      mkdirSync(join(home, "user"), { recursive: true });
      const came = normalised(
        await shell(readFileSync(join(folder, "command"), "utf8"), { cwd, home, path }),
        place,
      );
      if (process.env.SALLYPORT_TEST_WRITE === "1") return write(folder, came);
      expect(came).toEqual({
        stdout: readFileSync(join(folder, "stdout"), "utf8"),
        stderr: existsSync(join(folder, "stderr")) ? readFileSync(join(folder, "stderr"), "utf8") : "",
        exit: Number(readFileSync(join(folder, "exit"), "utf8")),
      });
    });
  }
}

/** What differs between two runs, machines and versions is named instead. */
function normalised({ stdout, stderr, exit }: Outcome, place: string): Outcome {
  const plain = (text: string): string =>
    text.replaceAll(/^sallyport: confinement of workers is .*\n/gm, "")
      .replaceAll(join(place, "work"), "<work>")
      .replaceAll(join(place, "home"), "<home>")
      .replaceAll(ROOT, "<root>")
      .replaceAll(/\bsha256:[0-9a-f]{64}\b/g, "sha256:<hash>")
      .replaceAll(/confinement (?:strong|medium|weak): .*$/gm, "confinement <level>")
      .replaceAll(VERSION, "<version>")
      .replaceAll(/\b\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d\.\d{3}Z(?:-\d+-[0-9a-f]{8})?/g, "<time>");
  return { stdout: plain(stdout), stderr: plain(stderr), exit };
}

function write(folder: string, { stdout, stderr, exit }: Outcome): void {
  writeFileSync(join(folder, "stdout"), stdout);
  writeFileSync(join(folder, "exit"), `${exit}\n`);
  if (stderr !== "") writeFileSync(join(folder, "stderr"), stderr);
  else rmSync(join(folder, "stderr"), { force: true });
}
