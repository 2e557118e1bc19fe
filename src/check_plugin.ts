/** What `check` tells: the gate for a plugin's own CI. Nothing of the plugin runs. */
import {
  describeRequest,
  graveOf,
  type PathContext,
  type PermissionRequest,
  type RequestLine,
} from "../permissions/mod.ts";
import type { Bundler } from "./bundler/mod.ts";
import { display } from "./display.ts";
import { documentAdvice } from "./documents/own_documents.ts";
import { parseTarget } from "./manifest/mod.ts";
import { manifestFindings } from "./manifest_findings.ts";
import { packageFolders } from "./npm_packages.ts";
import type { LoadedPlugin } from "./plugin.ts";
import { readStatically, STATIC_KINDS, type StaticUse } from "./static_uses.ts";
import { type Capability, surfaceOf } from "./surfaces/mod.ts";
import { memberOf } from "./surfaces/surface.ts";
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
  /** Every target, bundled. */
  readonly targets: readonly CheckedTarget[];
  /** What its author should look at. Where it speaks of uses it is a guess from the text of the code. */
  readonly advice: readonly string[];
  /** Kinds that are asked for and that no code seems to use. */
  readonly unused: readonly string[];
}

/** One target of a check. */
export interface CheckedTarget {
  /** Full id of its capability; `lifecycle.activate` and `lifecycle.stop` for code without one. */
  readonly id: string;
  /** The code, `path:export`. */
  readonly target: string;
  /** Size of its bundle. */
  readonly bytes: number;
  /** What it seems to use. */
  readonly uses: readonly StaticUse[];
}

interface Looked extends CheckedTarget {
  readonly isBlind: boolean;
  readonly isExportMissing: boolean;
  readonly path: string;
  readonly exportName: string;
  readonly inputs: readonly string[];
  readonly request: PermissionRequest;
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
  const looked: Looked[] = [];
  for (const { id, path, exportName, request } of targetsOf(plugin)) {
    const bundle = await bundler.bundle({ source, tenant, target: { path, export: exportName } });
    looked.push({
      id,
      target: `${path}:${exportName}`,
      bytes: Buffer.byteLength(bundle.code),
      ...readStatically(bundle.code),
      isExportMissing: bundle.isExportMissing,
      path,
      exportName,
      inputs: bundle.inputs,
      request,
    });
  }
  const unused = unusedKinds(plugin, looked);
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
    problems: [
      ...manifestFindings(plugin),
      ...looked.filter(({ isExportMissing }) => isExportMissing)
        .map(({ id, path, exportName }) =>
          `${display(id)}: "${display(path)}" has no export "${display(exportName)}"`
        ),
    ],
    targets: looked.map(({ id, target, bytes, uses }) => ({ id, target, bytes, uses })),
    advice: [
      ...unused.map((kind) => `permissions.${kind} is asked for, and no code seems to use it`),
      ...looked.flatMap((each) => missingKinds(each)),
      ...codeMakers(plugin, looked),
      ...documentAdvice(plugin),
    ],
    unused,
  };
}

/** Whether this version can run what a surface declares. */
export function isLive(surface: string): boolean {
  return surfaceOf(surface)?.live === true;
}

/** Each target once, with what its code may ask for. */
function targetsOf(
  { manifest, capabilities }: LoadedPlugin,
): {
  readonly id: string;
  readonly path: string;
  readonly exportName: string;
  readonly request: PermissionRequest;
}[] {
  const lifecycle = (["activate", "stop"] as const).flatMap((key) => {
    const target = parseTarget(manifest.lifecycle[key]);
    return target.ok ? [{ id: `lifecycle.${key}`, ...target.value, request: manifest.permissions }] : [];
  });
  return [
    ...capabilities.flatMap(({ fullId: id, target, raw }) =>
      target === undefined ? [] : [{ id, ...target, request: requestOf(raw) ?? manifest.permissions }]
    ),
    ...lifecycle,
  ];
}

function requestOf(raw: Capability["raw"]): PermissionRequest | undefined {
  // The cast holds: the schema of the capability's surface has accepted it.
  return memberOf(raw, "permissions") as PermissionRequest | undefined;
}

/** Nothing is called unused while some code computes what it names, nor what an executable of its own may be for. */
function unusedKinds({ manifest, capabilities }: LoadedPlugin, looked: readonly Looked[]): readonly string[] {
  if (looked.some(({ isBlind }) => isBlind)) return [];
  const used = new Set(looked.flatMap(({ uses }) => uses.map(({ kind }) => kind)));
  if (capabilities.some(({ raw }) => memberOf(raw, "command") !== undefined)) used.add("run");
  return Object.keys(manifest.permissions).filter((kind) => STATIC_KINDS.has(kind) && !used.has(kind));
}

function missingKinds({ id, uses, request }: Looked): string[] {
  const kinds = [...new Set(uses.map(({ kind }) => kind))];
  // A secret is an extra of a request, and code that fetches may need none.
  return kinds.filter((kind) => kind !== "secrets" && request[kind] === undefined).map((kind) => {
    const apis = uses.filter((use) => use.kind === kind).map(({ api }) => api);
    return `${display(id)} seems to use ${apis.join(", ")}, which needs ${kind}, and does not ask for it`;
  });
}

/** Packages that make code from strings: without `dynamicCode` they fail as soon as they do. */
function codeMakers({ source, manifest }: LoadedPlugin, looked: readonly Looked[]): string[] {
  if (manifest.permissions.dynamicCode !== undefined) return [];
  const inputs = [...new Set(looked.flatMap(({ inputs }) => inputs))];
  const makers = inputs.filter((path) => {
    const text = packageFolders([path]).length === 0 ? "" : new TextDecoder().decode(source.bytes(path));
    return readStatically(text).uses.some(({ kind }) => kind === "dynamicCode");
  });
  return packageFolders(makers).map((folder) =>
    `the package in "${display(folder)}" seems to make code from strings, which needs dynamicCode`
  );
}
