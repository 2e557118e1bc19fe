/**
 * Finds documents and reads them. What is a plugin's is read from the memory that was compared with what was approved, and
 * from that plugin alone (A28); what is the user's own is read below its root.
 */
import { CapabilityError, CollisionError, SallyportError, UsageError } from "../../permissions/mod.ts";
import type { Catalog } from "../catalog.ts";
import { isLive } from "../check_plugin.ts";
import { withheldBy } from "../collisions.ts";
import { didYouMean } from "../did_you_mean.ts";
import { display } from "../display.ts";
import { findCollisions, findOutside, type NamingParts, rivalsOf } from "../naming.ts";
import { type LoadedPlugin, placeOf } from "../plugin.ts";
import { changedError, refuseNotLive } from "../plugin_state.ts";
import type { PluginSource } from "../source.ts";
import { SourceError } from "../source_file.ts";
import type { Capability } from "../surfaces/mod.ts";
import type { TenantNames } from "../tenant_names.ts";
import type { Approval, Approvals } from "../trust/mod.ts";
import type { DocumentFiles } from "./format.ts";
import type { LocalDocument, LocalDocuments } from "./local_documents.ts";
import { documentError, documentFormat, documentSurfaces } from "./own_documents.ts";
import { type DocumentReading, type ParsedDocument, readDocument } from "./read_document.ts";
import type { DocumentIdentity } from "./types.ts";

/** What documents are found with. */
export interface DocumentSourcesParts {
  /** What names mean. */
  readonly names: Pick<TenantNames, "find">;
  /** How names are told apart. */
  readonly naming: NamingParts;
  /** The plugins that were found. */
  readonly catalog: Catalog;
  /** What was approved. */
  readonly approvals: Approvals;
  /** What may be used of these plugins. */
  readonly exposures: (plugins: readonly LoadedPlugin[]) => Promise<ReadonlySet<string>>;
  /** The user's own. */
  readonly local: LocalDocuments;
}

/** A document that may be read. */
export interface FoundDocument {
  /** Whose it is, and what it is called. */
  readonly identity: DocumentIdentity;
  /** How it is read. */
  readonly format: DocumentFiles;
  /** The plugin that has it, with what was approved of it; null for a file of the user's own. */
  readonly own: { readonly plugin: LoadedPlugin; readonly approval: Approval } | null;
  /** All files of that name, where it is the user's own: one, or it cannot be told which is meant. */
  readonly paths: readonly string[];
  /** Whether its bare name means another one. */
  readonly isShadowed: boolean;
}

/** Finds and reads the documents of one tenant. */
export class DocumentSources {
  readonly #parts: DocumentSourcesParts;
  /** What reading a plugin's memory gave, which never changes. */
  readonly #readings = new WeakMap<PluginSource, Map<string, DocumentReading>>();

  /** Looks at nothing yet. */
  constructor(parts: DocumentSourcesParts) {
    this.#parts = parts;
  }

  /**
   * What an id means, on one surface or on any. Throws CapabilityError listing what there is, CollisionError where several
   * surfaces have it, and for what is there and may not be used the reason.
   */
  async find(id: string, surface?: string): Promise<FoundDocument> {
    const { local } = this.#parts;
    local.look();
    const found: FoundDocument[] = [];
    const refusals: SallyportError[] = [];
    for (const each of surfacesOf(surface)) {
      try {
        const document = await this.#findOn(id, each);
        if (document !== null) found.push(document);
      } catch (error) {
        if (!(error instanceof SallyportError) || error.code === "ERR_STORE") throw error;
        refusals.push(error);
      }
    }
    const [only, other] = found;
    if (only !== undefined && other === undefined) return only;
    if (only !== undefined) throw ambiguous(id, found);
    throw refusals[0] ?? await this.#unknown(id, surface);
  }

  /** All that may be used, of one surface or of all, the user's own first. */
  async offered(surface?: string): Promise<readonly FoundDocument[]> {
    this.#parts.local.look();
    return await this.#offeredOn(surfacesOf(surface));
  }

