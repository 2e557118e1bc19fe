/**
 * The published package as a stranger gets it: built, packed, installed into an empty folder with whatever Node the system
 * has, and run by npx. Then once without what it brings along, to see that it says what is missing (T21).
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";

const ROOT = join(import.meta.dirname, "..");
const work = mkdtempSync(join(tmpdir(), "sallyport-package-"));
/** Without the Node that this repository installed: a stranger does not have it. */
const PATH = (process.env.PATH ?? "").split(delimiter).filter((folder) =>
  !folder.endsWith("node_modules/.bin")
)
  .join(delimiter);
const RUN = [
  "npx",
  "--no",
  "sallyport",
  "run",
  "./word-count",
  "count",
  "--yes",
  "--json",
  "--input",
  '{"text":"a b a"}',
];
let failures = 0;
let passes = 0;

try {
  must(run(ROOT, [process.execPath, join(ROOT, "tools/build.ts")]), "build");
  must(run(ROOT, ["npm", "pack", "--silent", "--pack-destination", work]), "pack");
  const tarball = join(work, readdirSync(work).find((name) => name.endsWith(".tgz"))!);
  console.log(`system node ${run(work, ["node", "--version"]).stdout.trim()}`);

  const whole = install("whole", [tarball]);
  claim("[T21] installs", whole.status === 0, whole.output);
  const result = run(join(work, "whole"), RUN);
  claim(
    "[T21] runs an example by npx",
    result.status === 0 && result.stdout.includes('"words":3'),
    result.output,
  );
  claim(
    "compiled nothing",
    !existsSync(join(work, "whole/node_modules/isolated-vm/build")),
    "isolated-vm/build is there",
  );
  const types = existsSync(join(work, "whole/node_modules/sallyport/dist/src/mod.d.ts"));
  claim("has its types", types, "dist/src/mod.d.ts is missing");
  const library = run(join(work, "whole"), [
    join(work, "whole/node_modules/.bin/node"),
    "--input-type=module",
    "-e",
    'const { createHost } = await import("sallyport"); await using host = await createHost({ confinement: "best" }); console.log(host.confinement.level)',
  ]);
  claim("is a library", library.status === 0 && /strong|medium|weak/.test(library.stdout), library.output);

  const starter = ["npx", "--no", "sallyport", "init", "./starter"];
  const made = run(join(work, "whole"), starter);
  const tested = run(join(work, "whole/starter"), [
    join(work, "whole/node_modules/.bin/node"),
    "--test",
  ]);
  claim(
    "makes a starter whose own test passes",
    made.status === 0 && tested.status === 0 &&
      existsSync(join(work, "whole/node_modules/sallyport/dist/src/testing/mod.d.ts")),
    made.output + tested.output,
  );

  const cli = run(join(work, "whole"), [
    join(work, "whole/node_modules/.bin/node"),
    "--input-type=module",
    "-e",
    'const { processTerminal, runCli } = await import("sallyport/cli"); process.exitCode = await runCli(["run", "./word-count", "count", "--yes", "--json", "--input", JSON.stringify({ text: "a b a" })], { terminal: processTerminal(), cwd: process.cwd(), environment: { ...process.env }, userHome: process.env.HOME ?? "/" })',
  ]);
  claim(
    "is a command line for programs that embed it",
    cli.status === 0 && cli.stdout.includes('"words":3') &&
      existsSync(join(work, "whole/node_modules/sallyport/dist/src/cli/public.d.ts")),
    cli.output,
  );

  const bare = install("bare", ["--omit=optional", "--ignore-scripts", tarball]);
  claim("installs without what it brings along", bare.status === 0, bare.output);
  const refused = run(join(work, "bare"), RUN);
  const isOwnNode = /^v(24|26)\./.test(run(work, ["node", "--version"]).stdout);
  claim(
    isOwnNode
      ? "runs on the system's Node, which the engine supports"
      : "then says in one line what is missing, exit 6",
    isOwnNode ? refused.status === 0 : refused.status === 6 && /Install Node 24 or 26/.test(refused.output),
    refused.output,
  );
} finally {
  rmSync(work, { recursive: true, force: true });
}
console.log(`\n${passes} passed, ${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly output: string;
}

function install(name: string, args: readonly string[]): Outcome {
  const folder = join(work, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, private: true }));
  cpSync(join(ROOT, "examples/word-count"), join(folder, "word-count"), { recursive: true });
  return run(folder, ["npm", "install", "--no-audit", "--no-fund", ...args]);
}

function run(cwd: string, [command, ...args]: readonly string[]): Outcome {
  const env = { ...process.env, PATH, SALLYPORT_HOME: join(work, "home") };
  const { status, stdout, stderr } = spawnSync(command!, args, { cwd, env, encoding: "utf8" });
  return { status, stdout: stdout ?? "", output: `${stdout ?? ""}${stderr ?? ""}` };
}

function must({ status, output }: Outcome, what: string): void {
  if (status !== 0) throw new Error(`cannot ${what}: ${output}`);
}

function claim(what: string, holds: boolean, output: string): void {
  console.log(`${holds ? "ok    " : "FAILED"} ${what}`);
  if (holds) passes += 1;
  else {
    failures += 1;
    console.log(output.trim().split("\n").slice(-20).map((line) => `       ${line}`).join("\n"));
  }
}
