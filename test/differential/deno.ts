/** The real Deno, asked in processes of its own: one set of flags each, many questions. */
import { execFile, execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The kinds that Deno has. */
export const DENO_KINDS = ["read", "write", "net", "env", "sys", "run", "import", "ffi"] as const;

/** A kind that Deno has. */
export type DenoKind = typeof DENO_KINDS[number];

/** The whole kind, entries, or nothing said. */
export type Given = true | readonly string[] | null;

/** What one kind's flags say. */
export interface Flags {
  readonly allow: Given;
  readonly deny: Given;
}

/** A kind and a value of it; null is the whole kind. */
export type Question = readonly [kind: DenoKind, value: string | null];

/** `partial` is granted with a part carved out. */
export type DenoAnswer = "granted" | "partial" | "denied" | "invalid-request";

/** A folder to run in, and programs on PATH. */
export interface Place extends Disposable {
  /** Where relative paths start. */
  readonly cwd: string;
  /** Where a program of that name is found first. */
  readonly which: (name: string) => string | undefined;
  /** Answers in their order, or undefined if Deno does not start with these flags. */
  ask(
    flags: Partial<Readonly<Record<DenoKind, Flags>>>,
    questions: readonly Question[],
  ): Promise<readonly DenoAnswer[] | undefined>;
}

/** Programs by folder of PATH; several share a name or its beginning. */
export const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  "bin": ["tool", "git", "Tool.old"],
  "more": ["tool", "other", "git.exe"],
};

/** Makes a place. */
export function makePlace(): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "sallyport-deno-")));
  const at = (...parts: readonly string[]) => join(root, ...parts);
  const found = new Map<string, string>();
  for (const [bin, names] of Object.entries(PROGRAMS)) {
    mkdirSync(at(bin));
    for (const name of names) {
      writeFileSync(at(bin, name), "#!/bin/sh\n");
      chmodSync(at(bin, name), 0o755);
      if (!found.has(name)) found.set(name, at(bin, name));
    }
  }
  mkdirSync(at("a/b"), { recursive: true });
  const env = {
    PATH: Object.keys(PROGRAMS).map((bin) => at(bin)).join(":"),
    DENO_DIR: at("cache"),
    DENO_NO_UPDATE_CHECK: "1",
    NO_COLOR: "1",
  };
  // The package's own command is a script around the program; one look past it saves a process each time.
  const program = execFileSync(process.execPath, [DENO, "eval", "console.log(Deno.execPath())"], {
    encoding: "utf8",
  }).trim();
  return {
    cwd: at("a/b"),
    which: (name) => found.get(name),
    ask(flags, questions) {
      const args = ["run", "--quiet", "--no-prompt", "--no-config", ...wordsOf(flags), SCRIPT];
      return new Promise((resolve, reject) => {
        const child = execFile(program, args, { cwd: at("a/b"), env }, (error, stdout, stderr) => {
          if (error === null) resolve(JSON.parse(stdout));
          else if (isRefusal(stderr)) resolve(undefined);
          else reject(new Error(`deno ${args.join(" ")}: ${error.message} ${stderr}`));
        });
        child.stdin?.on("error", () => {}); // a process that refused its flags does not listen
        child.stdin?.end(JSON.stringify(questions));
      });
    },
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

const DENO = fileURLToPath(import.meta.resolve("deno/bin.cjs"));
const SCRIPT = fileURLToPath(new URL("./fixtures/query.js", import.meta.url));

function isRefusal(stderr: string): boolean {
  return stderr.startsWith("error") && !/panicked|Uncaught/.test(stderr);
}

function wordsOf(flags: Partial<Readonly<Record<DenoKind, Flags>>>): string[] {
  return DENO_KINDS.flatMap((kind) =>
    (["allow", "deny"] as const).flatMap((effect) => {
      const given = flags[kind]?.[effect] ?? [];
      return given === true ? [`--${effect}-${kind}`] : given.map((entry) => `--${effect}-${kind}=${entry}`);
    })
  );
}
