// @ts-check
/**
 * fetch, Headers, Request, Response. Bodies are whole byte arrays: there are no streams yet, so `body` is null. What may be
 * sent, and where to, is the host's to say; this side keeps the shapes of the standard.
 */
((realm) => {
  "use strict";
  const { define, internal, op, primordials } = realm;
  const {
    JSONParse,
    JSONStringify,
    ObjectDefineProperty,
    RangeError,
    ReflectApply,
    ReflectGetOwnPropertyDescriptor,
    SafeRegExp,
    SafeWeakMap,
    StringPrototypeCharCodeAt,
    StringPrototypeIndexOf,
    StringPrototypeSlice,
    StringPrototypeToLowerCase,
    StringPrototypeToUpperCase,
    SymbolIterator,
    TypedArrayPrototypeGetBuffer,
    TypeError,
    Uint8Array,
    attributes,
    configureInterface,
    createList,
    newPromise,
    promiseThen,
  } = primordials;
  const { abort } = internal;
  const { AbortController, URL, URLSearchParams } = /** @type {any} */ (globalThis);
  const { parse } = URL;
  const hrefOf = ReflectGetOwnPropertyDescriptor(URL.prototype, "href").get;
  const formText = URLSearchParams.prototype.toString;

  const fail = (message) => {
    throw new TypeError(message);
  };
  /** What a method gives for an object of its class; undefined for every other value. */
  const attempt = (method, object) => {
    try {
      return ReflectApply(method, object, []);
    } catch {
      return undefined;
    }
  };

  /** Of all objects of the three classes. Each state has a `url` for the console, and is told apart by its other fields. */
  const states = new SafeWeakMap();
  const stateOf = (object) => states.get(object) ?? fail("Illegal invocation");
  internal.platform[internal.platform.length] = (value) => states.get(value)?.url;

  // Headers: a list of alternating names and values, sorted, one value for each name.

  const TOKEN = new SafeRegExp("^[!#$%&'*+.^_`|~0-9a-z-]+$", "i");
  const VALUE = new SafeRegExp("^[\\t\\n\\r ]*([\\x01-\\t\\v\\f\\x0e-\\xff]*?)[\\t\\n\\r ]*$");
  const NOT_ASCII = new SafeRegExp("[^\\0-\\x7f]");
  const readName = (name) => {
    if (name === undefined || TOKEN.exec(name = `${name}`) === null) fail("Invalid header name");
    return StringPrototypeToLowerCase(name);
  };
  const readValue = (value) => (VALUE.exec(`${value}`) ?? fail("Invalid header value"))[1];
  /** Where a name is, or would be. */
  const placeOf = (list, name) => {
    let at = 0;
    while (at < list.length && list[at] < name) at += 2;
    return at;
  };
  const get = (list, name) => {
    const at = placeOf(list, name);
    return list[at] === name ? list[at + 1] : null;
  };
  const put = (list, name, value, isAdded = false) => {
    const at = placeOf(list, name);
    if (list[at] === name) {
      list[at + 1] = isAdded ? `${list[at + 1]}, ${value}` : value;
      return;
    }
    for (let index = list.length; index-- > at;) list[index + 2] = list[index];
    list[at] = name;
    list[at + 1] = value;
  };

  const newIterator = internal.iteratorsOf("Headers", (headers) => stateOf(headers).list);
  class Headers {
    constructor(init = undefined) {
      const list = createList();
      states.set(this, { __proto__: null, url: "", list });
      if (init === undefined) return;
      if (init === null || typeof init !== "object") fail("Invalid headers");
      const given = states.get(init)?.list;
      if (given) { for (let index = 0; index < given.length; index++) list[index] = given[index]; }
      else internal.readPairs(init, (name, value) => put(list, readName(name), readValue(value), true));
    }
    append(name, value) {
      put(listToChange(this), readName(name), readValue(value), true);
    }
    delete(name) {
      const list = listToChange(this);
      name = readName(name);
      let at = placeOf(list, name);
      if (list[at] !== name) return;
      for (; at + 2 < list.length; at++) list[at] = list[at + 2];
      list.length -= 2;
    }
    get(name) {
      return get(stateOf(this).list, readName(name));
    }
    /** The host keeps cookies to itself, so there are none but the plugin's own. */
    getSetCookie() {
      const value = get(stateOf(this).list, "set-cookie");
      return value === null ? [] : [value];
    }
    has(name) {
      return get(stateOf(this).list, readName(name)) !== null;
    }
    set(name, value) {
      put(listToChange(this), readName(name), readValue(value));
    }
    forEach(callback, thisArg = undefined) {
      const { list } = stateOf(this);
      for (let at = 0; at < list.length; at += 2) {
        ReflectApply(callback, thisArg, [list[at + 1], list[at], this]);
      }
    }
    keys() {
      return newIterator(this, 0);
    }
    values() {
      return newIterator(this, 1);
    }
    entries() {
      return newIterator(this, 2);
    }
  }
  configureInterface(Headers, "Headers");
  ObjectDefineProperty(Headers.prototype, SymbolIterator, {
    __proto__: null,
    value: Headers.prototype.entries,
    writable: true,
    configurable: true,
  });
  const listToChange = (headers) => {
    const { isLocked, list } = stateOf(headers);
    return isLocked ? fail("The headers are immutable") : list;
  };
  const listOf = (state) => stateOf(state.headers).list;

  // Bodies: bytes, or null for none.

  // Of a typed array this constructor makes a copy without asking its iterator.
  const copyOf = (bytes) => new Uint8Array(bytes);
  const toText = (bytes) => {
    const text = internal.decodeUtf8(bytes);
    return StringPrototypeCharCodeAt(text, 0) === 0xfeff ? StringPrototypeSlice(text, 1) : text;
  };
  const refuseUsed = (state) => {
    if (state.bodyUsed) fail("The body was read before");
  };
  const consume = (object, convert) =>
    newPromise((resolve) => {
      const state = stateOf(object);
      refuseUsed(state);
      state.bodyUsed = state.bytes !== null;
      resolve(convert(state.bytes ?? copyOf(0)));
    });
  /** Gives a state its headers and, unless the body is null, its bytes and their type. */
  const fill = (state, headers, body) => {
    state.headers = new Headers(headers);
    if (body === null || body === undefined) return;
    const form = attempt(formText, body);
    let type = "text/plain";
    if (form !== undefined) type = "application/x-www-form-urlencoded";
    else if (typeof body === "object") {
      try {
        state.bytes = copyOf(internal.toBytes(body));
      } catch {
        fail("A body is text, URLSearchParams or bytes; streams, Blob and FormData are not there yet");
      }
      return;
    }
    state.bytes = internal.encodeUtf8(form ?? `${body}`);
    const list = listOf(state);
    if (get(list, "content-type") === null) put(list, "content-type", `${type};charset=UTF-8`);
  };
  /** Also the options of who gives none: it inherits nothing that a plugin could have put there. */
  const NO_BODY = { __proto__: null, body: null, bytes: null, bodyUsed: false };

  class Body {
    arrayBuffer() {
      return consume(this, (bytes) => TypedArrayPrototypeGetBuffer(copyOf(bytes)));
    }
    bytes() {
      return consume(this, copyOf);
    }
    json() {
      return consume(this, (bytes) => JSONParse(toText(bytes)));
    }
    text() {
      return consume(this, toText);
    }
  }
  attributes(Body, stateOf, ["url", "headers", "body", "bodyUsed"]);
  configureInterface(Body, "Body");

  const isOneOf = (word, words) => StringPrototypeIndexOf(words, ` ${word} `) >= 0;
  /** Keeps the URL as it was written, which the host will read, and as it is shown. */
  const readUrl = (state, input) => {
    const text = state.spelled = attempt(hrefOf, input) ?? `${input}`;
    const url = ReflectApply(parse, URL, [text]);
    // There are no tables here to map a host outside of ASCII; the host has them.
    if (url === null && NOT_ASCII.exec(text) === null) fail("Invalid URL");
    state.url = url === null ? text : ReflectApply(hrefOf, url, []);
  };
  const readMethod = (method) => {
    method = `${method}`;
    if (TOKEN.exec(method) === null) fail("Invalid method");
    const upper = StringPrototypeToUpperCase(method);
    return isOneOf(upper, " DELETE GET HEAD OPTIONS POST PUT ") ? upper : method;
  };

  class Request extends Body {
    constructor(input, init = undefined) {
      super();
      const found = states.get(input);
      const from = found?.method ? found : null;
      /** @type {any} */
      const state = { __proto__: null, method: "GET", redirect: "follow", ...NO_BODY, ...from };
      if (!from) readUrl(state, input);
      const { body, headers, integrity, method, redirect, signal } = init ?? NO_BODY;
      if (integrity) fail("integrity is not supported");
      if (method !== undefined) state.method = readMethod(method);
      if (redirect !== undefined) state.redirect = `${redirect}`;
      if (signal !== undefined) state.signal = signal;
      if (state.signal && !abort.state(state.signal)) fail("Invalid signal");
      fill(state, headers ?? from?.headers, body);
      if (from && (body === undefined || body === null)) {
        refuseUsed(from);
        from.bodyUsed = from.bytes !== null;
      }
      state.bodyUsed = false;
      if (state.bytes && isOneOf(state.method, " GET HEAD ")) fail("GET and HEAD have no body");
      states.set(this, state);
    }
    get signal() {
      return stateOf(this).signal ??= new AbortController().signal;
    }
    clone() {
      const copy = new Request(this);
      const state = stateOf(this);
      state.bodyUsed = false;
      return copy;
    }
  }
  attributes(Request, stateOf, ["method", "redirect"]);
  configureInterface(Request, "Request");

  class Response extends Body {
    constructor(body = null, init = undefined) {
      super();
      const { headers, status = 200, statusText = "" } = init ?? NO_BODY;
      const state = {
        __proto__: null,
        type: "default",
        url: "",
        redirected: false,
        status: +status,
        statusText: readValue(statusText),
        ...NO_BODY,
      };
      if (!(status >= 200 && status < 600)) throw new RangeError("Invalid status");
      fill(state, headers, body);
      if (state.bytes && isOneOf(status, " 204 205 304 ")) fail("This status has no body");
      states.set(this, state);
    }
    static error() {
      return answer({ __proto__: null, type: "error", status: 0 });
    }
    static json(data, init = undefined) {
      const text = JSONStringify(data);
      if (text === undefined) fail("The value is not JSON");
      const headers = new Headers(init?.headers);
      const { list } = stateOf(headers);
      if (get(list, "content-type") === null) put(list, "content-type", "application/json");
      return new Response(text, {
        __proto__: null,
        status: init?.status,
        statusText: init?.statusText,
        headers,
      });
    }
    static redirect(url, status = 302) {
      /** @type {any} */
      const state = { __proto__: null };
      if (!isOneOf(status, " 301 302 303 307 308 ")) throw new RangeError("Invalid status");
      readUrl(state, url);
      return answer({ __proto__: null, status: +status }, ["location", state.url]);
    }
    get ok() {
      const { status } = stateOf(this);
      return status >= 200 && status < 300;
    }
    clone() {
      const state = stateOf(this);
      refuseUsed(state);
      const copy = new Response();
      states.set(copy, { __proto__: null, ...state, headers: new Headers(state.headers) });
      return copy;
    }
  }
  attributes(Response, stateOf, ["type", "redirected", "status", "statusText"]);
  configureInterface(Response, "Response");

  /** A response whose headers are immutable. */
  const answer = (facts, headers = createList()) => {
    const response = new Response();
    const state = stateOf(response);
    const own = stateOf(state.headers);
    for (let at = 0; at < headers.length; at += 2) put(own.list, headers[at], headers[at + 1], true);
    own.isLocked = true;
    states.set(response, { __proto__: null, ...state, ...facts });
    return response;
  };

  let count = 0;
  // A method, so that it is no constructor.
  const { fetch } = {
    fetch(input, init = undefined) {
      return newPromise((resolve, reject) => {
        const { bytes, headers, method, redirect, signal, spelled } = stateOf(new Request(input, init));
        const key = ++count;
        const stop = (reason) => {
          reject(reason);
          promiseThen(op("fetch_abort", [key]), undefined, () => {});
        };
        const forget = () => {
          if (signal) abort.remove(signal, stop);
        };
        if (signal) {
          const { isAborted, reason } = abort.state(signal);
          if (isAborted) return reject(reason);
          abort.add(signal, stop);
        }
        const body = bytes && internal.bytesToBase64(bytes);
        promiseThen(
          op("fetch", [spelled, method, stateOf(headers).list, body, redirect, key]),
          ({ body, headers, ...facts }) => {
            forget();
            resolve(
              answer({ ...facts, type: "basic", bytes: internal.base64ToBytes(body) }, headers),
            );
          },
          (error) => {
            forget();
            reject(error);
          },
        );
      });
    },
  };

  define("Headers", Headers);
  define("Request", Request);
  define("Response", Response);
  define("fetch", fetch);
});
