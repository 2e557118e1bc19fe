/** How the documents of one surface are read; each surface says it in its own file. */
import type { z } from "zod";
import type { Finding } from "../manifest/finding.ts";
import type { JsonPath } from "../surfaces/surface.ts";

/** What a document says of itself, as validated. */
export type FrontMatter = Readonly<Record<string, unknown>>;

/** A document's word for something else that somebody offers. */
export interface DocumentReference {
  /** Where it says so. */
  readonly at: JsonPath;
  /** On which surface that is. */
  readonly surface: string;
  /** A full id, or a bare name: opaque. */
  readonly ref: string;
}

/** What a pack says about how something is shown; all of it words and colours. */
export interface DocumentStyle {
  /** What it is called. */
  readonly title?: string;
  /** What is said about it. */
  readonly description?: string;
  /** `#rrggbb`. */
  readonly color?: string;
  /** The theme that goes with it: a full id or a bare name. */
  readonly theme?: string;
  /** How it words what it says, by the name of the text. */
  readonly wording?: Readonly<Record<string, string>>;
}

/** A style, and what it is for. */
export interface DocumentOverlay extends DocumentReference {
  /** The style. */
  readonly style: DocumentStyle;
}

/** A file that a document needs; it lies in the document's folder or below. */
export interface DocumentAsset {
  /** Where it is named. */
  readonly at: JsonPath;
  /** The path, from the folder of the document. */
  readonly path: string;
}

/** How the documents of a surface are read. */
export interface DocumentFormat {
  /** Markdown may begin with front matter; the others are data as a whole. */
  readonly form: "markdown" | "yaml" | "json";
  /** The schema of the front matter, or of all. */
  readonly schema: z.ZodType<FrontMatter>;
  /** Whether a model picks it by its description, so that one without is of little use. */
  readonly isPicked?: boolean;
  /** What a schema cannot say; it looks at data that may be wrong elsewhere. */
  check?(data: unknown): readonly Finding[];
  /** What may follow its name where it is typed. */
  usage?(frontMatter: FrontMatter): string | undefined;
  /** What else it names. */
  references?(frontMatter: FrontMatter): readonly DocumentReference[];
  /** What it restyles: all of that must exist, since an overlay adds nothing. */
  overlays?(frontMatter: FrontMatter): readonly DocumentOverlay[];
  /** Files that belong to it, and are pinned with it. */
  assets?(frontMatter: FrontMatter): readonly DocumentAsset[];
}

/** The same with what the surface knows of files: what `Surface.document` is. */
export interface DocumentFiles extends DocumentFormat {
  /** What its files may end with. */
  readonly extensions: readonly string[];
  /** The name of the document in a file. */
  nameOf(path: string): string;
  /** The file that a document has that is a folder; absent where none is one. */
  readonly folderFile?: string;
  /** Whether users have such documents of their own, in a folder called after the surface. */
  readonly isLocal: boolean;
}
