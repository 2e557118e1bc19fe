/** What became of a plugin since it was trusted, for whoever is asked to trust it again. Pure; nothing of it runs. */
import {
  type Change,
  diff,
  grantOf,
  layerOf,
  longForm,
  type PathContext,
  type PermissionRequest,
} from "../permissions/mod.ts";
import type { ImportEdge } from "./bundler/mod.ts";
import { type ValueChange, valueChanges } from "./diff_values.ts";
import { capabilitiesOf, type Manifest } from "./manifest/mod.ts";
import { packageFolders } from "./npm_packages.ts";
import type { Capability } from "./surfaces/mod.ts";
import { memberOf } from "./surfaces/surface.ts";
import { argvHashes, argvsOf, type HookArgv, type Pins } from "./trust/mod.ts";

/** Whether something came, went, or is another. */
export type ChangeKind = "added" | "removed" | "changed";

/** One file that is not what was pinned. */
export interface FileChange {
  /** Relative path. */
  readonly path: string;
  /** What became of it. */
  readonly change: ChangeKind;
}

/** One import that leads elsewhere. */
export interface ImportChange extends Pick<ImportEdge, "importer" | "specifier" | "path"> {
  /** What became of it. */
  readonly change: "added" | "removed";
}

/** One npm package of which something else is bundled. */
export interface PackageChange {
  /** Its folder, relative to the plugin. */
  readonly path: string;
  /** What became of it. */
  readonly change: ChangeKind;
  /** The version that it said it was; null where it said none, or is new. */
  readonly before: string | null;
  /** The version that it says it is; null where it says none, or is gone. */
  readonly after: string | null;
}

/** Versions of packages by their folders, then and now. */
export interface PackageVersions {
  /** As they were. */
  readonly before: Readonly<Record<string, string>>;
  /** As they are. */
  readonly after: Readonly<Record<string, string>>;
}

/** One permission that is asked for and was not, or the reverse. */
export interface PermissionChange extends Change {
  /** The capability whose own request it is; null is the plugin's. */
  readonly capability: string | null;
}

/** The argv of one hook; null where there was, or is, none. */
export interface ArgvChange {
  /** Full id of the hook as it is; as it was, if it is gone. */
  readonly id: string;
  /** What was started. */
  readonly before: readonly string[] | null;
  /** What would be. */
  readonly after: readonly string[] | null;
}

/** One reason to look twice: authority, reach or code by others that was not approved. */
export interface Escalation {
  /** Which sort of thing it is. */
  readonly what: "permission" | "argv" | "package" | "limit" | "lifecycle" | "callers" | "mutable";
  /** The thing itself, as the plugin spells it. */
  readonly detail: string;
}

/** All differences. No text in it is safe for a terminal. */
export interface PinDiff {
  /** Whether anything differs. */
  readonly isChanged: boolean;
  /** What asks for more than was approved; empty after a mere narrowing. */
  readonly escalations: readonly Escalation[];
  /** Files, in order of path. */
  readonly files: readonly FileChange[];
  /** Imports. */
  readonly imports: readonly ImportChange[];
  /** npm packages, in order of path. */
  readonly packages: readonly PackageChange[];
  /** What is asked for. */
  readonly permissions: readonly PermissionChange[];
  /** Argvs of hooks, each by itself (T26). */
  readonly argv: readonly ArgvChange[];
  /** Whether that is all: hooks start their programs otherwise, each where it stood, and nothing else differs. */
  readonly isArgvAlone: boolean;
  /** Full ids that came or went. */
  readonly capabilities: readonly { readonly id: string; readonly change: "added" | "removed" }[];
  /** Every other value of the manifest: descriptions, schemas, matchers, points, limits. */
  readonly manifest: readonly ValueChange[];
}

/** A plugin as it was trusted and as it is. */
export interface PluginDiff extends PinDiff {
  /** Its name. */
  readonly name: string;
  /** Where it is. */
  readonly directory: string;
  /** `sha256:…` of what was trusted. */
  readonly trusted: string;
  /** Who trusted it. */
  readonly approver: string;
  /** `sha256:…` of what is there; null where it cannot be made. */
  readonly found: string | null;
  /** Why it cannot be; then imports and packages are those of what was trusted. */
  readonly problem: string | null;
}

