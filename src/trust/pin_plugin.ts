/** Pins one loaded plugin: what a person approves when they approve it. */
import { BundleError, isWithin, longForm, ManifestError, resolvePath } from "../../permissions/mod.ts";
import type { Bundler, BundleTarget } from "../bundler/mod.ts";
import { documentAssets } from "../documents/own_documents.ts";
import { declaredFiles, type Manifest, parseTarget } from "../manifest/mod.ts";
import type { LoadedPlugin } from "../plugin.ts";
import { SourceError } from "../source_file.ts";
import { type Fingerprint, fingerprintOf } from "./fingerprint.ts";
import { collectPins } from "./pins.ts";

/**
 * Reads and bundles all that the manifest names; runs nothing. Throws ManifestError naming declared files that are
 * missing, BundleError for a target that cannot be bundled or a file that cannot be used.
 */
export async function pinPlugin(
  plugin: LoadedPlugin,
  bundler: Pick<Bundler, "bundle">,
  tenant: string,
): Promise<Fingerprint> {
  const { manifest, source, name } = plugin;
  try {
    const { pins, missing } = await collectPins({
      source,
      manifest,
      declared: [...declaredFiles(manifest), ...documentAssets(plugin).map((path) => ({ path }))],
      targets: targetsOf(manifest, plugin),
      trees: pinnedTrees(manifest, source.directory),
      bundler,
      tenant,
    });
    if (missing.length === 0) return fingerprintOf(pins);
    throw new ManifestError(
      "ERR_MANIFEST_INVALID",
      `Cannot pin plugin "${name}": its manifest names files that are not there: ${
        missing.join(", ")
      }. Add them, or remove them from plugin.yaml`,
      { details: { plugin: name, missing } },
    );
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new BundleError("ERR_BUNDLE_FAILED", `Cannot pin plugin "${name}": ${error.message}`, {
      cause: error,
    });
  }
}

function targetsOf(manifest: Manifest, { capabilities }: LoadedPlugin): BundleTarget[] {
  const lifecycle = [manifest.lifecycle.activate, manifest.lifecycle.stop].flatMap((text) => {
    const target = parseTarget(text);
    return target.ok ? [target.value] : [];
  });
  return [...capabilities.flatMap(({ target }) => target === undefined ? [] : [target]), ...lifecycle]
    .map(({ path, exportName }) => ({ path, export: exportName }));
}

/** Plugin-relative read entries are pinned as trees unless the manifest says that they change (decision 6, T20). */
function pinnedTrees({ permissions }: Manifest, bundle: string): string[] {
  const { allow = [], mutable } = longForm(permissions.read);
  if (allow === true || mutable === true) return [];
  // As the grant reads them: however an entry is spelled, what it gives of the plugin's own folder is pinned.
  return allow.flatMap((entry) => {
    if (typeof entry !== "string" || /^\$(?:data|project|home)(?:\/|$)/.test(entry)) return [];
    const path = resolvePath(entry, { cwd: bundle });
    return isWithin(bundle, path) ? [path === bundle ? "." : path.slice(bundle.length + 1)] : [];
  });
}
