/** What a tenant gives of its documents. All of it is frozen, and no text in it is safe for a terminal. */
import type { DocumentStyle, FrontMatter } from "./format.ts";

/** Whose a document is, and what it is called. */
export interface DocumentIdentity {
  /** Its full id; of a file of the user's own, its name. */
  readonly id: string;
  /** Its surface. */
  readonly surface: string;
  /** What its file calls it. */
  readonly name: string;
  /** `local` is a file of the project's or the user's own. */
  readonly owner: "plugin" | "local";
  /** Name of the plugin; null where it is nobody's. */
  readonly plugin: string | null;
  /** The root that has it; null where a plugin does. */
  readonly root: string | null;
  /** Its file, below the plugin or the root. */
  readonly path: string;
}

/** One document of a list. */
export interface DocumentRow extends DocumentIdentity {
  /** What it is called for people. */
  readonly title: string | null;
  /** What it says of itself. */
  readonly description: string | null;
  /** Whether its bare name means another one. */
  readonly isShadowed: boolean;
  /** Why it cannot be read; null where it can. */
  readonly problem: string | null;
}

/** Something else that a document names, and what became of it. */
export interface ResolvedReference {
  /** The field: `$.steps[0].agent`. */
  readonly field: string;
  /** The surface it is on. */
  readonly surface: string;
  /** As the document has it. */
  readonly ref: string;
  /** Whether it may be used. Who is gone is unavailable, whoever has a like name. */
  readonly state: "available" | "unavailable";
  /** Full id or own name of what is meant; null where it is unavailable. */
  readonly id: string | null;
}

/** How packs show a role: of each part the first pack's word counts. */
export interface AppliedStyle extends DocumentStyle {
  /** Ids of the packs that say something. */
  readonly packs: readonly string[];
}

/** One document. */
export interface Document extends DocumentIdentity {
  /** What it says of itself; of data, all of it. */
  readonly frontMatter: FrontMatter;
  /** What it is; of Markdown, what comes after the front matter. */
  readonly text: string;
  /** Documents that its bare name would mean if it were not there: full ids, and files of later roots. */
  readonly shadows: readonly string[];
  /** What else it names. */
  readonly references: readonly ResolvedReference[];
  /** How packs show it; what it is stays as its owner wrote it. Null where no pack speaks of it. */
  readonly style: AppliedStyle | null;
}

/** Where to look for a document. */
export interface DocumentOptions {
  /** The surface it is on; needed only where several have one of that id. */
  readonly surface?: string;
}

/** What a prompt is asked with. */
export interface PromptArguments {
  /** Declared arguments by name. */
  readonly values?: Readonly<Record<string, string>>;
  /**
   * What was typed behind the prompt's name. Declared arguments that were not given by name take one word each, in their order,
   * and the last one takes what is left.
   */
  readonly words?: readonly string[];
}

/** A file of a theme. */
export interface ThemeFile {
  /** Its path, below the plugin or the root. */
  readonly path: string;
  /** Its media type, by its name. */
  readonly type: string;
  /** Its bytes, of which the caller may do with as it likes. */
  readonly bytes: Uint8Array;
}

/** A theme with its files. */
export interface Theme extends DocumentIdentity {
  /** What it is called for people. */
  readonly title: string | null;
  /** What it says of itself. */
  readonly description: string | null;
  /** Colours, `#rrggbb`, by the name of what has them. */
  readonly colors: Readonly<Record<string, string>>;
  /** Typefaces by the name of what is set in them. */
  readonly fonts: Readonly<Record<string, { readonly family: string; readonly file: ThemeFile | null }>>;
  /** Images by name. */
  readonly images: Readonly<Record<string, ThemeFile>>;
}

/** The documents of a tenant: of plugins that are trusted, enabled and expose them, and the user's own. */
export interface Documents {
  /**
   * All of them, or those of one surface: the user's own in the order of their roots, then plugins' in the order of the loader.
   * Throws UsageError for what is no surface of documents, ResourceError for folders that cannot be looked at.
   */
  list(surface?: string): Promise<readonly DocumentRow[]>;
  /**
   * One of them, by its full id or by a name that means one. Throws CapabilityError, TrustError, CollisionError
   * `ERR_NAME_AMBIGUOUS` where several surfaces have it, ManifestError for one that cannot be read, ResourceError.
   */
  read(id: string, options?: DocumentOptions): Promise<Document>;
  /**
   * The text of a prompt with its arguments put in, in one pass: what an argument says is never looked at. Throws what `read`
   * throws, UsageError for an argument that is missing or was not declared, LimitError `ERR_LIMIT_SIZE`.
   */
  prompt(id: string, args?: PromptArguments): Promise<string>;
  /** A theme with the bytes of its files, each as it was approved. Throws what `read` throws. */
  theme(id: string): Promise<Theme>;
}
