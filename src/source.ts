/**
 * A plugin's files as they were when they were first looked at. Each path is asked of the disk once; every later
 * question is answered from memory, "there is nothing" included, so what was hashed is what runs (T06).
 */
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, posix, sep } from "node:path";
import { SOURCE_LIMITS, type SourceLimits } from "./bundler/limits.ts";
import { type FileStat, isSameStat, pick, readRegularFile, SourceError, statOf } from "./source_file.ts";

/** What a path is, links inside the plugin followed. */
export type SourceKind = "file" | "directory" | "other" | "absent";

/** What a file is read for; only a single script tells them apart (T30). */
export type SourceUse = "code" | "package" | "data";

/** How a plugin directory is read. */
export interface SourceOptions {
  /** Bounds other than the defaults. */
  readonly limits?: Partial<SourceLimits>;
}

/** How a single script is read. */
export interface ScriptOptions extends SourceOptions {
  /** Whether the script's grants cover reading this absolute path of the host: JSON, text and bytes imports need it. */
  readonly mayRead?: (path: string) => boolean;
}

type Answer = { readonly kind: SourceKind | "leaving" } | { readonly kind: "link"; readonly to: string };
type Place = { readonly kind: SourceKind; readonly real: string };
interface Remembered {
  readonly bytes: Buffer;
  readonly hash: string;
  stat: FileStat;
}
interface ScriptRules {
  readonly entry: string;
  readonly mayRead: (path: string) => boolean;
}

const ROOT = "/p";
const NO_STAT: FileStat = Object.freeze({ dev: 0n, ino: 0n, size: 0n, mtimeNs: 0n, ctimeNs: 0n });
const CODE_EXTENSIONS = new Set([".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"]);
// deno-lint-ignore no-control-regex -- control characters are what it looks for
const MALFORMED = /[\x00-\x1f\x7f-\x9f\u2028\u2029\\]/;

/**
 * Reads a plugin lazily. Paths are relative to the plugin (`tools/a.ts`) or virtual (`/p/tools/a.ts`); the host's own
 * spelling is in no message. Methods throw a SourceError.
 */
export class PluginSource {
  readonly #disk: string;
  readonly #limits: SourceLimits;
  readonly #script: ScriptRules | null;
  /** Whether all that there is was given, so that there is no disk to ask. */
  #isInMemory = false;
  readonly #answers = new Map<string, Answer>();
  readonly #files = new Map<string, Remembered>();
  readonly #failures = new Map<string, SourceError>();
  readonly #lists = new Map<string, readonly string[]>();
  /** State of what is there, taken before anything was asked of it. */
  readonly #looks = new Map<string, FileStat>();
  #bytes = 0;

  private constructor(disk: string, limits: Partial<SourceLimits> | undefined, script: ScriptRules | null) {
    this.#disk = disk;
    this.#limits = { ...SOURCE_LIMITS, ...limits };
    this.#script = script;
  }

  /** Looks at a plugin directory, which may itself be a link; its content is not read yet. */
  static open(directory: string, options: SourceOptions = {}): PluginSource {
    return new PluginSource(realDirectory(directory), options.limits, null);
  }

  /**
   * Looks at a single script: its source is the script, the code files below its directory that it imports, and the
   * packages in that directory's `node_modules`. Names that begin with a dot are never part of it.
   */
  static openScript(file: string, options: ScriptOptions = {}): PluginSource {
    const real = realPath(file, "script");
    const script = { entry: basename(real), mayRead: options.mayRead ?? (() => false) };
    return new PluginSource(dirname(real), options.limits, script);
  }

  /**
   * A plugin that is on no disk: its files by relative path. `directory` only names it; nothing can ever be there. Throws a
   * SourceError for a path that a plugin may not have.
   */
  static inMemory(directory: string, files: Readonly<Record<string, string | Uint8Array>>): PluginSource {
    const source = new PluginSource(directory, undefined, null);
    for (const [path, content] of Object.entries(files)) source.#give(source.#virtual(path), content);
    source.#isInMemory = true;
    return source;
  }

  /** The virtual directory under which all files are. */
  get root(): string {
    return ROOT;
  }

  /** The script's own file name, or null for a plugin directory. */
  get script(): string | null {
    return this.#script?.entry ?? null;
  }

