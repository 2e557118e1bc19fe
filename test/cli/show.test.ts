/** What `show` prints at a real terminal: `script` of util-linux makes one. */
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { temporary, write } from "../bundler/support.ts";
import { ROOT } from "./support.ts";

const hasScript = spawnSync("script", ["--version"]).status === 0;

test.skipIf(!hasScript)(
  "[T16] at a terminal a document cannot hide anything, unless it is asked for as it is (needs script)",
  () => {
    const home = temporary();
    mkdirSync(join(home, "state"), { mode: 0o700 });
    write(join(home, "state"), { "prompts/brief.md": "left\u202eright {{x}}\n$1\n" });
    const shown = (flags: string): string =>
      spawnSync("script", [
        "-qec",
        `'${process.execPath}' '${join(ROOT, "bin/sallyport.js")}' show brief 'a\u200bb' ${flags}`,
        "/dev/null",
      ], {
        cwd: home,
        env: { PATH: process.env.PATH ?? "", HOME: home, SALLYPORT_HOME: join(home, "state"), TERM: "xterm" },
        encoding: "utf8",
      }).stdout.replaceAll("\r\n", "\n");
    expect(shown("")).toContain("left\\u{202e}right {{x}}\na\\u{200b}b\n");
    expect(shown("--raw")).toContain("left\u202eright {{x}}\na\u200bb\n");
  },
);
