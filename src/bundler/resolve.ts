/**
 * Where an import leads: enhanced-resolve over the memory of a PluginSource, so that the answer depends on nothing but
 * files that are pinned. It reads package.json files and takes no other configuration (T06).
 */
import { posix } from "node:path";
import enhancedResolve from "enhanced-resolve";
import { relativeOf } from "../source.ts";
import { SourceError, type SourceReason } from "../source_file.ts";
import type { BundleLimits } from "./limits.ts";
import { type ImportAttributes, isCode, type Loader, loaderOf } from "./loaders.ts";
import type { BuildSource } from "./observed.ts";
import { hasSideEffects, isModuleByPackage, PackageScopes } from "./packages.ts";
import { absenceOf, isBuiltIn, refusalOf } from "./specifier.ts";
import type { ImportKind } from "./types.ts";

/** One import, as the bundler met it. */
export interface ImportAsk {
  /** Virtual path of the importing file. */
  readonly importer: string;
  /** What stands in quotes. */
  readonly specifier: string;
  /** How it is imported. */
  readonly kind: ImportKind;
  /** Its `with { … }`. */
  readonly attributes: ImportAttributes;
}

/** Where an import leads. */
export type Resolved =
  | {
    readonly state: "found";
    /** Virtual path without links. */
    readonly path: string;
    readonly loader: Loader;
    /** The file is an ES module because its package says so. */
    readonly isModule: boolean;
    readonly sideEffects: boolean;
  }
  /** The package's `browser` field says that there is nothing here. */
  | { readonly state: "disabled" }
  /** Nothing there; harmless inside `try`. */
  | { readonly state: "absent"; readonly reason: string; readonly code: ImportErrorCode }
  /** An error wherever it stands. */
  | { readonly state: "refused"; readonly reason: string; readonly code: ImportErrorCode };

/** Not allowed, or not possible. */
export type ImportErrorCode = "ERR_IMPORT_REFUSED" | "ERR_BUNDLE_FAILED";

