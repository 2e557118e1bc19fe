// @ts-check
/**
 * WebAssembly where it is granted: without the engine's asynchronous forms, which never settle here, without shared
 * memory, whatever made it, and without what nobody has looked at yet.
 */
((realm) => {
  "use strict";
  const { internal, primordials } = realm;
  const {
    ArrayBufferPrototypeGetByteLength,
    ObjectDefineProperty,
    Proxy,
    ReflectConstruct,
    ReflectDeleteProperty,
    ReflectGetOwnPropertyDescriptor,
    ReflectOwnKeys,
    StringPrototypeIndexOf,
    TypeError,
    newPromise,
    uncurryThis,
  } = primordials;
  const { WebAssembly } = /** @type {any} */ (globalThis);
  const KEPT =
    " CompileError Exception Global Instance LinkError Memory Module RuntimeError Table Tag buffer compile constructor grow instantiate validate ";

  internal.allowWasm = () => {
    const { Instance, Memory, Module } = WebAssembly;
    const { prototype } = Memory;
    const { imports } = Module;
    // The one door to a memory's bytes, whoever made the memory: a module's exports lead to it as well.
    const bufferOf = uncurryThis(ReflectGetOwnPropertyDescriptor(prototype, "buffer").get);
    const unshared = (memory) => {
      const buffer = bufferOf(memory);
      try {
        ArrayBufferPrototypeGetByteLength(buffer);
      } catch {
        throw new TypeError("Shared memory is off for every plugin");
      }
      return buffer;
    };
    const isModule = (source) => {
      try {
        imports(source);
        return true;
      } catch {
        return false;
      }
    };
    const keep = (holder) => {
      const keys = ReflectOwnKeys(holder);
      for (let i = 0; i < keys.length; i++) {
        const key = keys[i];
        if (typeof key === "string" && StringPrototypeIndexOf(KEPT, ` ${key} `) < 0) {
          ReflectDeleteProperty(holder, key);
        }
      }
    };
    const replace = (holder, name, value) => ObjectDefineProperty(holder, name, { __proto__: null, value });

    keep(WebAssembly);
    keep(prototype);
    ObjectDefineProperty(prototype, "buffer", {
      __proto__: null,
      get() {
        return unshared(this);
      },
    });
    const Unshared = new Proxy(Memory, {
      __proto__: null,
      construct(Real, given, Target) {
        const memory = ReflectConstruct(Real, given, Target);
        unshared(memory);
        return memory;
      },
    });
    replace(prototype, "constructor", Unshared);
    replace(WebAssembly, "Memory", Unshared);
    replace(WebAssembly, "compile", (source) => newPromise((resolve) => resolve(new Module(source))));
    replace(WebAssembly, "instantiate", (source, given) =>
      newPromise((resolve) => {
        if (isModule(source)) return resolve(new Instance(source, given));
        const module = new Module(source);
        resolve({ module, instance: new Instance(module, given) });
      }));
    internal.give("WebAssembly", WebAssembly, "wasm");
  };
});
