/**
 * Reads YAML that nobody has vetted. The only file that knows the `yaml` package, and it trusts little of it: bytes are
 * scanned before parsing, size, depth and node count are bounded while parsing, and the value is built here, from own
 * properties of objects without a prototype, so no key can reach anything. What two readers could understand in two ways is
 * an error: duplicate keys, anchors, aliases, merge keys, tags, other YAML versions, several documents, keys that aren't
 * strings, integers that lose digits.
 */
import {
  Composer,
  CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Pair,
  parseDocument,
  Parser,
} from "yaml";
import { characterName, display } from "./display.ts";
import { decode, type Fault, FORBIDDEN_IN_VALUE, lineFinder, scan, type TextPosition } from "./yaml_text.ts";

/** Steps from the root of a document to a value. */
export type YamlPath = readonly (string | number)[];

/** Bounds of one reading. */
export interface YamlLimits {
  /** Size of the text. */
  readonly bytesMax: number;
  /** Nesting of maps and lists. */
  readonly depthMax: number;
  /** Maps, lists, keys and scalars, roughly. */
  readonly nodesMax: number;
}

/** One reason why a text is not acceptable. */
export interface YamlIssue extends TextPosition {
  /** The name that the caller gave the text. */
  readonly file: string;
  /** The value that is at fault; empty for the text as a whole. */
  readonly path: YamlPath;
  /** What is wrong, safe to print. */
  readonly message: string;
}

/** The outcome of one reading. */
export interface YamlReading {
  /** What could be read: objects without prototype, arrays, scalars. Undefined if the text cannot be read at all. */
  readonly value: unknown;
  /** Empty if the text is acceptable; `value` may be used for nothing but further diagnostics otherwise. */
  readonly issues: readonly YamlIssue[];
  /** The place of a value; of its key, if it has no value; of the nearest parent, if there is no such path. */
  locate(path: YamlPath): TextPosition;
  /** The place of a value's key; of the value itself in a list. */
  locateKey(path: YamlPath): TextPosition;
}

/** Reads one document strictly. Never throws for what the bytes hold; `file` is only a name for the issues. */
export function parseYaml(
  bytes: Uint8Array,
  options: { readonly file: string; readonly limits: YamlLimits },
): YamlReading {
  const { file, limits } = options;
  if (bytes.length > limits.bytesMax) {
    return failed(file, "", [[0, `the file has ${bytes.length} bytes; at most ${limits.bytesMax} are read`]]);
  }
  const decoded = decode(bytes);
  if (typeof decoded !== "string") return failed(file, decoded.before, [[decoded.before.length, NOT_UTF8]]);
  const scanned = scan(decoded);
  if (scanned.length > 0) return failed(file, decoded, scanned);
  // Both kinds of line end mean the same; with one of them gone, a CR in a value can only come from an escape.
  const text = decoded.replaceAll("\r\n", "\n");
  const tokens = tokenize(text, limits);
  if ("fault" in tokens) return failed(file, text, [tokens.fault]);
  const { document, faults } = compose(tokens);
  if (document === undefined) {
    return failed(file, text, faults.length > 0 ? faults : [[0, "the file is empty"]]);
  }
  const builder: Builder = { faults: [], tagCount: 0, anchorCount: 0 };
  const built = build(document.contents, [], 0, builder);
  const leftovers = faultsLeftOver(tokens, builder);
  const lineAt = lineFinder(text);
  const issues = [
    ...[...faults, ...leftovers].map(([offset, message]) => ({
      file,
      path: [],
      message,
      ...lineAt(offset),
    })),
    ...builder.faults.map(({ offset, message, path }) => ({ file, path, message, ...lineAt(offset) })),
  ];
  // A tree that the package had to repair says nothing about what the author wrote.
  const value = faults.length > 0 ? undefined : built.value;
  return {
    value,
    issues,
    locate: (path) => lineAt(placeOf(built.place, path).offset),
    locateKey: (path) => lineAt(placeOf(built.place, path).keyOffset),
  };
}

