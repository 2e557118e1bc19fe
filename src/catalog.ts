/** The plugins that a tenant's loader finds, read once; one whose files changed on the disk is read again. */
import { basename } from "node:path";
import { CapabilityError, type KindTable, LimitError, SallyportError } from "../permissions/mod.ts";
import { RUNTIME_LIMITS } from "../runtime/mod.ts";
import type { Loader, PluginLocation } from "./loaders/mod.ts";
import { type InvalidPlugin, type LoadedPlugin, loadPlugin, placeOf } from "./plugin.ts";

/** What was found. */
export interface Found {
  /** In the loader's order; a plugin that was read again takes its place. */
  readonly plugins: LoadedPlugin[];
  /** What cannot be used at all. */
  readonly invalid: readonly InvalidPlugin[];
}

/** What a catalog works with. */
export interface CatalogParts {
  /** Finds them. */
  readonly loader: Loader;
  /** The kinds of permission that exist. */
  readonly kinds: KindTable;
  /** The events that hooks may name beside the built-in ones. */
  readonly events: readonly string[];
  /** Whether a reading still is what is on the disk. */
  readonly isCurrent: (plugin: LoadedPlugin) => boolean;
  /** Whether anybody ever approved what is in its directory, by this name. */
  readonly isKnown: (plugin: LoadedPlugin) => Promise<boolean>;
}

/** The plugins of one tenant. */
export class Catalog {
  readonly #parts: CatalogParts;
  #found: Promise<Found> | undefined;
  #plugins: LoadedPlugin[] = [];
  /** Where in the list each one is; a plugin that is read again keeps its place. */
  #places: ReadonlyMap<string, number> = new Map();
  #roots: readonly string[];

  /** Reads nothing yet. */
  constructor(parts: CatalogParts) {
    this.#parts = parts;
    this.#roots = parts.loader.roots ?? [];
  }

  /** Directories that are plugins' or may become so; the same list for as long as nothing was found beside it. */
  get roots(): readonly string[] {
    return this.#roots;
  }

  /** Concurrent first questions share one reading; a plugin that is invalid is excluded whole, and the rest goes on. */
  discover(): Promise<Found> {
    this.#found ??= this.#scan().then((found) => {
      this.#take(found);
      return found;
    }).catch((error: unknown) => {
      this.#found = undefined; // the loader's failure may be over at the next question
      throw error;
    });
    return this.#found;
  }

  /** What the loader finds now, without taking it for what there is; no grant reaches it from now on. */
  async scan(): Promise<Found> {
    const found = await this.#scan();
    this.#roots = [...new Set([...this.#roots, ...placesOf(found)])];
    return found;
  }

  /** Takes what was found for what there is. */
  adopt(found: Found): void {
    this.#found = Promise.resolve(found);
    this.#take(found);
  }

  /** The plugin with its files as they are on the disk: a new reading when they changed, unless that fails. */
  fresh(plugin: LoadedPlugin): LoadedPlugin {
    const { name } = plugin;
    const place = this.#places.get(placeOf(plugin))!;
    const known = this.#plugins[place]!;
    if (this.#parts.isCurrent(known)) return known;
    try {
      const now = this.#read(known.location);
      if (now.name === name) this.#plugins[place] = now;
    } catch (error) {
      // What cannot be read is not what was approved; the old reading tells which files changed.
      if (!(error instanceof SallyportError)) throw error;
    }
    return this.#plugins[place]!;
  }

  /** The plugin of a name, as it is now; of several the first that somebody approved, else the first (T23). Throws CapabilityError when there is none, and what keeps it from being read. */
  async plugin(name: string): Promise<LoadedPlugin> {
    const { plugins, invalid } = await this.discover();
    const [plugin, ...twins] = plugins.filter((candidate) => candidate.name === name);
    if (plugin !== undefined && twins.length === 0) return this.fresh(plugin);
    if (plugin !== undefined) {
      for (const candidate of [plugin, ...twins]) {
        if (await this.#parts.isKnown(candidate)) return this.fresh(candidate);
      }
      return this.fresh(plugin);
    }
    const broken = invalid.find(({ location }) => basename(location.directory) === name);
    if (broken !== undefined) throw broken.error;
    throw new CapabilityError(
      "ERR_CAPABILITY_UNKNOWN",
      `Cannot find plugin "${name}": ${namesOf(plugins)}`,
      { details: { available: plugins.map((candidate) => candidate.name) } },
    );
  }

  #read(location: PluginLocation): LoadedPlugin {
    return loadPlugin(location, this.#parts.kinds, this.#parts.events);
  }

  #take(found: Found): void {
    this.#plugins = found.plugins;
    this.#places = new Map(found.plugins.map((plugin, place) => [placeOf(plugin), place]));
    this.#roots = [...(this.#parts.loader.roots ?? []), ...placesOf(found)];
  }

  async #scan(): Promise<Found> {
    const plugins: LoadedPlugin[] = [];
    const invalid: InvalidPlugin[] = [];
    for (const [place, location] of (await this.#parts.loader.load()).entries()) {
      try {
        if (place >= RUNTIME_LIMITS.pluginsPerTenantMax) throw tooMany();
        plugins.push(this.#read(location));
      } catch (error) {
        if (!(error instanceof SallyportError)) throw error;
        invalid.push({ location, error });
      }
    }
    return { plugins, invalid };
  }
}

function placesOf({ plugins, invalid }: Found): readonly string[] {
  return [
    ...plugins.map(({ source }) => source.directory),
    ...invalid.map(({ location }) => location.directory),
  ];
}

/** Which are too many follows from the loader's order, so that one folder cannot push another's out. */
function tooMany(): LimitError {
  const { pluginsPerTenantMax } = RUNTIME_LIMITS;
  return new LimitError(
    "ERR_LIMIT_SIZE",
    `Cannot use the plugin: ${pluginsPerTenantMax} others were found before it (pluginsPerTenantMax)`,
    { details: { pluginsPerTenantMax } },
  );
}

function namesOf(plugins: readonly LoadedPlugin[]): string {
  return plugins.length === 0
    ? "there are no plugins"
    : `there are ${plugins.map(({ name }) => `"${name}"`).join(", ")}`;
}
