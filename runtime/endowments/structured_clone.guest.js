// structuredClone by HTML's algorithm, in one pass: the copy is built while the original is read.
// Known difference: a Proxy and an arguments object are copied as the plain objects they look like: script cannot tell.
((realm) => {
  "use strict";
  const { primordials, define, internal } = realm;
  const {
    Array,
    ArrayBuffer,
    ArrayBufferIsView,
    ArrayBufferPrototype,
    ArrayBufferPrototypeGetByteLength,
    ArrayBufferPrototypeTransfer,
    ArrayIsArray,
    createList,
    Date,
    DatePrototype,
    DatePrototypeGetTime,
    Error,
    ErrorIsError,
    iterate,
    ownDescriptor,
    Map,
    MapPrototype,
    MapPrototypeForEach,
    MapPrototypeSet,
    Object,
    ObjectDefineProperty,
    ObjectGetPrototypeOf,
    ObjectKeys,
    ObjectPrototype,
    ObjectPrototypeIsPrototypeOf,
    PromisePrototype,
    ReflectGetOwnPropertyDescriptor,
    RegExp,
    RegExpPrototype,
    RegExpPrototypeGetSource,
    required,
    SafeMap,
    SafeSet,
    Set,
    SetPrototype,
    SetPrototypeAdd,
    SetPrototypeForEach,
    SymbolIterator,
    TypedArrayPrototypeGetLength,
    TypedArrayPrototypeSet,
    TypeError,
    Uint8Array,
    WeakMapPrototype,
    WeakSetPrototype,
    WeakRefPrototype,
  } = primordials;
  const { DOMException, domExceptionState, platform, viewOf } = internal;

  const refused = (what) => new DOMException(`${what} could not be cloned`, "DataCloneError");
  const inherits = ObjectPrototypeIsPrototypeOf;
  const isBranded = (brand, value) => {
    try {
      brand(value);
      return true;
    } catch {
      return false;
    }
  };
  const put = (target, key, value) =>
    ObjectDefineProperty(target, key, {
      __proto__: null,
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });

  const FLAGS = [
    "HasIndices",
    "Global",
    "IgnoreCase",
    "Multiline",
    "DotAll",
    "Unicode",
    "UnicodeSets",
    "Sticky",
  ];
  internal.flagsOf = (regexp) => {
    let flags = "";
    for (let index = 0; index < 8; index++) {
      if (primordials[`RegExpPrototypeGet${FLAGS[index]}`](regexp)) flags += "dgimsuvy"[index];
    }
    return flags;
  };

  const BOXES = ["Number", "String", "Boolean", "BigInt", "Symbol"];
  /** `{kind, value}` of a primitive in an object, undefined for everything else. */
  const unboxed = (object) => {
    for (let index = 0; index < BOXES.length; index++) {
      const kind = BOXES[index];
      if (!inherits(primordials[`${kind}Prototype`], object)) continue;
      try {
        return { __proto__: null, kind, value: primordials[`${kind}PrototypeValueOf`](object) };
      } catch {
        // It only inherits from the class.
      }
    }
  };
  internal.unboxed = unboxed;

  const bufferCopy = (buffer) => {
    const copy = new ArrayBuffer(ArrayBufferPrototypeGetByteLength(buffer));
    TypedArrayPrototypeSet(new Uint8Array(copy), new Uint8Array(buffer));
    return copy;
  };

  const ERRORS = ["EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError"];
  const ownText = (value, key) => {
    const descriptor = ownDescriptor(value, key);
    return descriptor?.writable === undefined ? undefined : `${descriptor.value}`;
  };

  const cloneError = (value, memory) => {
    const { name } = value;
    const wanted = name === undefined ? "Error" : `${name}`;
    const message = ownText(value, "message");
    const { stack } = value;
    let Constructor = Error;
    for (let index = 0; index < ERRORS.length; index++) {
      if (ERRORS[index] === wanted) Constructor = primordials[wanted];
    }
    const copy = message === undefined ? new Constructor() : new Constructor(message);
    memory.set(value, copy);
    const hidden = (key, content) =>
      ObjectDefineProperty(copy, key, {
        __proto__: null,
        value: content,
        writable: true,
        configurable: true,
      });
    hidden("stack", typeof stack === "string" ? stack : undefined);
    if (ReflectGetOwnPropertyDescriptor(value, "cause")) hidden("cause", clone(value.cause, memory));
    return copy;
  };

  const cloneView = (value, memory) => {
    const { tag, bytes, offset, buffer } = viewOf(value);
    if (tag && bytes === 0 && isDetached(buffer)) throw refused("A view on a detached ArrayBuffer");
    const length = tag ? TypedArrayPrototypeGetLength(value) : bytes;
    return new primordials[tag ?? "DataView"](clone(buffer, memory), offset, length);
  };
  const isDetached = (buffer) => !isBranded((given) => new Uint8Array(given), buffer);

  // Objects with internal slots are found by their prototype first: a failed brand check costs an exception.
  const cloneExotic = (value, memory) => {
    if (ArrayBufferIsView(value)) return cloneView(value, memory);
    if (inherits(ArrayBufferPrototype, value) && isBranded(ArrayBufferPrototypeGetByteLength, value)) {
      if (isDetached(value)) throw refused("A detached ArrayBuffer");
      return bufferCopy(value);
    }
    if (inherits(DatePrototype, value) && isBranded(DatePrototypeGetTime, value)) {
      return new Date(DatePrototypeGetTime(value));
    }
    if (inherits(RegExpPrototype, value) && isBranded(RegExpPrototypeGetSource, value)) {
      // deno-lint-ignore prefer-primordials -- the copy is the plugin's, so of its ordinary class
      return new RegExp(RegExpPrototypeGetSource(value), internal.flagsOf(value));
    }
    const box = unboxed(value);
    if (box && typeof box.value !== "symbol") return Object(box.value);
    if (
      box || inherits(PromisePrototype, value) ||
      inherits(WeakMapPrototype, value) ||
      inherits(WeakSetPrototype, value) || WeakRefPrototype && inherits(WeakRefPrototype, value)
    ) throw refused("The object");
    for (let index = 0; index < platform.length; index++) {
      if (platform[index](value) !== undefined) throw refused("An object of the platform");
    }
    return undefined;
  };

  const clone = (value, memory) => {
    if (typeof value === "symbol") throw refused("A symbol");
    if (typeof value === "function") throw refused("A function");
    if (typeof value !== "object" || value === null) return value;
    if (memory.has(value)) return memory.get(value);
    const prototype = ObjectGetPrototypeOf(value);
    const isArray = ArrayIsArray(value);
    if (!isArray && prototype !== ObjectPrototype && prototype !== null) {
      const state = domExceptionState(value);
      if (state) {
        const copy = new DOMException(state.message, state.name);
        memory.set(value, copy);
        return copy;
      }
      if (ErrorIsError(value)) {
        return cloneError(value, memory);
      }
      const copy = cloneExotic(value, memory);
      if (copy !== undefined) {
        memory.set(value, copy);
        return copy;
      }
      if (inherits(MapPrototype, value) && isBranded(primordials.MapPrototypeGetSize, value)) {
        return cloneMap(value, memory);
      }
      if (inherits(SetPrototype, value) && isBranded(primordials.SetPrototypeGetSize, value)) {
        return cloneSet(value, memory);
      }
    }
    const copy = isArray ? new Array(value.length) : {};
    memory.set(value, copy);
    const keys = ObjectKeys(value);
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index];
      // A getter that ran before may have removed it.
      if (ReflectGetOwnPropertyDescriptor(value, key)) put(copy, key, clone(value[key], memory));
    }
    return copy;
  };

  const cloneMap = (value, memory) => {
    // deno-lint-ignore prefer-primordials -- as above
    const copy = new Map();
    memory.set(value, copy);
    const entries = createList();
    MapPrototypeForEach(value, (item, key) => {
      entries[entries.length] = key;
      entries[entries.length] = item;
    });
    for (let index = 0; index < entries.length; index += 2) {
      const key = clone(entries[index], memory);
      MapPrototypeSet(copy, key, clone(entries[index + 1], memory));
    }
    return copy;
  };
  const cloneSet = (value, memory) => {
    // deno-lint-ignore prefer-primordials -- as above
    const copy = new Set();
    memory.set(value, copy);
    const entries = createList();
    SetPrototypeForEach(value, (item) => {
      entries[entries.length] = item;
    });
    for (let index = 0; index < entries.length; index++) SetPrototypeAdd(copy, clone(entries[index], memory));
    return copy;
  };

  const transferOf = (options) => {
    const transfer = createList();
    const given = options?.transfer;
    if (given === undefined) return transfer;
    const method = given === null ? undefined : given[SymbolIterator];
    if (typeof method !== "function") throw new TypeError("The transfer list is not iterable");
    const seen = new SafeSet();
    iterate(given, method, (item) => {
      if (item === null || typeof item !== "object") {
        throw new TypeError("The transfer list holds a value that is no object");
      }
      if (seen.has(item)) throw refused("An ArrayBuffer that is listed twice");
      if (!isBranded(ArrayBufferPrototypeGetByteLength, item)) throw refused("A value of the transfer list");
      seen.add(item);
      transfer[transfer.length] = item;
    });
    return transfer;
  };

  // As a method, so that it is no constructor.
  const { structuredClone } = {
    structuredClone(value, options) {
      required(arguments.length, 1);
      const transfer = transferOf(options);
      const memory = new SafeMap();
      for (let index = 0; index < transfer.length; index++) {
        if (isDetached(transfer[index])) throw refused("A detached ArrayBuffer");
        memory.set(transfer[index], bufferCopy(transfer[index]));
      }
      const copy = clone(value, memory);
      // Only now, when nothing can fail any more, are the originals emptied.
      for (let index = 0; index < transfer.length; index++) {
        if (!isDetached(transfer[index])) ArrayBufferPrototypeTransfer(transfer[index], 0);
      }
      return copy;
    },
  };
  define("structuredClone", structuredClone);
});
