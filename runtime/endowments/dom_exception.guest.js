// DOMException. Instances are real errors (they have a stack); state lives in a weak map, so that no prototype is trusted.
((realm) => {
  "use strict";
  const { primordials, define, internal } = realm;
  const {
    attributes,
    configureInterface,
    Error,
    ErrorPrototype,
    ObjectDefineProperty,
    ObjectSetPrototypeOf,
    ReflectDeleteProperty,
    SafeWeakMap,
    StringPrototypeCharCodeAt,
    StringPrototypeSlice,
    StringPrototypeToLowerCase,
    TypeError,
  } = primordials;

  const states = new SafeWeakMap();
  const stateOf = (error) => {
    const state = states.get(error);
    if (!state) throw new TypeError("Illegal invocation");
    return state;
  };

  // Codes 1 to 25 in order, as the legacy constants spell them; the rest follows from the spelling.
  const CONSTANTS = [
    "INDEX_SIZE",
    "DOMSTRING_SIZE",
    "HIERARCHY_REQUEST",
    "WRONG_DOCUMENT",
    "INVALID_CHARACTER",
    "NO_DATA_ALLOWED",
    "NO_MODIFICATION_ALLOWED",
    "NOT_FOUND",
    "NOT_SUPPORTED",
    "INUSE_ATTRIBUTE",
    "INVALID_STATE",
    "SYNTAX",
    "INVALID_MODIFICATION",
    "NAMESPACE",
    "INVALID_ACCESS",
    "VALIDATION",
    "TYPE_MISMATCH",
    "SECURITY",
    "NETWORK",
    "ABORT",
    "URL_MISMATCH",
    "QUOTA_EXCEEDED",
    "TIMEOUT",
    "INVALID_NODE_TYPE",
    "DATA_CLONE",
  ];
  /** @type {any} */
  const codes = { __proto__: null, InUseAttributeError: 10, URLMismatchError: 21 };

  class DOMException {
    constructor(message = "", name = "Error") {
      message = `${message}`;
      name = `${name}`;
      const error = new Error(message);
      ReflectDeleteProperty(error, "message");
      states.set(error, { __proto__: null, message, name });
      return ObjectSetPrototypeOf(error, new.target.prototype);
    }
    get code() {
      return codes[stateOf(this).name] ?? 0;
    }
  }
  attributes(DOMException, stateOf, ["name", "message"]);
  configureInterface(DOMException, "DOMException");
  ObjectSetPrototypeOf(DOMException.prototype, ErrorPrototype);

  for (let index = 0; index < CONSTANTS.length; index++) {
    const constant = CONSTANTS[index];
    let name = "";
    for (let from = 0, at = 0; at <= constant.length; at++) {
      if (at < constant.length && StringPrototypeCharCodeAt(constant, at) !== 95) continue;
      name += StringPrototypeSlice(constant, from, from + 1) +
        StringPrototypeToLowerCase(StringPrototypeSlice(constant, from + 1, at));
      from = at + 1;
    }
    codes[`${name}Error`] = index + 1;
    const descriptor = { __proto__: null, value: index + 1, enumerable: true };
    ObjectDefineProperty(DOMException, `${constant}_ERR`, descriptor);
    ObjectDefineProperty(DOMException.prototype, `${constant}_ERR`, descriptor);
  }

  internal.DOMException = DOMException;
  /** `{name, message}` of a real DOMException, undefined for everything else. */
  internal.domExceptionState = (value) => states.get(value);
  define("DOMException", DOMException);
});