const EXTENSIONS = [".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".json"];
const EXTENSION_ALIAS = { ".js": [".js", ".ts", ".tsx"], ".mjs": [".mjs", ".mts"], ".cjs": [".cjs", ".cts"] };
const CONDITIONS = ["module", "default", "worker", "browser"];

/** Resolves the imports of one build, and remembers the package.json files that it consulted. */
export class PluginResolver {
  readonly #source: BuildSource;
  readonly #limits: BundleLimits;
  readonly #scopes: PackageScopes;
  readonly #byImport: enhancedResolve.Resolver;
  readonly #byRequire: enhancedResolve.Resolver;
  readonly #packages = new Map<string, Readonly<Record<string, unknown>> | null>();
  readonly #modules = new Map<string, Resolved>();
  #obstacle: SourceError | null = null;

  /** A resolver of its own for each build: what it consulted belongs to that build's pins. */
  constructor(source: BuildSource, limits: BundleLimits) {
    this.#source = source;
    this.#limits = limits;
    this.#scopes = new PackageScopes(source, (path) => this.#package(path));
    const shared = {
      fileSystem: new enhancedResolve.CachedInputFileSystem(this.#fileSystem(), Infinity),
      useSyncFileSystemCalls: true,
      extensions: EXTENSIONS,
      extensionAlias: EXTENSION_ALIAS,
      aliasFields: ["browser"],
      exportsFields: ["exports"],
      importsFields: ["imports"],
      modules: ["node_modules"],
      roots: [],
      preferAbsolute: false,
      symlinks: false, // the source follows links itself, and knows which ones leave
    };
    this.#byImport = enhancedResolve.ResolverFactory.createResolver({
      ...shared,
      conditionNames: ["import", ...CONDITIONS],
      mainFields: ["browser", "module", "main"],
    });
    this.#byRequire = enhancedResolve.ResolverFactory.createResolver({
      ...shared,
      conditionNames: ["require", ...CONDITIONS],
      mainFields: ["browser", "main"],
    });
  }

  /** Paths of the package.json files consulted so far, relative and in order. */
  get packageFiles(): readonly string[] {
    const found = [...this.#packages].filter(([, content]) => content !== null);
    return [...new Set(found.map(([path]) => relativeOf(this.#source.real(path))))].sort();
  }

  /** Resolves one import; never throws for what a plugin contains. */
  resolve(ask: ImportAsk): Resolved {
    const { specifier, importer, kind, attributes } = ask;
    const refusal = refusalOf(specifier, importer, this.#source.root, this.#limits.bundleSpecifierCharsMax);
    if (refusal !== null) return { state: "refused", reason: refusal, code: "ERR_IMPORT_REFUSED" };
    if (specifier.startsWith("node:")) return absence(specifier);
    this.#obstacle = null;
    const resolver = kind.startsWith("require") ? this.#byRequire : this.#byImport;
    let target: string | false;
    try {
      target = resolver.resolveSync({}, posix.dirname(importer), specifier);
    } catch {
      return this.#blocked() ?? absence(specifier);
    }
    // A link that leaves the plugin may have been passed over on the way to something else: Node would have taken it.
    const blocked = this.#blocked();
    if (blocked !== null) return blocked;
    if (target === false) return { state: "disabled" };
    return this.at(target.replaceAll("\0", ""), attributes);
  }

  /** What is at a virtual path, as a module; found out once. */
  at(path: string, attributes: ImportAttributes): Resolved {
    const key = JSON.stringify([path, attributes]);
    const known = this.#modules.get(key);
    if (known !== undefined) return known;
    const resolved = this.#look(path, attributes);
    if (resolved.state === "found") this.#modules.set(key, resolved);
    return resolved;
  }

  #look(path: string, attributes: ImportAttributes): Resolved {
    try {
      const real = this.#source.real(path);
      if (this.#source.kind(real) !== "file") return absence("./");
      const loader = loaderOf(posix.extname(real), attributes);
      if (typeof loader !== "string") {
        return { state: "refused", reason: loader.refused, code: "ERR_IMPORT_REFUSED" };
      }
      // Asked here and not at the load, so that a refusal can name the import.
      this.#source.bytes(real, isCode(loader) ? "code" : "data");
      const scope = this.#scopes.of(real);
      const blocked = this.#blocked();
      if (blocked !== null) return blocked;
      return {
        state: "found",
        path: real,
        loader,
        isModule: isCode(loader) && isModuleByPackage(real, scope),
        sideEffects: hasSideEffects(real, scope),
      };
    } catch (error) {
      if (error instanceof SourceError) return refusedBy(error);
      throw error;
    }
  }

  #blocked(): Resolved | null {
    return this.#obstacle === null ? null : refusedBy(this.#obstacle);
  }

  #package(path: string): Readonly<Record<string, unknown>> | null {
    const known = this.#packages.get(path);
    if (known !== undefined) return known;
    let content: Readonly<Record<string, unknown>> | null = null;
    if (this.#kind(path) === "file") {
      const value: unknown = parseQuietly(this.#packageBytes(path));
      content = typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
    }
    this.#packages.set(path, content);
    return content;
  }

  #packageBytes(path: string): Uint8Array {
    try {
      const bytes = this.#source.bytes(path, "package");
      if (bytes.byteLength <= this.#limits.bundlePackageBytesMax) return bytes;
      const why = `is larger than ${this.#limits.bundlePackageBytesMax} bytes (bundlePackageBytesMax)`;
      throw new SourceError("too-large", relativeOf(path), why);
    } catch (error) {
      if (error instanceof SourceError) this.#obstacle ??= error;
      throw error;
    }
  }

  /** Kind of a path that the resolver probes; a link that leaves is remembered and looks absent. */
  #kind(path: string): "file" | "directory" | "absent" {
    const { root } = this.#source;
    if (path !== root && !path.startsWith(`${root}/`)) return root.startsWith(path) ? "directory" : "absent";
    try {
      const kind = this.#source.kind(path);
      return kind === "other" ? "absent" : kind;
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      if (error.reason !== "malformed") this.#obstacle ??= error;
      return "absent";
    }
  }

  #fileSystem(): enhancedResolve.BaseFileSystem {
    const stat = (path: string) => {
      const kind = this.#kind(path);
      if (kind === "absent") throw noEntry();
      return {
        isFile: () => kind === "file",
        isDirectory: () => kind === "directory",
        isSymbolicLink: () => false,
      };
    };
    const readFile = (path: string) => {
      // The resolver reads description files and nothing else; anything else would be an unpinned influence.
      if (posix.basename(path) !== "package.json") throw noEntry();
      const content = this.#package(path);
      if (content === null) throw noEntry();
      return Buffer.from(JSON.stringify(content));
    };
    const never = () => {
      throw noEntry();
    };
    const fileSystem = {
      stat: later(stat),
      lstat: later(stat),
      readFile: later(readFile),
      readdir: later(never),
      readlink: later(never),
      statSync: stat,
      lstatSync: stat,
      readFileSync: readFile,
      readdirSync: never,
      readlinkSync: never,
    };
    return fileSystem as unknown as enhancedResolve.BaseFileSystem; // the few members that the resolver uses
  }
}

const FORBIDDEN: ReadonlySet<SourceReason> = new Set(["outside", "hidden", "not-granted", "malformed"]);

function refusedBy(error: SourceError): Resolved {
  const code = FORBIDDEN.has(error.reason) ? "ERR_IMPORT_REFUSED" : "ERR_BUNDLE_FAILED";
  return { state: "refused", reason: error.message, code };
}

function absence(specifier: string): Resolved {
  const reason = absenceOf(specifier);
  return { state: "absent", reason, code: isBuiltIn(specifier) ? "ERR_IMPORT_REFUSED" : "ERR_BUNDLE_FAILED" };
}

type Callback = (error: unknown, value?: unknown) => void;

function later(
  action: (path: string) => unknown,
): (path: string, options: unknown, callback?: Callback) => void {
  return (path, options, callback) => {
    const answer = callback ?? options as Callback; // options may be left out
    let value: unknown;
    try {
      value = action(path);
    } catch (error) {
      answer(error);
      return;
    }
    answer(null, value);
  };
}

function noEntry(): Error {
  return Object.assign(new Error("ENOENT"), { code: "ENOENT" });
}

function parseQuietly(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
}
