/** What a surface is, and the two shapes that most of them have: a list of named targets, and a list of documents. */
import { z } from "zod";
import type { KindTable } from "../../permissions/mod.ts";
import type { DocumentFiles, DocumentFormat } from "../documents/format.ts";
import { MANIFEST_LIMITS as LIMITS } from "../manifest/limits.ts";
import { baseName, parseReference, parseTarget, type Target } from "../manifest/reference.ts";
import { fileReference } from "../manifest/fields.ts";
import type { Station } from "./stations.ts";

/** Steps from one value of a manifest to another inside it. */
export type JsonPath = readonly (string | number)[];

/** One file that a manifest names. */
export interface DeclaredFile {
  /** The file, relative to the bundle. */
  readonly path: string;
  /** What it is for. */
  readonly role: "target" | "document" | "executable";
  /** Where the manifest names it. */
  readonly at: JsonPath;
}

/** One named offering of a plugin. */
export interface Capability {
  /** The surface it is on. */
  readonly surface: string;
  /** Its name inside the plugin and surface. */
  readonly name: string;
  /** Its name among all plugins; never collides. */
  readonly fullId: string;
  /** Further spellings of the full id. */
  readonly aliases: readonly string[];
  /** The code behind it, if it has code in the bundle that runs in an isolate. */
  readonly target?: Target;
  /** Every file it declares, relative to the bundle. */
  readonly files: readonly string[];
  /** The plugin's words about it. */
  readonly description?: string;
  /** Where it stands, if it watches what passes or decides about it; the host then asks it there. */
  readonly stations?: readonly Station[];
  /** Its entry in the manifest, as validated. */
  readonly raw: unknown;
  /** Where its entry stands, from the surface's section. */
  readonly at: JsonPath;
}

/** Names a capability where only the text of the manifest is known, valid or not. */
export interface NamedEntry {
  /** The name. */
  readonly name: string;
  /** Where it stands, from the section. */
  readonly at: JsonPath;
}

/** When a collision shows: as plugins are found, as a capability is about to be offered, or as a name is first looked up. */
export type CollisionMoment = "discovery" | "registration" | "match";

/** What a person gets by typing `/<plugin>:<name>`. */
export type TypedKind = "command" | "prompt" | "panel";

/** How the code of a surface's entries is run. */
export interface SurfaceCode {
  /** Whether it may be called by its id; else the host alone runs it, where it belongs. */
  readonly isCallable: boolean;
  /** Whether the host's own callers may call it by its id nevertheless, and read what it gives piece by piece. */
  readonly isStreamed?: boolean;
  /** What its answers must be; absent is any JSON value. */
  readonly answer?: z.ZodType;
  /** The word for its calls at the points that they pass, as in `tool.input`; absent where they pass none. */
  readonly passes?: string;
  /** What it is called with; absent is any object that fits the entry's own schema. */
  readonly input?: z.ZodType;
  /** What went wrong, where an answer says that the code ran and failed; undefined where it is a result. */
  failureIn?(answer: unknown): { readonly content: unknown } | undefined;
}

/** One kind of thing that plugins offer. */
export interface Surface<Section = unknown> {
  /** Its key under `capabilities:`. */
  readonly name: string;
  /** One sentence for the reference page. */
  readonly doc: string;
  /** Whether this version can run what is declared; otherwise it is listed and refused when used. */
  readonly live: boolean;
  /** A plugin that offers anything on it shares no worker: what others do to a worker must not stop it (T11). */
  readonly standsAlone?: boolean;
  /** When it is refused that two owners claim one name on it; absent where names are only said with their plugin's. */
  readonly collides?: CollisionMoment;
  /** How the code of its entries is run; absent where they have none. */
  readonly code?: SurfaceCode;
  /** What a person gets by typing an entry's name; absent where nothing of it is typed. */
  readonly typedAs?: TypedKind;
  /** The full id of what has a name on it; absent where names are not given. */
  fullId?(plugin: string, name: string): string;
  /** Its entries may have no target: lifecycle code then registers what is behind them. */
  readonly isRegistered?: boolean;
  /** Its names collide only where the tenant's naming is `bare`. */
  readonly collidesWhenBare?: boolean;
  /** The schema of its section, where the built-in kinds of permission exist. */
  readonly section: z.ZodType<Section>;
  /** The same where these kinds exist, and these events beside the built-in ones; absent if its entries have neither. */
  sectionFor?(kinds: KindTable, events: readonly string[]): z.ZodType<Section>;
  /** How its documents are read, if it takes documents. */
  readonly document?: DocumentFiles;
  /** All that a valid section offers, in the manifest's order. */
  capabilities(section: Section, plugin: string): readonly Capability[];
  /** All files that a valid section names; paths start at the section. */
  files(section: Section): readonly DeclaredFile[];
  /** The names in a section that may be invalid elsewhere, for the check of duplicates. Empty if names are not given. */
  names(section: unknown): readonly NamedEntry[];
}

/** The least that an entry of a list of targets has. */
export interface TargetEntry {
  /** Its name inside the plugin. */
  readonly name: string;
  /** The code, `path:export`; absent where lifecycle code registers it. */
  readonly target?: string;
  /** What it does, for people and models. */
  readonly description?: string;
}