/** One change of a document. */
export interface YamlChange {
  /** Where; the length of a list is the place behind its end. */
  readonly path: YamlPath;
  /** Plain data; undefined removes what is there. */
  readonly value: unknown;
}

/** Another name for a key, in its place and with its comments. */
export interface YamlRename {
  /** Where the key stands. */
  readonly path: YamlPath;
  /** What it is to be called. */
  readonly rename: string;
}

/** How the package reads, for looking and for changing alike. */
const STRICT = {
  version: "1.2",
  schema: "core",
  merge: false,
  // Both are done in `build`: the package compares each key with each other one.
  uniqueKeys: false,
  intAsBigInt: true,
  logLevel: "silent",
} as const;

/**
 * Changes a document that `parseYaml` has accepted, or an empty one, and leaves comments and everything else in it. What
 * comes out is to be read by `parseYaml` before it is believed.
 */
export function editYaml(bytes: Uint8Array, changes: readonly (YamlChange | YamlRename)[]): string {
  const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  const document = parseDocument(text, STRICT);
  for (const change of changes) {
    const { path } = change;
    if ("rename" in change) {
      const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
      const key = isMap(parent)
        ? parent.items.map((pair) => pair.key).find((each) => isScalar(each) && each.value === path.at(-1))
        : undefined;
      if (isScalar(key)) key.value = change.rename;
      continue;
    }
    const { value } = change;
    if (value === undefined) document.deleteIn(path);
    else document.setIn(path, document.createNode(value, { aliasDuplicateObjects: false }));
  }
  const changed = document.toString({ lineWidth: 0 });
  return text.includes("\r\n") ? changed.replaceAll("\n", "\r\n") : changed;
}

const NOT_UTF8 = "the bytes are not valid UTF-8 from here on";

interface Tokens {
  readonly tokens: readonly CST.Token[];
  readonly directives: readonly CST.Directive[];
  /** Where tags and anchors stand, so that none can hide where the tree has no node for it. */
  readonly tags: readonly number[];
  readonly anchors: readonly number[];
}

/** Drives the parser lexeme by lexeme: a bound that is passed stops it there, before anything recurses. */
function tokenize(text: string, limits: YamlLimits): Tokens | { readonly fault: Fault } {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  const tags: number[] = [];
  const anchors: number[] = [];
  let nodes = 0;
  let lexemes = 0;
  let documents = 0;
  let isText = false;
  for (const lexeme of new Lexer().lex(text)) {
    // A marker goes before each plain or block text, so that "&a" in a text is not taken for an anchor.
    const type: string | null = isText ? null : CST.tokenType(lexeme);
    isText = type === "scalar";
    if (type === "tag") tags.push(parser.offset);
    if (type === "anchor") anchors.push(parser.offset);
    if (type !== null && COUNTED.has(type)) nodes++;
    lexemes++;
    for (const token of parser.next(lexeme)) {
      tokens.push(token);
      if (token.type === "document" && ++documents > 1) return { fault: [token.offset, SECOND_DOCUMENT] };
    }
    if (parser.stack.length > limits.depthMax + 2) {
      return { fault: [parser.offset, `the nesting is deeper than ${limits.depthMax} levels`] };
    }
    if (nodes > limits.nodesMax) {
      return { fault: [parser.offset, `the file holds more than ${limits.nodesMax} values`] };
    }
    if (lexemes > limits.nodesMax * LEXEMES_PER_NODE) {
      return { fault: [parser.offset, "the file holds too many lines, comments and separators"] };
    }
  }
  for (const token of parser.end()) tokens.push(token);
  const directives = tokens.filter((token) => token.type === "directive");
  return { tokens, directives, tags, anchors };
}

const SECOND_DOCUMENT = "the file holds more than one document";
/** A plain `key: value` line has five. */
const LEXEMES_PER_NODE = 4;

