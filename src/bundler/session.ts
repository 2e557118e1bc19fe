/**
 * The host's half of one build: answers what the bundler process asks from the plugin's memory, and keeps the record
 * that becomes pins. What the process itself says about files is not used.
 */
import { posix } from "node:path";
import { BundleError } from "../../permissions/mod.ts";
import { relativeOf } from "../source.ts";
import { SourceError } from "../source_file.ts";
import type { BundleLimits } from "./limits.ts";
import { type ImportAttributes, isCode, loaderOf } from "./loaders.ts";
import type { BuildSource } from "./observed.ts";
import { prepare, UnfitFile } from "./prepare.ts";
import type { LoadAnswer, LoadQuestion, ResolveAnswer, ResolveQuestion } from "./protocol.ts";
import { type ImportErrorCode, PluginResolver, type Resolved } from "./resolve.ts";
import type { BundleTarget, ImportEdge, ImportKind } from "./types.ts";

/** An import that could not be followed. */
export interface ImportIssue {
  /** Importing file. */
  readonly importer: string;
  /** What stands in quotes. */
  readonly specifier: string;
  /** Why. */
  readonly reason: string;
  /** Not allowed, or not possible. */
  readonly code: ImportErrorCode;
  /** An error wherever it stands, as opposed to not found, which `try` allows for. */
  readonly isRefused: boolean;
}

const KINDS: ReadonlySet<string> = new Set<ImportKind>([
  "import-statement",
  "dynamic-import",
  "require-call",
  "require-resolve",
]);

/** One build of one target, seen from the host. */
export class BuildSession {
  /** Text of the entry module. */
  readonly entry: string;
  readonly #source: BuildSource;
  readonly #limits: BundleLimits;
  readonly #resolver: PluginResolver;
  readonly #target: string;
  readonly #edges = new Map<string, ImportEdge>();
  readonly #issues = new Map<string, ImportIssue>();
  readonly #importers = new Map<string, string | null>();
  readonly #modules = new Set<string>();
  readonly #inputs = new Set<string>();
  #imports = 0;
  #bytes = 0;