/** Compares what was trusted with what is there. The manifest that was trusted had passed its schema then. */
export function diffPins(
  before: Pins,
  after: Pins,
  context: PathContext,
  versions: PackageVersions = { before: {}, after: {} },
): PinDiff {
  // The cast holds: pins are made of manifests that were read and found valid.
  const [was, is] = [before.manifest as Manifest, after.manifest as Manifest];
  const files = fileChanges(filesOf(before), filesOf(after));
  const imports = importChanges(before, after);
  const packages = packageChanges(before, after, files, versions);
  const permissions = permissionChanges(was, is, context);
  const argv = argvChanges(was, is);
  const manifest = valueChanges(was, is);
  const [old, now] = [was, is].map((each) => new Set(capabilitiesOf(each).map(({ fullId }) => fullId)));
  const escalations: Escalation[] = [
    ...permissions.filter(({ change }) => change === "gained").map((each): Escalation => {
      return { what: "permission", detail: permissionText(each) };
    }),
    ...argv.flatMap(({ id, after }): Escalation[] =>
      after === null ? [] : [{ what: "argv", detail: `${id}: ${JSON.stringify(after)}` }]
    ),
    ...packages.filter(({ change }) => change === "added").map(({ path }): Escalation => {
      return { what: "package", detail: path };
    }),
    ...manifest.flatMap((change) => escalationOf(change)),
    ...mutability(was, is),
  ];
  const isArgvAlone = argv.length > 0 && files.length + imports.length === 0 &&
    manifest.every(({ path }) => ARGV_PATH.test(path)) && isInPlace(was, is, argv);
  return {
    isChanged: files.length + imports.length + manifest.length > 0,
    escalations,
    files,
    imports,
    packages,
    permissions,
    argv,
    isArgvAlone,
    capabilities: [
      ...[...now!].filter((id) => !old!.has(id)).map((id) => ({ id, change: "added" as const })),
      ...[...old!].filter((id) => !now!.has(id)).map((id) => ({ id, change: "removed" as const })),
    ],
    manifest,
  };
}

/** One change of a permission in words, as the plugin spells it. */
export function permissionText({ kind, entry, effect, capability }: PermissionChange): string {
  const what = `${effect === "deny" ? "no longer carves out " : ""}${kind} ${
    entry === true ? "everything" : entry
  }`;
  return capability === null ? what : `${what} (${capability})`;
}

function filesOf({ files, trees }: Pins): ReadonlyMap<string, string> {
  return new Map([...Object.values(trees), files].flatMap((each) => Object.entries(each)));
}

function fileChanges(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): FileChange[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return paths.flatMap((path): FileChange[] => {
    const [was, is] = [before.get(path), after.get(path)];
    if (was === is) return [];
    return [{ path, change: was === undefined ? "added" : is === undefined ? "removed" : "changed" }];
  });
}

function importChanges(before: Pins, after: Pins): ImportChange[] {
  const [was, is] = [before, after].map(({ resolutions }) =>
    new Map(
      Object.values(resolutions).flat().map((edge) => {
        const { importer, specifier, kind, path } = edge;
        return [JSON.stringify([importer, specifier, kind, path]), edge] as const;
      }),
    )
  );
  const beyond = (
    of: ReadonlyMap<string, ImportEdge>,
    others: ReadonlyMap<string, ImportEdge>,
    change: ImportChange["change"],
  ) =>
    [...of].filter(([key]) => !others.has(key)).map(([, { importer, specifier, path }]) => ({
      importer,
      specifier,
      path,
      change,
    }));
  return [...beyond(is!, was!, "added"), ...beyond(was!, is!, "removed")];
}

function packageChanges(
  before: Pins,
  after: Pins,
  files: readonly FileChange[],
  versions: PackageVersions,
): PackageChange[] {
  const [was, is] = [before, after].map((pins) => new Set(packageFolders(Object.keys(pins.files))));
  const others = new Set(files.flatMap(({ path }) => packageFolders([path])));
  return [...new Set([...was!, ...is!])].sort().flatMap((path): PackageChange[] => {
    const change = !was!.has(path)
      ? "added"
      : !is!.has(path)
      ? "removed"
      : others.has(path)
      ? "changed"
      : null;
    if (change === null) return [];
    const version = (of: Readonly<Record<string, string>>) => Object.hasOwn(of, path) ? of[path]! : null;
    return [{ path, change, before: version(versions.before), after: version(versions.after) }];
  });
}

