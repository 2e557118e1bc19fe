/** Starting programs: leaves the isolate, so it is the gravest kind. */
import { type Kind, type PathContext, refuse, wordOf } from "../kind.ts";
import { isWithin, normalize, type Path, resolvePath } from "../path_grammar.ts";

/** An allow is one program, or one that PATH does not have; a deny is a name wherever it lies, or a path and all below. */
export type RunEntry =
  | { readonly form: "program"; readonly path: Path }
  | { readonly form: "absent"; readonly name: string }
  | { readonly form: "named"; readonly name: string }
  | { readonly form: "tree"; readonly path: Path };

/** A program as asked for, and where PATH has it. */
export interface Program {
  /** As asked for. */
  readonly name: string;
  /** Null if PATH has none of that name. */
  readonly path: Path | null;
}

/** The kind `run`. Names are looked up when the entry is read and again when a program is asked for; what counts is the path. */
export const run: Kind<RunEntry, Program> = {
  name: "run",
  doc: "Starting the named programs.",
  examples: ["git", "/usr/bin/git"],
  own: {},
  namesPaths: true,
  phrase: (value) => value === null ? "run every program" : `run "${value}"`,
  parseEntry(given, context, effect) {
    const text = wordOf(given, "a program");
    if (effect === "deny") {
      return text.includes("/")
        ? { form: "tree", path: resolvePath(text, context) }
        : { form: "named", name: text.toLowerCase() };
    }
    const path = pathOf(text, context);
    return path === null ? { form: "absent", name: text } : { form: "program", path };
  },
  parseValue(text, context) {
    return { name: wordOf(text, "a program"), path: pathOf(text, context) };
  },
  // The file that a granted program turned out to be: what is denied stays denied by whatever name it is asked for.
  addressOf: (_value, path) => ({ value: { name: path, path: normalize(path) }, isPublic: true }),
  displayEntry: (entry) => "path" in entry ? entry.path : entry.name,
  displayValue: (value) => value.path ?? value.name,
  covers(entry, value) {
    if (entry.form === "absent") return false;
    if (entry.form === "named") return isNamed(entry.name, value.path ?? value.name);
    if (value.path === null) return false;
    return entry.form === "tree" ? isWithin(entry.path, value.path) : entry.path === value.path;
  },
  includes,
  meet: (a, b) => includes(a, b) ? b : includes(b, a) ? a : null,
  isGrave: () => true,
};

function includes(a: RunEntry, b: RunEntry): boolean {
  if (a.form === b.form && run.displayEntry(a) === run.displayEntry(b)) return true;
  // An absent program holds nothing, and is still shown as a difference: PATH may have it tomorrow.
  if (b.form === "absent") return a.form === "named" && isNamed(a.name, b.name);
  if (a.form === "named") {
    return b.form === "program" ? isNamed(a.name, b.path) : b.form === "named" && isNamed(a.name, b.name);
  }
  return a.form === "tree" && "path" in b && isWithin(a.path, b.path);
}

/** Broad on purpose: `deno` also names `/opt/Deno.exe` and `deno.old`. */
function isNamed(name: string, path: string): boolean {
  const base = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return base === name || base.startsWith(`${name}.`);
}

function pathOf(text: string, context: PathContext): Path | null {
  if (text.includes("/")) return resolvePath(text, context);
  const found = context.which?.(text);
  if (found === undefined) return null;
  return found.startsWith("/") ? normalize(found) : refuse(`PATH leads to "${found}", which is not absolute`);
}