  /** Begins a build; nothing is read yet. */
  constructor(source: BuildSource, target: BundleTarget, limits: BundleLimits) {
    this.#source = source;
    this.#limits = limits;
    this.#resolver = new PluginResolver(source, limits);
    this.#target = posix.join(source.root, target.path);
    this.entry = entryOf(this.#target, target.export);
  }

  /** The target's file, relative to the plugin. */
  get target(): string {
    return relativeOf(this.#target);
  }

  /** Whether the bundler has asked anything. */
  get hasBegun(): boolean {
    return this.#imports > 0;
  }

  /** Relative paths of all files that were handed out, in order. */
  get inputs(): readonly string[] {
    return [...this.#inputs].map(relativeOf).sort();
  }

  /** Relative paths of the package.json files that had a say, in order. */
  get packageFiles(): readonly string[] {
    return this.#resolver.packageFiles;
  }

  /** The import graph, in order. */
  get edges(): readonly ImportEdge[] {
    return [...this.#edges].sort(([a], [b]) => a < b ? -1 : 1).map(([, edge]) => edge);
  }

  /** What could not be followed, refusals first. */
  get issues(): readonly ImportIssue[] {
    return [...this.#issues.values()].sort((a, b) => Number(b.isRefused) - Number(a.isRefused));
  }

  /** Answers where an import leads. Throws a BundleError when the build is over a bound. */
  resolve(question: ResolveQuestion): ResolveAnswer {
    const { importer, specifier } = question;
    if (++this.#imports > this.#limits.bundleImportsMax) throw this.#overBound("imports", "bundleImportsMax");
    const isEntry = importer === "";
    if (!isEntry && !this.#inputs.has(importer)) return { state: "refused" }; // no honest bundler asks that
    const resolved = isEntry ? this.#resolver.at(this.#target, {}) : this.#resolve(question);
    this.#follow(isEntry ? null : importer, resolved);
    if (resolved.state === "refused" || resolved.state === "absent") {
      this.#note(importer, isEntry ? relativeOf(this.#target) : specifier, resolved);
    }
    if (!isEntry) this.#edge(question, resolved);
    if (resolved.state !== "found") return { state: resolved.state };
    const { path, isModule, sideEffects } = resolved;
    return { state: "found", path, isModule, sideEffects: isEntry || sideEffects };
  }

  /** Answers what is in a file. Throws a BundleError when the build is over a bound, or the file cannot be used. */
  load(question: LoadQuestion): { readonly header: LoadAnswer; readonly content: Uint8Array | string } {
    const { path, attributes } = question;
    if (!this.#importers.has(path)) return { header: { loader: null }, content: "" };
    const loader = loaderOf(posix.extname(path), attributes);
    if (typeof loader !== "string") return { header: { loader: null }, content: "" };
    try {
      const bytes = this.#source.bytes(path, isCode(loader) ? "code" : "data");
      this.#inputs.add(path);
      // One file under two attributes is two modules, and costs twice.
      this.#modules.add(`${path}\0${JSON.stringify(attributes)}`);
      if (this.#modules.size > this.#limits.bundleModulesMax) {
        throw this.#overBound("files", "bundleModulesMax");
      }
      this.#bytes += bytes.byteLength;
      if (this.#bytes > this.#limits.bundleInputBytesMax) {
        throw this.#overBound("bytes of files", "bundleInputBytesMax");
      }
      const isModule = this.#isModule(path, attributes);
      return { header: { loader }, content: prepare(bytes, loader, isModule, this.#limits.bundleNestingMax) };
    } catch (error) {
      if (error instanceof UnfitFile || error instanceof SourceError) throw this.#unfit(path, error);
      throw error;
    }
  }

  /** How a file was first reached: relative paths from the target to the file, the middle of a long way left out. */
  chainOf(path: string): readonly string[] {
    const chain: string[] = [];
    const start = path === "" ? null : posix.join(this.#source.root, path);
    for (let at = start; at; at = this.#importers.get(at) ?? null) chain.push(relativeOf(at));
    chain.reverse();
    const excess = chain.length - this.#limits.bundleChainMax;
    return excess <= 0 ? chain : chain.toSpliced(this.#limits.bundleChainMax / 2, excess, "…");
  }

  #resolve({ importer, specifier, kind, attributes }: ResolveQuestion): Resolved {
    if (KINDS.has(kind)) {
      return this.#resolver.resolve({ importer, specifier, kind: kind as ImportKind, attributes });
    }
    return {
      state: "refused",
      reason: `imports of kind "${kind}" cannot be followed`,
      code: "ERR_IMPORT_REFUSED",
    };
  }

  #isModule(path: string, attributes: ImportAttributes): boolean {
    const resolved = this.#resolver.at(path, attributes);
    return /\.m[jt]s$/.test(path) || (resolved.state === "found" && resolved.isModule);
  }

  #follow(importer: string | null, resolved: Resolved): void {
    if (resolved.state !== "found" || this.#importers.has(resolved.path)) return;
    this.#importers.set(resolved.path, importer);
    if (this.#importers.size > this.#limits.bundleModulesMax) {
      throw this.#overBound("files", "bundleModulesMax");
    }
  }

  #edge({ importer, specifier, kind }: ResolveQuestion, resolved: Resolved): void {
    const path = resolved.state === "found" ? relativeOf(resolved.path) : null;
    const edge = { importer: relativeOf(importer), specifier, kind: kind as ImportKind, path };
    this.#edges.set(JSON.stringify([edge.importer, specifier, kind, path]), edge);
  }

  #note(importer: string, specifier: string, resolved: Resolved & { state: "absent" | "refused" }): void {
    const isRefused = resolved.state === "refused";
    const { reason, code } = resolved;
    const issue = {
      importer: importer === "" ? "" : relativeOf(importer),
      specifier,
      reason,
      code,
      isRefused,
    };
    this.#issues.set(JSON.stringify([importer, specifier]), issue);
  }

  #unfit(path: string, cause: Error): BundleError {
    const name = relativeOf(path);
    return new BundleError("ERR_BUNDLE_FAILED", `Cannot bundle "${name}": ${cause.message}`, {
      details: { file: name, chain: this.chainOf(name) },
    });
  }

  #overBound(
    what: string,
    name: "bundleImportsMax" | "bundleModulesMax" | "bundleInputBytesMax",
  ): BundleError {
    const target = relativeOf(this.#target);
    return new BundleError(
      "ERR_BUNDLE_FAILED",
      `Cannot bundle "${target}": it imports more than ${this.#limits[name]} ${what} (${name}). Import less`,
      { details: { file: target, limit: name, max: this.#limits[name] } },
    );
  }
}

function entryOf(target: string, name: string | null): string {
  const value = name === null ? `"default" in m ? m.default : undefined` : `m[${JSON.stringify(name)}]`;
  return `import * as m from ${JSON.stringify(target)};\n__sallyport_register__(${value});\n`;
}
