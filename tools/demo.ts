/**
 * The main job, from the command line: five plugins on real input, and what was refused. Ends with 0 only when all of it
 * went as it is said here. `--keep` leaves the folder that it works in.
 */
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { planConfinement } from "../runtime/mod.ts";

const ROOT = join(import.meta.dirname, "..");
const work = realpathSync(mkdtempSync(join(tmpdir(), "sallyport-demo-")));
const project = join(work, "project");
const wrong: string[] = [];

/** One command, what its exit code must be, and what must be in its output. */
interface Step {
  readonly say: string;
  readonly args: readonly string[];
  readonly exit: number;
  readonly expect: readonly string[];
  readonly input?: string;
}

const { level, reasons } = planConfinement("best");
console.log(`Workers are confined: ${level}${reasons.length === 0 ? "" : ` (${reasons.join("; ")})`}`);
const site = await startSite();
try {
  prepare(portOf(site));
  await wordCount();
  await markdownReport();
  await linkCheck();
  await notes();
  await thief(portOf(site));
} finally {
  site.close();
  if (!process.argv.includes("--keep")) rmSync(work, { recursive: true, force: true });
}
console.log(
  wrong.length === 0 ? "\nAll of it went as it should." : `\nNot as it should: ${wrong.join("; ")}`,
);
process.exitCode = wrong.length === 0 ? 0 : 1;

async function wordCount(): Promise<void> {
  title("word-count: pure, asks for nothing");
  await perform({
    say: "A plugin that nobody has trusted does not run; the refusal says what would run it.",
    args: ["run", "word-count", "count", "--input", '{"text":"a b a"}'],
    exit: 3,
    expect: ["ERR_TRUST_UNKNOWN", "--yes"],
  });
  await perform({
    say: "The first look: what it is, asks for, and hashes to. None of its code runs.",
    args: ["check", "word-count"],
    exit: 0,
    expect: ["sha256:"],
  });
  await perform({
    say:
      "It counts the words of this repository's README, which is its input: it can read nothing by itself.",
    args: ["run", "word-count", "count", "--yes", "--input", "-"],
    exit: 0,
    expect: ['"words"'],
    input: JSON.stringify({ text: readFileSync(join(ROOT, "README.md"), "utf8") }),
  });
}

async function markdownReport(): Promise<void> {
  title("markdown-report: an npm package of its own, reads one folder, writes into another");
  const args = ["run", "markdown-report", "render", "--input"];
  const input = (from: string): string => JSON.stringify({ from, to: "$project/site" });
  await perform({
    say:
      "Reading and writing outside of itself is grave: --yes alone does not grant it, and says what would.",
    args: [...args, input("$project/pages"), "--yes"],
    exit: 4,
    expect: ["--allow-read", "--allow-write"],
  });
  await trust("markdown-report");
  await perform({
    say: "Trusted, it renders the pages of the project.",
    args: [...args, input("$project/pages")],
    exit: 0,
    expect: ['"pages": 2'],
  });
  await perform({
    say: "The same code, asked to read a folder that it was not granted.",
    args: [...args, input("$project/private")],
    exit: 4,
    expect: ["ERR_NOT_CAPABLE", "private"],
  });
  const marked = join(work, "project/markdown-report/node_modules/marked/lib/marked.esm.js");
  const bytes = readFileSync(marked);
  writeFileSync(marked, Buffer.concat([bytes, Buffer.from(" ")]));
  await perform({
    say: "One byte more, deep in its node_modules: what would run is not what was trusted.",
    args: [...args, input("$project/pages")],
    exit: 3,
    expect: ["ERR_TRUST_CHANGED", "marked.esm.js"],
  });
  writeFileSync(marked, bytes);
}

async function linkCheck(): Promise<void> {
  title("link-check: fetches links from a server on this machine");
  await trust("link-check");
  await perform({
    say:
      "Links that are there, that are gone, that redirect, and one that redirects to an address that is not granted.",
    args: ["run", "link-check", "check", "--input", `@${join(project, "links.json")}`],
    exit: 0,
    expect: ["200 /there", "404 /gone", "by way of", "NotCapable", "refused | "],
  });
}

async function notes(): Promise<void> {
  title("notes: what it keeps is there in the next run");
  await trust("notes");
  for (const text of ["buy bread", "sell boat"]) {
    await perform({
      say: "A note is added.",
      args: ["run", "notes", "add", "--input", JSON.stringify({ text })],
      exit: 0,
      expect: ['"notes"'],
    });
  }
  await perform({
    say: "Both are there.",
    args: ["run", "notes", "all"],
    exit: 0,
    expect: ["buy bread", "sell boat"],
  });
}

