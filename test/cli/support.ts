/** Runs command lines as a person would type them: a shell, `sallyport` on the PATH, a home of its own. */
import { spawn } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { temporary } from "../bundler/support.ts";

/** The root of this repository. */
export const ROOT = join(import.meta.dirname, "../..");

/** What a command line left. */
export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit: number | null;
}

/** A directory with the programs by which a command line reaches Sallyport. */
export function programs(): string {
  const directory = temporary();
  const run = `exec '${process.execPath}' '${join(ROOT, "bin/sallyport.js")}' "$@"\n`;
  program(directory, "sallyport", run);
  program(
    directory,
    "npx",
    `[ "$1" = sallyport ] || { echo "npx: only sallyport" >&2; exit 2; }\nshift\n${run}`,
  );
  return directory;
}

/** Adds one program to a directory of them. */
export function program(directory: string, name: string, text: string): void {
  writeFileSync(join(directory, name), `#!/bin/sh\n${text}`);
  chmodSync(join(directory, name), 0o755);
}

/** Runs a text with the shell; SALLYPORT_HOME is `home`, and little else of the environment is left. */
export async function shell(
  text: string,
  { cwd, home, path, input = "" }: {
    readonly cwd: string;
    readonly home: string;
    readonly path: string;
    readonly input?: string;
  },
): Promise<Outcome> {
  const child = spawn("sh", ["-c", text], {
    cwd,
    env: {
      PATH: `${path}:${process.env.PATH ?? ""}`,
      HOME: join(home, "user"),
      SALLYPORT_HOME: join(home, "state"),
      WORD: "a word",
      OTHER_WORD: "another word",
      ROOT,
      NO_COLOR: "1",
    },
  });
  child.stdin.on("error", () => {}); // a command that reads nothing may be gone already
  child.stdin.end(input);
  const read = async (stream: NodeJS.ReadableStream): Promise<string> =>
    Buffer.concat(await Array.fromAsync(stream as AsyncIterable<Buffer>)).toString("utf8");
  const [stdout, stderr, exit] = await Promise.all([
    read(child.stdout),
    read(child.stderr),
    new Promise<number | null>((resolve) => child.once("close", resolve)),
  ]);
  return { stdout, stderr, exit };
}
