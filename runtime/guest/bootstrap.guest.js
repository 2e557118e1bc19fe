// @ts-check
/**
 * The guest's side of the bridge: op(), calls, and what is taken away before a plugin runs. The host trusts none of it;
 * it is here so that a plugin's own mistakes and most of its attacks end inside its isolate.
 * @param {any} primordials @param {(text: string) => void} send @param {(size: number) => string} random
 */
((primordials, send, random) => {
  "use strict";
  const {
    ArrayIsArray,
    Error,
    FunctionPrototype,
    JSONParse,
    JSONStringify,
    ObjectCreate,
    ObjectDefineProperty,
    ObjectFreeze,
    ObjectGetPrototypeOf,
    ReflectApply,
    ReflectConstruct,
    ReflectDeleteProperty,
    SafeMap,
    SafeWeakMap,
    String,
    StringPrototypeSlice,
    SymbolAsyncIterator,
    SymbolSpecies,
    TypeError,
    createList,
    newPromise,
    promiseThen,
  } = primordials;
  const global = globalThis;
  const realEval = global.eval;
  const internal = ObjectCreate(null);
  internal.deno = ObjectCreate(null);
  /** Ids of refusals by the error that told of them. */
  internal.denials = new SafeWeakMap();

  /** @type {any} */
  let config = { limits: {} };
  /** @type {any} */
  let target;
  /** What lifecycle code registered, by surface and name. */
  let handlers = new SafeMap();
  /** What lifecycle code wants done at the end. */
  const disposers = createList();
  /** @type {any} What is evaluated next is lifecycle code. */
  let stage = null;
  /** Whether lifecycle code may register. */
  let isOpen = false;
  let opCount = 0;
  const ops = new SafeMap();
  const calls = new SafeMap();
  /** What runs before any call; replaced by each entry. */
  let current = newCall(0);
  /** @type {null | (() => void)} */
  let whenIdle = null;
  let isAsking = false;

  function newCall(id) {
    return { id, ops: 0, logBytes: 0, logLines: 0, muted: false, breached: false };
  }

  function limitError(code, message) {
    const error = new Error(message);
    error.name = "LimitError";
    return ObjectDefineProperty(error, "code", { __proto__: null, value: code, enumerable: true });
  }

  /**
   * One frozen error and one promise for all ops above the bound: a flood must not become a memory problem of its own,
   * nor a slow one (the engine's list of unhandled rejections is searched from its start).
   */
  const tooManyOps = ObjectFreeze(
    newPromise((_resolve, reject) =>
      reject(ObjectFreeze(limitError("ERR_LIMIT_OPS", "Too many operations are under way")))
    ),
  );
  promiseThen(tooManyOps, undefined, () => {});

  function breach(what) {
    if (current.breached) return;
    current.breached = true;
    send("x" + what);
  }

  /**
   * Asks the host for an operation. `args` are primitives, or objects without a prototype. What belongs to one call, such as
   * its own stream, names it: it may be done in a slice of another one.
   */
  function op(name, args, owner) {
    const call = owner ?? current;
    call.ops += 1;
    if (call.ops > config.limits.opsPerCallMax) breach("ops");
    if (ops.size >= config.limits.opsInFlightMax || call.breached) return tooManyOps;
    return newPromise((resolve, reject) => {
      let text = "";
      for (let i = 0; i < args.length; i++) text += (i === 0 ? "" : ",") + (JSONStringify(args[i]) ?? "null");
      text = "[" + JSONStringify(name) + ",[" + text + "]]";
      if (text.length > config.limits.opBytesMax) {
        return reject(limitError("ERR_LIMIT_SIZE", `The arguments of "${name}" are larger than they may be`));
      }
      const id = ++opCount;
      ops.set(id, { resolve, reject, call });
      send((owner ? "p" + owner.id + ":" : "o") + id + ":" + text);
    });
  }

  /** Tells the host of a refusal that was decided here, synchronously, and marks the error with its id. */
  function report(name, args, error) {
    const before = opCount;
    promiseThen(op(name, args), undefined, () => {});
    // Above a bound nothing was sent, and the next number will be that of another op.
    if (opCount !== before) internal.denials.set(error, config.denialPrefix + opCount);
    return error;
  }

  function post(level, text) {
    const call = current;
    if (call.muted) return;
    call.logLines += 1;
    call.logBytes += text.length;
    const { logLinesPerCallMax, logBytesPerCallMax } = config.limits;
    if (call.logLines <= logLinesPerCallMax && call.logBytes <= logBytesPerCallMax) {
      send("l" + StringPrototypeSlice(level, 0, 1) + text);
    } else {
      call.muted = true;
      send("lw[further console output of this call is dropped]");
    }
  }

  function define(name, value) {
    ObjectDefineProperty(global, name, {
      __proto__: null,
      value,
      writable: true,
      enumerable: false,
      configurable: true,
    });
  }

  /** Runs work that belongs to a call, whatever the plugin does in it. */
  function within(call, work) {
    current = call;
    try {
      work();
    } catch (error) {
      send("f" + describe(error).message);
    }
    idle();
  }

  /**
   * A script ends when nothing of it is left waiting. Continuations of what was just answered run after this, so the
   * question is asked again in a slice of its own: timer 0, which is nobody's.
   */
  function idle() {
    if (whenIdle !== null && !isAsking && isQuiet()) {
      isAsking = true;
      send("t0:0");
    }
  }

  function isQuiet() {
    return ops.size === 0 && internal.timersWaiting() === 0;
  }

  function finishWhenQuiet() {
    isAsking = false;
    if (whenIdle === null || !isQuiet()) return;
    const done = whenIdle;
    whenIdle = null;
    done();
  }

  // --- what the worker calls -------------------------------------------------------------------------------------

  function load(wrapped, id) {
    const call = newCall(id);
    const order = stage;
    stage = null;
    within(call, () => {
      /** @type {any} */
      let value;
      promiseThen(
        wrapped((given) => {
          value = given;
        }),
        () => {
          if (order?.names) return activate(order, value, id);
          if (order) return cleanUp(id, () => value(give(order.context)));
          target = value;
          answer(id, '{"ok":true,"value":' + JSONStringify(typeof value) + "}");
        },
        (error) => fail(id, error),
      );
    });
  }

  /** Runs lifecycle code; nothing of what it registers is there before all of it is. What it gives is data, or awaited once. */
  function activate({ names, context }, hook, id) {
    const staged = new SafeMap();
    const registered = createList();
    let refused = typeof hook === "function" ? undefined : ["export"];
    const mustBeOpen = (work) => {
      if (!isOpen) throw new TypeError("The activation is over");
      if (typeof work !== "function") throw new TypeError("The value is not a function");
    };
    const register = (surface, name, handler) => {
      mustBeOpen(handler);
      if (typeof surface !== "string" || typeof name !== "string") {
        throw new TypeError("The name is not a string");
      }
      const key = surface + " " + name;
      const place = names[key];
      if (place === "elsewhere") return false;
      if (place !== "here" || staged.has(key)) {
        refused ??= [staged.has(key) ? "twice" : place ?? "undeclared", surface, name];
        throw new TypeError("Cannot register " + key);
      }
      staged.set(key, handler);
      registered[registered.length] = key;
      return true;
    };
    const onDispose = (work) => {
      mustBeOpen(work);
      disposers[disposers.length] = work;
    };
    ObjectFreeze(context.capabilities);
    isOpen = true;
    const tell = (key, value) =>
      answer(id, '{"ok":true,"value":{"' + key + '":' + JSONStringify(value) + "}}");
    promiseThen(
      newPromise((resolve, reject) => {
        const value = refused ? null : hook(give(context, { register, onDispose }));
        const then = typeof value === "object" ? value?.then : undefined;
        if (typeof then !== "function") return resolve();
        const over = (settle) => (error) => {
          isOpen = false;
          settle(error);
        };
        ReflectApply(then, value, [over(() => resolve()), over(reject)]);
      }),
      () => {
        isOpen = false;
        if (refused) return tell("refused", refused);
        handlers = staged;
        tell("registered", registered);
      },
      (error) => {
        isOpen = false;
        if (refused) tell("refused", refused);
        else fail(id, error);
      },
    );
  }

  /** Does what is to be done at the end, last registered first, each whatever became of the others; answers with what failed. */
  function cleanUp(id, last) {
    isOpen = false;
    if (last) disposers[disposers.length] = last;
    const failures = createList();
    const next = () => {
      const place = disposers.length - 1;
      if (place < 0) return answer(id, '{"ok":true,"value":' + JSONStringify(failures) + "}");
      const work = disposers[place];
      disposers.length = place;
      promiseThen(newPromise((resolve) => resolve(work())), next, (error) => {
        failures[failures.length] = describe(error);
        next();
      });
    };
    next();
  }

  /** Adds what every context has. */
  function give(context, own) {
    const { storage, call, host } = internal;
    const given = { __proto__: null, storage, call, host, ...own };
    for (const name in given) {
      const value = given[name];
      if (value) {
        ObjectDefineProperty(context, name, {
          __proto__: null,
          value: ObjectFreeze(value),
          enumerable: true,
        });
      }
    }
    return ObjectFreeze(context);
  }

  function start(text, id) {
    const call = newCall(id);
    calls.set(id, call);
    within(call, () => {
      const request = JSONParse(text);
      if (request.isLast) return cleanUp(id);
      const context = give(request.context, internal.ownOf(call, request));
      const handler = request.entry === undefined ? target : handlers.get(request.entry);
      const run = newPromise((resolve) => {
        // A script without a default export has done its work while it was evaluated.
        resolve(
          typeof handler === "function" ? ReflectApply(handler, undefined, [request.input, context]) : null,
        );
      });
      promiseThen(run, (value) => {
        if (config.isScript) {
          whenIdle = () => succeed(call, value);
          idle();
        } else succeed(call, value);
      }, (error) => fail(id, error));
    });
  }

  function succeed(call, value) {
    const { id } = call;
    let text;
    let streams = false;
    try {
      streams = isStream(value);
      // Like a function without a return statement anywhere else, one that gives undefined gives nothing: null.
      text = value === undefined ? "null" : JSONStringify(value);
    } catch (error) {
      return answer(id, failure({ name: "ResultError", message: describe(error).message, invalid: true }));
    }
    if (streams && call.streams) {
      return promiseThen(
        internal.pump(call, value),
        (count) => answer(id, '{"ok":true,"streamed":' + count + "}"),
        (error) => fail(id, error),
      );
    }
    if (typeof text !== "string" || streams) {
      return answer(
        id,
        failure({
          name: "ResultError",
          message: streams ? "it is a stream, which tenant.stream reads" : "it is a " + typeof value,
          invalid: true,
        }),
      );
    }
    if (text.length > config.limits.resultBytesMax) {
      return answer(id, failure({ name: "LimitError", message: "", tooLarge: text.length }));
    }
    answer(id, '{"ok":true,"value":' + text + "}");
  }

  /** A generator would become `{}` as JSON: a result lost without a word. */
  function isStream(value) {
    if (typeof value !== "object" || value === null || ArrayIsArray(value)) return false;
    return typeof value[SymbolAsyncIterator] === "function" || typeof value.next === "function";
  }

  function fail(id, error) {
    answer(id, failure(describe(error)));
  }

  function failure(facts) {
    const plain = ObjectCreate(null);
    for (const key in facts) plain[key] = facts[key];
    return '{"ok":false,"error":' + JSONStringify(plain) + "}";
  }

  function answer(id, text) {
    calls.get(id)?.flush?.();
    calls.delete(id);
    send("r" + id + ":" + text);
  }

  function reply(text, id) {
    const waiting = ops.get(id);
    if (waiting === undefined) return;
    ops.delete(id);
    within(waiting.call, () => {
      const envelope = JSONParse(text);
      if (envelope.ok) waiting.resolve(envelope.value);
      else waiting.reject(internal.errorFrom(envelope.error));
    });
  }

  const ENTRIES = {
    __proto__: null,
    config: (text) => {
      config = JSONParse(text);
      internal.config = config;
      internal.setHostOps(config.hostOps);
      if (config.dynamicCode) internal.give("eval", realEval, "dynamic_code");
      if (config.wasm) internal.allowWasm();
    },
    stage: (text) => {
      stage = JSONParse(text);
    },
    load,
    call: start,
    reply,
    timer: (_text, id) => id === 0 ? finishWhenQuiet() : internal.fireTimer(id),
  };

  // --- errors ----------------------------------------------------------------------------------------------------

  /** Reads an error without trusting it: whatever a getter does costs the plugin its own time. */
  function describe(error) {
    const facts = { __proto__: null, name: "Error", message: "", stack: "" };
    try {
      if (typeof error !== "object" || error === null) {
        facts.message = typeof error === "symbol" ? "a symbol" : cut(String(error));
        facts.name = "";
        return facts;
      }
      facts.name = textOf(read(error, "name"), "Error");
      facts.message = textOf(read(error, "message"), "");
      const code = read(error, "code");
      if (typeof code === "string") facts.code = cut(code);
      if (!config.wasm && facts.name === "ReferenceError" && facts.message === "WebAssembly is not defined") {
        report("wasm", [], error); // what is not granted is not there, so it is missed instead of refused
      }
      facts.denial = denialOf(error, 0);
      facts.stack = StringPrototypeSlice(textOf(read(error, "stack"), "", 50 * 1024), 0, 50 * 1024);
    } catch {
      // What was thrown cannot even become a text; what was read so far is told.
    }
    return facts;
  }

  /** A property, or undefined where its getter throws or a proxy was revoked. */
  function read(object, key) {
    try {
      return object[key];
    } catch {
      return undefined;
    }
  }

  function denialOf(error, depth) {
    if (typeof error !== "object" || error === null || depth > 8) return undefined;
    return internal.denials.get(error) ?? denialOf(read(error, "cause"), depth + 1);
  }

  function textOf(value, otherwise, max) {
    return typeof value === "string" ? cut(value, max) : otherwise;
  }

  function cut(text, max = config.limits.errorTextBytesMax ?? 1024) {
    return text.length > max ? StringPrototypeSlice(text, 0, max) + "…" : text;
  }

  // --- what is taken away ----------------------------------------------------------------------------------------

  function put(holder, name, value) {
    ObjectDefineProperty(holder, name, {
      __proto__: null,
      value,
      writable: false,
      enumerable: false,
      configurable: true,
    });
  }

  /** Defines a global that is granted; while uses are found out, whoever reads it is told of. */
  internal.give = (name, value, op) => {
    define(name, value);
    if (!config.tellsReads) return;
    ObjectDefineProperty(global, name, {
      __proto__: null,
      get() {
        internal.tell(op);
        return value;
      },
    });
  };

  /**
   * Code that was in no hashed file must not run: every maker of code from strings becomes one that throws, unless it is
   * granted (T20). Only eval itself can run code where it is called, so that one comes back as it was.
   */
  function guardDynamicCode() {
    const refuse = (what) => {
      const error = new TypeError(`Code generation from strings is off for this plugin: ${what}`);
      throw report("dynamic_code", [], error);
    };
    const makers = [
      () => {},
      async () => {},
      function* () {},
      async function* () {},
    ];
    for (let i = 0; i < makers.length; i++) {
      const prototype = ObjectGetPrototypeOf(makers[i]);
      const Real = prototype.constructor;
      const stub = function Function() {
        if (!config.dynamicCode) refuse("Function");
        internal.tell("dynamic_code");
        return ReflectConstruct(Real, arguments, new.target ?? stub);
      };
      ObjectDefineProperty(stub, "prototype", { __proto__: null, value: prototype, writable: false });
      put(prototype, "constructor", stub);
      if (prototype === FunctionPrototype) put(global, "Function", stub);
    }
    put(global, "eval", (_code) => refuse("eval"));
  }

  /** The engine counts neither wasm memory nor buffers that grow, and its shared memory is a clock. */
  function removeUncounted() {
    const gone = ["WebAssembly", "SharedArrayBuffer", "Atomics", "FinalizationRegistry", "WeakRef"];
    for (let i = 0; i < gone.length; i++) ReflectDeleteProperty(global, gone[i]);
    const Real = global.ArrayBuffer;
    const Fixed = function ArrayBuffer(length) {
      if (new.target === undefined) throw new TypeError("Constructor ArrayBuffer requires 'new'");
      return ReflectConstruct(Real, [length], new.target);
    };
    ObjectDefineProperty(Fixed, "prototype", { __proto__: null, value: Real.prototype, writable: false });
    ObjectDefineProperty(Fixed, "isView", {
      __proto__: null,
      value: Real.isView,
      writable: true,
      configurable: true,
    });
    ObjectDefineProperty(Fixed, SymbolSpecies, {
      __proto__: null,
      get() {
        return this;
      },
      configurable: true,
    });
    ObjectDefineProperty(Real.prototype, "constructor", {
      __proto__: null,
      value: Fixed,
      writable: false,
      enumerable: false,
      configurable: false,
    });
    define("ArrayBuffer", Fixed);
  }

  /** A hook into every stack that the platform reads would be the plugin's code in the platform's hands. */
  function lockStacks() {
    ObjectDefineProperty(global.Error, "prepareStackTrace", {
      __proto__: null,
      get: () => undefined,
      set: () => {},
      enumerable: false,
      configurable: false,
    });
    ObjectDefineProperty(global.Error, "stackTraceLimit", {
      __proto__: null,
      value: 50,
      writable: true,
      configurable: false,
    });
  }

  function seal() {
    define("Deno", ObjectFreeze(internal.deno));
    guardDynamicCode();
    removeUncounted();
    lockStacks();
    return (tag, id, argument) => {
      ENTRIES[tag](argument, id);
    };
  }

  return {
    primordials,
    internal,
    define,
    op,
    report,
    post,
    random,
    send,
    within,
    breach,
    seal,
    current: () => current,
  };
});
