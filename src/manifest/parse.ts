/** From bytes to a manifest, or to one error with everything that is wrong. Imports and runs nothing of the plugin (L10). */
import { KINDS, type KindTable, ManifestError } from "../../permissions/mod.ts";
import { deepFreeze } from "../deep_freeze.ts";
import { display } from "../display.ts";
import { parseYaml } from "../yaml.ts";
import { CHECKS } from "./checks/mod.ts";
import { type FieldPath, type Finding, findingsOf, valueAt } from "./finding.ts";
import { MANIFEST_LIMITS as LIMITS } from "./limits.ts";
import { type IssueReport, issueText, reportIssues } from "./report.ts";
import { type Manifest, MANIFEST_VERSIONS, manifestSchema, manifestSchemaFor } from "./schema.ts";

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
  options: { readonly file: string; readonly kinds?: KindTable; readonly events?: readonly string[] },
): Manifest {
  const reading = parseYaml(bytes, { file: options.file, limits: LIMITS });
  const result = reading.value === undefined
    ? { findings: [] }
    : examine(reading.value, options.kinds ?? KINDS, options.events);
  const report = reportIssues(options.file, reading, result.findings);
  if (report.issues.length > 0 || result.manifest === undefined) {
    throw manifestError(options.file, report, reading.issues.length > 0);
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
  events: readonly string[] = [],
): { readonly findings: readonly Finding[]; readonly manifest?: Manifest } {
  const version = valueAt(value, ["manifestVersion"]);
  if (typeof version === "number" && !MANIFEST_VERSIONS.includes(version)) {
    const message = `version ${version} is unknown; this Sallyport reads ${MANIFEST_VERSIONS.join(", ")}`;
    // A later format has fields that are unknown here, so nothing else is worth saying.
    return { findings: [{ path: ["manifestVersion"], message }] };
  }
  const isBuiltIn = kinds === KINDS && events.length === 0;
  const schema = isBuiltIn ? manifestSchema : manifestSchemaFor(kinds, events);
  const parsed = schema.safeParse(value);
  const findings = [
    ...(parsed.success ? [] : findingsOf(parsed.error, value)),
    ...Object.values(CHECKS).flatMap((check) => check(value, kinds)),
  ];
  return parsed.success ? { findings, manifest: parsed.data } : { findings };
}

function manifestError(file: string, { issues, moreCount }: IssueReport, isSyntax: boolean): ManifestError {
  const lines = issues.map((issue) => `  ${issueText(issue)}`);
  if (moreCount > 0) lines.push(`  and ${moreCount} more`);
  const count = issues.length + moreCount;
  const problems = count === 1 ? "one problem" : `${count} problems`;
  return new ManifestError(
    isSyntax ? "ERR_MANIFEST_SYNTAX" : "ERR_MANIFEST_INVALID",
    `Cannot use manifest "${display(file)}": ${problems}\n${lines.join("\n")}`,
    { details: { issues } },
  );
}
