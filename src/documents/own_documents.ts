/**
 * A plugin's own documents, from the memory of its files and from nowhere else: what is wrong with them is told before anybody
 * trusts them, and what belongs to them is pinned with them.
 */
import { ManifestError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import { fieldName } from "../manifest/finding.ts";
import { issueText, type ManifestIssue } from "../manifest/report.ts";
import type { LoadedPlugin } from "../plugin.ts";
import { relativeOf } from "../source.ts";
import { SourceError } from "../source_file.ts";
import { type Capability, type JsonPath, type Surface, SURFACES } from "../surfaces/mod.ts";
import { argumentsOf } from "../surfaces/prompts.ts";
import type { DocumentFiles } from "./format.ts";
import { splitFrontMatter } from "./front_matter.ts";
import { DOCUMENT_LIMITS as LIMITS } from "./limits.ts";
import { type DocumentReading, readDocument } from "./read_document.ts";
import { undeclaredNames } from "./substitute.ts";

/** How documents of a surface are read; undefined for a surface of code. */
export function documentFormat(surface: string): DocumentFiles | undefined {
  return DOCUMENT_SURFACES.find(({ name }) => name === surface)?.document;
}

/** Names of all surfaces that take documents, in the order in which they are listed. */
export function documentSurfaces(): readonly string[] {
  return DOCUMENT_SURFACES.map(({ name }) => name);
}

const DOCUMENT_SURFACES = Object.values<Pick<Surface, "name" | "document">>(SURFACES)
  .filter(({ document }) => document !== undefined);

/** All documents of a plugin, or those of some formats, read from its memory. */
function ownDocuments(
  plugin: LoadedPlugin,
  isMeant: (format: DocumentFiles) => boolean = () => true,
): readonly OwnDocument[] {
  let bytesLeft: number = LIMITS.dataOfPluginBytesMax;
  return plugin.capabilities.flatMap((capability): OwnDocument[] => {
    const format = documentFormat(capability.surface);
    const [path] = capability.files;
    if (format === undefined || path === undefined || !isMeant(format)) return [];
    const reading = readOwn(plugin, { capability, format, path }, (bytes) => (bytesLeft -= bytes) >= 0);
    return [{ capability, format, path, reading }];
  });
}

/** Everything that is wrong with a plugin's documents, and with what they say belongs to them. */
export function documentIssues(plugin: LoadedPlugin): readonly ManifestIssue[] {
  return ownDocuments(plugin).flatMap((document) => {
    const { reading } = document;
    if (reading === null) return [];
    return reading.ok
      ? [...assetIssues(plugin, document), ...overlayIssues(plugin, document)]
      : reading.issues;
  });
}

/** One issue in a line. */
export function documentIssueText(issue: ManifestIssue): string {
  return `"${display(issue.file)}" ${issueText(issue)}`;
}

/** Throws ManifestError `ERR_MANIFEST_INVALID` with all that is wrong with a plugin's documents. */
export function refuseBrokenDocuments(plugin: LoadedPlugin): void {
  const issues = documentIssues(plugin);
  if (issues.length > 0) throw documentError(`the documents of plugin "${plugin.name}"`, issues);
}

/** The error for documents that cannot be used. */
export function documentError(what: string, issues: readonly ManifestIssue[]): ManifestError {
  return new ManifestError(
    "ERR_MANIFEST_INVALID",
    `Cannot use ${what}: ${issues.length === 1 ? "one problem" : `${issues.length} problems`}\n${
      issues.map((issue) => `  ${documentIssueText(issue)}`).join("\n")
    }`,
    { details: { issues } },
  );
}

/** What an author should look at in documents that are sound: sentences, safe for a terminal. */
export function documentAdvice(plugin: LoadedPlugin): readonly string[] {
  return ownDocuments(plugin).flatMap(({ path, format, reading }) => {
    if (reading?.ok !== true) return [];
    const { frontMatter, text, hiddenCount } = reading.document;
    const what = `"${display(path)}"`;
    const declared = argumentsOf(frontMatter).map(({ name }) => name);
    return [
      ...(format.isPicked === true && frontMatter.description === undefined
        ? [`${what} has no description, by which it would be picked`]
        : []),
      ...(hiddenCount > 0 ? [`${what} holds ${hiddenCount} characters that nobody sees`] : []),
      ...(declared.length === 0
        ? []
        : undeclaredNames(text, declared).map((name) =>
          `${what}: {{${display(name)}}} is no argument that it declares, so it stays as it is`
        )),
    ];
  });
}

/** Files that belong to a plugin's documents, relative to the plugin; what is not there is left out, as others tell it. */
export function documentAssets(plugin: LoadedPlugin): readonly string[] {
  const { source } = plugin;
  return ownDocuments(plugin, ({ assets }) => assets !== undefined).flatMap(({ format, path, reading }) =>
    reading?.ok === true
      ? (format.assets?.(reading.document.frontMatter) ?? []).map((asset) => besides(path, asset.path))
        .filter((asset) => faultOfAsset(source, asset) === undefined)
      : []
  );
}

/** The path of what lies beside a document or below it. */
export function besides(document: string, path: string): string {
  return document.slice(0, document.lastIndexOf("/") + 1) + path;
}

/** A document that a plugin declares, and what reading it gave. */
interface OwnDocument {
  /** What declares it. */
  readonly capability: Capability;
  /** How it is read. */
  readonly format: DocumentFiles;
  /** Its file, relative to the plugin. */
  readonly path: string;
  /** It, or what is wrong with it; null where its file is not there, which others tell. */
  readonly reading: DocumentReading | null;
}

function readOwn(
  { source }: LoadedPlugin,
  { capability: { name }, format, path }: Omit<OwnDocument, "reading">,
  take: (bytes: number) => boolean,
): DocumentReading | null {
  try {
    if (source.kind(path) === "absent") return null;
    const bytes = source.bytes(path);
    if (take(dataBytes(format, bytes))) return readDocument(format, bytes, { file: path, name });
    const { dataOfPluginBytesMax } = LIMITS;
    const message =
      `the plugin's documents say more than ${dataOfPluginBytesMax} bytes of themselves (dataOfPluginBytesMax)`;
    return { ok: false, issues: [issueAt(path, [], message)] };
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return { ok: false, issues: [issueAt(path, [], error.message)] };
  }
}

/** How much of a document is read as data; what is larger than one may be is refused at once. */
function dataBytes({ form }: DocumentFiles, bytes: Uint8Array): number {
  if (form !== "markdown") return Math.min(bytes.length, LIMITS.dataBytesMax);
  const { head, isUnclosed } = splitFrontMatter(Buffer.from(bytes).toString("latin1"));
  return isUnclosed || head === null ? 0 : Math.min(head.length, LIMITS.frontMatterBytesMax);
}

function assetIssues(
  { source }: LoadedPlugin,
  { format, path, reading }: OwnDocument,
): readonly ManifestIssue[] {
  if (reading?.ok !== true) return [];
  return (format.assets?.(reading.document.frontMatter) ?? []).flatMap((asset) => {
    const fault = faultOfAsset(source, besides(path, asset.path));
    return fault === undefined ? [] : [issueAt(path, asset.at, fault, reading)];
  });
}

/** What a document restyles of its own plugin must be there; whether others have the rest is asked when it is used. */
function overlayIssues(
  plugin: LoadedPlugin,
  { format, path, reading }: OwnDocument,
): readonly ManifestIssue[] {
  if (reading?.ok !== true) return [];
  return (format.overlays?.(reading.document.frontMatter) ?? []).flatMap(({ at, surface, ref }) => {
    const isOwn = ref.startsWith(`${plugin.name}/`);
    const isThere = plugin.capabilities.some((each) => each.surface === surface && each.fullId === ref);
    return isOwn && !isThere
      ? [issueAt(path, at, `there is no "${display(ref)}", and this adds none`, reading)]
      : [];
  });
}

/** A file of its own, reached by no link: what was imported or shown is pinned under the path that it has. */
function faultOfAsset(source: LoadedPlugin["source"], path: string): string | undefined {
  const shown = `"${display(path)}"`;
  try {
    const kind = source.kind(path);
    if (kind === "absent") return `${shown} is not there`;
    if (relativeOf(source.real(path)) !== path) return `${shown} is reached by a link, which is not pinned`;
    if (kind !== "file") return `${shown} is no file`;
    const { length } = source.bytes(path);
    return length > LIMITS.assetBytesMax
      ? `${shown} has ${length} bytes; at most ${LIMITS.assetBytesMax} are read (assetBytesMax)`
      : undefined;
  } catch (error) {
    if (error instanceof SourceError) return error.message;
    throw error;
  }
}

function issueAt(
  file: string,
  at: JsonPath,
  message: string,
  reading?: Extract<DocumentReading, { readonly ok: true }>,
): ManifestIssue {
  const { line, column } = reading?.locate(at) ?? { line: 1, column: 1 };
  return { file: display(file), line, column, path: fieldName(at), message };
}
