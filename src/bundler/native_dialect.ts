/**
 * Packets, as esbuild's own program speaks them. That program knows a file system, though there is nothing in its jail: so
 * every module is in a namespace that isn't the file system's, no directory to resolve in is ever named, and what it finds
 * by itself, which are computed imports that it spells as patterns, is refused (T06).
 */
import { display } from "../display.ts";
import type { BuildOutput, Dialect, Reaction } from "./dialect.ts";
import type { BundleLimits } from "./limits.ts";
import { decodePacket, encodePacket, type Packet, PacketReader, type PacketValue } from "./packets.ts";
import { type BuildMessage, ENGINE_OPTIONS, META } from "./protocol.ts";
import type { BuildSession } from "./session.ts";
import { attributesOf } from "./wasm_dialect.ts";

type Fields = Readonly<Record<string, PacketValue | undefined>>;

/** The packet before all others: the version, as text. */
type Message = Packet | { readonly version: string };

const NAME = "sallyport";
const ON_RESOLVE = 0;
/** Which of the namespaces a module is loaded from, by place. */
const NAMESPACES = ["entry", "meta", "disabled", "plugin", "module", "file"] as const;

/** The dialect of esbuild's program, which must be of this version. */
export function nativeDialect(version: string, limits: BundleLimits): Dialect<Message> {
  const reader = new PacketReader(limits.bundleFrameBytesMax);
  let isFirst = true;
  return {
    read: (chunk) =>
      reader.push(chunk).map((bytes): Message => {
        if (!isFirst) return decodePacket(bytes);
        isFirst = false;
        return { version: bytes.toString("latin1") };
      }),
    isReady: (message) => "version" in message && message.version === version,
    order: () => encodePacket({ id: 0, isRequest: true, value: ORDER }),
    serve(session, message): Reaction {
      if ("version" in message) throw new RangeError("a second first word");
      const fields = fieldsOf(message.value);
      if (!message.isRequest) {
        if (message.id !== 0) throw new RangeError("an answer to what was not asked");
        return { output: outputOf(fields) };
      }
      return { reply: encodePacket({ id: message.id, isRequest: false, value: answerOf(session, fields) }) };
    },
  };
}

const ORDER: PacketValue = {
  command: "build",
  key: 0,
  entries: [["", "entry"]],
  flags: ["--log-level=silent", ...flagsOf()],
  write: false,
  stdinContents: null,
  stdinResolveDir: null,
  absWorkingDir: "/",
  nodePaths: [],
  context: false,
  plugins: [{
    name: NAME,
    onStart: false,
    onEnd: false,
    onResolve: [{ id: ON_RESOLVE, filter: "^", namespace: "" }],
    // `.*` would not match a name with a line break in it.
    onLoad: NAMESPACES.map((namespace, place) => ({ id: ON_RESOLVE + 1 + place, filter: "^", namespace })),
  }],
};

/** The options that both engines are given, as flags. */
function flagsOf(): string[] {
  const { define, supported, banner, ...plain } = ENGINE_OPTIONS;
  return [
    ...Object.entries(plain).map(([name, value]) => {
      const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      return `--${flag}=${value}`;
    }),
    ...Object.entries(define).map(([name, value]) => `--define:${name}=${value}`),
    ...Object.entries(supported).map(([name, value]) => `--supported:${name}=${value}`),
    ...Object.entries(banner).map(([name, value]) => `--banner:${name}=${value}`),
  ];
}

function answerOf(session: BuildSession, fields: Fields): PacketValue {
  const { command } = fields;
  if (command === "on-resolve") return resolved(session, fields);
  if (command === "on-load") return loaded(session, fields);
  if (command === "on-start" || command === "on-end") return { errors: [], warnings: [] };
  throw new RangeError("a request of an unknown kind");
}

function resolved(session: BuildSession, fields: Fields): { [key: string]: PacketValue } {
  const [path, importer, namespace, kind] = [
    textIn(fields, "path"),
    textIn(fields, "importer"),
    textIn(fields, "namespace"),
    textIn(fields, "kind"),
  ];
  const id = ON_RESOLVE;
  if (kind === "entry-point") return { id, path: "entry", namespace: "entry" };
  const isOfPlugin = namespace === "plugin" || namespace === "module";
  const from = isOfPlugin ? realOf(importer, namespace) : "";
  if (isOfPlugin && path === META.specifier) return { id, path: from, namespace: "meta", sideEffects: false };
  const attributes = attributesOf(fields["with"]);
  const answer = session.resolve({ importer: from, specifier: path, kind, attributes });
  if (answer.state === "found") {
    // Interop with CommonJS goes by extension; a namespace of its own keeps the made-up name from being a file.
    const place = answer.isModule
      ? { path: `${answer.path}.mjs`, namespace: "module" }
      : { path: answer.path, namespace: "plugin" };
    return { id, ...place, sideEffects: answer.sideEffects };
  }
  if (answer.state === "disabled") return { id, path, namespace: "disabled" };
  // Without a directory to resolve in, the engine says "Could not resolve": an error, or nothing inside `try`.
  if (answer.state === "absent") return {};
  return { id, errors: [errorOf(`Cannot import "${path}"`)] };
}