  /** All that may be used and restyles others. */
  overlaying(): Promise<readonly FoundDocument[]> {
    return this.#offeredOn(documentSurfaces().filter((each) => documentFormat(each)?.overlays !== undefined));
  }

  /** What a document says. Throws ManifestError for one that is broken, TrustError, CollisionError, ResourceError. */
  read(found: FoundDocument): ParsedDocument {
    const { identity, format, own, paths } = found;
    const { id, name, path } = identity;
    if (paths.length > 1) {
      throw new CollisionError(
        "ERR_NAME_AMBIGUOUS",
        `Cannot tell which "${display(id)}" is meant: ${
          paths.map((each) => display(each)).join(", ")
        } have that name. Rename one of them`,
        { details: { name: id, candidates: paths } },
      );
    }
    const bytes = this.bytes(found, path);
    const key = JSON.stringify([identity.surface, path]); // one file may be on two surfaces
    const known = own === null ? undefined : this.#readings.get(own.plugin.source)?.get(key);
    const reading = known ?? readDocument(format, bytes, { file: path, name });
    if (own !== null && known === undefined) this.#remember(own.plugin.source, key, reading);
    if (reading.ok) return reading.document;
    throw documentError(`"${display(id)}"`, reading.issues);
  }

  /** What an approved plugin's document says of itself; nothing of one that is broken, or of code. */
  said(
    plugin: LoadedPlugin,
    approval: Approval,
    capability: Capability,
  ): { readonly description?: string; readonly usage?: string } {
    if (documentFormat(capability.surface) === undefined) return {};
    const found = this.#ownDocument(plugin, approval, capability);
    try {
      const { frontMatter } = this.read(found);
      const { description } = frontMatter;
      const usage = found.format.usage?.(frontMatter);
      return {
        ...(typeof description === "string" ? { description } : {}),
        ...(usage === undefined ? {} : { usage }),
      };
    } catch (error) {
      if (error instanceof SallyportError) return {};
      throw error;
    }
  }

  /** The bytes of a document's file, or of one that belongs to it: a plugin's as they were approved, or none (A28). */
  bytes({ own, identity }: FoundDocument, path: string): Uint8Array {
    if (own === null) return this.#parts.local.bytes(identity.root!, path);
    const { plugin, approval: { fingerprint: { files } } } = own;
    try {
      const pinned = Object.hasOwn(files, path) ? files[path] : undefined;
      if (pinned !== undefined && plugin.source.hash(path) === pinned) return plugin.source.bytes(path);
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
    }
    throw changedError(plugin, [path]);
  }

