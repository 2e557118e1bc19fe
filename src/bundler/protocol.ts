/** The words between the host and a bundler process. */

/** Frames from the host. */
export const TO_BUNDLER = Object.freeze({
  /** Build: JSON `BuildOrder`. */
  build: 1,
  /** Answer to `resolve`: JSON `ResolveAnswer`. */
  resolved: 2,
  /** Answer to `load`: parts `LoadAnswer` and the content. */
  loaded: 3,
});

/** Frames from a bundler process; nothing in them is trusted. */
export const FROM_BUNDLER = Object.freeze({
  /** The process is confined and its engine runs. */
  ready: 101,
  /** Where does an import lead: JSON `ResolveQuestion`. */
  resolve: 102,
  /** What is in a file: JSON `LoadQuestion`. */
  load: 103,
  /** The build has ended: parts `BuildReport`, then code and source map. */
  built: 104,
});

/** How code finds out its own address: what stands for `import.meta`, and the module that gives it. */
export const META = Object.freeze({ name: "__sallyport_meta__", specifier: "sallyport:meta" });

/** Payload of `build`. */
export interface BuildOrder {
  /** Text of the entry, which imports the target and registers it. */
  readonly entry: string;
}

/** Payload of `resolve`. */
export interface ResolveQuestion {
  /** Path of the importing file as it was answered, or "" for the entry. */
  readonly importer: string;
  /** What stands in quotes. */
  readonly specifier: string;
  /** The bundler's name for the kind of import. */
  readonly kind: string;
  /** Its `with { … }`. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** Payload of `resolved`. */
export type ResolveAnswer =
  | {
    readonly state: "found";
    /** Path of the file. */
    readonly path: string;
    /** Whether it is an ES module by its package. */
    readonly isModule: boolean;
    /** Whether it must be kept though nothing of it is used. */
    readonly sideEffects: boolean;
  }
  | { readonly state: "disabled" | "absent" | "refused" };

/** Payload of `load`. */
export interface LoadQuestion {
  /** Path as it was answered. */
  readonly path: string;
  /** The import's `with { … }`. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** Header of `loaded`; without a loader the file was refused. */
export interface LoadAnswer {
  /** The bundler's loader. */
  readonly loader: string | null;
}

/** An error or a warning of the bundler. */
export interface BuildMessage {
  /** The bundler's id of the kind of message, or "". */
  readonly id: string;
  /** What it says. */
  readonly text: string;
  /** Path of the file as it was answered, or "". */
  readonly file: string;
  /** Line, counted from one; 0 when unknown. */
  readonly line: number;
  /** Column, counted from zero. */
  readonly column: number;
}

/** Header of `built`. */
export interface BuildReport {
  /** Whether there is code. */
  readonly ok: boolean;
  /** Errors; none when there is code. */
  readonly errors: readonly BuildMessage[];
  /** Warnings. */
  readonly warnings: readonly BuildMessage[];
  /** Bytes of code; the source map follows it. */
  readonly codeBytes: number;
  /** The engine is broken and the process ends. */
  readonly isBroken: boolean;
}

/** What every engine is told, in the words of its JavaScript interface. */
export const ENGINE_OPTIONS = Object.freeze({
  bundle: true,
  format: "esm", // top-level await; the worker wraps the text in an async function
  platform: "neutral",
  target: "es2024",
  charset: "utf8",
  outdir: "/out",
  tsconfigRaw: "{}",
  treeShaking: true,
  legalComments: "none",
  logLimit: 100,
  sourcemap: "external",
  sourcesContent: false,
  // `import()` of what was not bundled becomes a promise that rejects with a plain Error, as `require()` throws one.
  supported: { "dynamic-import": false, "import-meta": false },
  define: { "import.meta": META.name, "process.env.NODE_ENV": '"production"', global: "globalThis" },
  banner: { js: `const ${META.name} = { url: "plugin:" };` },
});
