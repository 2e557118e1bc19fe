/** What a surface is, and the two shapes that most of them have: a list of named targets, and a list of documents. */
import { z } from "zod";
import type { KindTable } from "../../permissions/mod.ts";
import { MANIFEST_LIMITS as LIMITS } from "../manifest/limits.ts";
import { baseName, parseReference, parseTarget, type Target } from "../manifest/reference.ts";
import { fileReference } from "../manifest/fields.ts";

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
  /** Its entries may have no target: lifecycle code then registers what is behind them. */
  readonly isRegistered?: boolean;
  /** Its names collide only where the tenant's naming is `bare`. */
  readonly collidesWhenBare?: boolean;
  /** The schema of its section, where the built-in kinds of permission exist. */
  readonly section: z.ZodType<Section>;
  /** The same where these kinds exist; absent if its entries have no permissions of their own. */
  sectionFor?(kinds: KindTable): z.ZodType<Section>;
  /** What its documents may end with, if it takes documents. */
  readonly extensions?: readonly string[];
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
  readonly entry: z.ZodType<Entry>;
  entryFor?(kinds: KindTable): z.ZodType<Entry>;
  fullId(plugin: string, name: string): string;
  aliases?(plugin: string, name: string): readonly string[];
}

/** A surface whose section is a list of `{name, target, …}`. */
export function targetSurface<Entry extends TargetEntry>(
  options: TargetSurfaceOptions<Entry>,
): Surface<readonly Entry[]> {
  const { name: surface, doc, live, standsAlone = false, collides, collidesWhenBare = false, entry } =
    options;
  const { isRegistered = false } = options;
  const listOfEntries = (schema: z.ZodType<Entry>) => z.array(schema).max(LIMITS.entriesMax);
  return {
    name: surface,
    doc,
    live,
    standsAlone,
    collidesWhenBare,
    isRegistered,
    ...(collides === undefined ? {} : { collides }),
    section: listOfEntries(entry),
    sectionFor: (kinds) => listOfEntries(options.entryFor?.(kinds) ?? entry),
    capabilities: (section, plugin) =>
      section.map((raw, index) => {
        const target = raw.target === undefined ? undefined : targetOf(raw.target);
        return {
          surface,
          name: raw.name,
          fullId: options.fullId(plugin, raw.name),
          aliases: options.aliases?.(plugin, raw.name) ?? [],
          ...(target === undefined ? { files: [] } : { target, files: [target.path] }),
          ...(raw.description === undefined ? {} : { description: raw.description }),
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
  /** The name of a document; by default its file name without the extension. */
  nameOf?(path: string): string;
  fullId?(plugin: string, name: string): string;
  aliases?(plugin: string, name: string): readonly string[];
}

/** A surface whose section is a list of files. */
export function documentSurface(options: DocumentSurfaceOptions): Surface<readonly string[]> {
  const { name: surface, doc, live, extensions } = options;
  const nameOf = options.nameOf ?? ((path: string) => stemOf(path, extensions));
  return {
    name: surface,
    doc,
    live,
    collides: "discovery",
    extensions,
    section: z.array(fileReference(extensions)).max(LIMITS.entriesMax),
    capabilities: (section, plugin) =>
      section.map((path, index) => {
        const name = nameOf(path);
        return {
          surface,
          name,
          fullId: options.fullId?.(plugin, name) ?? slashId(plugin, name),
          aliases: options.aliases?.(plugin, name) ?? [],
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

/** How a person types a prompt or command. */
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
