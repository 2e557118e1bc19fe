/** What the first word behind `run` means. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { UsageError } from "../../permissions/mod.ts";
import { isArchive } from "../plugin.ts";

/** What the word on the line means. Throws UsageError for what is nothing. */
export function kindOfTarget(what: string, cwd: string): "script" | "directory" | "name" {
  try {
    const stats = statSync(resolve(cwd, what));
    // An archive takes a plugin's way, where the refusal says what to do with it.
    return stats.isDirectory() || isArchive(what) ? "directory" : "script";
  } catch {
    if (/^[a-z0-9][a-z0-9-]{0,31}$/.test(what)) return "name";
    throw new UsageError(
      "ERR_USAGE",
      `Cannot run "${what}": there is no such file or directory, and no plugin has such a name`,
    );
  }
}

/** The plugin in whose id this is spelled, or null for what is no id, or a file as well: a file is what it looks like. */
export function pluginInId(what: string, cwd: string): string | null {
  const name = ID_FORMS.map((form) => form.exec(what)?.[1]).find((found) => found !== undefined);
  return name === undefined || statSync(resolve(cwd, what), { throwIfNoEntry: false }) !== undefined
    ? null
    : name;
}

/** `/<plugin>:<name>`, `plugin__<plugin>__<name>`, `plugin/<plugin>/<name>`, `<plugin>/<name>`. */
const ID_FORMS: readonly RegExp[] = [
  /^\/([a-z0-9][a-z0-9-]{0,31}):[^/]+$/,
  /^plugin__([a-z0-9][a-z0-9-]{0,31})__[^/]+$/,
  /^plugin\/([a-z0-9][a-z0-9-]{0,31})\/[^/]+$/,
  /^([a-z0-9][a-z0-9-]{0,31})\/[^/.][^/]*$/,
];
