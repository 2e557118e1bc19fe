/** What the package.json files of a plugin say about its modules: their type, and whether loading them has effects. */
import { posix } from "node:path";
import { matchesGlob } from "./glob.ts";
import type { BuildSource } from "./observed.ts";

/** The package that a module belongs to. */
export interface PackageScope {
  /** Virtual directory of the package. */
  readonly directory: string;
  /** What its package.json holds; empty when it is absent or no object. */
  readonly content: Readonly<Record<string, unknown>>;
}

/** Reads package.json files through the one function that records and bounds them. */
export type ReadPackage = (path: string) => Readonly<Record<string, unknown>> | null;

/** Finds the package of each directory, once. */
export class PackageScopes {
  readonly #source: BuildSource;
  readonly #read: ReadPackage;
  readonly #known = new Map<string, PackageScope>();

  /** `read` gives the content of a package.json, or null when there is none. */
  constructor(source: BuildSource, read: ReadPackage) {
    this.#source = source;
    this.#read = read;
  }

  /** The package of a module. */
  of(path: string): PackageScope {
    return this.#ofDirectory(posix.dirname(path));
  }

  #ofDirectory(directory: string): PackageScope {
    const known = this.#known.get(directory);
    if (known !== undefined) return known;
    const content = this.#read(`${directory}/package.json`);
    const isTop = directory === this.#source.root || posix.basename(directory) === "node_modules";
    const scope = content === null && !isTop
      ? this.#ofDirectory(posix.dirname(directory))
      : { directory, content: content ?? {} };
    this.#known.set(directory, scope);
    return scope;
  }
}

/** More patterns than this are not looked at. */
const PATTERNS_MAX = 64;

/** Whether a file ending in .js or .ts is an ES module by its package, which decides how CommonJS is imported from it. */
export function isModuleByPackage(path: string, scope: PackageScope): boolean {
  return /\.[jt]sx?$/.test(path) && scope.content["type"] === "module";
}

/** Whether a module must be kept though nothing of it is used. A pattern that is not understood means yes. */
export function hasSideEffects(path: string, scope: PackageScope): boolean {
  const declared = scope.content["sideEffects"];
  if (declared === false) return false;
  if (!Array.isArray(declared) || declared.length > PATTERNS_MAX) return true;
  const name = path.slice(scope.directory.length + 1);
  return declared.some((pattern) => typeof pattern !== "string" || matchesGlob(pattern, name));
}
