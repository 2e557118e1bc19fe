/** From bytes to a manifest, or to one error with everything that is wrong. Imports and runs nothing of the plugin (L10). */
import { KINDS, type KindTable, ManifestError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import { parseYaml, type YamlReading } from "../yaml.ts";
import { CHECKS } from "./checks/mod.ts";
import { fieldName, type FieldPath, type Finding, findingsOf, valueAt } from "./finding.ts";
import { MANIFEST_LIMITS as LIMITS } from "./limits.ts";
import { type Manifest, MANIFEST_VERSIONS, manifestSchema, manifestSchemaFor } from "./schema.ts";

/** One thing that is wrong with a manifest; `details.issues` of a ManifestError lists them. All text is safe to print. */
export interface ManifestIssue {
  /** The name that the caller gave the file. */
  readonly file: string;
  /** Counts from 1. */
  readonly line: number;
  /** Counts from 1, in UTF-16 units. */
  readonly column: number;
  /** The field: `$.capabilities.tools[0].target`; `$` for the file as a whole. */
  readonly path: string;
  /** What is wrong. */
  readonly message: string;
  /** The cure, where one is known. */
  readonly hint?: string;
}

/**
 * Reads a manifest. Throws ManifestError with every issue at once: `ERR_MANIFEST_SYNTAX` if the text is not acceptable YAML,
 * else `ERR_MANIFEST_INVALID`. `file` is only a name for the report; `kinds` are the kinds of permission that exist, the
 * built-in ones when absent.
 *
 * @example
 * ```ts
 * const manifest = parseManifest(await readFile("plugin.yaml"), { file: "plugin.yaml" });
 * ```
 */
export function parseManifest(
  bytes: Uint8Array,
  options: { readonly file: string; readonly kinds?: KindTable },
): Manifest {
  const reading = parseYaml(bytes, { file: options.file, limits: LIMITS });
  const result = reading.value === undefined
    ? { findings: [] }
    : examine(reading.value, options.kinds ?? KINDS);
  // What the reader refused has no value to judge, so a second complaint about it would be noise.
  const findings = result.findings.filter(({ path }) =>
    !reading.issues.some((issue) => issue.path.length > 0 && startsWith(path, issue.path))
  );
  if (reading.issues.length > 0 || findings.length > 0 || result.manifest === undefined) {
    throw manifestError(options.file, reading, findings);
  }
  return deepFreeze(result.manifest);
}

/** A key that is unknown and can only have been meant as one other. */
export interface MisspelledKey {
  /** Where it stands. */
  readonly path: FieldPath;
  /** What was meant. */
  readonly meant: string;
}

/** Keys that a `did you mean` with one answer in the same place would put right; none in a text that is not acceptable YAML. */
export function misspelledKeys(bytes: Uint8Array, kinds: KindTable = KINDS): readonly MisspelledKey[] {
  const { value, issues } = parseYaml(bytes, { file: "plugin.yaml", limits: LIMITS });
  if (value === undefined || issues.length > 0) return [];
  const found = examine(value, kinds).findings.flatMap(({ path, hint, isAboutKey }): MisspelledKey[] => {
    const [, meant] = /^did you mean "([A-Za-z]+)"\?$/.exec(hint ?? "") ?? [];
    return isAboutKey !== true || meant === undefined ? [] : [{ path, meant }];
  });
  const places = found.map(({ path, meant }) => JSON.stringify([...path.slice(0, -1), meant]));
  return found.filter(({ path, meant }, place) =>
    valueAt(value, [...path.slice(0, -1), meant]) === undefined &&
    places.indexOf(places[place]!) === places.lastIndexOf(places[place]!)
  );
}

function examine(
  value: unknown,
  kinds: KindTable,
): { readonly findings: readonly Finding[]; readonly manifest?: Manifest } {
  const version = valueAt(value, ["manifestVersion"]);
  if (typeof version === "number" && !MANIFEST_VERSIONS.includes(version)) {
    const message = `version ${version} is unknown; this Sallyport reads ${MANIFEST_VERSIONS.join(", ")}`;
    // A later format has fields that are unknown here, so nothing else is worth saying.
    return { findings: [{ path: ["manifestVersion"], message }] };
  }
  const schema = kinds === KINDS ? manifestSchema : manifestSchemaFor(kinds);
  const parsed = schema.safeParse(value);
  const findings = [
    ...(parsed.success ? [] : findingsOf(parsed.error, value)),
    ...Object.values(CHECKS).flatMap((check) => check(value, kinds)),
  ];
  return parsed.success ? { findings, manifest: parsed.data } : { findings };
}

function manifestError(file: string, reading: YamlReading, findings: readonly Finding[]): ManifestError {
  const all = [
    ...reading.issues,
    ...findings.map((finding) => ({
      ...finding,
      ...(finding.isAboutKey === true ? reading.locateKey(finding.path) : reading.locate(finding.path)),
    })),
  ];
  const issues = all.slice(0, LIMITS.issuesMax).map((issue): ManifestIssue => ({
    file: display(file),
    line: issue.line,
    column: issue.column,
    path: fieldName(issue.path),
    message: display(issue.message),
    ...("hint" in issue && issue.hint !== undefined ? { hint: display(issue.hint) } : {}),
  }));
  const lines = issues.map(({ line, column, path, message, hint }) =>
    `  line ${line}, column ${column}, ${path}: ${message}${hint === undefined ? "" : ` (${hint})`}`
  );
  if (all.length > issues.length) lines.push(`  and ${all.length - issues.length} more`);
  const problems = all.length === 1 ? "one problem" : `${all.length} problems`;
  return new ManifestError(
    reading.issues.length > 0 ? "ERR_MANIFEST_SYNTAX" : "ERR_MANIFEST_INVALID",
    `Cannot use manifest "${display(file)}": ${problems}\n${lines.join("\n")}`,
    { details: { issues } },
  );
}

function startsWith(path: FieldPath, start: FieldPath): boolean {
  return start.every((step, index) => path[index] === step);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
