/**
 * Documents that belong to no plugin: the project's and the user's own files, in `<root>/<surface>/`. A name is only ever one
 * that was found in a folder, so no id can become a path.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ResourceError } from "../../permissions/mod.ts";
import type { NamesBySurface } from "../collisions.ts";
import { realAncestor } from "../home.ts";
import { parseReference } from "../manifest/reference.ts";
import { checkRoots, type ResourceRoot, ResourceRoots } from "../resources/mod.ts";
import type { DocumentFiles } from "./format.ts";
import { documentFormat, documentSurfaces } from "./own_documents.ts";

/** One document of a root. */
export interface LocalDocument {
  /** The root that has it. */
  readonly root: string;
  /** What it is. */
  readonly surface: string;
  /** What its file calls it. */
  readonly name: string;
  /** Its files, below the root: more than one where two files of a folder have one name. */
  readonly paths: readonly [string, ...string[]];
}

/** The documents of ordered roots. */
export class LocalDocuments {
  /** Folders of documents: no plugin may put one there. */
  readonly folders: readonly string[];
  readonly #given: readonly ResourceRoot[];
  readonly #kept: NamesBySurface;
  /** Which directory each root is was settled when it was first seen. */
  readonly #roots = new Map<string, ResourceRoots>();
  #looked: Looked | undefined;

  /**
   * `kept` are names of documents that somebody else keeps. Throws UsageError for roots that can be nowhere; looks at nothing
   * yet, since a root may come later.
   */
  constructor(roots: readonly ResourceRoot[], kept: NamesBySurface = {}) {
    checkRoots(roots);
    this.#given = roots;
    this.#kept = kept;
    this.folders = roots.flatMap(({ directory }) =>
      SURFACES_OF_USERS.map((surface) => realAncestor(join(directory, surface)))
    );
  }

  /** What was on a surface at the last look, in the order of the roots and the names. Throws what kept it from looking there. */
  on(surface: string): readonly LocalDocument[] {
    const { all, faults } = this.#looked ?? this.look();
    const fault = faults.get(surface);
    if (fault !== undefined) throw fault;
    return all.filter((each) => each.surface === surface);
  }

  /** Names by surface, at the last look; none of a folder that could not be looked at. */
  get names(): NamesBySurface {
    return (this.#looked ?? this.look()).names;
  }

  /** Looks at the folders anew, and throws for none of them: a name of a plugin does not hang on the user's folders. */
  look(): Looked {
    const all: LocalDocument[] = [];
    const faults = new Map<string, ResourceError>();
    for (const root of this.#given) {
      for (const surface of SURFACES_OF_USERS) {
        try {
          all.push(...this.#documentsIn(root, surface));
        } catch (error) {
          if (!(error instanceof ResourceError)) throw error;
          faults.set(surface, error);
        }
      }
    }
    const names = Object.fromEntries(
      [...new Set([...Object.keys(this.#kept), ...SURFACES_OF_USERS])].map((surface) => {
        const own = all.filter((each) => each.surface === surface).map(({ name }) => name);
        return [surface, [...new Set([...this.#kept[surface] ?? [], ...own])]];
      }),
    );
    return this.#looked = { all, names, faults };
  }

  /** The bytes of a root's file. Throws ResourceError. */
  bytes(root: string, path: string): Uint8Array {
    const roots = this.#roots.get(root);
    if (roots !== undefined) return roots.bytesStrict(root, path);
    throw new ResourceError("ERR_RESOURCE_NOT_FOUND", `Cannot find resource "${path}": ${root} is not there`);
  }

  #documentsIn(root: ResourceRoot, surface: string): readonly LocalDocument[] {
    const format = documentFormat(surface);
    const roots = this.#roots.get(root.id) ?? this.#capture(root);
    if (format === undefined || roots === null) return [];
    const found = new Map<string, [string, ...string[]]>();
    for (const entry of roots.list(root.id, surface)) {
      const path = pathIn(format, entry, () => roots.list(root.id, `${surface}/${entry.slice(0, -1)}`));
      if (path === null) continue;
      const name = format.nameOf(path);
      const known = found.get(name);
      if (known === undefined) found.set(name, [`${surface}/${path}`]);
      else known.push(`${surface}/${path}`);
    }
    return [...found].map(([name, paths]) => ({ root: root.id, surface, name, paths }));
  }

  #capture(root: ResourceRoot): ResourceRoots | null {
    if (!existsSync(root.directory)) return null;
    const roots = ResourceRoots.capture([root]);
    this.#roots.set(root.id, roots);
    return roots;
  }
}

/** What one look found. */
interface Looked {
  readonly all: readonly LocalDocument[];
  readonly names: NamesBySurface;
  readonly faults: ReadonlyMap<string, ResourceError>;
}

const SURFACES_OF_USERS: readonly string[] = documentSurfaces().filter((surface) =>
  documentFormat(surface)?.isLocal === true
);

/** Which file an entry of a surface's folder stands for, seen from that folder, or null for what is no document. */
function pathIn(
  { extensions, folderFile }: DocumentFiles,
  entry: string,
  below: () => readonly string[],
): string | null {
  const path = entry.endsWith("/") ? `${entry}${folderFile}` : entry;
  if (entry.startsWith(".") || !parseReference(path, extensions).ok) return null;
  return path === entry || (folderFile !== undefined && below().includes(folderFile)) ? path : null;
}
