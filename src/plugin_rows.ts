/** Plugins as rows of a list. */
import { basename } from "node:path";
import { isLive } from "./check_plugin.ts";
import { type NameFinding, withheldBy } from "./collisions.ts";
import type { InvalidPlugin, LoadedPlugin } from "./plugin.ts";
import type { PluginState } from "./plugin_state.ts";
import { annotationsOf } from "./surfaces/tools.ts";
import type { PluginRow } from "./tenant_types.ts";

/** The row of a plugin that was read. */
export function rowOf(
  { name, manifest, location, capabilities }: LoadedPlugin,
  standing: { readonly state: PluginState; readonly reason: string | null; readonly verified: boolean },
  exposed: ReadonlySet<string>,
  findings: readonly NameFinding[] = [],
): PluginRow {
  return {
    name,
    version: manifest.version,
    description: manifest.description ?? null,
    state: standing.state,
    reason: standing.reason,
    verified: standing.verified,
    directory: location.directory,
    origin: location.origin,
    ...(location.link === undefined ? {} : { link: location.link }),
    capabilities: capabilities.map(({ fullId, surface, description, raw, stations, aliases: [typed] }) => {
      const annotations = annotationsOf({ surface, raw });
      return {
        id: fullId,
        surface,
        description: description ?? null,
        live: isLive(surface),
        exposed: exposed.has(fullId),
        withheld: withheldBy(findings, location.link ?? location.directory, fullId)?.message ?? null,
        ...(annotations === undefined ? {} : { annotations }),
        ...(stations === undefined ? {} : { stations }),
        ...(typed === undefined ? {} : { typed }),
      };
    }),
    permissions: manifest.permissions,
  };
}

/** The row of one that could not be. */
export function invalidRow({ location, error }: InvalidPlugin): PluginRow {
  return {
    name: basename(location.directory),
    version: null,
    description: null,
    state: "invalid",
    reason: error.message,
    verified: false,
    directory: location.directory,
    origin: location.origin,
    ...(location.link === undefined ? {} : { link: location.link }),
    capabilities: [],
    permissions: {},
  };
}
