/** A guess, from the line alone, whether it will run something: then a worker is started before anything else is done. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { CommandContext } from "./command.ts";

/** Flags of `run` with which nothing runs. */
const IDLE_FLAGS: ReadonlySet<string> = new Set(["--help", "-h", "--lock"]);

/**
 * True when it names a script, or a plugin while something may have been trusted. A guess that is wrong costs a process
 * that nobody speaks to; with no plugin there is none (R42).
 */
export function willRun(
  argv: readonly string[],
  { cwd, environment, userHome }: Pick<CommandContext, "cwd" | "environment" | "userHome">,
): boolean {
  const [verb, ...words] = argv;
  if (verb !== "run" || words.some((word) => IDLE_FLAGS.has(word))) return false;
  const mayBeTrusted = words.includes("--yes") ||
    existsSync(join(environment.SALLYPORT_HOME || join(userHome, ".sallyport"), "settings.yaml"));
  return words.some((word) =>
    /\.[cm]?[jt]sx?$/.test(word)
      ? existsSync(resolve(cwd, word))
      : mayBeTrusted && existsSync(join(resolve(cwd, word), "plugin.yaml"))
  );
}
