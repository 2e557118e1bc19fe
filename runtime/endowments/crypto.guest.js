// crypto.getRandomValues and crypto.randomUUID, from the random source of the worker.
((realm) => {
  "use strict";
  const { primordials, define, internal, random } = realm;
  const {
    configureInterface,
    NumberPrototypeToString,
    StringPrototypeCharCodeAt,
    StringPrototypePadStart,
    TypedArrayPrototypeGetByteLength,
    TypedArrayPrototypeGetSymbolToStringTag,
    TypeError,
  } = primordials;
  const { DOMException } = internal;
  const BYTES_MAX = 65536;
  const INTEGERS = {
    __proto__: null,
    Int8Array: 1,
    Uint8Array: 1,
    Uint8ClampedArray: 1,
    Int16Array: 1,
    Uint16Array: 1,
    Int32Array: 1,
    Uint32Array: 1,
    BigInt64Array: 1,
    BigUint64Array: 1,
  };

  const TOKEN = {};
  class Crypto {
    #brand;
    static {
      internal.platform[internal.platform.length] = (value) => {
        // deno-lint-ignore prefer-primordials -- a brand check reads no property
        if (#brand in value) return "";
      };
    }
    constructor(token) {
      if (token !== TOKEN) throw new TypeError("Illegal constructor");
    }
    getRandomValues(array) {
      this.#brand;
      if (!INTEGERS[TypedArrayPrototypeGetSymbolToStringTag(array)]) {
        throw new DOMException("The value is not an integer typed array", "TypeMismatchError");
      }
      const length = TypedArrayPrototypeGetByteLength(array);
      if (length > BYTES_MAX) {
        throw new DOMException(
          `At most ${BYTES_MAX} bytes can be asked for, not ${length}`,
          "QuotaExceededError",
        );
      }
      const bytes = internal.toBytes(array);
      const text = random(length);
      for (let index = 0; index < length; index++) bytes[index] = StringPrototypeCharCodeAt(text, index);
      return array;
    }
    randomUUID() {
      this.#brand;
      const text = random(16);
      let uuid = "";
      for (let index = 0; index < 16; index++) {
        let byte = StringPrototypeCharCodeAt(text, index);
        if (index === 6) byte = byte & 0x0f | 0x40;
        if (index === 8) byte = byte & 0x3f | 0x80;
        if (index === 4 || index === 6 || index === 8 || index === 10) uuid += "-";
        uuid += StringPrototypePadStart(NumberPrototypeToString(byte, 16), 2, "0");
      }
      return uuid;
    }
  }
  configureInterface(Crypto, "Crypto");

  define("Crypto", Crypto);
  define("crypto", new Crypto(TOKEN));
});
