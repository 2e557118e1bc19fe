/** What `check` tells: the gate for a plugin's own CI. Nothing of the plugin runs. */
import { describeRequest, graveOf, type PathContext, type RequestLine } from "../permissions/mod.ts";
import type { Bundler } from "./bundler/mod.ts";
import type { LoadedPlugin } from "./plugin.ts";
import { SURFACES } from "./surfaces/mod.ts";
import type { Fingerprint } from "./trust/mod.ts";

/** What was found. */
export interface PluginCheck {
  /** Name of the plugin. */
  readonly name: string;
  /** Informational version. */
  readonly version: string;
  /** Where it is. */
  readonly directory: string;
  /** `sha256:…`, what a trust approves. */
  readonly fingerprint: string;
  /** Files that are pinned, in order. */
  readonly files: readonly string[];
  /** Full ids of all that is declared, and whether this version can run them. */
  readonly capabilities: readonly { readonly id: string; readonly surface: string; readonly live: boolean }[];
  /** What is asked for. */
  readonly permissions: readonly RequestLine[];
  /** Which of it is grave. */
  readonly grave: readonly string[];
  /** What keeps it from running; empty is good. */
  readonly problems: readonly string[];
}

/** Checks a pinned plugin; `context` is where its paths start. Throws BundleError for a target that cannot be bundled. */
export async function checkPlugin(
  plugin: LoadedPlugin,
  fingerprint: Fingerprint,
  bundler: Pick<Bundler, "bundle">,
  tenant: string,
  context: PathContext,
): Promise<PluginCheck> {
  const { name, manifest, source, capabilities } = plugin;
  const problems = plugin.incompatibleRange === null
    ? []
    : [`it asks for Sallyport ${plugin.incompatibleRange}`];
  for (const { target, fullId } of capabilities) {
    if (target === undefined) continue;
    const { path, exportName } = target;
    const { isExportMissing } = await bundler.bundle({
      source,
      tenant,
      target: { path, export: exportName },
    });
    if (isExportMissing) problems.push(`${fullId}: "${path}" has no export "${exportName}"`);
  }
  return {
    name,
    version: manifest.version,
    directory: source.directory,
    fingerprint: fingerprint.hash,
    files: Object.keys(fingerprint.files).sort(),
    capabilities: capabilities.map(({ fullId, surface }) => ({ id: fullId, surface, live: isLive(surface) })),
    permissions: describeRequest(manifest.permissions, context.kinds),
    grave: graveOf(manifest.permissions, context).map(({ kind, entry }) =>
      `${kind} ${entry === true ? "everything" : entry}`
    ),
    problems,
  };
}

/** Whether this version can run what a surface declares. */
export function isLive(surface: string): boolean {
  return Object.values(SURFACES).some(({ name, live }) => name === surface && live);
}
