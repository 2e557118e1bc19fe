/**
 * Who is in force at the points of a tenant. What stands at one is told by what was approved, not by what is on the disk: a
 * guardrail whose plugin was edited, damaged or taken away answers nothing, and what gives no answer blocks (T11). Only a
 * person takes it out of force: by hiding it, switching its plugin off, or taking the approval back.
 */
import { HostError, isWithin, SallyportError, TrustError } from "../../permissions/mod.ts";
import type { Authority, Callable, Holding } from "../authority.ts";
import type { Catalog } from "../catalog.ts";
import { display } from "../display.ts";
import type { Approvable, layersOf } from "../grant_plugin.ts";
import { realAncestor } from "../home.ts";
import { capabilitiesOf, type Manifest } from "../manifest/mod.ts";
import { type LoadedPlugin, placeOf } from "../plugin.ts";
import type { Capability, Station } from "../surfaces/mod.ts";
import type { TenantCalls } from "../tenant_calls.ts";
import { type Approvals, type ApprovedExposure, placeOfKey } from "../trust/mod.ts";
import { POINT_LIMITS } from "./limits.ts";
import { type Matcher, matcherOf } from "./matcher.ts";

/** How one that is in force is asked, or why it cannot be. */
export type Use =
  | { readonly how: "module"; readonly callable: Callable }
  | { readonly how: "command"; readonly id: string }
  | { readonly how: "none"; readonly error: SallyportError };

/** One that is in force, at one station. */
export interface Post {
  /** Name of the plugin. */
  readonly plugin: string;
  /** Where the plugin is seen. */
  readonly place: string;
  /** Where it is, without links. */
  readonly directory: string;
  /** Hash of what was approved. */
  readonly fingerprint: string;
  /** Its full id. */
  readonly id: string;
  /** Its surface. */
  readonly surface: string;
  /** Where it stands; null where that cannot be told, and it stands everywhere. */
  readonly station: Station | null;
  /** For which targets. */
  readonly isMeant: Matcher;
  /** What its plugin may see and change of others; null where that cannot be told. */
  readonly holder: Pick<ReturnType<typeof layersOf>, "grant" | "context"> | null;
  /** How it is asked. */
  readonly use: Use;
}

/** What is found out once for an epoch. */
export interface Posts {
  /** In the order of the loader and then of the manifests. */
  readonly all: readonly Post[];
  /** What they run under. */
  readonly holdings: readonly Holding[];
}

/** What is looked at. */
export interface InForceParts {
  /** The plugins that were found. */
  readonly catalog: Catalog;
  /** What was approved. */
  readonly approvals: Pick<Approvals, "exposures">;
  /** Whether it still stands. */
  readonly authority: Authority;
  /** Finds out how something is called. */
  readonly calls: Pick<TenantCalls, "callable" | "admitted">;
  /** What is exposed in this process alone. */
  readonly exposures: (plugins: readonly LoadedPlugin[]) => Promise<ReadonlySet<string>>;
  /** What an approval grants of what was approved, whatever its plugin is now. */
  readonly layers: (
    plugin: Approvable,
    approved: Pick<ApprovedExposure, "grants" | "flags" | "lineage">,
  ) => ReturnType<typeof layersOf>;
}

/** Finds out, and remembers, who is in force. */
export class InForce {
  readonly #parts: InForceParts;
  #known: { readonly posts: Posts; readonly epoch: number; readonly until: number } | null = null;

  /** Looks at nothing yet. */
  constructor(parts: InForceParts) {
    this.#parts = parts;
  }

