/**
 * Bundles that were made before, for the same bytes. What a target's imports lead to is only known once they were followed,
 * so there are two steps: the target's own bytes lead to what earlier builds of it asked its files, and the first build
 * whose questions have the same answers now leads to its bundle.
 */
import { createHash } from "node:crypto";
import type { PluginSource } from "../source.ts";
import { SourceError } from "../source_file.ts";
import type { CacheStore } from "../stores/cache.ts";
import { VERSION } from "../version.ts";
import { engineVersion } from "./engine_version.ts";
import type { BundleLimits } from "./limits.ts";
import { type Observation, stillHolds } from "./observed.ts";
import type { BundleTarget, TargetBundle } from "./types.ts";

/** Raise it when the same files and engine would give another bundle. */
const FORMAT = 1;
/** Builds of one target that are told apart: its own bytes are the same and what it imports is not. */
const VARIANTS_MAX = 8;

interface Variant {
  readonly bundle: string;
  readonly observations: readonly Observation[];
}

/** The bundles of one host. */
export class BundleCache {
  readonly #store: CacheStore;
  readonly #limits: BundleLimits;
  #engine: string | undefined;

  /** `limits` are those of the builds, which decide what can be bundled at all. */
  constructor(store: CacheStore, limits: BundleLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  /** The bundle of a target as its files are now, or null when nobody made it yet. */
  get(source: PluginSource, target: BundleTarget): TargetBundle | null {
    const key = this.#keyOf(source, target);
    if (key === null) return null;
    const variant = this.#variants(key).find(({ observations }) => stillHolds(source, observations));
    if (variant === undefined) return null;
    return this.#read(variant.bundle) as TargetBundle | null;
  }

  /** Keeps what a build of a target gave, and what it asked for it. */
  put(
    source: PluginSource,
    target: BundleTarget,
    bundle: TargetBundle,
    observations: readonly Observation[],
  ): void {
    const key = this.#keyOf(source, target);
    if (key === null) return;
    const name = `bundle ${digest([key, observations])}`;
    const others = this.#variants(key).filter((variant) => variant.bundle !== name);
    const variants: Variant[] = [{ bundle: name, observations }, ...others.slice(0, VARIANTS_MAX - 1)];
    this.#store.put(name, Buffer.from(JSON.stringify(bundle)));
    this.#store.put(key, Buffer.from(JSON.stringify(variants)));
  }

  #variants(key: string): readonly Variant[] {
    return (this.#read(key) ?? []) as readonly Variant[];
  }

  /** What was put there; the store answers for nobody having changed it. What is no JSON was cut short, and is not there. */
  #read(key: string): unknown {
    const bytes = this.#store.get(key);
    try {
      return bytes === null ? null : JSON.parse(textOf(bytes));
    } catch {
      return null;
    }
  }

  /** Null when the target cannot be read; the build says what is wrong with it. */
  #keyOf(source: PluginSource, target: BundleTarget): string | null {
    try {
      const own = source.hash(target.path, "code");
      const { path, export: name } = target;
      this.#engine ??= engineVersion();
      return `target ${
        digest([FORMAT, VERSION, this.#engine, this.#limits, source.script, path, name, own])
      }`;
    } catch (error) {
      if (error instanceof SourceError) return null;
      throw error;
    }
  }
}

function digest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}
