/**
 * Paths as `read`, `write` and `ffi` understand them: joined to the working directory, dot segments removed, compared by
 * whole components and by case. Purely lexical; links are the broker's second check.
 */
import { type Kind, type PathContext, refuse, wordOf } from "./kind.ts";

/** An absolute path without dot segments; as an entry it stands for itself and all below. */
export type Path = string;

/** What `read`, `write` and `ffi` have in common. */
export const pathAlgebra: Pick<
  Kind<Path, Path>,
  | "displayEntry"
  | "displayValue"
  | "covers"
  | "lieBelow"
  | "includes"
  | "meet"
  | "parseEntry"
  | "parseValue"
  | "refuses"
  | "twin"
  | "namesPaths"
> = {
  namesPaths: true,
  parseEntry: (given, context) => resolvePath(wordOf(given, "a path"), context),
  parseValue: (text, context) => resolvePath(wordOf(text, "a path"), context),
  displayEntry: (entry) => entry,
  displayValue: (value) => value,
  covers: isWithin,
  lieBelow: (entry, value) => isWithin(value, entry),
  includes: isWithin,
  meet: (a, b) => isWithin(a, b) ? b : isWithin(b, a) ? a : null,
  twin(entry, text, effect, real) {
    if (effect === "allow" && !text.startsWith("/")) return null;
    const path = normalize(real(entry));
    return path === entry ? null : path;
  },
  refuses: (value) =>
    isSpecial(value) ? "special files (/dev, /proc, /sys) come with no entry, however wide" : undefined,
};

/** Whether `path` is `root` or lies below it: `/foo` never holds `/foobar`. Every floor asks here, so that no two disagree. */
export function isWithin(root: Path, path: Path): boolean {
  return path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`);
}

/** Whether the path is outside the plugin's own bundle and data; a script has neither, so all of its paths are. */
export function isForeign(path: Path, context: PathContext): boolean {
  return [context.bundle, context.data].every((root) =>
    root === undefined || !isWithin(normalize(root), path)
  );
}

/** Whether the text neither is absolute nor names a `$root`. */
export function isRelative(text: string): boolean {
  return !text.startsWith("/") && !ROOT.test(text);
}

/** The absolute path that the text means. */
export function resolvePath(text: string, context: PathContext): string {
  const root = ROOT.exec(text);
  if (root === null) return normalize(text.startsWith("/") ? text : `${context.cwd}/${text}`);
  const name = root[1] ?? "";
  const base = rootOf(name, context);
  const path = normalize(`${base}/${text.slice(root[0].length)}`);
  if (!isWithin(normalize(base), path)) refuse(`it climbs out of $${name}`);
  return path;
}

/** Removes empty and dot segments; the path must be absolute. */
export function normalize(path: string): Path {
  if (!path.startsWith("/")) refuse(`paths start at an absolute directory, not at "${path}"`);
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") kept.pop();
    else if (segment !== "" && segment !== ".") kept.push(segment);
  }
  return `/${kept.join("/")}`;
}

// Only lower-case words, so that a file that happens to be called "$RECYCLE.BIN" stays a file.
const ROOT = /^\$([a-z]+)(?:\/|$)/;

function rootOf(name: string, context: PathContext): string {
  const roots: Readonly<Record<string, string | undefined>> = {
    data: context.data,
    project: context.project,
    home: context.home,
  };
  if (!Object.hasOwn(roots, name)) {
    refuse(
      `$${name} is no known root; $data, $project and $home are. A file of that name is written "./$${name}"`,
    );
  }
  return roots[name] ?? refuse(`$${name} is not mapped here`);
}

// These yield nothing of the machine and take nothing; everything else there is the kernel's, a terminal or a device.
const HARMLESS: readonly Path[] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

function isSpecial(path: Path): boolean {
  return ["/dev", "/proc", "/sys"].some((root) => isWithin(root, path)) && !HARMLESS.includes(path);
}
