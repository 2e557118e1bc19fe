/** The documents of one tenant: the one way to them, for the library and the command line alike. */
import { SallyportError } from "../../permissions/mod.ts";
import { deepFreeze } from "../deep_freeze.ts";
import { argumentsOf, prompts } from "../surfaces/prompts.ts";
import { memberOf } from "../surfaces/surface.ts";
import { assetType, type ThemeDocument, themes } from "../surfaces/themes.ts";
import type { TenantNames } from "../tenant_names.ts";
import { DocumentSources, type DocumentSourcesParts, type FoundDocument } from "./document_sources.ts";
import { refuseAdditions, resolveReferences, resolvingOnce, styleOf } from "./overlays.ts";
import { besides } from "./own_documents.ts";
import { fillArguments } from "./prompt_arguments.ts";
import { substitute } from "./substitute.ts";
import type {
  Document,
  DocumentOptions,
  DocumentRow,
  Documents,
  PromptArguments,
  Theme,
  ThemeFile,
} from "./types.ts";

/** What documents are read with. */
export interface TenantDocumentsParts extends DocumentSourcesParts {
  /** What names mean. */
  readonly names: Pick<TenantNames, "find" | "resolve" | "shadowed">;
}

/** Reads the documents of one tenant. */
export class TenantDocuments implements Documents {
  readonly #parts: TenantDocumentsParts;
  readonly #sources: DocumentSources;

  /** Looks at nothing yet. */
  constructor(parts: TenantDocumentsParts) {
    this.#parts = parts;
    this.#sources = new DocumentSources(parts);
  }

  /** What a snapshot says of an approved plugin's document. */
  said(...given: Parameters<DocumentSources["said"]>): ReturnType<DocumentSources["said"]> {
    return this.#sources.said(...given);
  }

  /** See `Documents`. */
  async list(surface?: string): Promise<readonly DocumentRow[]> {
    const rows: DocumentRow[] = [];
    const resolve = this.#resolving();
    for (const found of await this.#sources.offered(surface)) rows.push(await this.#row(found, resolve));
    return deepFreeze(rows);
  }

  /** See `Documents`. */
  async read(id: string, { surface }: DocumentOptions = {}): Promise<Document> {
    const found = await this.#sources.find(id, surface);
    const { frontMatter, text } = this.#sources.read(found);
    const { identity, format } = found;
    const resolve = this.#resolving();
    await refuseAdditions(found, frontMatter, resolve);
    const overlaying = await this.#sources.overlaying();
    return deepFreeze({
      ...identity,
      frontMatter,
      text,
      shadows: await this.#shadows(found),
      references: await resolveReferences(format.references?.(frontMatter) ?? [], resolve),
      style: await styleOf(found, overlaying, this.#sources, resolve),
    });
  }

  /** See `Documents`. */
  async prompt(id: string, args: PromptArguments = {}): Promise<string> {
    const found = await this.#sources.find(id, prompts.name);
    const { frontMatter, text } = this.#sources.read(found);
    await this.#shadows(found);
    return substitute(text, fillArguments(id, argumentsOf(frontMatter), args));
  }

  /** See `Documents`. */
  async theme(id: string): Promise<Theme> {
    const found = await this.#sources.find(id, themes.name);
    const { frontMatter } = this.#sources.read(found);
    await this.#shadows(found);
    const { title = null, description = null, colors = {}, fonts = {}, images = {} } = frontMatter as
      & ThemeDocument
      & { readonly title?: string; readonly description?: string }; // the schema accepted it
    const fileOf = (path: string): ThemeFile => this.#themeFile(found, path);
    return Object.freeze({
      ...found.identity,
      title,
      description,
      colors: Object.freeze({ ...colors }),
      fonts: Object.freeze(mapped(fonts, ({ family, file }) => {
        return Object.freeze({ family, file: file === undefined ? null : fileOf(file) });
      })),
      images: Object.freeze(mapped(images, fileOf)),
    });
  }

  /** What names mean, for one question: each is looked for once. */
  #resolving(): TenantNames["resolve"] {
    return resolvingOnce((ref, surface) => this.#parts.names.resolve(ref, surface));
  }

  async #row(found: FoundDocument, resolve: TenantNames["resolve"]): Promise<DocumentRow> {
    const { identity, isShadowed } = found;
    try {
      const { frontMatter } = this.#sources.read(found);
      await refuseAdditions(found, frontMatter, resolve);
      const [title, description] = ["title", "description"].map((key) => memberOf(frontMatter, key));
      return {
        ...identity,
        title: textOrNull(title),
        description: textOrNull(description),
        isShadowed,
        problem: null,
      };
    } catch (error) {
      if (!(error instanceof SallyportError) || error.code === "ERR_STORE") throw error;
      return { ...identity, title: null, description: null, isShadowed, problem: error.message };
    }
  }

  /** Whose bare name a file of the user's own has; a plugin that is hidden by it is named in the log. */
  async #shadows({ identity: { owner, surface, name, root } }: FoundDocument): Promise<readonly string[]> {
    if (owner === "plugin") return [];
    const later = this.#parts.local.on(surface).filter((each) => each.name === name && each.root !== root);
    return [
      ...later.map((each) => `${each.root}: ${each.paths[0]}`),
      ...(await this.#parts.names.shadowed(name, surface)).map(({ id }) => id),
    ];
  }

  #themeFile(found: FoundDocument, path: string): ThemeFile {
    const whole = besides(found.identity.path, path);
    // A copy: what was approved is never in anybody's hands but the reader's.
    const bytes = Uint8Array.from(this.#sources.bytes(found, whole));
    return Object.freeze({ path: whole, type: assetType(path), bytes });
  }
}

function mapped<Value, Made>(
  values: Readonly<Record<string, Value>>,
  make: (value: Value) => Made,
): Record<string, Made> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, make(value)]));
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