/** How one list of targets differs from the next. */
export interface TargetSurfaceOptions<Entry extends TargetEntry> {
  readonly name: string;
  readonly doc: string;
  readonly live: boolean;
  readonly standsAlone?: boolean;
  readonly collides?: CollisionMoment;
  readonly collidesWhenBare?: boolean;
  readonly isRegistered?: boolean;
  readonly code?: SurfaceCode;
  readonly typedAs?: TypedKind;
  readonly entry: z.ZodType<Entry>;
  entryFor?(kinds: KindTable): z.ZodType<Entry>;
  fullId(plugin: string, name: string): string;
  stations?(entry: Entry): readonly Station[];
}

/** A surface whose section is a list of `{name, target, …}`. */
export function targetSurface<Entry extends TargetEntry>(
  options: TargetSurfaceOptions<Entry>,
): Surface<readonly Entry[]> {
  const { name: surface, doc, live, standsAlone = false, collides, collidesWhenBare = false, entry } =
    options;
  const { isRegistered = false, code, typedAs } = options;
  const listOfEntries = (schema: z.ZodType<Entry>) => z.array(schema).max(LIMITS.entriesMax);
  return {
    name: surface,
    doc,
    live,
    standsAlone,
    collidesWhenBare,
    isRegistered,
    ...(collides === undefined ? {} : { collides }),
    ...(code === undefined ? {} : { code }),
    ...(typedAs === undefined ? {} : { typedAs }),
    fullId: options.fullId,
    section: listOfEntries(entry),
    sectionFor: (kinds) => listOfEntries(options.entryFor?.(kinds) ?? entry),
    capabilities: (section, plugin) =>
      section.map((raw, index) => {
        const target = raw.target === undefined ? undefined : targetOf(raw.target);
        return {
          surface,
          name: raw.name,
          fullId: options.fullId(plugin, raw.name),
          aliases: typedAs === undefined ? [] : [typedId(plugin, raw.name)],
          ...(target === undefined ? { files: [] } : { target, files: [target.path] }),
          ...(raw.description === undefined ? {} : { description: raw.description }),
          ...(options.stations === undefined ? {} : { stations: options.stations(raw) }),
          raw,
          at: [index],
        };
      }),
    files: (section) =>
      section.flatMap(({ target }, index): DeclaredFile[] =>
        target === undefined ? [] : [{ path: targetOf(target).path, role: "target", at: [index, "target"] }]
      ),
    names: (section) =>
      listOf(section).flatMap((raw, index) => {
        const name = memberOf(raw, "name");
        return typeof name === "string" ? [{ name, at: [index, "name"] }] : [];
      }),
  };
}

/** How one list of documents differs from the next. */
export interface DocumentSurfaceOptions {
  readonly name: string;
  readonly doc: string;
  readonly live: boolean;
  readonly extensions: readonly string[];
  readonly format: DocumentFormat;
  readonly isLocal: boolean;
  readonly folderFile?: string;
  readonly typedAs?: TypedKind;
  /** The name of a document; by default its file name without the extension. */
  nameOf?(path: string): string;
  fullId?(plugin: string, name: string): string;
}

/** A surface whose section is a list of files. */
export function documentSurface(options: DocumentSurfaceOptions): Surface<readonly string[]> {
  const { name: surface, doc, live, extensions, format, isLocal, folderFile, typedAs } = options;
  const fullId = options.fullId ?? slashId;
  const nameOf = options.nameOf ?? ((path: string) => stemOf(path, extensions));
  return {
    name: surface,
    doc,
    live,
    collides: "discovery",
    document: { ...format, extensions, nameOf, isLocal, ...(folderFile === undefined ? {} : { folderFile }) },
    ...(typedAs === undefined ? {} : { typedAs }),
    fullId,
    section: z.array(fileReference(extensions)).max(LIMITS.entriesMax),
    capabilities: (section, plugin) =>
      section.map((path, index) => {
        const name = nameOf(path);
        return {
          surface,
          name,
          fullId: fullId(plugin, name),
          aliases: typedAs === undefined ? [] : [typedId(plugin, name)],
          files: [path],
          raw: path,
          at: [index],
        };
      }),
    files: (section) => section.map((path, index) => ({ path, role: "document", at: [index] })),
    names: (section) =>
      listOf(section).flatMap((path, index) => {
        const file = parseReference(path, extensions);
        return file.ok ? [{ name: nameOf(file.value), at: [index] }] : [];
      }),
  };
}

/** The full id of what has no spelling of its own. */
export function slashId(plugin: string, name: string): string {
  return `${plugin}/${name}`;
}

/** How a person types what is typed: a command, a prompt, a panel. */
export function typedId(plugin: string, name: string): string {
  return `/${plugin}:${name}`;
}

/** A file's name without the first extension that fits. */
export function stemOf(path: string, extensions: readonly string[]): string {
  const base = baseName(path);
  const extension = extensions.find((candidate) => base.endsWith(candidate)) ?? "";
  return base.slice(0, base.length - extension.length);
}

/** Reads the target of an entry that the schema has accepted. */
export function targetOf(text: string): Target {
  const target = parseTarget(text);
  if (!target.ok) throw new TypeError(`Cannot read target "${text}": ${target.reason}`);
  return target.value;
}

/** A value's own member, whatever the value is. */
export function memberOf(value: unknown, key: string): unknown {
  // The cast is safe: own members of any object may be read as unknown.
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function listOf(section: unknown): readonly unknown[] {
  return Array.isArray(section) ? section : [];
}
