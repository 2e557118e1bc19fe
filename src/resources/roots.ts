/**
 * Reads text files below an ordered list of trusted directories. Where a directory is, and which directory it is, was settled
 * when the list was made: one that was put in its place later is refused. Nothing outside is opened, whatever links say.
 */
import { lstatSync, readdirSync, realpathSync } from "node:fs";
import { isAbsolute, join, sep } from "node:path";
import { ResourceError, UsageError } from "../../permissions/mod.ts";
import { isSameStat, readRegularFile, SourceError, statOf } from "../source_file.ts";
import { RESOURCE_LIMITS } from "./limits.ts";
import { resourcePath } from "./path.ts";

/** A directory that is trusted to hold resources. */
export interface ResourceRoot {
  /** Names it in results; stable, and its own. */
  readonly id: string;
  /** Where it is: an absolute path. */
  readonly directory: string;
}

/** A file that was read. Frozen. */
export interface Resource {
  /** The root that has it. */
  readonly rootId: string;
  /** Its path below that root, in normal form. */
  readonly path: string;
  /** What it holds. */
  readonly text: string;
}

interface CapturedRoot {
  readonly id: string;
  readonly real: string;
  readonly identity: string;
}

/** What was found at a path of one root. */
type Place = { readonly real: string } | "missing";

/** Directories in order of precedence, each with the identity that it had at first. */
export class ResourceRoots {
  readonly #roots: readonly CapturedRoot[];

  private constructor(roots: readonly CapturedRoot[]) {
    this.#roots = roots;
  }

  /**
   * Settles which directories are meant. Throws UsageError for no root at all, too many, an id that is empty or taken, and a
   * path that is not absolute; ResourceError `ERR_RESOURCE_REFUSED` for what is no directory.
   */
  static capture(roots: readonly ResourceRoot[]): ResourceRoots {
    if (roots.length === 0) throw usage("give at least one root");
    checkRoots(roots);
    return new ResourceRoots(roots.map(({ id, directory }) => captureRoot(id, directory)));
  }

  /** Ids in order of precedence. */
  get ids(): readonly string[] {
    return this.#roots.map(({ id }) => id);
  }