const COUNTED: ReadonlySet<string> = new Set(
  "scalar single-quoted-scalar double-quoted-scalar block-scalar-header alias comma flow-map-start flow-seq-start map-value-ind seq-item-ind explicit-key-ind"
    .split(" "),
);

const FAULTS_MAX = 20;

function compose({ tokens, directives }: Tokens): { document: Document | undefined; faults: Fault[] } {
  const faults = directives.flatMap((directive, index): Fault[] => {
    if (index > 0) return [[directive.offset, "only one directive, %YAML 1.2, is allowed"]];
    return /^%YAML[ \t]+1\.2$/.test(directive.source.trimEnd())
      ? []
      : [[directive.offset, `only the directive %YAML 1.2 is allowed, not "${quote(directive.source)}"`]];
  }).slice(0, FAULTS_MAX);
  if (faults.length > 0) return { document: undefined, faults };
  const composer = new Composer(STRICT);
  const documents = composeBounded(composer, tokens);
  const second = documents[1];
  if (second !== undefined) faults.push([second.range[0], SECOND_DOCUMENT]);
  // Problems are the document's if there is one, and the stream's if composing found none or was stopped.
  const problems = [...documents, composer.streamInfo()]
    .flatMap((part) => [...part.errors, ...part.warnings])
    .filter((problem) => problem.code !== "TAG_RESOLVE_FAILED");
  for (const problem of problems.slice(0, FAULTS_MAX)) {
    faults.push([problem.pos[0], quote(problem.message)]);
  }
  return { document: documents[0], faults };
}

/** Stops the package at a number of problems: it makes an Error of each, and a hostile file has a hundred thousand. */
function composeBounded(composer: Composer, tokens: readonly CST.Token[]): Document.Parsed[] {
  // The member is private in the types only; a test with a hundred thousand bad escapes shows that it is still there.
  const inner = composer as unknown as { onError: (...parameters: unknown[]) => void };
  const report = inner.onError;
  const stop = new Error("too many problems");
  let count = 0;
  inner.onError = (...parameters) => {
    report(...parameters);
    if (++count >= FAULTS_MAX) throw stop;
  };
  try {
    return [...composer.compose(tokens, false)];
  } catch (error) {
    if (error !== stop) throw error;
    return [];
  }
}

/** Where a value stands, with its children's places. */
interface Place {
  readonly offset: number;
  /** Where its key stands; the same as `offset` where it has none. */
  readonly keyOffset: number;
  readonly children: Map<string | number, Place>;
}

interface Builder {
  readonly faults: { readonly path: YamlPath; readonly offset: number; readonly message: string }[];
  tagCount: number;
  anchorCount: number;
}

interface Built {
  readonly value: unknown;
  readonly place: Place;
}

/** Turns a node into plain data and notes each thing that is not allowed. The tokens' bound keeps it shallow. */
function build(node: unknown, path: YamlPath, fallback: number, builder: Builder): Built {
  const offset = offsetOfNode(node) ?? fallback;
  const place: Place = { offset, keyOffset: offset, children: new Map() };
  const fault = (message: string) => void builder.faults.push({ path, offset, message });
  noteProperties(node, builder, fault);
  if (isAlias(node)) {
    fault("aliases are not allowed: write the value out");
  } else if (isMap(node)) {
    const value: Record<string, unknown> = Object.create(null);
    for (const pair of node.items) addPair(pair, { value, path, place, builder });
    return { value, place };
  } else if (isSeq(node)) {
    const value = node.items.map((item, index) => {
      const built = build(item, [...path, index], offset, builder);
      place.children.set(index, built.place);
      return built.value;
    });
    return { value, place };
  } else if (isScalar(node)) {
    return { value: scalarValue(node.value, fault), place };
  }
  return { value: null, place };
}

