/**
 * The one reader of manifest references and of `path:export` targets. Validation, hashing and loading all use it, so no
 * spelling can mean one file to one of them and another file to the next (L05, L15). It looks at text only: whether a file
 * exists, and whether a link leaves the bundle, is found where files are read.
 */
import { display, isPlainText } from "../display.ts";
import { MANIFEST_LIMITS as LIMITS } from "./limits.ts";

/** What a target points to: one export of one file of the bundle. */
export interface Target {
  /** The file, relative to the bundle, with `/` between segments. */
  readonly path: string;
  /** The name of the export; `default` is one. */
  readonly exportName: string;
}

/** A value, or the reason why there is none. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | {
  readonly ok: false;
  readonly reason: string;
};

/** Extensions of the files that may hold a target. */
export const TARGET_EXTENSIONS = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"] as const;

/** Reads a reference to a file inside the bundle; `extensions` narrows what it may end with. */
export function parseReference(value: unknown, extensions?: readonly string[]): Parsed<string> {
  if (typeof value !== "string") return refused("must be a string");
  const fault = faultOfPath(value);
  if (fault !== undefined) return refused(fault);
  if (extensions !== undefined && !extensions.some((extension) => hasExtension(value, extension))) {
    return refused(`must name a file that ends in ${extensions.join(" or ")}`);
  }
  // Case-insensitive file systems would find the manifest under any spelling.
  if (value.toLowerCase() === "plugin.yaml") return refused("must not be the manifest itself");
  return { ok: true, value };
}

/** Reads `path:export`. Zero colons, two colons and an export that every object has are refused. */
export function parseTarget(value: unknown): Parsed<Target> {
  if (typeof value !== "string") return refused("must be a string of the form path:export");
  const parts = value.split(":");
  if (parts.length !== 2) {
    return refused(`must have the form path:export, with exactly one colon (it has ${parts.length - 1})`);
  }
  const [path = "", exportName = ""] = parts;
  const file = parseReference(path, TARGET_EXTENSIONS);
  if (!file.ok) return refused(`${file.reason} (in the part before the colon)`);
  const fault = faultOfExport(exportName);
  return fault === undefined ? { ok: true, value: { path, exportName } } : refused(fault);
}

/** The last segment of a reference. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The name of the folder that holds a referenced file, if the file isn't at the top. */
export function folderName(path: string): string | undefined {
  return path.split("/").at(-2);
}

/** Whether Windows takes a name for a device: it does whatever follows the first dot, and with space before it. */
export function isDeviceName(segment: string): boolean {
  return DEVICES.test((segment.split(".")[0] ?? "").trim());
}

const DEVICES = /^(?:con|prn|aux|nul|clock\$|conin\$|conout\$|(?:com|lpt)[1-9¹²³])$/i;
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
const RESERVED = new Set(
  ("arguments await break case catch class const continue debugger delete do else enum eval export extends false finally " +
    "for function if implements import in instanceof interface let new null package private protected public return " +
    "static super switch this throw true try typeof var void while with yield").split(" "),
);

function faultOfPath(path: string): string | undefined {
  if (path === "") return "must not be empty";
  if (path.length > LIMITS.referenceCharsMax) {
    return `must have at most ${LIMITS.referenceCharsMax} characters`;
  }
  if (!isPlainText(path)) return "must not hold control, invisible or malformed characters";
  if (path.includes("\\")) return 'must use "/" between folders, never a backslash';
  if (path.startsWith("/")) return "must be relative to the plugin's folder, without a leading slash";
  if (/^[~$]/.test(path)) return `must not start with "${path[0]}": it is no shorthand for a folder here`;
  if (path.includes(":")) return "must not hold a colon: no drive, no URL, no stream";
  if (/[*?[\]{}]|^!/.test(path)) return "must name one file, not a pattern";
  if (/[<>"|]/.test(path)) return 'must not hold any of < > " |';
  if (/%[0-9a-f]{2}/i.test(path)) return "must not be percent-encoded";
  if (path !== path.normalize("NFC")) return "must be written in Unicode normal form C";
  for (const segment of path.split("/")) {
    const fault = faultOfSegment(segment);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function faultOfSegment(segment: string): string | undefined {
  if (segment === "") return "must not hold an empty segment: no double or trailing slash";
  if (segment === "." || segment === "..") return `must not hold a "${segment}" segment`;
  if (segment.endsWith(".")) return `must not hold a name that ends in a dot: "${display(segment)}"`;
  if (segment.trim() !== segment) return `must not hold a name with space around it: "${display(segment)}"`;
  if (new TextEncoder().encode(segment).length > LIMITS.segmentBytesMax) {
    return `must not hold a name longer than ${LIMITS.segmentBytesMax} bytes`;
  }
  return isDeviceName(segment) ? `must not hold the device name "${display(segment)}"` : undefined;
}

function faultOfExport(name: string): string | undefined {
  if (name === "default") return undefined;
  if (name.length > LIMITS.exportCharsMax) {
    return `must name an export of at most ${LIMITS.exportCharsMax} characters`;
  }
  if (!IDENTIFIER.test(name)) return "must name an export after the colon: a plain identifier, or default";
  if (name in Object.prototype) {
    return `must name an export of its own, not "${name}", which every object has`;
  }
  return RESERVED.has(name) ? `must name an export that is no reserved word: "${name}"` : undefined;
}

/** Whether a name ends so and has something before it: `.md` alone is no Markdown file. */
function hasExtension(path: string, extension: string): boolean {
  return path.endsWith(extension) && baseName(path).length > extension.length;
}

function refused(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
