/** Whole processes, from their start to their end, as a shell starts them. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { bundleOf, moduleOf } from "./bundles.ts";
import { denoPath } from "./deno.ts";
import { payload, SMALL_BYTES } from "./payload.ts";
import { BENCH, PACKAGE, WORK } from "./places.ts";
import type { SHELL_PROGRAMS } from "./results.ts";

type Program = keyof typeof SHELL_PROGRAMS;

interface Started {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const JAILER = "/usr/bin/bwrap";
const LIBRARIES = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/** Makes ready the programs; each is a function that runs it once and gives its time in ms. Rejects when one fails. */
export function shellPrograms(): Readonly<
  Record<Program, () => Promise<number>>
> {
  const folder = join(WORK, "shell");
  mkdirSync(folder, { recursive: true });
  const input = JSON.stringify(payload(SMALL_BYTES));
  writeFileSync(join(folder, "tools.mjs"), moduleOf("small"));
  const script = join(folder, "script.mjs");
  writeFileSync(
    script,
    `import { echo } from "./tools.mjs";\nconsole.log(JSON.stringify(echo(JSON.parse(${
      JSON.stringify(input)
    }))));\n`,
  );
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    NO_COLOR: "1",
    DENO_DIR: join(WORK, "deno"),
    SALLYPORT_HOME: join(folder, "home"),
  };
  const programs: Readonly<Record<Program, Started>> = {
    sallyportShell: { ...trustedRun(folder, input, env), env },
    denoShell: {
      command: denoPath(),
      args: [
        "run",
        "--quiet",
        "--no-prompt",
        "--no-config",
        "--no-remote",
        "--no-npm",
        script,
      ],
      env,
    },
    floorShell: { ...floor(folder, input), env },
    nodeShell: { command: process.execPath, args: [script], env },
  };
  const entries = Object.entries(programs).map((
    [name, program],
  ) => [name, () => run(program, input)]);
  return Object.fromEntries(entries) as Record<Program, () => Promise<number>>;
}

/** `sallyport run` of a plugin whose trust record lies in its home. */
function trustedRun(
  folder: string,
  input: string,
  env: Readonly<Record<string, string>>,
): Pick<Started, "command" | "args"> {
  const plugin = join(folder, "plugin");
  mkdirSync(plugin, { recursive: true });
  writeFileSync(join(plugin, "tools.mjs"), moduleOf("small"));
  writeFileSync(
    join(plugin, "plugin.yaml"),
    'name: plugin\nversion: "1.0.0"\ncapabilities:\n  tools:\n' +
      "    - { name: echo, target: tools.mjs:echo, input: { type: object } }\n",
  );
  const command = process.execPath;
  const sallyport = join(PACKAGE, "bin/sallyport.js");
  const run = (...args: string[]): string =>
    execFileSync(command, [sallyport, ...args], {
      encoding: "utf8",
      env,
      cwd: folder,
    });
  const { value } = JSON.parse(run("check", plugin, "--json")) as {
    value: { fingerprint: string };
  };
  run("trust", plugin, "--yes", "--fingerprint", value.fingerprint);
  return {
    command,
    args: [sallyport, "run", plugin, "echo", "--json", "--input", input],
  };
}

/** A Node host that starts a confined worker with one isolate, and none of our code. */
function floor(
  folder: string,
  input: string,
): Pick<Started, "command" | "args"> {
  const bundle = join(folder, "bundle.js");
  writeFileSync(bundle, bundleOf("small"));
  const require = createRequire(import.meta.url);
  const { path: addonIn } = require("node-gyp-build") as {
    path(directory: string): string;
  };
  const addon = addonIn(dirname(require.resolve("isolated-vm/package.json")));
  const worker = join(BENCH, "fixtures/floor_worker.mjs");
  const node = (spell: (path: string) => string): readonly string[] => [
    "--permission",
    "--allow-addons",
    ...[worker, addon, bundle].map((path) => `--allow-fs-read=${spell(path)}`),
    "--no-node-snapshot",
    "--disable-warning=PERM0001",
    spell(worker),
    spell(addon),
    spell(bundle),
    input,
  ];
  const order = existsSync(JAILER)
    ? { command: JAILER, args: jailed([worker, addon, bundle], node) }
    : { command: process.execPath, args: node((path) => path) };
  return {
    command: process.execPath,
    args: [join(BENCH, "fixtures/floor_host.mjs"), JSON.stringify(order)],
  };
}

function jailed(
  files: readonly string[],
  node: (spell: (path: string) => string) => readonly string[],
): readonly string[] {
  const inside = (path: string): string => `/inside/${files.indexOf(path)}/${path.split("/").at(-1)}`;
  return [
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--cap-drop",
    "ALL",
    "--uid",
    "65534",
    "--gid",
    "65534",
    ...LIBRARIES.filter((path) => existsSync(path)).flatMap((
      path,
    ) => ["--ro-bind", path, path]),
    "--proc",
    "/proc",
    "--ro-bind",
    process.execPath,
    "/inside/node",
    ...files.flatMap((path) => ["--ro-bind", path, inside(path)]),
    "/inside/node",
    ...node(inside),
  ];
}

function run({ command, args, env }: Started, input: string): Promise<number> {
  return new Promise((done, fail) => {
    const start = performance.now();
    const child = spawn(command, args, {
      env,
      cwd: WORK,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => out += text);
    child.stderr.setEncoding("utf8").on("data", (text: string) => err += text);
    child.once("error", fail);
    child.once("close", (code) => {
      const ms = performance.now() - start;
      if (code === 0 && isAnswer(out, input)) done(ms);
      else {fail(
          new Error(
            `"${command}" ended with ${code}: ${(err || out).slice(-400)}`,
          ),
        );}
    });
  });
}

/** Whether the input came back, as it is or as the value of a report. */
function isAnswer(out: string, input: string): boolean {
  const answer = JSON.parse(out) as { readonly value?: unknown };
  return JSON.stringify(answer.value ?? answer) === input;
}