  /** The real directory on the host; for records and path contexts, not for messages. */
  get directory(): string {
    return this.#disk;
  }

  /** What is at a path. Throws when a link leaves the plugin, or when a script may not know. */
  kind(path: string): SourceKind {
    return this.#place(this.#virtual(path)).kind;
  }

  /** The virtual path without links; the path itself, made virtual, when nothing is there. */
  real(path: string): string {
    return this.#place(this.#virtual(path)).real;
  }

  /** The bytes of a file, read at the first question only. They are shared: nobody writes to them. */
  bytes(path: string, use: SourceUse = "data"): Uint8Array {
    return this.#remember(path, use).bytes;
  }

  /** The sha256 of a file, in hexadecimal; of one that was opened already, whatever it was opened for. */
  hash(path: string, use: SourceUse = "data"): string {
    const known = this.#files.get(this.real(path));
    return known === undefined ? this.#remember(path, use).hash : known.hash;
  }

  /** Relative path → sha256 of every file that was opened, in order of path. */
  opened(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#files].map(([path, file]) => [relativeOf(path), file.hash] as const).sort(byFirst),
    );
  }

  /**
   * Relative path → sha256 of every file at and below a path; a link inside the plugin gives `link:` and its target.
   * Throws when the path is absent, when something below is neither file, directory nor link, or past a bound.
   */
  tree(path: string): ReadonlyMap<string, string> {
    const start = this.#virtual(path);
    const top = this.real(start);
    const found: [string, string][] = top === start ? [] : [[relativeOf(start), `link:${relativeOf(top)}`]];
    const waiting = [top];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const answer = next === ROOT ? { kind: "directory" } as const : this.#answer(next);
      if (answer.kind === "link") found.push([relativeOf(next), `link:${relativeOf(this.#present(next))}`]);
      else if (answer.kind === "directory") {
        waiting.push(...this.#list(next).map((name) => `${next}/${name}`));
      } else found.push([relativeOf(next), this.hash(next)]);
      if (found.length + waiting.length > this.#limits.sourceFilesMax) throw this.#tooMany(relativeOf(next));
    }
    return new Map(found.sort(byFirst));
  }

  /** Names in a directory, in order, as they were at the first question. */
  list(path: string): readonly string[] {
    const virtual = this.#virtual(path);
    const kind = this.kind(virtual);
    if (kind === "absent") throw new SourceError("absent", relativeOf(virtual), "is not there");
    if (kind !== "directory") {
      throw new SourceError("not-a-directory", relativeOf(virtual), "is not a directory");
    }
    return this.#list(virtual);
  }

  /** Relative path → state of each opened file when it was read. */
  stats(): ReadonlyMap<string, FileStat> {
    return new Map(
      [...this.#files].map(([path, file]) => [relativeOf(path), file.stat] as const).sort(byFirst),
    );
  }

  /**
   * Relative path → state of all that was found so far, from before its content was used: where all of it is as it was, a
   * second reading would find the same. Null for a plugin that is on no disk.
   */
  looks(): ReadonlyMap<string, FileStat> | null {
    if (this.#isInMemory) return null;
    const opened = [...this.#files].map(([path, { stat }]) => [path, stat] as const);
    return new Map([...this.#looks, ...opened].map(([path, stat]) => [relativeOf(path), stat]));
  }

  /**
   * Relative paths of opened files whose bytes on disk now differ from memory. A file whose state is as it was is not
   * read again; memory itself never changes.
   */
  changed(): readonly string[] {
    return [...this.#files].filter(([path, file]) => this.#differs(path, file)).map(([path]) =>
      relativeOf(path)
    ).sort();
  }

  #give(path: string, content: string | Uint8Array): void {
    const bytes = Buffer.from(content);
    this.#answers.set(path, { kind: "file" });
    this.#files.set(path, { bytes, hash: sha256(bytes), stat: NO_STAT });
    for (let child = path; child !== ROOT; child = posix.dirname(child)) {
      const parent = posix.dirname(child);
      if (parent !== ROOT) this.#answers.set(parent, { kind: "directory" });
      const names = new Set([...this.#lists.get(parent) ?? [], posix.basename(child)]);
      this.#lists.set(parent, [...names].sort());
    }
  }

  #differs(path: string, file: Remembered): boolean {
    if (this.#isInMemory) return false;
    const disk = this.#diskOf(path);
    const before = statOf(disk);
    if (before !== null && isSameStat(before, file.stat)) return false;
    try {
      const now = readRegularFile(disk, relativeOf(path), this.#limits.sourceBytesMax);
      if (sha256(now.bytes) !== file.hash) return true;
      file.stat = now.stat; // touched, not changed: the next look is cheap again
      return false;
    } catch {
      return true;
    }
  }

  #remember(path: string, use: SourceUse): Remembered {
    const { kind, real } = this.#place(this.#virtual(path));
    const name = relativeOf(real);
    if (kind === "absent") throw new SourceError("absent", name, "is not there");
    if (kind !== "file") throw new SourceError("not-a-file", name, "is not a regular file");
    this.#admit(real, use);
    const known = this.#files.get(real) ?? this.#read(real, name);
    if (!(known instanceof SourceError)) return known;
    throw known;
  }

  /** Remembers a failure as well: no path is opened twice. */
  #read(real: string, name: string): Remembered | SourceError {
    const failure = this.#failures.get(real);
    if (failure !== undefined) return failure;
    if (this.#files.size >= this.#limits.sourceFilesMax) throw this.#tooMany(name);
    try {
      const { bytes, stat } = readRegularFile(this.#diskOf(real), name, this.#limits.sourceBytesMax);
      this.#bytes += bytes.byteLength;
      if (this.#bytes > this.#limits.sourceTotalBytesMax) throw this.#tooManyBytes(name);
      const file = { bytes, hash: sha256(bytes), stat };
      this.#files.set(real, file);
      return file;
    } catch (error) {
      if (error instanceof SourceError) this.#failures.set(real, error);
      throw error;
    }
  }

  /** A script imports code freely, everything else only with the grant to read it (T30). */
  #admit(real: string, use: SourceUse): void {
    if (this.#script === null) return;
    const isPackage = use === "package" && posix.basename(real) === "package.json";
    const isCode = use === "code" && CODE_EXTENSIONS.has(posix.extname(real));
    if (isPackage || isCode || this.#script.mayRead(this.#diskOf(real))) return;
    throw new SourceError("not-granted", relativeOf(real), "is not code, and the script may not read it");
  }

  #place(path: string): Place {
    let current = ROOT;
    let links = 0;
    let parts = partsOf(path);
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      if (part === "..") {
        if (current === ROOT) throw leaves(relativeOf(path));
        current = posix.dirname(current);
        continue;
      }
      const here = `${current}/${part}`;
      const answer = this.#answer(here);
      if (answer.kind === "leaving") {
        throw new SourceError("outside", relativeOf(here), "is a link that leaves the plugin");
      }
      if (answer.kind === "link") {
        if (++links > this.#limits.sourceLinksMax) return { kind: "absent", real: path };
        // A relative target is walked from the link's own place, so `..` in it means what the system means by it.
        if (answer.to.startsWith("/")) current = ROOT;
        parts = [...(answer.to.startsWith("/") ? partsOf(answer.to) : namesOf(answer.to)), ...parts];
        continue;
      }
      if (answer.kind === "absent") return { kind: "absent", real: path };
      if (answer.kind !== "directory") {
        return parts.length === 0 ? { kind: answer.kind, real: here } : { kind: "absent", real: path };
      }
      current = here;
    }
    return { kind: "directory", real: current };
  }

  #present(path: string): string {
    const { kind, real } = this.#place(path);
    if (kind === "absent") throw new SourceError("absent", relativeOf(path), "is a link to nothing");
    return real;
  }

  #answer(path: string): Answer {
    const isHidden = posix.basename(path).startsWith(".") && path !== `${ROOT}/${this.#script?.entry}`;
    if (this.#script !== null && isHidden) {
      throw new SourceError(
        "hidden",
        relativeOf(path),
        "begins with a dot, which is never part of a script's source",
      );
    }
    const known = this.#answers.get(path);
    if (known !== undefined) return known;
    if (this.#answers.size >= this.#limits.sourceAnswersMax) throw this.#tooMany(relativeOf(path));
    const answer = this.#ask(path);
    this.#answers.set(path, answer);
    return answer;
  }

  #ask(path: string): Answer {
    if (this.#isInMemory) return { kind: "absent" };
    const disk = this.#diskOf(path);
    try {
      const stat = lstatSync(disk, { bigint: true });
      this.#looks.set(path, pick(stat));
      if (stat.isSymbolicLink()) return this.#link(readlinkSync(disk));
      return { kind: stat.isFile() ? "file" : stat.isDirectory() ? "directory" : "other" };
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG") return { kind: "absent" };
      throw new SourceError(
        "unreadable",
        relativeOf(path),
        `cannot be looked at (${code ?? "unknown error"})`,
      );
    }
  }

  /** An absolute target inside the plugin becomes virtual; any other leaves it, and nothing out there is looked at. */
  #link(target: string): Answer {
    if (MALFORMED.test(target) || !target.isWellFormed()) return { kind: "leaving" };
    if (!isAbsolute(target)) return { kind: "link", to: target };
    const isInside = target === this.#disk || target.startsWith(this.#disk + sep);
    const to = posix.normalize(ROOT + target.slice(this.#disk.length));
    return isInside && (to === ROOT || to.startsWith(`${ROOT}/`))
      ? { kind: "link", to }
      : { kind: "leaving" };
  }

  #list(path: string): readonly string[] {
    const real = this.real(path);
    const known = this.#lists.get(real);
    if (known !== undefined) return known;
    const disk = this.#diskOf(real);
    // Nobody asks what the root is, so it was not looked at before.
    const look = this.#looks.get(real) ?? statOf(disk);
    if (look !== null) this.#looks.set(real, look);
    const names = readdirSync(disk).sort();
    if (names.length > this.#limits.sourceFilesMax) throw this.#tooMany(relativeOf(path));
    const odd = names.find((name) => MALFORMED.test(name) || !name.isWellFormed());
    if (odd !== undefined) throw malformed(`${relativeOf(path)}/${odd}`);
    this.#lists.set(real, names);
    return names;
  }

  #virtual(path: string): string {
    if (path.length > this.#limits.sourcePathCharsMax) throw malformed(path.slice(0, 64));
    if (MALFORMED.test(path) || !path.isWellFormed()) throw malformed(path);
    // A relative path is normalised by itself: `../p/a` would otherwise leave and come back by the made-up root's name.
    const inside = path.startsWith("/") ? path : posix.normalize(path);
    if (inside === ".." || inside.startsWith("../")) throw leaves(path);
    const full = posix.resolve(ROOT, inside);
    if (full !== ROOT && !full.startsWith(`${ROOT}/`)) throw leaves(path);
    return full;
  }

  #diskOf(path: string): string {
    return path === ROOT ? this.#disk : join(this.#disk, ...partsOf(path));
  }

  #tooManyBytes(path: string): SourceError {
    const bytesMax = this.#limits.sourceTotalBytesMax;
    return new SourceError(
      "too-large",
      path,
      `is too much: all files together are larger than ${bytesMax} bytes (sourceTotalBytesMax)`,
    );
  }

  #tooMany(path: string): SourceError {
    return new SourceError(
      "too-many",
      path,
      `is one path too many: a plugin may have ${this.#limits.sourceFilesMax} files (sourceFilesMax)`,
    );
  }
}

/** A virtual path without its root: how files are named in messages, pins and source maps. */
export function relativeOf(path: string): string {
  return path === ROOT ? "." : path.startsWith(`${ROOT}/`) ? path.slice(ROOT.length + 1) : path;
}

function realDirectory(directory: string): string {
  const real = realPath(directory, "plugin directory");
  if (!lstatSync(real).isDirectory()) throw new SourceError("not-a-directory", ".", "is not a directory");
  return real;
}

function realPath(path: string, what: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    throw new SourceError("absent", ".", `cannot be opened: there is no such ${what}`);
  }
}

function partsOf(path: string): string[] {
  return path === ROOT ? [] : path.slice(ROOT.length + 1).split("/");
}

function namesOf(target: string): string[] {
  return target.split("/").filter((name) => name !== "" && name !== ".");
}

function leaves(path: string): SourceError {
  return new SourceError("outside", path, "leaves the plugin");
}

function malformed(path: string): SourceError {
  return new SourceError(
    "malformed",
    JSON.stringify(path).slice(1, -1),
    "is not a path that a plugin may have",
  );
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function byFirst(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;
}
