// TextEncoder, TextDecoder (utf-8, utf-16le, windows-1252), atob, btoa, and the byte functions that other parts share.
((realm) => {
  "use strict";
  const { primordials, define, internal } = realm;
  const {
    ArrayBufferIsView,
    ArrayBufferPrototypeGetByteLength,
    configureInterface,
    createList,
    RangeError,
    ReflectApply,
    required,
    StringFromCharCode,
    StringPrototypeCharCodeAt,
    StringPrototypeIndexOf,
    StringPrototypeSlice,
    StringPrototypeToLowerCase,
    StringPrototypeTrim,
    TypedArrayPrototypeGetBuffer,
    TypedArrayPrototypeGetLength,
    TypedArrayPrototypeGetSymbolToStringTag,
    TypedArrayPrototypeSet,
    TypeError,
    Uint8Array,
    Uint8ArrayFromBase64,
    Uint8ArrayPrototypeToBase64,
  } = primordials;
  const { DOMException } = internal;

  /** What a view shows: `bytes` of `buffer` from `offset` on; `tag` is undefined for a DataView. */
  const viewOf = (view) => {
    const tag = TypedArrayPrototypeGetSymbolToStringTag(view);
    const read = (what) => primordials[`${tag ? "TypedArray" : "DataView"}PrototypeGet${what}`](view);
    return {
      __proto__: null,
      tag,
      bytes: read("ByteLength"),
      offset: read("ByteOffset"),
      buffer: read("Buffer"),
    };
  };

  /** A Uint8Array over what an ArrayBuffer or a view shows; a TypeError for everything else. */
  const toBytes = (source) => {
    if (ArrayBufferIsView(source)) {
      const { tag, bytes, offset, buffer } = viewOf(source);
      return tag && bytes === 0 ? new Uint8Array(0) : new Uint8Array(buffer, offset, bytes);
    }
    try {
      return ArrayBufferPrototypeGetByteLength(source) === 0 ? new Uint8Array(0) : new Uint8Array(source);
    } catch {
      throw new TypeError("The value is not an ArrayBuffer or a view on one");
    }
  };

  /** Collects code units into a string, a few thousand at a time. */
  const createText = () => {
    const units = createList();
    let text = "";
    return {
      __proto__: null,
      add(unit) {
        units[units.length] = unit;
        if (units.length === 4096) {
          text += ReflectApply(StringFromCharCode, undefined, units);
          units.length = 0;
        }
      },
      end() {
        text += ReflectApply(StringFromCharCode, undefined, units);
        units.length = 0;
        return text;
      },
    };
  };

  // Writes whole characters while they fit; says through these two how far it came.
  let read = 0;
  let written = 0;
  const encodeTo = (text, from, bytes, at, end) => {
    const { length } = text;
    let index = from;
    while (index < length) {
      let code = StringPrototypeCharCodeAt(text, index);
      let units = 1;
      if ((code & 0xf800) === 0xd800) {
        const next = code < 0xdc00 && index + 1 < length ? StringPrototypeCharCodeAt(text, index + 1) : 0;
        if ((next & 0xfc00) === 0xdc00) {
          code = (code - 0xd800 << 10) + next - 0xdc00 + 0x10000;
          units = 2;
        } else code = 0xfffd;
      }
      const size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      if (at + size > end) break;
      if (size === 1) bytes[at] = code;
      else {
        bytes[at] = (0xf00 >> size & 0xff) | code >> 6 * (size - 1);
        for (let rest = 1; rest < size; rest++) {
          bytes[at + rest] = 0x80 | code >> 6 * (size - 1 - rest) & 0x3f;
        }
      }
      at += size;
      index += units;
    }
    read = index;
    written = at;
  };

  const copyOf = (bytes, length) => {
    const copy = new Uint8Array(length);
    TypedArrayPrototypeSet(copy, new Uint8Array(TypedArrayPrototypeGetBuffer(bytes), 0, length));
    return copy;
  };

  const encodeUtf8 = (text) => {
    let bytes = new Uint8Array(text.length);
    encodeTo(text, 0, bytes, 0, text.length);
    if (read < text.length) {
      const size = written + (text.length - read) * 3;
      const larger = new Uint8Array(size);
      TypedArrayPrototypeSet(larger, bytes);
      bytes = larger;
      encodeTo(text, read, bytes, written, size);
    }
    return TypedArrayPrototypeGetLength(bytes) === written ? bytes : copyOf(bytes, written);
  };

  // A decoder is feed(bytes, isLast), which gives text and keeps what is unfinished; take() sees one byte after the other.
  const createDecoder = (fatal, take, isPending) => (bytes, isLast) => {
    const text = createText();
    const bad = () => {
      if (fatal) throw new TypeError("The encoded data was not valid");
      text.add(0xfffd);
    };
    const length = TypedArrayPrototypeGetLength(bytes);
    for (let index = 0; index < length; index++) take(bytes[index], text.add, bad);
    if (isLast && isPending?.()) bad();
    return text.end();
  };

  const createUtf8 = (fatal) => {
    let need = 0, code = 0, lower = 0x80, upper = 0xbf;
    const take = (byte, add, bad) => {
      if (need === 0) {
        if (byte < 0x80) return add(byte);
        if (byte < 0xc2 || byte > 0xf4) return bad();
        need = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
        code = byte & 0x3f >> need;
        if (byte === 0xe0) lower = 0xa0;
        if (byte === 0xed) upper = 0x9f;
        if (byte === 0xf0) lower = 0x90;
        if (byte === 0xf4) upper = 0x8f;
        return;
      }
      const isNext = byte >= lower && byte <= upper;
      lower = 0x80;
      upper = 0xbf;
      if (!isNext) {
        need = 0;
        bad();
        return take(byte, add, bad);
      }
      code = code << 6 | byte & 0x3f;
      if (--need > 0) return;
      if (code > 0xffff) {
        add(0xd7c0 + (code >> 10));
        code = 0xdc00 | code & 0x3ff;
      }
      add(code);
    };
    return createDecoder(fatal, take, () => need > 0);
  };

  const createUtf16 = (fatal) => {
    let first = -1, lead = -1;
    const take = (byte, add, bad) => {
      if (first < 0) {
        first = byte;
        return;
      }
      const unit = byte << 8 | first;
      const held = lead;
      first = lead = -1;
      const isTrail = (unit & 0xfc00) === 0xdc00;
      if (held >= 0) {
        if (isTrail) {
          add(held);
          return add(unit);
        }
        bad();
      }
      if ((unit & 0xfc00) === 0xd800) lead = unit;
      else if (isTrail) bad();
      else add(unit);
    };
    return createDecoder(fatal, take, () => first >= 0 || lead >= 0);
  };

  // Bytes 0x80 to 0x9f of windows-1252; every other byte is its own code point.
  const HIGH =
    "\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178";
  const createSingleByte = (high) =>
    createDecoder(false, (byte, add) => {
      add(high && byte >= 0x80 && byte < 0xa0 ? StringPrototypeCharCodeAt(high, byte - 0x80) : byte);
    });
  const bytesToLatin1 = createSingleByte("");
  const latin1ToBytes = (text) => {
    const bytes = new Uint8Array(text.length);
    for (let index = 0; index < text.length; index++) bytes[index] = StringPrototypeCharCodeAt(text, index);
    return bytes;
  };

  const LABELS = {
    __proto__: null,
    "utf-8": " unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8 ",
    "utf-16le": " csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le ",
    "windows-1252":
      " ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 ",
  };
  const NAMES = ["utf-8", "utf-16le", "windows-1252"];
  const isBlank = (text, at) =>
    StringPrototypeIndexOf("\t\n\f\r ", StringPrototypeSlice(text, at, at + 1)) !== -1;
  const encodingOf = (label) => {
    const wanted = StringPrototypeToLowerCase(StringPrototypeTrim(label));
    for (let index = 0; index < 3; index++) {
      const isKnown = wanted !== "" && StringPrototypeIndexOf(wanted, " ") === -1;
      if (isKnown && StringPrototypeIndexOf(LABELS[NAMES[index]], ` ${wanted} `) !== -1) return NAMES[index];
    }
    throw new RangeError(`The encoding "${label}" is not supported`);
  };

  const EMPTY = new Uint8Array(0);
  const NO_DECODER = { __proto__: null, feed: null, isPastBom: false };
  class TextDecoder {
    #encoding;
    #fatal;
    #ignoreBOM;
    /** @type {any} */
    #going = NO_DECODER;
    static {
      internal.platform[internal.platform.length] = (value) => {
        // deno-lint-ignore prefer-primordials -- a brand check reads no property
        if (#going in value) return value.#encoding;
      };
    }
    constructor(label = "utf-8", options) {
      this.#encoding = encodingOf(`${label}`);
      this.#fatal = !!options?.fatal;
      this.#ignoreBOM = !!options?.ignoreBOM;
    }
    get encoding() {
      return this.#encoding;
    }
    get fatal() {
      return this.#fatal;
    }
    get ignoreBOM() {
      return this.#ignoreBOM;
    }
    decode(input, options) {
      let { feed, isPastBom } = this.#going;
      const bytes = input === undefined ? EMPTY : toBytes(input);
      const isLast = !options?.stream;
      this.#going = NO_DECODER;
      if (!feed) {
        feed = this.#encoding === "utf-8"
          ? createUtf8(this.#fatal)
          : this.#encoding === "utf-16le"
          ? createUtf16(this.#fatal)
          : createSingleByte(HIGH);
        isPastBom = this.#ignoreBOM || this.#encoding === "windows-1252";
      }
      let text = feed(bytes, isLast);
      if (!isPastBom && text !== "") {
        isPastBom = true;
        if (StringPrototypeCharCodeAt(text, 0) === 0xfeff) text = StringPrototypeSlice(text, 1);
      }
      if (!isLast) this.#going = { __proto__: null, feed, isPastBom };
      return text;
    }
  }
  configureInterface(TextDecoder, "TextDecoder");

  class TextEncoder {
    #brand;
    static {
      internal.platform[internal.platform.length] = (value) => {
        // deno-lint-ignore prefer-primordials -- a brand check reads no property
        if (#brand in value) return "utf-8";
      };
    }
    get encoding() {
      this.#brand;
      return "utf-8";
    }
    encode(input = "") {
      this.#brand;
      return encodeUtf8(`${input}`);
    }
    encodeInto(source, destination) {
      this.#brand;
      required(arguments.length, 2);
      source = `${source}`;
      if (TypedArrayPrototypeGetSymbolToStringTag(destination) !== "Uint8Array") {
        throw new TypeError("The destination is not a Uint8Array");
      }
      encodeTo(source, 0, destination, 0, TypedArrayPrototypeGetLength(destination));
      return { read, written };
    }
  }
  configureInterface(TextEncoder, "TextEncoder");

  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const bytesToBase64 = (bytes) => {
    if (Uint8ArrayPrototypeToBase64) return Uint8ArrayPrototypeToBase64(bytes);
    const text = createText();
    const length = TypedArrayPrototypeGetLength(bytes);
    const digit = (value) => text.add(StringPrototypeCharCodeAt(DIGITS, value & 63));
    for (let index = 0; index < length; index += 3) {
      const left = length - index;
      const group = bytes[index] << 16 | (left > 1 ? bytes[index + 1] << 8 : 0) |
        (left > 2 ? bytes[index + 2] : 0);
      digit(group >> 18);
      digit(group >> 12);
      if (left > 1) digit(group >> 6);
      else text.add(61);
      if (left > 2) digit(group);
      else text.add(61);
    }
    return text.end();
  };

  const notBase64 = () =>
    new DOMException("The string is not correctly encoded base64", "InvalidCharacterError");
  const base64ToBytes = (text) => {
    if (Uint8ArrayFromBase64) {
      try {
        return Uint8ArrayFromBase64(text);
      } catch {
        throw notBase64();
      }
    }
    const bytes = new Uint8Array((text.length >> 2) * 3 + 3);
    let bits = 0, count = 0, pads = 0, at = 0;
    for (let index = 0; index < text.length; index++) {
      if (isBlank(text, index)) continue;
      const digit = StringPrototypeSlice(text, index, index + 1);
      const value = StringPrototypeIndexOf(DIGITS, digit);
      if (value === -1 && digit !== "=" || value !== -1 && pads > 0) throw notBase64();
      if (value === -1) {
        pads++;
        continue;
      }
      bits = (bits << 6 | value) & 0xffffff;
      count++;
      if ((count & 3) === 0) {
        bytes[at++] = bits >> 16;
        bytes[at++] = bits >> 8;
        bytes[at++] = bits;
      }
    }
    const rest = count & 3;
    if (rest === 1 || pads > 0 && (rest === 0 || pads !== 4 - rest)) throw notBase64();
    if (rest > 1) bytes[at++] = bits >> (rest === 2 ? 4 : 10);
    if (rest === 3) bytes[at++] = bits >> 2;
    return copyOf(bytes, at);
  };

  // Globals are made as methods, so that they are no constructors, as WebIDL has it.
  const { atob, btoa } = {
    atob(data) {
      required(arguments.length, 1);
      return bytesToLatin1(base64ToBytes(`${data}`));
    },
    btoa(data) {
      required(arguments.length, 1);
      data = `${data}`;
      for (let index = 0; index < data.length; index++) {
        if (StringPrototypeCharCodeAt(data, index) > 255) {
          throw new DOMException("The string has characters outside of Latin-1", "InvalidCharacterError");
        }
      }
      return bytesToBase64(latin1ToBytes(data));
    },
  };

  internal.viewOf = viewOf;
  internal.toBytes = toBytes;
  internal.encodeUtf8 = encodeUtf8;
  /** Lossy, and keeps a byte order mark: fetch and files strip it themselves where their standards say so. */
  internal.decodeUtf8 = (bytes) => createUtf8(false)(bytes, true);
  /** How many code units of a text fit into so many UTF-8 bytes. */
  internal.unitsThatFit = (text, limit) => {
    encodeTo(text, 0, EMPTY, 0, limit);
    return read;
  };
  internal.bytesToBase64 = bytesToBase64;
  internal.base64ToBytes = base64ToBytes;
  internal.bytesToLatin1 = bytesToLatin1;
  internal.latin1ToBytes = latin1ToBytes;
  define("TextEncoder", TextEncoder);
  define("TextDecoder", TextDecoder);
  define("atob", atob);
  define("btoa", btoa);
});
