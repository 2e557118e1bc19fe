// crypto.getRandomValues and crypto.randomUUID, from the random source of the worker.
((realm) => {
  "use strict";
  const { primordials, internal, random } = realm;
  const {
    NumberPrototypeToString,
    StringPrototypeCharCodeAt,
    StringPrototypePadStart,
    StringPrototypeSlice,
    TypedArrayPrototypeGetByteLength,
    TypedArrayPrototypeGetSymbolToStringTag,
    TypeError,
  } = primordials;
  const { DOMException } = internal;
  const BYTES_MAX = 65536;

  class Crypto {
    constructor() {
      throw new TypeError("Illegal constructor");
    }
    getRandomValues(array) {
      check(this);
      const tag = TypedArrayPrototypeGetSymbolToStringTag(array);
      if (tag === undefined || StringPrototypeSlice(tag, 0, 5) === "Float") {
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
      check(this);
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
  const check = internal.defineOne(Crypto, "Crypto");
});
