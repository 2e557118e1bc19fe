/** What kind of text a file is read as: by its extension, or by the import's `with { type }`. */

/** The loaders of the bundler that are used. */
export type Loader = "js" | "jsx" | "ts" | "tsx" | "json" | "text" | "binary";

/** Attributes of an import statement: `with { type: "json" }`. */
export type ImportAttributes = Readonly<Record<string, string>>;

const BY_EXTENSION: Readonly<Record<string, Loader>> = Object.freeze({
  __proto__: null as never,
  ".js": "js",
  ".mjs": "js",
  ".cjs": "js",
  ".jsx": "jsx",
  ".ts": "ts",
  ".mts": "ts",
  ".cts": "ts",
  ".tsx": "tsx",
  ".json": "json",
});

const BY_TYPE: Readonly<Record<string, Loader>> = Object.freeze({
  __proto__: null as never,
  json: "json",
  text: "text",
  bytes: "binary",
});

const CODE: ReadonlySet<Loader> = new Set(["js", "jsx", "ts", "tsx"]);

/** Chooses the loader, or says why there is none. */
export function loaderOf(
  extension: string,
  attributes: ImportAttributes,
): Loader | { readonly refused: string } {
  const unknown = Object.keys(attributes).find((name) => name !== "type");
  if (unknown !== undefined) return { refused: `the import attribute "${unknown}" is not known` };
  const { type } = attributes;
  if (type === undefined) {
    return BY_EXTENSION[extension] ??
      {
        refused:
          `files ending in "${extension}" are not code; read them with { type: "text" } or { type: "bytes" }`,
      };
  }
  const loader = BY_TYPE[type];
  if (loader === undefined) return { refused: `the import type "${type}" is none of json, text, bytes` };
  if (loader === "json" && extension !== ".json") return { refused: `only a file ending in ".json" is JSON` };
  return loader;
}

/** Whether a loader yields code, as opposed to a value. */
export function isCode(loader: Loader): boolean {
  return CODE.has(loader);
}
