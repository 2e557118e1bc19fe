/**
 * Makes the text of a file ready for the bundler: nothing in it may steer source maps (T29), and nothing may be nested
 * so deeply that the bundler's stack ends (T05). Lines and columns stay as they are.
 */
import { isCode, type Loader } from "./loaders.ts";
import { META } from "./protocol.ts";

/** Why a file is not handed to the bundler. */
export class UnfitFile extends Error {}

// What engines and bundlers look for in comments. In a string literal the change is one character, and harmless.
const MAGIC_COMMENT = /(\/[/*]\s*)[#@](?=\s*source(?:Mapping)?URL)/g;
const MENTIONS_META = /\bimport\s*\.\s*meta\b/;
// No \s at the start: it would cross lines, and take quadratic time on many empty ones.
const LOOKS_LIKE_MODULE = /^[ \t]*(?:import|export)\b(?!\s*[(.])/m;
/** The bundler takes the last such comment of a file, however well an earlier one is hidden; it finds nothing here. */
const LAST_WORD = "\n//# sourceMappingURL=none";

/** Prepares one file; throws `UnfitFile`. `isModule`: it is an ES module by its name or package. */
export function prepare(
  bytes: Uint8Array,
  loader: Loader,
  isModule: boolean,
  nestingMax: number,
): Uint8Array | string {
  if (loader === "binary") return bytes;
  const text = decode(bytes);
  if (loader === "text") return text;
  const depth = depthOf(text);
  if (depth > nestingMax) {
    throw new UnfitFile(`it nests brackets more than ${nestingMax} deep (bundleNestingMax)`);
  }
  if (!isCode(loader)) return text;
  const isMeta = MENTIONS_META.test(text) && (isModule || LOOKS_LIKE_MODULE.test(text));
  const meta = isMeta ? `\nimport { meta as ${META.name} } from "${META.specifier}";` : "";
  return text.replace(MAGIC_COMMENT, "$1 ") + meta + LAST_WORD;
}

/**
 * The most brackets open at once, strings and comments left out. One pass, and no parser: a text made to mislead it
 * only gets as far as the bundler's own stack, which costs that build and no other.
 */
export function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  const holes: number[] = []; // depth inside each `${` that is open
  const open = () => {
    depth++;
    if (depth > deepest) deepest = depth;
  };
  const template = (start: number): number => {
    const end = endOfTemplate(text, start);
    if (text.charCodeAt(end) === OPEN_CURLY) {
      open();
      holes.push(depth);
    }
    return end;
  };
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === OPEN_ROUND || char === OPEN_SQUARE || char === OPEN_CURLY) open();
    else if (char === CLOSE_ROUND || char === CLOSE_SQUARE) depth = Math.max(0, depth - 1);
    else if (char === CLOSE_CURLY) {
      const isHole = holes.at(-1) === depth;
      depth = Math.max(0, depth - 1);
      if (isHole) {
        holes.pop();
        i = template(i + 1);
      }
    } else if (char === BACKTICK) i = template(i + 1);
    else if (char === DOUBLE_QUOTE || char === SINGLE_QUOTE) i = endOfString(text, i + 1, char);
    else if (char === SLASH && text.charCodeAt(i + 1) === SLASH) i = endOr(text, text.indexOf("\n", i));
    else if (char === SLASH && text.charCodeAt(i + 1) === STAR) i = endOr(text, text.indexOf("*/", i + 2));
  }
  return deepest;
}

const [OPEN_ROUND, CLOSE_ROUND, OPEN_SQUARE, CLOSE_SQUARE, OPEN_CURLY, CLOSE_CURLY] = codes("()[]{}");
const [DOUBLE_QUOTE, SINGLE_QUOTE, BACKTICK, SLASH, STAR, BACKSLASH, NEW_LINE, DOLLAR] = codes("\"'`/*\\\n$");

function codes(text: string): number[] {
  return [...text].map((char) => char.charCodeAt(0));
}

function endOfString(text: string, start: number, quote: number): number {
  for (let i = start; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === BACKSLASH) i++;
    else if (char === quote || char === NEW_LINE) return i;
  }
  return text.length;
}

/** Index of the closing backtick, or of the `{` that opens a hole. */
function endOfTemplate(text: string, start: number): number {
  for (let i = start; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === BACKSLASH) i++;
    else if (char === BACKTICK) return i;
    else if (char === DOLLAR && text.charCodeAt(i + 1) === OPEN_CURLY) return i + 1;
  }
  return text.length;
}

function endOr(text: string, index: number): number {
  return index === -1 ? text.length : index;
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UnfitFile("it is not UTF-8");
  }
}
