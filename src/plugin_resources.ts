/** A plugin's own text files for its host: what is pinned is what was approved, or it is not read. */
import { createHash } from "node:crypto";
import { type Resource, ResourceRoots } from "./resources/mod.ts";
import type { LoadedPlugin } from "./plugin.ts";
import { changedError } from "./plugin_state.ts";
import type { Fingerprint } from "./trust/mod.ts";

/** The resources of one plugin, by the rules of `ResourceRoots`. */
export interface PluginResources {
  /** Reads a file; undefined when it is not there. Throws ResourceError, TrustError `ERR_TRUST_CHANGED`. */
  read(path: string): Resource | undefined;
  /** The same; throws ResourceError `ERR_RESOURCE_NOT_FOUND` for what is not there. */
  readStrict(path: string): Resource;
  /** Whether `read` would give a file. */
  exists(path: string): boolean;
}

/** The resources of a plugin as it was approved. Throws ResourceError for a directory that is gone. */
export function resourcesOf(plugin: LoadedPlugin, { files }: Fingerprint): PluginResources {
  const { name, source: { directory } } = plugin;
  const roots = ResourceRoots.capture([{ id: name, directory }]);
  const verified = (resource: Resource): Resource => {
    const pinned = Object.hasOwn(files, resource.path) ? files[resource.path] : undefined;
    // Text that was read is UTF-8, mark included, so these are the bytes of the file.
    const hash = createHash("sha256").update(resource.text).digest("hex");
    if (pinned !== undefined && pinned !== hash) throw changedError(plugin, [resource.path]);
    return resource;
  };
  return {
    read(path) {
      const found = roots.read(path);
      return found === undefined ? undefined : verified(found);
    },
    readStrict: (path) => verified(roots.readStrict(name, path)),
    exists(path) {
      const found = roots.exists(path) ? roots.read(path) : undefined;
      return found !== undefined && isTrue(() => verified(found));
    },
  };
}

function isTrue(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
