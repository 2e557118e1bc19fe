/**
 * From bytes to a document, or to everything that is wrong with it. The bytes are a stranger's: they are bounded before they
 * are decoded, the front matter goes through the strict YAML reader, and a schema says what it may hold.
 */
import { deepFreeze } from "../deep_freeze.ts";
import { characterName, isPlainText } from "../display.ts";
import { type Finding, findingsOf, valueAt } from "../manifest/finding.ts";
import { type ManifestIssue, reportIssues } from "../manifest/report.ts";
import { parseYaml, type YamlPath, type YamlReading } from "../yaml.ts";
import { decode, lineFinder, type TextPosition } from "../yaml_text.ts";
import type { DocumentFormat, FrontMatter } from "./format.ts";
import { splitFrontMatter } from "./front_matter.ts";
import { DOCUMENT_LIMITS as LIMITS } from "./limits.ts";

/** A document that was read. Frozen. */
export interface ParsedDocument {
  /** What it says of itself: of data, all of it. */
  readonly frontMatter: FrontMatter;
  /** What it is: of Markdown, what comes after the front matter. */
  readonly text: string;
  /** Characters in the text that nobody sees. */
  readonly hiddenCount: number;
}

/** A document, or why there is none. */
export type DocumentReading =
  | {
    readonly ok: true;
    readonly document: ParsedDocument;
    /** Where a value of the front matter stands in the file. */
    locate(path: YamlPath): TextPosition;
  }
  | { readonly ok: false; readonly issues: readonly ManifestIssue[] };

/** Reads one document; `file` is only a name for the issues, `name` is what its file calls it. */
export function readDocument(
  format: DocumentFormat,
  bytes: Uint8Array,
  { file, name }: { readonly file: string; readonly name: string },
): DocumentReading {
  const isMarkdown = format.form === "markdown";
  const bytesMax = isMarkdown ? LIMITS.documentBytesMax : LIMITS.dataBytesMax;
  const broken = (message: string, line = 1, column = 1): DocumentReading => {
    return { ok: false, issues: [{ file, line, column, path: "$", message }] };
  };
  if (bytes.length > bytesMax) {
    return broken(`the file has ${bytes.length} bytes; at most ${bytesMax} are read`);
  }
  const text = decode(bytes);
  if (typeof text !== "string") {
    const { line, column } = lineFinder(text.before)(text.before.length);
    return broken("the bytes are not valid UTF-8 from here on", line, column);
  }
  const { head, body, headLines, isUnclosed } = isMarkdown
    ? splitFrontMatter(text)
    : { head: text, body: text, headLines: 0, isUnclosed: false };
  if (isUnclosed) return broken('front matter begins here, and no other line is "---"');
  const control = CONTROL.exec(body);
  if (control !== null) {
    const { line, column } = lineFinder(body)(control.index);
    return broken(`the character ${characterName(control[0])} is not allowed`, line + headLines, column);
  }
  const reading = head === null ? NOTHING : parseYaml(new TextEncoder().encode(head), {
    file,
    limits: { ...LIMITS, bytesMax: isMarkdown ? LIMITS.frontMatterBytesMax : LIMITS.dataBytesMax },
  });
  const judged = judge(format, reading, { name, text });
  const { issues } = reportIssues(file, reading, judged.findings);
  if (issues.length > 0 || judged.frontMatter === undefined) return { ok: false, issues };
  const frontMatter = deepFreeze(judged.frontMatter);
  const document = Object.freeze({ frontMatter, text: body, hiddenCount: hiddenCount(body) });
  return { ok: true, document, locate: reading.locate };
}

/** How many characters of a text show nothing where they stand: joiners, marks of direction, tags. */
export function hiddenCount(text: string): number {
  const telling = text.replace(ORDINARY, "");
  if (isPlainText(telling)) return 0;
  return [...telling].filter((character) => !isPlainText(character)).length;
}

// Control characters other than tab and line ends mean nothing in a text, and much to a terminal.
// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/u;
/** Line ends, tabs, and what tells a picture from its outline. */
const ORDINARY = /[\n\r\t\ufe0f]/g;

const START = { line: 1, column: 1 };
/** A Markdown text without front matter. */
const NOTHING: YamlReading = { value: {}, issues: [], locate: () => START, locateKey: () => START };

function judge(
  { form, schema, check }: DocumentFormat,
  { value: read, issues }: YamlReading,
  { name, text }: { readonly name: string; readonly text: string },
): { readonly findings: readonly Finding[]; readonly frontMatter?: FrontMatter } {
  if (read === undefined) return { findings: [] };
  if (form === "json" && issues.length === 0 && !isJson(text)) {
    return { findings: [{ path: [], message: "must be JSON" }] };
  }
  // Nothing between the two lines is as good as no front matter.
  const value = read === null && form === "markdown" ? {} : read;
  const parsed = schema.safeParse(value);
  const stated = valueAt(value, ["name"]);
  const findings = [
    ...(parsed.success ? [] : findingsOf(parsed.error, value)),
    ...(typeof stated === "string" && stated !== name
      ? [{ path: ["name"], message: `must be "${name}", the name that its file gives it` }]
      : []),
    ...(check?.(value) ?? []),
  ];
  return parsed.success ? { findings, frontMatter: parsed.data } : { findings };
}

/** Whatever is JSON is YAML as well, which gave the places and the bounds. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
