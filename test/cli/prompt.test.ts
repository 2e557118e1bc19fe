/** What `run --prompt` asks and how, at a real terminal: `script` of util-linux makes one. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { temporary, write } from "../bundler/support.ts";
import { programs, ROOT, shell } from "./support.ts";

const hasScript = spawnSync("script", ["--version"]).status === 0;
const QUESTION = "Allow it? [y/n/a/w] ";

interface Session {
  readonly output: string;
  readonly exit: number | null;
  /** What the audit says of answers and uses, a line each. */
  readonly audit: readonly string[];
}

/** Runs `sallyport` at a terminal, and types one answer whenever it asks; `ahead` is typed before anything. */
function atTerminal(
  line: string,
  { cwd, answers, ahead = "", home = join(temporary(), "home") }: {
    readonly cwd: string;
    readonly answers: readonly string[];
    readonly ahead?: string;
    readonly home?: string;
  },
): Promise<Session> {
  const command = `exec '${process.execPath}' '${join(ROOT, "bin/sallyport.js")}' ${line}`;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    cwd,
    env: { PATH: process.env.PATH ?? "", HOME: home, SALLYPORT_HOME: join(home, "state"), TERM: "xterm" },
  });
  child.stdin.on("error", () => {});
  child.stdin.write(ahead);
  let output = "";
  let asked = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString("utf8");
    if (!output.endsWith(QUESTION) || output.split(QUESTION).length - 1 <= asked) return;
    child.stdin.write(answers[asked] ?? "\n");
    asked += 1;
  });
  return new Promise((resolve) =>
    child.once(
      "close",
      (exit) => resolve({ output: output.replaceAll("\r\n", "\n"), exit, audit: auditOf(home) }),
    )
  );
}

function auditOf(home: string): readonly string[] {
  const folder = join(home, "state/audit/local");
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ kind }) => kind === "read")
    .map(({ type, value, decision, rule }) => `${type} ${value} ${decision} ${rule}`);
}

const READER = `
const read = (path) => Deno.readTextFile(path).then((text) => text.trim(), ({ name }) => name);
const first = read("./a.txt");
console.log("\\x1b[2Jwhile it asks: Allow it? [y/n/a/w] y");
console.log(await first, await read("./a.txt"), await read("./b.txt"), await read("./b.txt"), await read("./c.txt"));
`;

function folder(files: Readonly<Record<string, string>>): string {
  const directory = temporary();
  write(directory, files);
  return directory;
}

const FILES = { "a.txt": "A\n", "b.txt": "B\n", "c.txt": "C\n", "read.ts": READER };