function permissionChanges(was: Manifest, is: Manifest, context: PathContext): PermissionChange[] {
  const grant = (request: PermissionRequest) => grantOf(layerOf("manifest", request, context));
  const own = diff(grant(was.permissions), grant(is.permissions)).map((change) => ({
    ...change,
    capability: null,
  }));
  const known = new Set(own.map((each) => JSON.stringify([each.change, each.kind, each.entry])));
  const before = new Map(capabilitiesOf(was).map((each) => [each.fullId, each]));
  const ofCapabilities = capabilitiesOf(is).flatMap((each): PermissionChange[] => {
    const old = before.get(each.fullId);
    const [then, now] = [old === undefined ? undefined : requestOf(old), requestOf(each)];
    if (old === undefined || (then === undefined && now === undefined)) return [];
    return diff(grant(then ?? was.permissions), grant(now ?? is.permissions))
      .filter((change) => !known.has(JSON.stringify([change.change, change.kind, change.entry])))
      .map((change) => ({ ...change, capability: each.fullId }));
  });
  return [...own, ...ofCapabilities];
}

function requestOf({ raw }: Capability): PermissionRequest | undefined {
  // The cast holds: the schema of the capability's surface has accepted it.
  return memberOf(raw, "permissions") as PermissionRequest | undefined;
}

/** A hook that moved is the same hook; one of which only the argv differs is told as one change. */
function argvChanges(was: Manifest, is: Manifest): ArgvChange[] {
  const [before, after] = [was, is].map(keyedArgvs);
  const texts = (argvs: readonly { readonly key: string }[]) => argvs.map(({ key }) => key);
  const gone = without(before!, texts(after!));
  const come = without(after!, texts(before!));
  return [
    ...come.map(({ id, argv }) => ({
      id,
      before: gone.find((each) => each.id === id)?.argv ?? null,
      after: argv,
    })),
    ...gone.filter(({ id }) => !come.some((each) => each.id === id)).map(({ id, argv }) => ({
      id,
      before: argv,
      after: null,
    })),
  ];
}

/** The event is what a hook is; which group and place it has is where it stands. */
function keyedArgvs(manifest: Manifest): readonly (HookArgv & { readonly key: string })[] {
  return argvsOf(manifest).map((each) => ({ ...each, key: JSON.stringify([each.event, each.argv]) }));
}

const ARGV_PATH = /^\$\.capabilities\.hooks\.\w+\[\d+\]\.hooks\[\d+\]\.command(?:\[|$)/;

/** A place tells which matcher a hook has, so one that took another's place is more than another argv. */
function isInPlace(was: Manifest, is: Manifest, changes: readonly ArgvChange[]): boolean {
  const [before, after] = [argvHashes(was), argvHashes(is)];
  const changed = new Set(changes.map(({ id }) => id));
  return changes.every((each) => each.before !== null && each.after !== null) &&
    Object.keys({ ...before, ...after }).every((id) => changed.has(id) || before[id] === after[id]);
}

/** Each one of a list that has no counterpart among the keys; a key answers for one. */
function without<Item extends { readonly key: string }>(
  items: readonly Item[],
  keys: readonly string[],
): Item[] {
  const left = [...keys];
  return items.filter(({ key }) => {
    const place = left.indexOf(key);
    if (place !== -1) left.splice(place, 1);
    return place === -1;
  });
}

function escalationOf({ path, before, after }: ValueChange): Escalation[] {
  if (after === undefined) return [];
  const limit = /^\$\.limits\.(\w+)$/.exec(path)?.[1];
  if (limit !== undefined) {
    // Absent is the default, which may be more or less: only a number that was approved can be raised.
    return typeof before === "number" && typeof after === "number" && after > before
      ? [{ what: "limit", detail: `${limit} ${before} → ${after}` }]
      : [];
  }
  if (path.startsWith("$.lifecycle.")) {
    return [{ what: "lifecycle", detail: `${path.slice(12)}: ${String(after)}` }];
  }
  if (/^\$\.capabilities\.tools\[.*\]\.callers/.test(path)) {
    return [{ what: "callers", detail: `${path.slice(15)}: ${JSON.stringify(after)}` }];
  }
  return [];
}

/** Files that were pinned and no longer are. */
function mutability(was: Manifest, is: Manifest): Escalation[] {
  const [before, after] = [was, is].map(({ permissions }) => longForm(permissions.read).mutable === true);
  return after === true && before === false
    ? [{ what: "mutable", detail: "what it may read is no longer pinned" }]
    : [];
}