function noteProperties(node: unknown, builder: Builder, fault: (message: string) => void): void {
  if (isAlias(node) || (!isMap(node) && !isSeq(node) && !isScalar(node))) return;
  if (node.tag !== undefined) {
    builder.tagCount++;
    fault(`the tag "${quote(node.tag)}" is not allowed`);
  }
  if (node.anchor !== undefined) {
    builder.anchorCount++;
    fault(`the anchor "&${quote(node.anchor)}" is not allowed: write the value out where it is needed`);
  }
}

function addPair(
  pair: Pair,
  parent: { value: Record<string, unknown>; path: YamlPath; place: Place; builder: Builder },
): void {
  const { path, place, builder } = parent;
  const offset = offsetOfNode(pair.key) ?? place.offset;
  const fault = (message: string, at: YamlPath = path) =>
    void builder.faults.push({ path: at, offset, message });
  noteProperties(pair.key, builder, (message) => fault(message));
  const key = isScalar(pair.key) ? pair.key.value : undefined;
  if (typeof key !== "string") {
    fault("a key must be a string; put it in quotes");
  } else if (key === "__proto__") {
    fault('the key "__proto__" is not allowed');
  } else if (key === "<<") {
    fault('merge keys ("<<") are not allowed: write the values out');
  } else if (/[\t\n]/.test(key) || FORBIDDEN_IN_VALUE.test(key)) {
    fault(`the key "${quote(key)}" holds a character that is not allowed`);
  } else if (Object.hasOwn(parent.value, key)) {
    fault(`the key "${quote(key)}" is there twice`, [...path, key]);
  } else {
    const built = build(pair.value, [...path, key], offset, builder);
    parent.value[key] = built.value;
    // An absent value is reported where its key stands.
    place.children.set(key, {
      ...built.place,
      keyOffset: offset,
      ...(isAbsent(pair.value) ? { offset } : {}),
    });
  }
}

function scalarValue(value: unknown, fault: (message: string) => void): unknown {
  if (typeof value === "string") {
    const match = FORBIDDEN_IN_VALUE.exec(value);
    if (match !== null) {
      fault(`the text holds the character ${characterName(match[0])}, which is not allowed`);
    }
    return value;
  }
  if (typeof value === "bigint") {
    const number = Number(value);
    if (!Number.isSafeInteger(number)) fault("the integer is too large to be read without losing digits");
    return number;
  }
  if (typeof value === "number" && !Number.isFinite(value)) fault("the number is not finite");
  return value;
}

/** A tag or anchor that stands where no node carries it is still one. */
function faultsLeftOver({ tags, anchors }: Tokens, builder: Builder): Fault[] {
  const faults: Fault[] = [];
  const tag = tags[0];
  if (tag !== undefined && tags.length > builder.tagCount) faults.push([tag, "tags are not allowed"]);
  const anchor = anchors[0];
  if (anchor !== undefined && anchors.length > builder.anchorCount) {
    faults.push([anchor, "anchors are not allowed"]);
  }
  return faults;
}

function offsetOfNode(node: unknown): number | undefined {
  return isAlias(node) || isMap(node) || isSeq(node) || isScalar(node) ? node.range?.[0] : undefined;
}

function isAbsent(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null && node.range?.[0] === node.range?.[1]);
}

function placeOf(place: Place, path: YamlPath): Place {
  let current = place;
  for (const step of path) {
    const next = current.children.get(step);
    if (next === undefined) break;
    current = next;
  }
  return current;
}

function failed(file: string, text: string, faults: readonly Fault[]): YamlReading {
  const lineAt = lineFinder(text);
  const atStart = () => ({ line: 1, column: 1 });
  const issues = faults.map(([offset, message]) => ({ file, path: [], message, ...lineAt(offset) }));
  return { value: undefined, issues, locate: atStart, locateKey: atStart };
}

function quote(text: string): string {
  return display(text.trim(), { max: 120 });
}