function loaded(session: BuildSession, fields: Fields): PacketValue {
  const [path, namespace] = [textIn(fields, "path"), textIn(fields, "namespace")];
  const id = ON_RESOLVE + 1 + (NAMESPACES as readonly string[]).indexOf(namespace);
  const text = (contents: string): PacketValue => ({ id, contents: Buffer.from(contents), loader: "js" });
  if (namespace === "entry") return text(session.entry);
  if (namespace === "disabled") return text("module.exports = {};");
  if (namespace === "meta") {
    return text(`export const meta = { url: ${JSON.stringify(`plugin:${path.slice("/p/".length)}`)} };`);
  }
  if (namespace === "file") return { id, errors: [errorOf(COMPUTED_TEXT)] };
  if (namespace !== "plugin" && namespace !== "module") throw new RangeError("an unknown namespace");
  const attributes = attributesOf(fields["with"]);
  const { header, content } = session.load({ path: realOf(path, namespace), attributes });
  if (header.loader === null) return { id, errors: [errorOf("Cannot use this file")] };
  const contents = typeof content === "string" ? Buffer.from(content) : content;
  return { id, contents, loader: header.loader };
}

function outputOf(fields: Fields): BuildOutput {
  if (fields["error"] !== undefined) return outcome([], [], { isBroken: true });
  const warnings = listIn(fields, "warnings").map(messageOf);
  // Its program takes a computed import for a pattern of files, and one that finds none for no error.
  const computed = warnings.filter(({ id }) => id === "empty-glob").map((message) => ({
    ...message,
    text: message.text.replace(/^The glob pattern (.*) did not match any files$/s, "Could not resolve $1"),
  }));
  const errors = [...computed, ...listIn(fields, "errors").map(messageOf)];
  if (errors.length > 0) return outcome(errors, warnings, {});
  const files = listIn(fields, "outputFiles").map(fieldsOf);
  return outcome([], warnings, { code: contentOf(files, ".js"), map: contentOf(files, ".js.map") });
}

function outcome(
  errors: readonly BuildMessage[],
  warnings: readonly BuildMessage[],
  { code, map, isBroken = false }: {
    readonly code?: Uint8Array;
    readonly map?: Uint8Array;
    readonly isBroken?: boolean;
  },
): BuildOutput {
  const report = { ok: code !== undefined, errors, warnings, codeBytes: code?.byteLength ?? 0, isBroken };
  return { report, code: textOf(code), map: textOf(map) };
}

function contentOf(files: readonly Fields[], end: string): Uint8Array {
  const contents = files.find((file) => textIn(file, "path").endsWith(end))?.["contents"];
  if (!(contents instanceof Uint8Array)) throw new RangeError("a build without its files");
  return contents;
}

function messageOf(value: PacketValue): BuildMessage {
  const fields = fieldsOf(value);
  const location = fields["location"];
  const place: Fields = location === null || location === undefined ? {} : fieldsOf(location);
  const file = typeof place["file"] === "string" ? place["file"] : "";
  const real = file.startsWith("module:")
    ? realOf(file.slice("module:".length), "module")
    : file.replace(/^plugin:/, "");
  const [line, column] = [place["line"], place["column"]].map((each) => typeof each === "number" ? each : 0);
  return { id: textIn(fields, "id"), text: textIn(fields, "text"), file: real, line: line!, column: column! };
}

/** The engine without a file system says the same of a computed import, with the pattern in it. */
const COMPUTED_TEXT = 'Could not resolve import("./")';

function errorOf(text: string): PacketValue {
  return { id: "", pluginName: NAME, text: display(text), location: null, notes: [], detail: -1 };
}

function realOf(path: string, namespace: string): string {
  return namespace === "module" ? path.slice(0, -".mjs".length) : path;
}

function textOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined
    ? ""
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}

function fieldsOf(value: PacketValue): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Uint8Array) {
    throw new RangeError("not a record");
  }
  return value as Fields;
}

function textIn(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== "string") throw new RangeError(`no ${name}`);
  return value;
}

function listIn(fields: Fields, name: string): readonly PacketValue[] {
  const value = fields[name];
  if (!Array.isArray(value)) throw new RangeError(`no ${name}`);
  return value as readonly PacketValue[];
}
