/** Remembers what was bundled from one reading of a plugin: its memory never changes, so neither does the result. */
import type { Bundler, BundleRequest, TargetBundle } from "./bundler/mod.ts";
import type { PluginSource } from "./source.ts";

/** A bundler that makes each target of a source once. A failure is not remembered here: it may be the machine's. */
export function rememberingBundler(bundler: Pick<Bundler, "bundle">): Pick<Bundler, "bundle"> {
  const made = new WeakMap<PluginSource, Map<string, TargetBundle>>();
  return {
    async bundle(request: BundleRequest) {
      const { source, target } = request;
      const targets = made.get(source) ?? new Map<string, TargetBundle>();
      made.set(source, targets);
      const key = JSON.stringify([target.path, target.export]);
      const known = targets.get(key);
      if (known !== undefined) return known;
      const bundle = await bundler.bundle(request);
      targets.set(key, bundle);
      return bundle;
    },
  };
}

/** A bundler whose bundles are changed before anybody gets them; what they were made of stays what it is. */
export function alteringBundler(
  bundler: Pick<Bundler, "bundle">,
  alter?: (bundle: TargetBundle) => TargetBundle,
): Pick<Bundler, "bundle"> {
  return alter === undefined ? bundler : { bundle: async (request) => alter(await bundler.bundle(request)) };
}
