/** The grammar of a resource path: how a plugin's own files are asked for by name. It looks at text only. */
import { ResourceError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import { isDeviceName } from "../manifest/reference.ts";
import { RESOURCE_LIMITS } from "./limits.ts";

const SCHEME = /^(?:plugin|classpath):/;
// deno-lint-ignore no-control-regex -- control characters are what it looks for
const FORBIDDEN = /[\x00-\x1f\x7f\\:<>"|?*]/;

/**
 * The normal form of a resource path: an optional `plugin:` (or `classpath:`) and then one `/` are taken off, and what is
 * left must be plain segments with `/` between them; nothing is decoded. Throws ResourceError `ERR_RESOURCE_PATH`.
 *
 * @example
 * ```ts
 * resourcePath("plugin:/skills/weather/SKILL.md"); // "skills/weather/SKILL.md"
 * ```
 */
export function resourcePath(value: unknown): string {
  if (typeof value !== "string") throw refused(typeof value, "it is not a string");
  const path = value.replace(SCHEME, "").replace(/^\//, "");
  const fault = faultOf(path);
  if (fault !== undefined) throw refused(JSON.stringify(display(value, { max: 200 })), fault);
  return path;
}

function faultOf(path: string): string | undefined {
  if (path === "") return "it is empty";
  if (path.length > RESOURCE_LIMITS.pathCharactersMax) {
    return `it has more than ${RESOURCE_LIMITS.pathCharactersMax} characters`;
  }
  if (!path.isWellFormed()) return "it holds half a character";
  const found = FORBIDDEN.exec(path)?.[0];
  if (found !== undefined) return `it holds "${display(found)}", which no resource has in its name`;
  for (const segment of path.split("/")) {
    if (segment === "") return "it has an empty segment";
    if (segment === "." || segment === "..") return `it has a "${segment}" segment`;
    // Windows drops both, so two spellings would be one file there.
    if (/[. ]$/.test(segment)) return `"${display(segment)}" ends in a dot or a space`;
    if (isDeviceName(segment)) return `"${display(segment)}" is the name of a device`;
  }
  return undefined;
}

function refused(value: string, why: string): ResourceError {
  return new ResourceError(
    "ERR_RESOURCE_PATH",
    `Cannot read resource ${value}: ${why}. Write the path from the plugin's folder, as in "skills/weather/SKILL.md"`,
  );
}
