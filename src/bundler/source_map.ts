/** Reads the source map of a build; a name that is not one of the files handed out is never kept (T29). */

/** A source map, version 3, without contents. */
export interface BundleMap {
  /** Always 3. */
  readonly version: 3;
  /** Files, relative to the plugin; "" for text of Sallyport's own. */
  readonly sources: readonly string[];
  /** Names as they were written. */
  readonly names: readonly string[];
  /** The mappings, in base64 VLQ. */
  readonly mappings: string;
}

/** Parses a map of the bundler. Throws a RangeError when it is none, or names a file that it was not given. */
export function parseMap(text: string, inputs: readonly string[]): BundleMap {
  const { version, sources, names, mappings } = JSON.parse(text) as Record<string, unknown>;
  if (version !== 3 || !isStrings(sources) || !isStrings(names) || typeof mappings !== "string") {
    throw new RangeError("not a source map");
  }
  const known = new Set(inputs);
  return { version, sources: sources.map((source) => nameOf(source, known)), names, mappings };
}

function nameOf(source: string, known: ReadonlySet<string>): string {
  const [, place, path] = /^([a-z]+):(.*)$/s.exec(source) ?? [];
  if (place === "entry" || place === "meta" || place === "disabled") return "";
  const name = (place === "module" ? path!.replace(/\.mjs$/, "") : path ?? "").replace(/^\/p\//, "");
  // A file imported as text or bytes has its attributes in its name.
  const plain = name.replace(/ with \{ type: '(?:json|text|bytes)' \}$/, "");
  const found = known.has(name) ? name : known.has(plain) ? plain : undefined;
  if (found === undefined) throw new RangeError("a source map names a file that was not handed out");
  return found;
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
