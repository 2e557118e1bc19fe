/** Which import specifiers are refused by their spelling alone, and why. */
import { isBuiltin } from "node:module";
import { posix } from "node:path";

/** Reasons that need a name, because the message differs by them. */
const BY_SCHEME: Readonly<Record<string, string>> = Object.freeze({
  __proto__: null as never,
  "http:": "remote imports are not fetched; put the file into the plugin",
  "https:": "remote imports are not fetched; put the file into the plugin",
  "npm:": `install the package into the plugin's node_modules and import it by its name`,
  "jsr:": `install the package into the plugin's node_modules and import it by its name`,
  "data:": "code in a URL has no file that could be pinned; put it into one",
  "file:": "imports are relative to the importing file, or the name of a package",
});

// deno-lint-ignore no-control-regex -- control characters are what it looks for
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/** Why a specifier is refused before anything is looked at, or null. `from` is the virtual path of the importing file. */
export function refusalOf(specifier: string, from: string, root: string, charsMax: number): string | null {
  if (specifier === "") return "it is empty";
  if (specifier.length > charsMax) return `it is longer than ${charsMax} characters`;
  if (CONTROL.test(specifier) || !specifier.isWellFormed()) return "it holds control characters";
  if (specifier.startsWith("node:")) return null; // refused when nothing in the plugin answers, with a reason of its own
  const scheme = SCHEME.exec(specifier)?.[0].toLowerCase();
  if (scheme !== undefined) return BY_SCHEME[scheme] ?? `the scheme "${scheme}" is not imported from`;
  if (specifier.startsWith("/")) return "it is absolute; imports are relative to the importing file";
  if (specifier.includes("\\")) return "it holds a backslash; paths use /";
  if (specifier.includes("?") || specifier.lastIndexOf("#") > 0) return "it holds a query or a fragment";
  if (isRelative(specifier)) {
    const target = posix.join(posix.dirname(posix.relative(root, from)), specifier);
    if (target === ".." || target.startsWith("../")) return "it leaves the plugin";
  }
  return null;
}

/** Whether it starts from the importing file. */
export function isRelative(specifier: string): boolean {
  return specifier === "." || specifier === ".." || specifier.startsWith("./") || specifier.startsWith("../");
}

/** Whether Node itself would answer it. */
export function isBuiltIn(specifier: string): boolean {
  return specifier.startsWith("node:") || isBuiltin(specifier);
}

/** Why nothing was found. */
export function absenceOf(specifier: string): string {
  if (isBuiltIn(specifier)) {
    return "it is built into Node, and plugins do not run in Node; use the web platform or a package without it";
  }
  if (isRelative(specifier)) return "there is no such file in the plugin";
  if (specifier.startsWith("#")) return "no package.json of the plugin maps it";
  return PACKAGE_ABSENT;
}

/** Why a package was not found. */
export const PACKAGE_ABSENT = "there is no such package in the plugin's own node_modules";
