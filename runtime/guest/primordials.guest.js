// deno-lint-ignore-file prefer-primordials
// The one file that touches globals by name: it runs before any plugin code and hands out what the other parts use ever after.
// Naming is Deno's and Node's: `Array.prototype.join.call(a, ",")` is `ArrayPrototypeJoin(a, ",")`, a getter is `MapPrototypeGetSize(m)`.
//
// What stays unsafe even with captured functions, and what to do instead:
// - `array[i] = x` and ArrayPrototypePush run setters that a plugin put on Array.prototype: use createList(), or append() for arrays
//   that the plugin will see;
// - slice, map, filter, concat, subarray read `constructor[Symbol.species]`: loop, or copy by hand;
// - split, replace, match with a string read String.prototype[Symbol.split]: use indexOf and slice;
// - `await` and PromisePrototypeThen read `promise.constructor`: use promiseThen();
// - spread, array patterns and for-of run patched iterators: loop by index.
(() => {
  "use strict";
  /** @type {any} */
  const primordials = { __proto__: null };
  const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, ownKeys, setPrototypeOf } =
    Reflect;
  const { freeze } = Object;
  const { bind, call } = Function.prototype;
  const uncurryThis = bind.bind(call);

  const nameOf = (key) => {
    const name = typeof key === "symbol" ? key.description.replace("Symbol.", "symbol") : key;
    const from = typeof key === "symbol" ? 6 : 0;
    return (from ? "Symbol" : "") + name[from].toUpperCase() + name.slice(from + 1);
  };

  const copy = (source, prefix, isPrototype) => {
    for (const key of ownKeys(source)) {
      if (key === "constructor" || key === "prototype" || key === "name" || key === "length") {
        if (!isPrototype || key === "constructor") continue;
      }
      const { get, value } = getOwnPropertyDescriptor(source, key);
      const name = nameOf(key);
      if (!isPrototype) {
        if (!get) primordials[prefix + name] = value;
      } else if (get) primordials[`${prefix}Get${name}`] = uncurryThis(get);
      else if (typeof value === "function") primordials[prefix + name] = uncurryThis(value);
    }
  };

  for (const name of ["JSON", "Math", "Reflect"]) copy(globalThis[name], name, false);

  const TypedArray = Object.getPrototypeOf(Uint8Array);
  const classes = { TypedArray };
  for (
    const name
      of ("Array ArrayBuffer BigInt Boolean DataView Date Error Function Map Number Object Promise RegExp Set " +
        "String Symbol WeakMap WeakSet AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError " +
        "Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array BigInt64Array BigUint64Array " +
        "Float16Array Float32Array Float64Array Proxy WeakRef").split(" ")
  ) if (globalThis[name]) classes[name] = globalThis[name];
  for (const name of Object.keys(classes)) {
    primordials[name] = classes[name];
    copy(classes[name], name, false);
    if (!classes[name].prototype) continue;
    primordials[`${name}Prototype`] = classes[name].prototype;
    copy(classes[name].prototype, `${name}Prototype`, true);
  }
  primordials.IteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));

  // A subclass whose prototype is a frozen copy: its methods can be called the ordinary way, and no plugin can reach them.
  const makeSafe = (Base) => {
    const Safe = class extends Base {};
    for (const key of ownKeys(Base.prototype)) {
      if (key !== "constructor") {
        defineProperty(Safe.prototype, key, getOwnPropertyDescriptor(Base.prototype, key));
      }
    }
    setPrototypeOf(Safe.prototype, null);
    freeze(Safe.prototype);
    return freeze(Safe);
  };
  for (const name of ["Map", "Set", "WeakMap", "WeakSet", "RegExp"]) {
    primordials[`Safe${name}`] = makeSafe(globalThis[name]);
  }

  /** An internal array without a prototype: `list[list.length] = x` cannot run a setter. */
  const createList = () => setPrototypeOfAndReturn([], null);
  const setPrototypeOfAndReturn = (object, prototype) => (setPrototypeOf(object, prototype), object);

  /** Appends to an ordinary array, which the plugin will see, without running a setter. */
  const append = (array, value) =>
    defineProperty(array, array.length, {
      // @ts-ignore: a descriptor that inherits nothing from a polluted Object.prototype
      __proto__: null,
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });

  /** Takes an item out of an internal list. */
  const remove = (list, item) => {
    let kept = 0;
    for (let index = 0; index < list.length; index++) if (list[index] !== item) list[kept++] = list[index];
    list.length = kept;
  };

  /** An own descriptor that inherits nothing: `writable` is undefined exactly for accessors. */
  const ownDescriptor = (object, key) => {
    const descriptor = getOwnPropertyDescriptor(object, key);
    return descriptor && setPrototypeOfAndReturn(descriptor, null);
  };

  /** Read-only attributes of an interface that are kept in a state object under the same names. */
  const attributes = (Class, stateOf, names) => {
    for (const name of names) {
      const { get } = getOwnPropertyDescriptor({
        get [name]() {
          return stateOf(this)[name];
        },
      }, name);
      defineProperty(Class.prototype, name, { get, enumerable: true, configurable: true });
    }
  };

  const PromiseCtor = Promise;
  const then = uncurryThis(Promise.prototype.then);
  const newPromise = (executor) => new PromiseCtor(executor);

  /** `{promise, resolve, reject}` without a look-up on the constructor. */
  const newResolvers = () => {
    /** @type {any} */
    const resolvers = { __proto__: null };
    resolvers.promise = new PromiseCtor((resolve, reject) => {
      resolvers.resolve = resolve;
      resolvers.reject = reject;
    });
    return resolvers;
  };

  /** @type {any} */
  const HIDDEN = { __proto__: null, value: undefined, configurable: true };
  /** Promise.prototype.then on a native promise, blind to `constructor`, species and a replaced `then`. */
  const promiseThen = (promise, onFulfilled, onRejected) => {
    const own = ownDescriptor(promise, "constructor");
    const isHidden = defineProperty(promise, "constructor", HIDDEN);
    try {
      return then(promise, onFulfilled, onRejected);
    } finally {
      if (isHidden && own) defineProperty(promise, "constructor", own);
      else if (isHidden) deleteProperty(promise, "constructor");
    }
  };

  /** Adopts any value or thenable; what a thenable's `then` does is its owner's business. */
  const promiseResolve = (value) => new PromiseCtor((resolve) => resolve(value));

  /** Gives a class the shape of a WebIDL interface; the name is said aloud because minifying changes it. */
  const configureInterface = (Class, name) => {
    for (const target of [Class, Class.prototype]) {
      for (const key of ownKeys(target)) {
        const { get, value } = getOwnPropertyDescriptor(target, key);
        if (typeof key === "string" && key !== "constructor" && (get || typeof value === "function")) {
          defineProperty(target, key, { enumerable: true });
        }
      }
    }
    defineProperty(Class, "name", { value: name, enumerable: false, configurable: true });
    defineProperty(Class.prototype, Symbol.toStringTag, { value: name, configurable: true });
    return Class;
  };

  /** Runs `each(item)` over an iterable of the plugin, by whatever iterator it has. */
  const iterate = (iterable, method, each) => {
    const iterator = apply(method, iterable, []);
    const { next } = iterator;
    for (;;) {
      const step = apply(next, iterator, []);
      if (step.done) return;
      each(step.value);
    }
  };

  const TypeErrorCtor = TypeError;
  const required = (given, needed) => {
    if (given < needed) {
      throw new TypeErrorCtor(
        `${needed} argument${needed > 1 ? "s" : ""} required, but only ${given} present`,
      );
    }
  };

  primordials.uncurryThis = uncurryThis;
  primordials.createList = createList;
  primordials.append = append;
  primordials.remove = remove;
  primordials.ownDescriptor = ownDescriptor;
  primordials.attributes = attributes;
  primordials.newPromise = newPromise;
  primordials.newResolvers = newResolvers;
  primordials.promiseThen = promiseThen;
  primordials.promiseResolve = promiseResolve;
  primordials.configureInterface = configureInterface;
  primordials.iterate = iterate;
  primordials.required = required;
  return freeze(primordials);
});
