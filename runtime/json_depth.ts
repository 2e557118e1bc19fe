/** How deeply a JSON text is nested and how many values it holds, without building it. */

/** Whether more brackets than this are open at once somewhere; the text need not be valid. */
export function isDeeper(text: string, depthMax: number): boolean {
  // Each level costs a character, so most texts are not even read.
  if (text.length <= depthMax) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === QUOTE) i = endOfString(text, i + 1);
    else if (unit >= OPEN_BRACKET) {
      const curved = unit | BRACKET_TO_BRACE;
      if (curved === OPEN_BRACE) {
        if (++depth > depthMax) return true;
      } else if (curved === CLOSE_BRACE) depth -= 1;
    }
  }
  return false;
}

/** Whether there are more values than this in it, each member and element counted; the text need not be valid. */
export function hasMoreNodes(text: string, nodesMax: number): boolean {
  // Each value but the first costs two characters at least, so most texts are not even read.
  if (text.length < 2 * nodesMax) return false;
  let nodes = 1;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === QUOTE) i = endOfString(text, i + 1);
    else if (unit === COMMA || unit === OPEN_BRACKET || unit === OPEN_BRACE) {
      if (++nodes > nodesMax) return true;
    }
  }
  return false;
}

/** Where the quote is that ends the string. */
function endOfString(text: string, from: number): number {
  // Most strings are short; for the others the engine's own search is many times faster than a loop.
  for (let i = from; i < from + SHORT_CHARS; i++) {
    const unit = text.charCodeAt(i);
    if (unit === BACKSLASH) i++;
    else if (unit === QUOTE) return i;
  }
  for (let at = from;;) {
    const quote = text.indexOf('"', at);
    if (quote === -1) return text.length;
    let start = quote;
    while (start > from && text.charCodeAt(start - 1) === BACKSLASH) start -= 1;
    if ((quote - start) % 2 === 0) return quote;
    at = quote + 1;
  }
}

const SHORT_CHARS = 24;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** The one bit in which a bracket differs from a brace. */
const BRACKET_TO_BRACE = 0x20;
