/** How deeply a JSON text is nested, without building it. */

/** The greatest number of brackets open at once; the text need not be valid. */
export function depthOfJson(text: string): number {
  let depth = 0;
  let deepest = 0;
  let isString = false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (isString) {
      if (unit === BACKSLASH) i++;
      else if (unit === QUOTE) isString = false;
    } else if (unit === QUOTE) isString = true;
    else if (unit === OPEN_BRACKET || unit === OPEN_BRACE) deepest = Math.max(deepest, ++depth);
    else if (unit === CLOSE_BRACKET || unit === CLOSE_BRACE) depth--;
  }
  return deepest;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
