/** Command hooks by the command line, from trusting them to what a person sees of them. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { rememberedJail } from "../../runtime/mod.ts";
import { temporary, write } from "../bundler/support.ts";
import { programs, shell } from "./support.ts";

const canRun = process.env.SALLYPORT_TEST_STRONG === "1" || typeof await rememberedJail()() !== "string";

const MANIFEST = `name: guarded
version: "1"
permissions: { run: [./hooks/guard], intercept: [event.sessionStart] }
capabilities:
  tools: [{ name: go, target: go.ts:go, input: { type: object } }]
  hooks:
    PreToolUse: [{ matcher: "go", hooks: [{ type: command, command: [hooks/guard, call], files: [hooks/words] }] }]
    SessionStart: [{ hooks: [{ type: command, command: [hooks/guard, session], files: [hooks/words] }] }]
`;
const GUARD = `#!/bin/sh
event=$(cat)
case "$1 $event" in
  *'"bad"'*) { printf '\\033[2J\\033]0;owned\\007'; cat "$(dirname "$0")/words"; } >&2; exit 2 ;;
  call*) echo '{"decision":"replace","value":{"as":"replaced"}}' ;;
esac
`;

test.skipIf(!canRun)(
  "[L52][L33][T07][T16] a command hook is shown, trusted, run where it belongs, and its words cannot move a terminal",
  { timeout: 180_000 },
  async () => {
    const cwd = temporary();
    const home = join(temporary(), "home");
    mkdirSync(join(home, "user"), { recursive: true });
    write(cwd, {
      ".sallyport/plugins/guarded/plugin.yaml": MANIFEST,
      ".sallyport/plugins/guarded/go.ts": "export const go = (input) => input;",
      ".sallyport/plugins/guarded/hooks/guard": GUARD,
      ".sallyport/plugins/guarded/hooks/words": "not these words\n",
    });
    const path = programs();
    const run = (line: string) => shell(`umask 077; sallyport ${line}`, { cwd, home, path });
    const untrusted = await run(`emit SessionStart --input '{"user":"bad"}' --json`);
    expect(JSON.parse(untrusted.stdout)).toMatchObject({ value: { verdict: "continue" } });
    const [hash] = /sha256:\w{64}/.exec((await run("check guarded --json")).stdout)!;
    const trusted = await run(`trust guarded --yes --fingerprint ${hash}`);
    expect(trusted.stdout).toContain('command: ["hooks/guard", "call"]');
    expect(trusted.stdout).toMatch(/Executables:\n {2}hooks\/guard .*\n {2}hooks\/words /);
    const passed = await run(`run guarded go --input '{"as":"given"}' --json`);
    expect(JSON.parse(passed.stdout)).toMatchObject({ value: { as: "replaced" } });
    const stopped = await run(`run guarded go --input '{"as":"bad"}'`);
    expect(stopped).toMatchObject({ exit: 4, stdout: "" });
    expect(stopped.stderr).toContain("\\u{1b}[2J\\u{1b}]0;owned\\u{7}not these words");
    expect(stopped.stderr).toContain(
      '"guarded/PreToolUse/0/0" of plugin "guarded" stopped it, in its own words',
    );
    const told = await run(`emit SessionStart --input '{"user":"bad"}'`);
    expect(told.stdout + told.stderr).toContain("\\u{1b}[2J");
    // deno-lint-ignore no-control-regex
    expect(told.stdout + told.stderr + stopped.stderr).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
    const audited = await shell(`cat "$SALLYPORT_HOME"/audit/local/*.jsonl`, { cwd, home, path });
    expect(audited.stdout).toContain('"op":"run","kind":"run"');
    write(cwd, { ".sallyport/plugins/guarded/hooks/words": "other words\n" });
    const changed = await run(`run guarded go --input '{"as":"given"}'`);
    expect([changed.exit, changed.stderr]).toEqual([3, expect.stringContaining("hooks/words")]);
  },
);
