/** All that a person must see before they trust a plugin (T16, T38): gathered here, shown by whoever asks them. */
import {
  describeRequest,
  type GraveEntry,
  graveOf,
  KINDS,
  type KindTable,
  namesProject,
  type PathContext,
  type PermissionRequest,
  type RequestLine,
} from "../permissions/mod.ts";
import { isLive } from "./check_plugin.ts";
import type { PinDiff } from "./diff.ts";
import { documentAssets } from "./documents/own_documents.ts";
import { hiddenCount } from "./documents/read_document.ts";
import { declaredFiles, type Manifest } from "./manifest/mod.ts";
import { packagesOf, type ReviewedPackage } from "./npm_packages.ts";
import type { LoadedPlugin } from "./plugin.ts";
import type { ApprovalOptions } from "./tenant_types.ts";
import type { FileHashes, Fingerprint, Narrowing } from "./trust/mod.ts";

/** What was looked at. No text in it is safe for a terminal. */
export interface ReviewedPlugin {
  /** Its name. */
  readonly name: string;
  /** Where it is, without links. */
  readonly directory: string;
  /** All that it says of itself: descriptions, schemas, argvs, matchers, points and limits are in it. */
  readonly manifest: Manifest;
  /** What an approval approves. */
  readonly fingerprint: Fingerprint;
  /** All that it offers. */
  readonly capabilities: readonly { readonly id: string; readonly surface: string; readonly live: boolean }[];
  /** Every pinned file outside of trees, in order of path. */
  readonly files: readonly ReviewedFile[];
  /** npm packages of which something is bundled. */
  readonly packages: readonly ReviewedPackage[];
  /** Files that it may read and that are pinned with it. */
  readonly trees: readonly { readonly entry: string; readonly files: FileHashes }[];
  /** Each entry that it asks for or carves out. */
  readonly permissions: readonly RequestLine[];
  /** What a pinned document says, as it would be approved; null for any other file. */
  textOf(path: string): string | null;
}

/** One pinned file. */
export interface ReviewedFile {
  /** Relative path. */
  readonly path: string;
  /** What it is for: `package` is a package.json that had a say in what is imported, `asset` belongs to a document. */
  readonly role: "target" | "document" | "executable" | "module" | "package" | "asset";
  /** Its size. */
  readonly bytes: number;
  /** Its hash, in hexadecimal. */
  readonly sha256: string;
  /** Of a document, how many of its characters nobody sees; absent where there are none. */
  readonly hiddenCount?: number;
}

/** What an approval would grant. */
export interface GrantPreview {
  /** As the record will say it. */
  readonly request: PermissionRequest;
  /** For people. */
  readonly lines: readonly RequestLine[];
  /** What of it is grave. */
  readonly grave: readonly GraveEntry[];
  /** The place that `$project` stands for, and for which alone it is approved (T13); null where no entry starts there. */
  readonly project: string | null;
}

/** What was trusted before, where a plugin is looked at again. */
export interface FormerTrust {
  /** Who trusted it. */
  readonly approver: string;
  /** What differs since. */
  readonly diff: PinDiff;
  /** What was granted. */
  readonly grants: GrantPreview;
  /** Full ids that may be called. */
  readonly exposed: readonly string[];
}

/** A plugin that was looked at, and the way to approve the very bytes that were. */
export interface PluginReview extends ReviewedPlugin {
  /** What was trusted before; null where nothing was, or it is not known any more. */
  readonly former: FormerTrust | null;
  /** What would be granted; flags cut it down. Throws UsageError for a flag that cannot be read. */
  grants(flags?: Narrowing): GrantPreview;
  /**
   * Approves them, whatever is on the disk by then. Throws NotCapableError when less is granted than is required,
   * HostError `ERR_STORE` or `ERR_AUDIT_FAILED`.
   */
  approve(options: ApprovalOptions): Promise<void>;
}

/** Looks at a pinned plugin. Everything is taken from the memory that was hashed. */
export function reviewPlugin(
  plugin: LoadedPlugin,
  fingerprint: Fingerprint,
  kinds: KindTable = KINDS,
): ReviewedPlugin {
  const { name, manifest, source, capabilities } = plugin;
  const roles = new Map<string, ReviewedFile["role"]>([
    ...documentAssets(plugin).map((path) => [path, "asset"] as const),
    ...declaredFiles(manifest).map(({ path, role }) => [path, role] as const),
  ]);
  const textOf = (path: string): string | null =>
    roles.get(path) === "document" ? new TextDecoder().decode(source.bytes(path)) : null;
  const hiddenIn = (path: string): number => hiddenCount(textOf(path) ?? "");
  const roleOf = (path: string): ReviewedFile["role"] =>
    roles.get(path) ?? (path === "package.json" || path.endsWith("/package.json") ? "package" : "module");
  return {
    name,
    directory: source.directory,
    manifest,
    fingerprint,
    capabilities: capabilities.map(({ fullId, surface }) => ({ id: fullId, surface, live: isLive(surface) })),
    files: Object.entries(fingerprint.files).sort(byPath).map(([path, sha256]) => ({
      path,
      role: roleOf(path),
      bytes: source.bytes(path).byteLength,
      sha256,
      ...(hiddenIn(path) > 0 ? { hiddenCount: hiddenIn(path) } : {}),
    })),
    packages: packagesOf(source, Object.keys(fingerprint.files)),
    trees: Object.entries(fingerprint.trees).sort(byPath).map(([entry, files]) => ({ entry, files })),
    permissions: describeRequest(manifest.permissions, kinds),
    textOf,
  };
}

/** Shows a request that is about to be granted. */
export function previewGrants(request: PermissionRequest, context: PathContext): GrantPreview {
  return {
    request,
    lines: describeRequest(request, context.kinds),
    grave: graveOf(request, context),
    project: namesProject(request) ? context.project ?? null : null,
  };
}

function byPath(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;
}
