/** Streams and progress at a real terminal, which `script` of util-linux makes. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { temporary, write } from "../bundler/support.ts";
import { ROOT } from "./support.ts";

const hasScript = spawnSync("script", ["--version"]).status === 0;

/** What `sallyport` writes at a terminal, both its outputs in one. */
function atTerminal(line: string, cwd: string): string {
  const command = `exec '${process.execPath}' '${join(ROOT, "bin/sallyport.js")}' ${line}`;
  const home = temporary();
  const { stdout } = spawnSync("script", ["-qec", command, "/dev/null"], {
    cwd,
    env: { PATH: process.env.PATH ?? "", HOME: home, SALLYPORT_HOME: join(home, "state"), TERM: "xterm" },
    encoding: "utf8",
  });
  return stdout.replaceAll("\r\n", "\n");
}

test.runIf(hasScript)("progress is seen at a terminal, and what a stream holds cannot move it", {
  timeout: 120_000,
}, () => {
  const cwd = temporary();
  write(cwd, {
    "plugin.yaml": `name: flow
version: "1"
capabilities:
  tools:
    - { name: go, target: "go.ts:go" }
`,
    "go.ts": `export async function* go(_, { progress }) {
      progress(1, 2, "half \\x1b[2J");
      yield "one \\x1b";
      yield "[2J two\\n";
      yield new Uint8Array([27, 91]);
      progress(2);
    }`,
  });
  const shown = atTerminal("run . go --yes", cwd);
  expect(shown).toContain("flow | 1/2 half \\u{1b}[2J\n");
  expect(shown).toContain("flow | 2\n");
  expect(shown).toContain("one \\u{1b}[2J two\n[2 bytes]\n");
  expect(shown).not.toContain("\x1b");
  // Whoever means it gets it.
  expect(atTerminal("run . go --yes --raw", cwd)).toContain("one \x1b[2J two\n\x1b[");
});