  /**
   * The file of the first root that has it; undefined when none has. Throws ResourceError: `ERR_RESOURCE_PATH`, and
   * `ERR_RESOURCE_REFUSED` for what is there and may not be read, so that no later root stands in for it.
   */
  read(path: string): Resource | undefined {
    const normal = resourcePath(path);
    for (const root of this.#roots) {
      const found = readFrom(root, normal);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The file of one root and no other. Throws as `read` does, and ResourceError `ERR_RESOURCE_NOT_FOUND`. */
  readStrict(rootId: string, path: string): Resource {
    const normal = resourcePath(path);
    const found = readFrom(this.#rootOf(rootId), normal);
    if (found !== undefined) return found;
    throw notFound(normal, rootId);
  }

  /** The bytes of a file of one root and no other, text or not. Throws as `readStrict` does. */
  bytesStrict(rootId: string, path: string): Uint8Array {
    const normal = resourcePath(path);
    const found = bytesFrom(this.#rootOf(rootId), normal);
    if (found !== undefined) return found;
    throw notFound(normal, rootId);
  }

  /**
   * Names in a folder of one root, in order, those of folders with a `/` behind; none where there is no such folder. Throws as
   * `read` does, and ResourceError `ERR_RESOURCE_REFUSED` for a folder of more than `namesMax`.
   */
  list(rootId: string, path: string): readonly string[] {
    const root = this.#rootOf(rootId);
    const normal = resourcePath(path);
    refuseReplaced(root);
    const place = placeOf(root, normal);
    const names = place === "missing" ? [] : namesIn(place.real);
    refuseReplaced(root);
    if (names.length <= RESOURCE_LIMITS.namesMax) return names;
    throw refused(`folder "${normal}"`, `has more than ${RESOURCE_LIMITS.namesMax} names (namesMax)`);
  }

  /** Whether `read` would give a file; false for whatever it would refuse. */
  exists(path: string): boolean {
    return doesNotThrow(() => this.read(path) !== undefined);
  }

  /** Whether `readStrict` would give a file; false for whatever it would refuse. */
  existsStrict(rootId: string, path: string): boolean {
    return doesNotThrow(() => readFrom(this.#rootOf(rootId), resourcePath(path)) !== undefined);
  }

  #rootOf(rootId: string): CapturedRoot {
    const root = this.#roots.find(({ id }) => id === rootId);
    if (root === undefined) {
      throw usage(`there is no root ${JSON.stringify(rootId)}; there are ${this.ids.join(", ")}`);
    }
    return root;
  }
}

/** Throws UsageError for roots that could be nowhere: too many, an id that is empty or taken, a path that is not absolute. */
export function checkRoots(roots: readonly ResourceRoot[]): void {
  if (roots.length > RESOURCE_LIMITS.rootsMax) throw usage(`give at most ${RESOURCE_LIMITS.rootsMax} roots`);
  const ids = new Set<string>();
  for (const { id, directory } of roots) {
    if (typeof id !== "string" || id === "") throw usage("a root has no id");
    if (ids.has(id)) throw usage(`two roots have the id ${JSON.stringify(id)}`);
    ids.add(id);
    if (!isAbsolute(directory)) throw usage(`the directory of root ${JSON.stringify(id)} is not absolute`);
  }
}

function captureRoot(id: string, directory: string): CapturedRoot {
  try {
    const real = realpathSync.native(directory);
    return { id, real, identity: identityOf(real) };
  } catch {
    throw refused(`root ${JSON.stringify(id)}`, "is no directory");
  }
}

/** Device, number and time of birth: what stands there later under the same name differs in one of them. */
function identityOf(directory: string): string {
  const stat = lstatSync(directory, { bigint: true });
  if (!stat.isDirectory()) throw new TypeError("not a directory");
  return `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`;
}

function readFrom(root: CapturedRoot, path: string): Resource | undefined {
  const bytes = bytesFrom(root, path);
  return bytes === undefined
    ? undefined
    : Object.freeze({ rootId: root.id, path, text: decode(path, bytes) });
}

function bytesFrom(root: CapturedRoot, path: string): Uint8Array | undefined {
  refuseReplaced(root);
  const place = placeOf(root, path);
  if (place === "missing") return undefined;
  const bytes = bytesOf(place.real, path);
  // A directory above may have changed hands while the file was read.
  refuseReplaced(root);
  return bytes;
}

/** What is no folder, or cannot be looked at, has no names. */
function namesIn(real: string): string[] {
  try {
    return readdirSync(real, { withFileTypes: true })
      .map((entry) => entry.isDirectory() ? `${entry.name}/` : entry.name).sort();
  } catch {
    return [];
  }
}

function bytesOf(real: string, path: string): Uint8Array {
  const { resourceBytesMax } = RESOURCE_LIMITS;
  try {
    const { bytes, stat } = readRegularFile(real, path, resourceBytesMax);
    const now = statOf(real);
    if (now === null || !isSameStat(stat, now)) {
      throw refused(`resource "${path}"`, "changed while it was read. Read it again");
    }
    return bytes;
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    const why = error.reason === "too-large"
      ? `has more than ${resourceBytesMax} bytes (resourceBytesMax)`
      : error.message.slice(path.length + 3); // it begins with the path, in quotation marks
    throw refused(`resource "${path}"`, why);
  }
}

function refuseReplaced({ id, real, identity }: CapturedRoot): void {
  let now: string | undefined;
  try {
    now = identityOf(real);
  } catch {
    // Gone, or no directory any more.
  }
  if (now !== identity) throw refused(`root ${JSON.stringify(id)}`, "is not the directory that it was");
}

/** Resolves links; one that leads out of the root, or nowhere, is no missing file but a refused one. */
function placeOf({ real: root }: CapturedRoot, path: string): Place {
  const asked = join(root, path);
  try {
    const real = realpathSync.native(asked);
    if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) {
      throw refused(`resource "${path}"`, "leads out of its root by a link");
    }
    return { real };
  } catch (error) {
    if (error instanceof ResourceError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") {
      if (hasLink(root, path)) throw refused(`resource "${path}"`, "is a link that leads nowhere");
      return "missing";
    }
    throw refused(`resource "${path}"`, `cannot be reached (${code ?? "unknown error"})`);
  }
}

function hasLink(root: string, path: string): boolean {
  let at = root;
  for (const segment of path.split("/")) {
    at = join(at, segment);
    try {
      if (lstatSync(at).isSymbolicLink()) return true;
    } catch {
      return false;
    }
  }
  return false;
}

function decode(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw refused(`resource "${path}"`, "is not UTF-8");
  }
}

function doesNotThrow(question: () => boolean): boolean {
  try {
    return question();
  } catch (error) {
    if (error instanceof ResourceError) return false;
    throw error;
  }
}

function notFound(path: string, rootId: string): ResourceError {
  return new ResourceError(
    "ERR_RESOURCE_NOT_FOUND",
    `Cannot find resource "${path}": ${rootId} does not have it`,
    { details: { path, rootId } },
  );
}

function refused(what: string, why: string): ResourceError {
  return new ResourceError("ERR_RESOURCE_REFUSED", `Cannot read ${what}: it ${why}`);
}

function usage(why: string): UsageError {
  return new UsageError("ERR_USAGE", `Cannot use resource roots: ${why}`);
}