  async #findOn(id: string, surface: string): Promise<FoundDocument | null> {
    const { names, naming, catalog, local } = this.#parts;
    const outside = findOutside(id, naming.rules, surface);
    if (outside?.owner === "builtin") throw notHere(id, surface, "it is the embedder's own");
    if (outside !== null) {
      const own = local.on(surface).find(({ name }) => name === id);
      if (own === undefined) throw notHere(id, surface, "its embedder keeps it, in no folder of documents");
      return this.#localDocument(own, false);
    }
    const { plugins } = await catalog.discover();
    const all = plugins.flatMap(({ capabilities }) =>
      capabilities.filter((each) => each.surface === surface)
    );
    const isFull = all.some(({ fullId, aliases }) => fullId === id || aliases.includes(id));
    // Where the user's own files cannot be told, nobody else's name stands in for one.
    if (!isFull) local.on(surface);
    if (!isFull && !all.some(({ name }) => name === id)) return null;
    const { plugin, capability, approval } = await names.find(id, surface);
    refuseNotLive(capability);
    return this.#ownDocument(plugin, approval, capability);
  }

  async #offeredOn(surfaces: readonly string[]): Promise<readonly FoundDocument[]> {
    const { catalog, exposures, naming } = this.#parts;
    const { plugins } = await catalog.discover();
    const isMeant = ({ surface }: Capability): boolean => surfaces.includes(surface) && isLive(surface);
    const fresh = plugins.map((plugin) => catalog.fresh(plugin));
    const exposed = await exposures(fresh);
    const findings = await findCollisions(fresh, exposed, naming, isMeant);
    const found: FoundDocument[] = surfaces.flatMap((each) => this.#localOn(each));
    for (const plugin of fresh) {
      const capabilities = plugin.capabilities.filter((each) =>
        isMeant(each) && exposed.has(each.fullId) &&
        withheldBy(findings, placeOf(plugin), each.fullId) === null
      );
      const approval = capabilities.length === 0 ? null : await this.#approvalOf(plugin, fresh);
      if (approval === null) continue;
      found.push(...capabilities.map((each) => this.#ownDocument(plugin, approval, each)));
    }
    return [...Map.groupBy(found, ({ identity }) => surfaces.indexOf(identity.surface))]
      .sort(([a], [b]) => a - b).flatMap(([, documents]) => documents);
  }

  #localOn(surface: string): readonly FoundDocument[] {
    const all = this.#parts.local.on(surface);
    return all.map((each, place) =>
      this.#localDocument(each, all.findIndex(({ name }) => name === each.name) !== place)
    );
  }

  #localDocument({ root, surface, name, paths }: LocalDocument, isShadowed: boolean): FoundDocument {
    const identity = { id: name, surface, name, owner: "local", plugin: null, root, path: paths[0] } as const;
    return { identity, format: documentFormat(surface)!, own: null, paths, isShadowed };
  }

  #ownDocument(plugin: LoadedPlugin, approval: Approval, capability: Capability): FoundDocument {
    const { surface, name, fullId: id, files: [path = ""] } = capability;
    const identity = { id, surface, name, owner: "plugin", plugin: plugin.name, root: null, path } as const;
    const isShadowed = findOutside(name, this.#parts.naming.rules, surface) !== null;
    return { identity, format: documentFormat(surface)!, own: { plugin, approval }, paths: [], isShadowed };
  }

  /** Null for what is not active. */
  async #approvalOf(plugin: LoadedPlugin, plugins: readonly LoadedPlugin[]): Promise<Approval | null> {
    const { naming: { isActive }, approvals } = this.#parts;
    if (!await isActive(plugin) || (await rivalsOf(plugin, plugins, isActive)).length > 0) return null;
    const standing = await approvals.standing(plugin);
    return standing.state === "approved" ? standing.approval : null;
  }

  #remember(source: PluginSource, key: string, reading: DocumentReading): void {
    const known = this.#readings.get(source) ?? new Map<string, DocumentReading>();
    this.#readings.set(source, known.set(key, reading));
  }

  async #unknown(id: string, surface?: string): Promise<CapabilityError> {
    const available = (await this.offered(surface)).map(({ identity }) => identity.id);
    const meant = didYouMean(id, available);
    return new CapabilityError(
      "ERR_CAPABILITY_UNKNOWN",
      `Cannot find document "${display(id)}": ${
        available.length === 0
          ? "there are none"
          : `there are ${available.map((each) => display(each)).join(", ")}`
      }${meant === null ? "" : `. Did you mean "${display(meant)}"?`}`,
      { details: { name: id, available } },
    );
  }
}

function surfacesOf(surface: string | undefined): readonly string[] {
  const all = documentSurfaces();
  if (surface === undefined) return all;
  if (all.includes(surface)) return [surface];
  throw new UsageError(
    "ERR_USAGE",
    `Cannot look for documents on "${display(surface)}": they are on ${all.join(", ")}`,
  );
}

function ambiguous(id: string, found: readonly FoundDocument[]): CollisionError {
  const candidates = found.map(({ identity: { surface, id } }) => ({ surface, id }));
  return new CollisionError(
    "ERR_NAME_AMBIGUOUS",
    `Cannot tell which "${display(id)}" is meant: it is on the surfaces ${
      candidates.map(({ surface }) => surface).join(" and ")
    }. Say which one`,
    { details: { name: id, candidates } },
  );
}

function notHere(id: string, surface: string, why: string): CapabilityError {
  return new CapabilityError(
    "ERR_CAPABILITY_UNKNOWN",
    `Cannot read "${display(id)}" on the surface ${surface}: ${why}`,
    { details: { name: id, surface } },
  );
}
