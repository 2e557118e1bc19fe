/**
 * Cutting known values out of a stream (T35). Text and bytes are read on across their chunks: what could begin a value waits for
 * the next chunk. Texts within other values are whole; of those that follow one another under one name, as the parts of an
 * answer do, what completes a value is cut.
 */
import type { Chunk } from "./call_io.ts";
import { mapTexts, type Redactor, type TextParts } from "./redact.ts";

/** Reads the chunks of one stream in their order. */
export interface ChunkRedaction {
  /** What may leave by now. */
  next(chunk: Chunk): readonly Chunk[];
  /** The rest, at the end of the stream. */
  rest(): readonly Chunk[];
}

/** Begins to read one. */
export function redactChunks(redactor: Redactor): ChunkRedaction {
  const running = { text: redactor.parts(true), bytes: redactor.parts(true) };
  const named = new Map<string, TextParts>();
  const partsOf = (name: string): TextParts | undefined => {
    const known = named.get(name);
    if (known !== undefined || named.size >= NAMES_MAX) return known;
    const parts = redactor.parts(false);
    named.set(name, parts);
    return parts;
  };
  const restOf = (kind: keyof typeof running): readonly Chunk[] => {
    const rest = running[kind].rest();
    running[kind] = redactor.parts(true);
    return rest === "" ? [] : [kind === "text" ? rest : new Uint8Array(Buffer.from(rest, "latin1"))];
  };
  const next = (chunk: Chunk): readonly Chunk[] => {
    if (typeof chunk === "string") {
      const text = running.text.next(chunk);
      return text === "" && chunk !== "" ? [] : [text];
    }
    if (chunk instanceof Uint8Array) return [cutBytes(chunk, running.bytes)];
    return [redactor.value(mapTexts(chunk, (text, name) => partsOf(name)?.next(text) ?? text))];
  };
  return {
    // A chunk of another kind ends the text before it.
    next: (chunk) => [
      ...typeof chunk === "string" ? [] : restOf("text"),
      ...chunk instanceof Uint8Array ? [] : restOf("bytes"),
      ...next(chunk),
    ],
    rest: () => [...restOf("text"), ...restOf("bytes")],
  };
}

/** Names whose texts are read on; a stream with more of them has no parts of answers. */
const NAMES_MAX = 32;

function cutBytes(bytes: Uint8Array, parts: TextParts): Uint8Array {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  const cut = parts.next(text);
  return cut === text ? bytes : new Uint8Array(Buffer.from(cut, "latin1"));
}