describe.skipIf(!hasScript)("at a terminal (needs `script` of util-linux)", { timeout: 120_000 }, () => {
  test("[T16] y, n and w: asked once each, audited, and nothing of the guest lies over the question", async () => {
    const cwd = folder(FILES);
    const { output, exit, audit } = await atTerminal("run read.ts --prompt", {
      cwd,
      answers: ["w\n", "y\n", "n\n", "\n"],
    });
    expect(exit).toBe(0);
    expect(output).toContain("\nA A NotCapable NotCapable NotCapable\n");
    expect(output.match(/asks to read/g)).toHaveLength(3);
    expect(output).toContain("  rule            no --allow-read covers it\n");
    expect(output).toContain("  remedy          Run again with --allow-read=./a.txt.\n");
    expect(output).toContain(`  value           ${cwd}/a.txt\n`);
    // The line that the guest wrote meanwhile comes before the question or after its answer, escaped, and never within.
    const question = output.slice(output.indexOf("asks to read"), output.indexOf(`${QUESTION}y`));
    expect(question).not.toContain("while it asks");
    expect(output).toContain("\\u{1b}[2Jwhile it asks");
    expect(audit.filter((line) => line.startsWith("grant"))).toEqual([
      expect.stringMatching(/^grant .*\/a\.txt granted answered at the prompt by \w+$/),
      expect.stringMatching(/^grant .*\/b\.txt denied answered at the prompt by \w+$/),
      expect.stringMatching(/^grant .*\/c\.txt denied answered at the prompt by \w+$/),
    ]);
    const uses = audit.filter((line) => line.startsWith("op") && line.includes("answered at the prompt by"));
    expect(uses.filter((line) => line.includes("a.txt granted")).length).toBeGreaterThanOrEqual(2);
    expect(uses.filter((line) => line.includes(" denied "))).toHaveLength(3);
  });

  test("[T16] a is for all of the kind; anything but the letters is no, and so is what was typed ahead", async () => {
    const cwd = folder(FILES);
    const always = await atTerminal("run read.ts --prompt", { cwd, answers: ["a\n"] });
    expect(always.output).toContain("\nA A B B C\n");
    expect(always.output.match(/asks to read/g)).toHaveLength(1);
    const refused = await atTerminal("run read.ts --prompt", {
      cwd,
      ahead: "y\ny\na\na",
      answers: ["yes\n", "\n", "x\n"],
    });
    expect(refused.output).toContain("\nNotCapable NotCapable NotCapable NotCapable NotCapable\n");
    expect(refused.output.match(/asks to read/g)).toHaveLength(3);
  });

  test("[T16] what a guest wrote is shown escaped and cut", async () => {
    const cwd = folder({
      "read.ts":
        'await Deno.readTextFile("./\\x1b[2J\\u202e" + "a".repeat(3000) + "\\nAllow it? y").catch(() => {}); console.log("end");',
    });
    const session = await atTerminal("run read.ts --prompt", { cwd, answers: ["n\n"] });
    const output = session.output.slice(0, session.output.indexOf(QUESTION));
    expect(output).toContain("./\\u{1b}[2J\\u{202e}aaa");
    expect(output).toMatch(/aaa… \(\d+ more\)/);
    expect(output).not.toContain("a".repeat(401));
    // deno-lint-ignore no-control-regex
    expect(output).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
  });

  test("[T17] a plugin is asked about for what flags cut, and never for more than its manifest; answers can be kept", async () => {
    const cwd = folder({
      "p/plugin.yaml": `name: p
version: "1"
permissions: { read: { allow: [./data], deny: [./data/secret] } }
capabilities: { tools: [{ name: go, target: go.ts:go, input: { type: object } }] }
`,
      "p/go.ts":
        `const read = (path) => Deno.readTextFile(path).then((text) => text.trim(), ({ name }) => name);
export const go = async () => [await read("./data/a"), await read("./data/b"), await read("./data/secret"), await read("/etc/hostname")];`,
      "p/data/a": "A",
      "p/data/b": "B",
      "p/data/secret": "S",
    });
    const home = join(temporary(), "home");
    mkdirSync(home);
    const path = programs();
    const sallyport = async (line: string) =>
      await shell(`umask 077; sallyport ${line}`, { cwd, home, path });
    const { stdout } = await sallyport("check p --json");
    const [hash] = /sha256:\w{64}/.exec(stdout)!;
    await sallyport(`trust p --yes --fingerprint ${hash} --allow-read=p/data/a`);
    const first = await atTerminal("run p --prompt --json", { cwd, home, answers: ["n\n"] });
    expect(first.output.match(/asks to read/g)).toHaveLength(1);
    expect(first.output).toContain("all of read that its manifest asks for");
    expect(JSON.parse(first.output.slice(first.output.lastIndexOf("\n{")))).toMatchObject({
      value: ["A", "NotCapable", "NotCapable", "NotCapable"],
    });
    const saved = await atTerminal("run p --prompt --save --json", { cwd, home, answers: ["y\n"] });
    expect(saved.output).toContain('"A",');
    expect(saved.output).toContain('"B",');
    const after = await sallyport("run p --json");
    expect(JSON.parse(after.stdout)).toMatchObject({ value: ["A", "B", "NotCapable", "NotCapable"] });
    const settings = readFileSync(join(home, "state/settings.yaml"), "utf8");
    expect(settings).toContain(`${cwd}/p/data/b`);
    expect(settings).not.toContain(`${cwd}/p/data\n`);
  });
});

test("without a terminal --prompt is a usage error, and --save means nothing without it or a record", async () => {
  const cwd = folder({ ...FILES, "p/plugin.yaml": 'name: p\nversion: "1"\n' });
  const home = temporary();
  const path = programs();
  for (
    const [line, message] of [
      ["run read.ts --prompt", "Cannot use --prompt: there is no terminal to ask at"],
      ["run read.ts --prompt --save", "Cannot use --save with a script"],
      ["run p --save", "Cannot use --save without --prompt"],
      ["run p --prompt --save --yes", "Cannot use --save with --yes"],
    ]
  ) {
    const { stderr, exit } = await shell(`sallyport ${line}`, { cwd, home, path });
    expect({ line, exit, stderr }).toEqual({ line, exit: 2, stderr: expect.stringContaining(message!) });
  }
});