  /** What was found, where nothing has changed since. */
  recall(): Posts | null {
    const known = this.#known;
    if (known === null || known.epoch !== this.#parts.authority.epoch) return null;
    if (known.until !== Infinity && performance.now() >= known.until) return null;
    // What nobody calls is not looked at (T14), and these must be, as long as anything passes their points.
    for (const holding of known.posts.holdings) holding.isUsed = true;
    return known.posts;
  }

  /** The same, found out where it is not known. Throws HostError `ERR_STORE`: who is in force cannot be told then. */
  async find(): Promise<Posts> {
    const { authority, catalog, approvals, exposures } = this.#parts;
    for (;;) {
      const known = this.recall();
      if (known !== null) return known;
      const epoch = await authority.watch();
      const { plugins } = await catalog.discover();
      const ofProcess = await exposures([]);
      const places = new Map(plugins.map((plugin, place) => [keyOf(placeOf(plugin), plugin.name), place]));
      const found: { readonly place: number; readonly posts: readonly Post[] }[] = [];
      for (const approved of await approvals.exposures()) {
        const { key: { name }, isDisabled } = approved;
        const exposed = new Set([...approved.exposed, ...ofProcess]);
        if (isDisabled || ![...exposed].some((id) => mayStand(id, name))) continue;
        const place = places.get(keyOf(placeOfKey(approved.key), name));
        if (place === undefined && !await this.#isMissing(approved)) continue;
        const posts = await this.#postsOf(approved, exposed, place === undefined ? null : plugins[place]!);
        found.push({ place: place ?? Infinity, posts });
      }
      if (epoch !== authority.epoch) continue;
      const all = found.sort((a, b) => a.place === b.place ? 0 : a.place - b.place).flatMap(({ posts }) =>
        posts
      );
      const holdings = new Set(all.flatMap(({ use }) => use.how === "module" ? [use.callable.holding] : []));
      const isTroubled = all.some(({ use }) => use.how === "none");
      const until = isTroubled ? performance.now() + POINT_LIMITS.troubleRememberedMs : Infinity;
      this.#known = { posts: { all, holdings: [...holdings] }, epoch, until };
    }
  }

  /** Whether it should be among what is found and is not; what is kept elsewhere is in force where it is looked for. */
  async #isMissing({ key }: ApprovedExposure): Promise<boolean> {
    const { catalog } = this.#parts;
    const { invalid, plugins } = await catalog.discover();
    const place = placeOfKey(key);
    if (plugins.some((plugin) => placeOf(plugin) === place)) return true; // it says another name there now
    return invalid.some(({ location: { directory, link } }) => (link ?? realAncestor(directory)) === place) ||
      catalog.roots.some((root) => isWithin(realAncestor(root), place));
  }

  async #postsOf(
    approved: ApprovedExposure,
    exposed: ReadonlySet<string>,
    plugin: LoadedPlugin | null,
  ): Promise<readonly Post[]> {
    const { key, hash: fingerprint } = approved;
    const place = placeOfKey(key);
    const base = { plugin: key.name, place, directory: key.directory, fingerprint };
    const manifest = await manifestOf(approved);
    const standing = manifest === null ? null : standingIn(manifest, exposed);
    if (manifest === null || standing === null) {
      const error = unreadable(approved);
      const unknown = { id: key.name, surface: "plugins", station: null, isMeant: () => true, holder: null };
      return [{ ...base, ...unknown, use: { how: "none", error } }];
    }
    if (standing.length === 0) return [];
    const holder = this.#holderOf(manifest, approved);
    const posts: Post[] = [];
    for (const capability of standing) {
      const use = plugin === null
        ? { how: "none" as const, error: missing(approved) }
        : await this.#useOf(capability, place);
      for (const station of capability.stations ?? []) {
        const { fullId: id, surface } = capability;
        posts.push({ ...base, id, surface, station, isMeant: meantBy(station), holder, use });
      }
    }
    return posts;
  }

  async #useOf(capability: Capability, place: string): Promise<Use> {
    const { calls } = this.#parts;
    const { fullId, surface, target } = capability;
    try {
      const found = target === undefined ? await calls.admitted(fullId) : await calls.callable(fullId);
      // Another plugin of this name, or another thing of this id, answers for nobody else.
      if (placeOf(found.plugin) !== place || found.capability.surface !== surface) {
        throw misplaced(fullId, "another one has its name now");
      }
      return "unit" in found
        ? { how: "module", callable: found as Callable }
        : { how: "command", id: fullId };
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error;
      const isLost = error.code === "ERR_CAPABILITY_UNKNOWN";
      return {
        how: "none",
        error: isLost ? misplaced(fullId, "its plugin does not declare it any more") : error,
      };
    }
  }

  #holderOf(manifest: Manifest, approved: ApprovedExposure): Post["holder"] {
    try {
      return this.#parts.layers({ manifest, source: { directory: approved.key.directory } }, approved);
    } catch (error) {
      if (error instanceof SallyportError) return null;
      throw error;
    }
  }
}

/** Full ids of what stands at points begin with the plugin's name and a slash; tools and what is typed do not. */
function mayStand(id: string, plugin: string): boolean {
  return id.startsWith(`${plugin}/`);
}

function meantBy({ matcher }: Station): Matcher {
  try {
    return matcherOf(matcher);
  } catch {
    return () => true; // it was read when it was approved; whatever it means now, it stays in the way
  }
}

/** What was approved, as data; null where nobody can tell any more. */
async function manifestOf({ pins }: ApprovedExposure): Promise<Manifest | null> {
  try {
    // The cast holds for what some Sallyport approved; what does not fit is found out by whoever reads on.
    return (await pins())?.manifest as Manifest | undefined ?? null;
  } catch (error) {
    if (error instanceof HostError) return null;
    throw error;
  }
}

function standingIn(manifest: Manifest, exposed: ReadonlySet<string>): readonly Capability[] | null {
  try {
    return capabilitiesOf(manifest).filter(({ fullId, stations }) =>
      stations !== undefined && exposed.has(fullId)
    );
  } catch {
    return null; // approved by another Sallyport, in words that this one does not know
  }
}

function keyOf(place: string, name: string): string {
  return JSON.stringify([place, name]);
}

function missing({ key: { name, directory } }: ApprovedExposure): TrustError {
  return new TrustError(
    "ERR_TRUST_CHANGED",
    `Cannot run plugin "${name}": it is not found in "${
      display(directory)
    }", where it was trusted. Where it is there again, it is found by a new start or reload`,
    { details: { plugin: name, directory, changed: [] } },
  );
}

function unreadable({ key: { name, directory } }: ApprovedExposure): TrustError {
  return new TrustError(
    "ERR_TRUST_CHANGED",
    `Cannot run plugin "${name}": what was approved of it cannot be read. Trust it again, or untrust it`,
    { details: { plugin: name, directory, changed: [] } },
  );
}

function misplaced(id: string, why: string): TrustError {
  return new TrustError("ERR_TRUST_CHANGED", `Cannot use "${id}" as it was approved: ${why}`, {
    details: { capability: id, changed: [] },
  });
}
