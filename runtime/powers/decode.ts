/** Content codings, with a bound on what a few bytes may become. */
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw, type InputType, type ZlibOptions } from "node:zlib";

/** Codings that are asked for. */
export const ACCEPT_ENCODING = "gzip, deflate, br";
/** Codings on top of each other; more is an attack, not a server. */
const CODINGS_MAX = 2;
/** Below this a ratio says nothing: headers and padding weigh too much. */
const RATIO_FREE_BYTES = 65_536;

type Decode = (bytes: InputType, options: ZlibOptions) => Promise<Buffer>;

const DECODERS: Readonly<Record<string, Decode>> = {
  gzip: promisify<InputType, ZlibOptions, Buffer>(gunzip),
  "x-gzip": promisify<InputType, ZlibOptions, Buffer>(gunzip),
  br: promisify<InputType, ZlibOptions, Buffer>(brotliDecompress),
  // Servers disagree on what "deflate" is; the first byte of a zlib stream tells.
  deflate: (bytes, options) => {
    const isZlib = bytes instanceof Uint8Array && ((bytes[0] ?? 0) & 0x0f) === 8;
    return promisify<InputType, ZlibOptions, Buffer>(isZlib ? inflate : inflateRaw)(bytes, options);
  },
};

/**
 * Undoes the codings of a body; one that is unknown leaves it as it is. Throws an Error with the code
 * `ERR_BUFFER_TOO_LARGE` above a bound, and with one of zlib for a body that is damaged.
 */
export async function decodeBody(
  bytes: Uint8Array,
  codings: readonly string[],
  bounds: { readonly bytesMax: number; readonly ratioMax: number },
): Promise<{ readonly bytes: Uint8Array; readonly isDecoded: boolean }> {
  const known = codings.filter((coding) => coding !== "identity");
  const decoders = known.map((coding) => DECODERS[coding]).filter((decode) => decode !== undefined);
  if (decoders.length !== known.length || known.length > CODINGS_MAX || known.length === 0) {
    return { bytes, isDecoded: false };
  }
  // The answer to HEAD, and some others, tell of a coding and have no body.
  if (bytes.length === 0) return { bytes, isDecoded: false };
  const maxOutputLength = Math.min(
    bounds.bytesMax,
    Math.max(RATIO_FREE_BYTES, bytes.length * bounds.ratioMax),
  );
  let decoded = bytes;
  for (const decode of decoders.toReversed()) decoded = await decode(decoded, { maxOutputLength });
  return { bytes: decoded, isDecoded: true };
}
