// Event, CustomEvent, EventTarget, AbortController, AbortSignal: the DOM's algorithms for targets that are in no tree.
((realm) => {
  "use strict";
  const { primordials, define, internal } = realm;
  const {
    attributes,
    configureInterface,
    createList,
    DateNow,
    iterate,
    MathTrunc,
    Number,
    ObjectCreate,
    ObjectDefineProperty,
    ObjectFreeze,
    ReflectApply,
    remove,
    required,
    StringPrototypeToLowerCase,
    SymbolIterator,
    TypeError,
  } = primordials;
  const { DOMException } = internal;
  const startedAt = DateNow();

  // Platform objects announce themselves here: structuredClone refuses them, the console asks for a word about them.
  const platform = internal.platform = createList();
  /** Defines a class and its one instance, which has its name in lower case; gives what checks a receiver. */
  internal.defineOne = (Class, name) => {
    const one = ObjectCreate(configureInterface(Class, name).prototype);
    platform[platform.length] = (value) => value === one ? "" : undefined;
    define(name, Class);
    define(StringPrototypeToLowerCase(name), one);
    return (receiver) => {
      if (receiver !== one) throw new TypeError("Illegal invocation");
    };
  };

  let eventState;
  class Event {
    /** @type {any} */
    #state;
    static {
      eventState = (event) => event.#state;
      platform[0] = (value) => {
        // deno-lint-ignore prefer-primordials -- a brand check reads no property
        if (#state in value) return value.#state.type;
      };
    }
    constructor(type, init) {
      required(arguments.length, 1);
      this.#state = {
        __proto__: null,
        type: `${type}`,
        bubbles: !!init?.bubbles,
        cancelable: !!init?.cancelable,
        composed: !!init?.composed,
        timeStamp: DateNow() - startedAt,
        target: null,
        srcElement: null,
        currentTarget: null,
        eventPhase: 0,
        isTrusted: false,
        defaultPrevented: false,
      };
    }
    get returnValue() {
      return !this.#state.defaultPrevented;
    }
    set returnValue(value) {
      if (!value) cancel(this.#state);
    }
    get cancelBubble() {
      return this.#state.isStopped;
    }
    set cancelBubble(value) {
      if (value) this.#state.isStopped = true;
    }
    composedPath() {
      const { currentTarget } = this.#state;
      return currentTarget === null ? [] : [currentTarget];
    }
    stopPropagation() {
      this.#state.isStopped = true;
    }
    stopImmediatePropagation() {
      this.#state.isStopped = this.#state.isStoppedNow = true;
    }
    preventDefault() {
      cancel(this.#state);
    }
  }
  const cancel = (state) => {
    if (state.cancelable && !state.isPassive) state.defaultPrevented = true;
  };
  attributes(Event, eventState, [
    "type",
    "target",
    "srcElement",
    "currentTarget",
    "eventPhase",
    "bubbles",
    "cancelable",
    "composed",
    "timeStamp",
    "isTrusted",
    "defaultPrevented",
  ]);
  configureInterface(Event, "Event");
  const PHASES = ["NONE", "CAPTURING_PHASE", "AT_TARGET", "BUBBLING_PHASE"];
  for (let value = 0; value < 4; value++) {
    const descriptor = { __proto__: null, value, enumerable: true };
    ObjectDefineProperty(Event, PHASES[value], descriptor);
    ObjectDefineProperty(Event.prototype, PHASES[value], descriptor);
  }

  class CustomEvent extends Event {
    constructor(type, init) {
      required(arguments.length, 1);
      super(type, init);
      eventState(this).detail = init?.detail ?? null;
    }
  }
  attributes(CustomEvent, eventState, ["detail"]);
  configureInterface(CustomEvent, "CustomEvent");

  const isObject = (value) => value !== null && (typeof value === "object" || typeof value === "function");
  const captureOf = (options) => isObject(options) ? !!options.capture : !!options;

  let listenersOf;
  class EventTarget {
    #listeners = createList();
    static {
      listenersOf = (target) => target.#listeners;
      platform[1] = (value) => {
        // deno-lint-ignore prefer-primordials -- a brand check reads no property
        if (#listeners in value) return "";
      };
    }
    addEventListener(type, callback, options) {
      required(arguments.length, 2);
      const listeners = this.#listeners;
      type = `${type}`;
      const capture = captureOf(options);
      const given = isObject(options) ? options : undefined;
      const once = !!given?.once;
      const passive = !!given?.passive;
      const signal = given?.signal;
      if (signal !== undefined && !signalState(signal)) {
        throw new TypeError("The signal is not an AbortSignal");
      }
      if (callback === null || callback === undefined) return;
      if (!isObject(callback)) throw new TypeError("The listener is not an object");
      if (signal && signalState(signal).isAborted) return;
      if (find(listeners, type, callback, capture) !== -1) return;
      const listener = { __proto__: null, type, callback, capture, once, passive, isRemoved: false };
      listeners[listeners.length] = listener;
      if (signal) addAlgorithm(signal, () => drop(listeners, listener));
    }
    removeEventListener(type, callback, options) {
      required(arguments.length, 2);
      const listeners = this.#listeners;
      const index = find(listeners, `${type}`, callback, captureOf(options));
      if (index !== -1) drop(listeners, listeners[index]);
    }
    dispatchEvent(event) {
      required(arguments.length, 1);
      let state;
      try {
        state = eventState(event);
      } catch {
        throw new TypeError("The event is not an Event");
      }
      const listeners = this.#listeners;
      if (state.isDispatched) {
        throw new DOMException("The event is already being dispatched", "InvalidStateError");
      }
      state.isTrusted = false;
      return dispatch(this, listeners, event, state);
    }
  }
  configureInterface(EventTarget, "EventTarget");

  const find = (listeners, type, callback, capture) => {
    for (let index = 0; index < listeners.length; index++) {
      const listener = listeners[index];
      if (listener.type === type && listener.callback === callback && listener.capture === capture) {
        return index;
      }
    }
    return -1;
  };
  const drop = (listeners, listener) => {
    listener.isRemoved = true;
    remove(listeners, listener);
  };

  const dispatch = (target, listeners, event, state) => {
    state.isDispatched = true;
    state.target = state.srcElement = state.currentTarget = target;
    state.eventPhase = 2;
    for (let pass = 0; pass < 2 && !state.isStopped; pass++) {
      const snapshot = createList();
      for (let index = 0; index < listeners.length; index++) {
        const listener = listeners[index];
        if (listener.capture === (pass === 0) && listener.type === state.type) {
          snapshot[snapshot.length] = listener;
        }
      }
      for (let index = 0; index < snapshot.length && !state.isStoppedNow; index++) {
        const listener = snapshot[index];
        if (listener.isRemoved) continue;
        if (listener.once) drop(listeners, listener);
        state.isPassive = listener.passive;
        try {
          const { callback } = listener;
          if (typeof callback === "function") ReflectApply(callback, target, [event]);
          else ReflectApply(callback.handleEvent, callback, [event]);
        } catch (error) {
          internal.report?.(error);
        }
        state.isPassive = false;
      }
    }
    state.currentTarget = null;
    state.eventPhase = 0;
    state.isDispatched = state.isStopped = state.isStoppedNow = false;
    return !state.defaultPrevented;
  };

  const TOKEN = {};
  /** @type {(value: any) => any} */
  let signalState;
  class AbortSignal extends EventTarget {
    /** @type {any} */
    #state = {
      __proto__: null,
      isAborted: false,
      algorithms: createList(),
      dependents: createList(),
    };
    static {
      signalState = (value) => {
        // deno-lint-ignore prefer-primordials -- a brand check reads no property
        return isObject(value) && #state in value ? value.#state : undefined;
      };
    }
    constructor(token) {
      if (token !== TOKEN) throw new TypeError("Illegal constructor");
      super();
    }
    static abort(reason) {
      const signal = createSignal();
      const state = signalState(signal);
      state.isAborted = true;
      state.reason = reason === undefined ? abortError() : reason;
      return signal;
    }
    static timeout(milliseconds) {
      required(arguments.length, 1);
      milliseconds = MathTrunc(Number(milliseconds));
      if (!(milliseconds >= 0 && milliseconds <= 9007199254740991)) {
        throw new TypeError("The delay is out of range");
      }
      const signal = createSignal();
      internal.setTimer(milliseconds, () => {
        signalAbort(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError"));
      });
      return signal;
    }
    static any(signals) {
      required(arguments.length, 1);
      const method = isObject(signals) ? signals[SymbolIterator] : undefined;
      if (typeof method !== "function") throw new TypeError("The signals are not iterable");
      const given = createList();
      iterate(signals, method, (signal) => {
        if (!signalState(signal)) throw new TypeError("An element of the signals is not an AbortSignal");
        given[given.length] = signal;
      });
      const signal = createSignal();
      const state = signalState(signal);
      for (let index = 0; index < given.length; index++) {
        const { isAborted, reason } = signalState(given[index]);
        if (isAborted) {
          state.isAborted = true;
          state.reason = reason;
          return signal;
        }
      }
      state.sources = createList();
      for (let index = 0; index < given.length; index++) {
        const { sources } = signalState(given[index]);
        if (!sources) follow(given[index], signal, state);
        else for (let inner = 0; inner < sources.length; inner++) follow(sources[inner], signal, state);
      }
      return signal;
    }
    get aborted() {
      return this.#state.isAborted;
    }
    get reason() {
      return this.#state.reason;
    }
    throwIfAborted() {
      if (this.#state.isAborted) throw this.#state.reason;
    }
    get onabort() {
      return this.#state.handler ?? null;
    }
    set onabort(value) {
      const state = this.#state;
      state.handler = isObject(value) ? value : null;
      if (state.listener || !state.handler) return;
      const callback = (event) => {
        if (typeof state.handler === "function") ReflectApply(state.handler, this, [event]);
      };
      state.listener = {
        __proto__: null,
        type: "abort",
        callback,
        capture: false,
        once: false,
        passive: false,
      };
      const listeners = listenersOf(this);
      listeners[listeners.length] = state.listener;
    }
  }
  configureInterface(AbortSignal, "AbortSignal");

  const createSignal = () => new AbortSignal(TOKEN);
  const abortError = () => new DOMException("This operation was aborted", "AbortError");
  const follow = (source, signal, state) => {
    for (let index = 0; index < state.sources.length; index++) if (state.sources[index] === source) return;
    state.sources[state.sources.length] = source;
    const { dependents } = signalState(source);
    dependents[dependents.length] = signal;
  };
  const unfollow = (signal, state) => {
    for (let index = 0; state.sources && index < state.sources.length; index++) {
      remove(signalState(state.sources[index]).dependents, signal);
    }
  };

  const signalAbort = (signal, reason) => {
    const state = signalState(signal);
    if (state.isAborted) return;
    state.isAborted = true;
    state.reason = reason === undefined ? abortError() : reason;
    // All that depend on it are aborted before any listener runs, as the standard has it.
    const hit = createList();
    hit[0] = signal;
    for (let index = 0; index < state.dependents.length; index++) {
      const dependent = state.dependents[index];
      const inner = signalState(dependent);
      if (inner.isAborted) continue;
      inner.isAborted = true;
      inner.reason = state.reason;
      hit[hit.length] = dependent;
    }
    for (let index = 0; index < hit.length; index++) runAbort(hit[index]);
  };
  const runAbort = (signal) => {
    const state = signalState(signal);
    unfollow(signal, state);
    const { algorithms } = state;
    state.algorithms = createList();
    for (let index = 0; index < algorithms.length; index++) {
      try {
        algorithms[index](state.reason);
      } catch (error) {
        internal.report?.(error);
      }
    }
    const event = new Event("abort");
    eventState(event).isTrusted = true;
    dispatch(signal, listenersOf(signal), event, eventState(event));
  };

  class AbortController {
    #signal = createSignal();
    static {
      platform[2] = (value) => {
        // deno-lint-ignore prefer-primordials -- a brand check reads no property
        if (#signal in value) return "";
      };
    }
    get signal() {
      return this.#signal;
    }
    abort(reason) {
      signalAbort(this.#signal, reason);
    }
  }
  configureInterface(AbortController, "AbortController");

  const addAlgorithm = (signal, algorithm) => {
    const { algorithms } = signalState(signal);
    algorithms[algorithms.length] = algorithm;
  };
  const removeAlgorithm = (signal, algorithm) => remove(signalState(signal).algorithms, algorithm);

  /** For other parts: `state(value)` is `{isAborted, reason}` of a signal, undefined for anything else. */
  internal.abort = ObjectFreeze({
    __proto__: null,
    state: signalState,
    add: addAlgorithm,
    remove: removeAlgorithm,
  });

  define("Event", Event);
  define("CustomEvent", CustomEvent);
  define("EventTarget", EventTarget);
  define("AbortSignal", AbortSignal);
  define("AbortController", AbortController);
});
