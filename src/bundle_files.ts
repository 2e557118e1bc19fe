/** A plugin's own files for its reads: the verified bytes, whatever the disk says meanwhile. */
import { join, sep } from "node:path";
import { type BundleFiles, PowerError } from "../runtime/mod.ts";
import type { PluginSource } from "./source.ts";
import { SourceError, type SourceReason } from "./source_file.ts";

/** Serves reads below `source.directory` from memory; `pinned` are the relative paths of what was approved by its hash. */
export function bundleFiles(
  source: PluginSource,
  isMutable: boolean,
  pinned: ReadonlySet<string> = new Set(),
): BundleFiles {
  const root = source.directory;
  const relative = (path: string): string =>
    path === root ? "." : path.slice(root.length + 1).replaceAll(sep, "/");
  const absolute = (virtual: string): string =>
    virtual === source.root ? root : join(root, virtual.slice(source.root.length + 1));
  return {
    root,
    isMutable,
    isPinned: (path) => pinned.has(relative(path)),
    real: (path) => attempt(() => absolute(source.real(relative(path)))),
    bytes: (path) => attempt(() => source.bytes(relative(path))),
    stat: (path) =>
      attempt(() => {
        const kind = source.kind(relative(path));
        if (kind === "absent") throw new SourceError("absent", relative(path), "is not there");
        const size = kind === "file" ? source.bytes(relative(path)).byteLength : 0;
        return {
          isFile: kind === "file",
          isDirectory: kind === "directory",
          isSymlink: false,
          size,
          mtimeMs: null,
        };
      }),
    list: (path) =>
      attempt(() =>
        source.list(relative(path)).map((name) => {
          const kind = quietKind(source, `${relative(path)}/${name}`);
          return {
            name,
            isFile: kind === "file",
            isDirectory: kind === "directory",
            isSymlink: kind === "leaving",
          };
        })
      ),
  };
}

const POWER_ERRORS: Readonly<
  Partial<Record<SourceReason, readonly [name: string, code: string, message: string]>>
> = {
  absent: ["NotFound", "ENOENT", "No such file or directory"],
  outside: ["NotCapable", "ERR_NOT_CAPABLE", "The path is a link that leaves the plugin"],
  "not-a-file": ["NotSupported", "ENOTSUP", "Not a regular file"],
  "not-a-directory": ["NotADirectory", "ENOTDIR", "Not a directory"],
  "too-large": ["InvalidData", "ERR_LIMIT_SIZE", "The file is larger than it may be"],
  "too-many": ["InvalidData", "ERR_LIMIT_SIZE", "The directory has more entries than it may have"],
  malformed: ["InvalidData", "EINVAL", "The path is malformed"],
};

function quietKind(source: PluginSource, path: string): string {
  try {
    return source.kind(path);
  } catch {
    return "leaving";
  }
}

function attempt<Value>(work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    const [name, code, message] = POWER_ERRORS[error.reason] ??
      ["PermissionDenied", "EACCES", "The file cannot be read"];
    throw new PowerError(name, code, message);
  }
}
