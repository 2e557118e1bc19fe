/**
 * The main job, from the command line: a plugin that asks for nothing does its work, and one that tries to take what it
 * was not given is refused each time, with the cure. Ends with 0 only when all of that happened.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { planConfinement } from "../runtime/mod.ts";

const ROOT = join(import.meta.dirname, "..");
const home = mkdtempSync(join(tmpdir(), "sallyport-demo-"));

/** One command, what its exit code must be, and what must be in its output. */
interface Step {
  readonly say: string;
  readonly args: readonly string[];
  readonly exit: number;
  readonly expect: readonly string[];
}

const STEPS: readonly Step[] = [
  {
    say: "A plugin that nobody has trusted does not run; the refusal says what would run it.",
    args: ["run", "examples/word-count", "count", "--input", '{"text":"a b a"}'],
    exit: 3,
    expect: ["ERR_TRUST_UNKNOWN", "--yes"],
  },
  {
    say:
      "Its author's gate, and your first look: what it is, asks for, and hashes to. None of its code runs.",
    args: ["check", "examples/word-count"],
    exit: 0,
    expect: ["sha256:", "asks for     nothing"],
  },
  {
    say:
      "It counts the words of this repository's README. The text is its input: it can read nothing by itself.",
    args: ["run", "examples/word-count", "count", "--yes", "--input", "-"],
    exit: 0,
    expect: ['"words"'],
  },
  {
    say: "A thief tries what it was not given, catches each refusal, and tells what came of it.",
    args: ["run", "examples/thief", "steal", "--yes"],
    exit: 0,
    expect: ['"own file": "got', "refused | ", "permissions in plugin.yaml"],
  },
  {
    say: "A refusal that the plugin does not catch is the caller's error, with the cure.",
    args: ["run", "examples/thief", "smash", "--yes"],
    exit: 4,
    expect: ["ERR_NOT_CAPABLE"],
  },
  {
    say: "A script whose import is computed when it runs is not even bundled.",
    args: ["run", "examples/thief/grab.ts"],
    exit: 3,
    expect: ["ERR_IMPORT_REFUSED"],
  },
];

const wrong: string[] = [];
const { level, reasons } = planConfinement("best");
console.log(`Workers are confined: ${level}${reasons.length === 0 ? "" : ` (${reasons.join("; ")})`}`);
try {
  for (const step of STEPS) perform(step);
} finally {
  rmSync(home, { recursive: true, force: true });
}
console.log(
  wrong.length === 0 ? "\nAll of it went as it should." : `\nNot as it should: ${wrong.join("; ")}`,
);
process.exitCode = wrong.length === 0 ? 0 : 1;

function perform({ say, args, exit, expect }: Step): void {
  console.log(
    `\n# ${say}\n$ sallyport ${args.map((arg) => /[^\w./-]/.test(arg) ? `'${arg}'` : arg).join(" ")}`,
  );
  const input = JSON.stringify({ text: readme() });
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, "bin/sallyport.js"), ...args], {
    cwd: ROOT,
    encoding: "utf8",
    input,
    env: { ...process.env, SALLYPORT_HOME: home, NO_COLOR: "1" },
  });
  const output = stderr + stdout;
  console.log(`${output.trimEnd()}\n(exit ${status})`);
  const missing = expect.filter((text) => !output.includes(text));
  if (status !== exit || missing.length > 0) {
    wrong.push(
      `${args.slice(0, 3).join(" ")}: exit ${status} for ${exit}${
        missing.length > 0 ? `, without ${missing.join(", ")}` : ""
      }`,
    );
  }
}

function readme(): string {
  return readFileSync(join(ROOT, "README.md"), "utf8");
}