async function thief(port: number): Promise<void> {
  title("thief: tries to take what it was not given");
  await perform({
    say:
      "It catches each refusal and tells what came of it. Its own output cannot move the cursor or answer a question.",
    args: ["run", "thief", "steal", "--yes", "--input", JSON.stringify({ home: work })],
    exit: 0,
    expect: [
      '"own file": "got',
      "refused | ",
      "\\u{1b}[2J",
      'another plugin\'s storage": "refused',
      "evil.example",
    ],
  });
  await perform({
    say: "A refusal that it does not catch is the caller's error, with the cure.",
    args: ["run", "thief", "smash", "--yes"],
    exit: 4,
    expect: ["ERR_NOT_CAPABLE"],
  });
  await perform({
    say: "A script is granted one host, which redirects it to another one.",
    args: [
      "run",
      "thief/wander.ts",
      `--allow-net=127.0.0.1:${port}`,
      "--input",
      JSON.stringify({ url: `http://127.0.0.1:${port}/away` }),
    ],
    exit: 4,
    expect: ["ERR_NOT_CAPABLE", "127.0.0.1:9"],
  });
  await perform({
    say: "An import that is computed when it runs is not even bundled.",
    args: ["run", "thief/grab.ts"],
    exit: 3,
    expect: ["ERR_IMPORT_REFUSED"],
  });
  await perform({
    say: "A manifest whose texts would clear the screen is refused, and told without clearing it.",
    args: ["check", "loud"],
    exit: 3,
    expect: ["ERR_MANIFEST", "description"],
  });
}

async function trust(name: string): Promise<void> {
  const { stdout } = await sallyport(["check", name, "--json"]);
  const { value } = JSON.parse(stdout) as { value: { fingerprint: string } };
  await perform({
    say: "A person looks at it and approves exactly these bytes. Without a terminal, by their fingerprint.",
    args: ["trust", name, "--yes", "--fingerprint", value.fingerprint],
    exit: 0,
    expect: [name],
  });
}

async function perform({ say, args, exit, expect, input }: Step): Promise<void> {
  const shown = args.map((arg) => /[^\w./:=-]/.test(arg) ? `'${arg}'` : arg).join(" ");
  console.log(`\n# ${say}\n$ sallyport ${shown}`);
  const { status, stdout, stderr } = await sallyport(args, input);
  const output = stderr + stdout;
  console.log(`${output.trimEnd()}\n(exit ${status})`);
  const missing = expect.filter((text) => !output.includes(text));
  if (status === exit && missing.length === 0) return;
  wrong.push(`${args.slice(0, 3).join(" ")}: exit ${status} for ${exit}, without "${missing.join('", "')}"`);
}

function sallyport(
  args: readonly string[],
  input = "",
): Promise<{ readonly status: number | null; readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(ROOT, "bin/sallyport.js"), ...args], {
      cwd: project,
      env: { ...process.env, SALLYPORT_HOME: join(work, "home"), NO_COLOR: "1" },
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text);
    child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text);
    child.once("close", (status) => resolve({ status, stdout, stderr }));
    child.stdin.end(input);
  });
}

/** Copies of the examples in a project of their own; the package that one of them needs is copied, not downloaded. */
function prepare(port: number): void {
  for (const name of ["word-count", "markdown-report", "link-check", "notes", "thief"]) {
    cpSync(join(ROOT, "examples", name), join(project, name), { recursive: true, verbatimSymlinks: true });
  }
  cpSync(join(ROOT, "node_modules/marked"), join(project, "markdown-report/node_modules/marked"), {
    recursive: true,
  });
  writeFiles(project, {
    "pages/a.md": "# Bread\n\nFlour, *water*, salt.\n",
    "pages/b.md": "# Boat\n\n- hull\n- sail\n",
    "private/diary.md": "# Nobody's business\n",
    "links.json": JSON.stringify({
      markdown: ["there", "gone", "moved", "away"].map((path) =>
        `[${path}](http://127.0.0.1:${port}/${path})`
      ).join("\n"),
    }),
    "loud/plugin.yaml": 'name: loud\nversion: "1"\ndescription: "\\e[2J\\e[HYou trust me."\n',
  });
  const manifest = join(project, "link-check/plugin.yaml");
  writeFileSync(manifest, readFileSync(manifest, "utf8").replace("127.0.0.1:8123", `127.0.0.1:${port}`));
}

function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

function startSite(): Promise<Server> {
  const server = createServer((request, response) => {
    const moved = { "/moved": "/there", "/away": "http://127.0.0.1:9/" }[request.url ?? ""];
    if (moved !== undefined) response.writeHead(302, { location: moved }).end();
    else response.writeHead(request.url === "/there" ? 200 : 404).end("a page");
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

function portOf(server: Server): number {
  return (server.address() as { port: number }).port; // it listens on TCP
}

function title(text: string): void {
  console.log(`\n${"=".repeat(8)} ${text}`);
}
