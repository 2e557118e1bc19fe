// URL and URLSearchParams by the WHATWG standard, cut into slices instead of a machine that walks characters.
// No IDNA tables: a host outside of ASCII is refused. What a URL may reach is decided by the host, which parses it again.
((realm) => {
  "use strict";
  const { primordials, define, internal } = realm;
  const {
    append,
    ArrayPrototypeJoin,
    ArrayPrototypePop,
    ArrayPrototypeSort,
    configureInterface,
    createList,
    iterate,
    IteratorPrototype,
    MathFloor,
    Number,
    NumberPrototypeToString,
    ObjectDefineProperty,
    ObjectSetPrototypeOf,
    ReflectApply,
    ReflectGetOwnPropertyDescriptor,
    ReflectOwnKeys,
    required,
    StringPrototypeCharCodeAt,
    StringPrototypeIndexOf,
    StringPrototypeLastIndexOf,
    StringPrototypePadStart,
    StringPrototypeSlice,
    StringPrototypeStartsWith,
    StringPrototypeToLowerCase,
    StringPrototypeToUpperCase,
    StringPrototypeToWellFormed,
    SymbolIterator,
    SymbolToStringTag,
    TypeError,
    Uint8Array,
  } = primordials;
  const { decodeUtf8, encodeUtf8, platform } = internal;

  const slice = StringPrototypeSlice;
  const indexOf = StringPrototypeIndexOf;
  const has = (set, character) => character !== "" && indexOf(set, character) !== -1;
  const at = (text, index) => slice(text, index, index + 1);
  const code = (text, index) => index < text.length ? StringPrototypeCharCodeAt(text, index) : -1;
  const usv = (value) => StringPrototypeToWellFormed(`${value}`);
  const isDigit = (unit) => unit >= 48 && unit <= 57;
  const isAlpha = (unit) => (unit |= 32) >= 97 && unit <= 122;
  const hexValue = (unit) =>
    isDigit(unit) ? unit - 48 : isAlpha(unit) && (unit | 32) <= 102 ? (unit | 32) - 87 : -1;
  const fail = (why = "Invalid URL") => {
    throw new TypeError(why);
  };
  const split = (text, separators) => {
    const parts = createList();
    let from = 0;
    for (let index = 0; index <= text.length; index++) {
      if (index < text.length && !has(separators, at(text, index))) continue;
      parts[parts.length] = slice(text, from, index);
      from = index + 1;
    }
    return parts;
  };
  /** Index of the first of some characters, or the length. */
  const until = (text, stops, from = 0) => {
    while (from < text.length && !has(stops, at(text, from))) from++;
    return from;
  };

  // Percent-encode sets: what is in them beside controls and everything above "~".
  const FRAGMENT = ' "<>`';
  const QUERY = ' "#<>';
  const SPECIAL_QUERY = `${QUERY}'`;
  const PATH = `${QUERY}?^\`{}`;
  const USERINFO = `${PATH}/:;=@[\\]|`;
  const FORM = `${USERINFO}$%&+,!'()~`;
  const encode = (text, set) => {
    let index = 0;
    while (index < text.length) {
      const unit = StringPrototypeCharCodeAt(text, index);
      if (unit < 32 || unit > 126 || has(set, at(text, index))) break;
      index++;
    }
    if (index === text.length) return text;
    const bytes = encodeUtf8(slice(text, index));
    const pieces = createList();
    pieces[0] = slice(text, 0, index);
    for (let position = 0; bytes[position] !== undefined; position++) {
      const byte = bytes[position];
      const character = byte < 128 ? ASCII[byte] : "";
      pieces[position + 1] = byte < 32 || byte > 126 || has(set, character)
        ? `%${StringPrototypePadStart(StringPrototypeToUpperCase(NumberPrototypeToString(byte, 16)), 2, "0")}`
        : character;
    }
    return ArrayPrototypeJoin(pieces, "");
  };
  const ASCII = createList();
  for (let unit = 0; unit < 128; unit++) ASCII[unit] = primordials.StringFromCharCode(unit);

  const decodePercent = (text) => {
    if (indexOf(text, "%") === -1 && encode(text, "") === text) return text;
    const bytes = encodeUtf8(text);
    let length = 0;
    for (let index = 0; bytes[index] !== undefined; index++) {
      let byte = bytes[index];
      if (byte === 37) {
        const high = hexValue(bytes[index + 1] ?? 0), low = hexValue(bytes[index + 2] ?? 0);
        if (high >= 0 && low >= 0) {
          byte = high << 4 | low;
          index += 2;
        }
      }
      bytes[length++] = byte;
    }
    return decodeUtf8(new Uint8Array(primordials.TypedArrayPrototypeGetBuffer(bytes), 0, length));
  };

  // Hosts

  const parseIpv4Number = (text) => {
    let base = 10;
    if (text === "") return NaN;
    if (text.length > 1 && at(text, 0) === "0") {
      base = (code(text, 1) | 32) === 120 ? 16 : 8;
      text = slice(text, base === 16 ? 2 : 1);
    }
    let value = 0;
    for (let index = 0; index < text.length; index++) {
      const digit = hexValue(code(text, index));
      if (digit < 0 || digit >= base) return NaN;
      value = value * base + digit;
    }
    return value;
  };
  const parseIpv4 = (host) => {
    const parts = split(host, ".");
    if (parts[parts.length - 1] === "" && parts.length > 1) ArrayPrototypePop(parts);
    const last = parts[parts.length - 1];
    let isNumber = last !== "";
    for (let index = 0; index < last.length; index++) if (!isDigit(code(last, index))) isNumber = false;
    if (!isNumber && !(parseIpv4Number(last) >= 0)) return host;
    if (parts.length > 4) fail();
    let address = 0;
    for (let index = 0; index < parts.length; index++) {
      const value = parseIpv4Number(parts[index]);
      const isLast = index === parts.length - 1;
      if (!(value < (isLast ? 256 ** (5 - parts.length) : 256))) fail();
      address += isLast ? value : value * 256 ** (3 - index);
    }
    let text = "";
    for (let index = 3; index >= 0; index--) {
      text += `${MathFloor(address / 256 ** index) % 256}${index ? "." : ""}`;
    }
    return text;
  };

  const parseIpv6 = (text) => {
    const pieces = createList();
    for (let index = 0; index < 8; index++) pieces[index] = 0;
    let piece = 0, compress = -1, index = 0;
    if (code(text, 0) === 58) {
      if (code(text, 1) !== 58) fail();
      index = 2;
      compress = ++piece;
    }
    while (index < text.length) {
      if (piece === 8) fail();
      if (code(text, index) === 58) {
        if (compress >= 0) fail();
        index++;
        compress = ++piece;
        continue;
      }
      let value = 0, length = 0;
      while (length < 4 && hexValue(code(text, index)) >= 0) {
        value = value * 16 + hexValue(code(text, index++));
        length++;
      }
      if (code(text, index) === 46) {
        if (length === 0 || piece > 6) fail();
        index -= length;
        let seen = 0;
        for (; index < text.length; seen++) {
          if (seen > 0 && (code(text, index++) !== 46 || seen > 3)) fail();
          let byte = -1;
          if (!isDigit(code(text, index))) fail();
          for (; isDigit(code(text, index)); index++) {
            const digit = code(text, index) - 48;
            if (byte === 0) fail();
            byte = byte < 0 ? digit : byte * 10 + digit;
            if (byte > 255) fail();
          }
          pieces[piece] = pieces[piece] * 256 + byte;
          if (seen === 1 || seen === 3) piece++;
        }
        if (seen !== 4) fail();
        break;
      }
      if (code(text, index) === 58) {
        if (++index === text.length) fail();
      } else if (index < text.length) fail();
      pieces[piece++] = value;
    }
    if (compress >= 0) {
      for (let swaps = piece - compress, to = 7; to !== 0 && swaps > 0; to--, swaps--) {
        const from = compress + swaps - 1;
        const held = pieces[from];
        pieces[from] = pieces[to];
        pieces[to] = held;
      }
    } else if (piece !== 8) fail();
    let best = -1, bestLength = 1;
    for (let start = 0; start < 8; start++) {
      let end = start;
      while (end < 8 && pieces[end] === 0) end++;
      if (end - start > bestLength) {
        best = start;
        bestLength = end - start;
      }
      if (end > start) start = end;
    }
    let out = "";
    for (let index = 0; index < 8; index++) {
      if (index === best) {
        out += index === 0 ? "::" : ":";
        index += bestLength - 1;
        continue;
      }
      out += NumberPrototypeToString(pieces[index], 16) + (index < 7 ? ":" : "");
    }
    return `[${out}]`;
  };

  const FORBIDDEN = "\0\t\n\r #/:<>?@[\\]^|";
  const parseHost = (text, isOpaque) => {
    if (at(text, 0) === "[") {
      if (at(text, text.length - 1) !== "]") fail();
      return parseIpv6(slice(text, 1, -1));
    }
    if (isOpaque) {
      if (until(text, FORBIDDEN) < text.length) fail();
      return encode(text, "");
    }
    const domain = StringPrototypeToLowerCase(decodePercent(text));
    for (let index = 0; index < domain.length; index++) {
      const unit = code(domain, index);
      if (unit > 127) fail("Invalid URL: a host outside of ASCII must be written in its xn-- form");
      if (unit < 33 || unit === 127 || unit === 37 || has(FORBIDDEN, at(domain, index))) fail();
    }
    if (domain === "") fail();
    return parseIpv4(domain);
  };

  // URL records

  const PORTS = { __proto__: null, ftp: 21, file: 0, http: 80, https: 443, ws: 80, wss: 443 };
  const isSpecial = (url) => PORTS[url.scheme] !== undefined;
  const stopsOf = (url) => isSpecial(url) ? "/\\?#" : "/?#";
  const isSlash = (url, character) => character === "/" || character === "\\" && isSpecial(url);
  const isDrive = (text) => text.length === 2 && isAlpha(code(text, 0)) && has(":|", at(text, 1));
  const startsWithDrive = (text) =>
    isDrive(slice(text, 0, 2)) && (text.length === 2 || has("/\\?#", at(text, 2)));
  const isFile = (url) => url.scheme === "file";
  const hasCredentials = (url) => url.username !== "" || url.password !== "";
  const hasMore = (url) => hasCredentials(url) || url.port !== null;
  const shorten = (url) => {
    const { path } = url;
    const isPinned = isFile(url) && path.length === 1 && isDrive(path[0]) && at(path[0], 1) === ":";
    if (!isPinned && path.length > 0) ArrayPrototypePop(path);
  };
  const copyPath = (path) => {
    if (typeof path === "string") return path;
    const copy = createList();
    for (let index = 0; index < path.length; index++) copy[index] = path[index];
    return copy;
  };

  const parsePath = (url, text) => {
    const { path } = url;
    const parts = split(text, isSpecial(url) ? "/\\" : "/");
    for (let index = 0; index < parts.length; index++) {
      const isLast = index === parts.length - 1;
      let part = encode(parts[index], PATH);
      // At most six characters make a dot segment; longer ones need no lower case.
      const dots = part.length > 6 ? "" : StringPrototypeToLowerCase(part);
      if (dots === ".." || dots === ".%2e" || dots === "%2e." || dots === "%2e%2e") {
        shorten(url);
        if (isLast) path[path.length] = "";
      } else if (dots === "." || dots === "%2e") {
        if (isLast) path[path.length] = "";
      } else {
        if (isFile(url) && path.length === 0 && isDrive(part)) part = `${at(part, 0)}:`;
        path[path.length] = part;
      }
    }
  };
  const startPath = (url, text) => {
    url.path = createList();
    if (isSpecial(url)) parsePath(url, isSlash(url, at(text, 0)) ? slice(text, 1) : text);
    else if (text !== "") parsePath(url, at(text, 0) === "/" ? slice(text, 1) : text);
  };

  const parsePort = (url, text) => {
    const port = Number(text);
    if (port > 65535) fail();
    url.port = port === PORTS[url.scheme] ? null : port;
  };
  /** Index of the colon before a port; colons inside of brackets do not count. */
  const colonOf = (text) => {
    let isInside = false;
    for (let index = 0; index < text.length; index++) {
      const character = at(text, index);
      if (character === "[") isInside = true;
      else if (character === "]") isInside = false;
      else if (character === ":" && !isInside) return index;
    }
    return -1;
  };
  const parseAuthority = (url, text) => {
    const end = until(text, stopsOf(url));
    let authority = slice(text, 0, end);
    const sign = StringPrototypeLastIndexOf(authority, "@");
    if (sign !== -1) {
      const credentials = slice(authority, 0, sign);
      authority = slice(authority, sign + 1);
      if (authority === "") fail();
      const colon = indexOf(credentials, ":");
      url.username = encode(colon === -1 ? credentials : slice(credentials, 0, colon), USERINFO);
      if (colon !== -1) url.password = encode(slice(credentials, colon + 1), USERINFO);
    }
    const colon = colonOf(authority);
    const host = colon === -1 ? authority : slice(authority, 0, colon);
    if (host === "" && (colon !== -1 || isSpecial(url))) fail();
    url.host = parseHost(host, !isSpecial(url));
    if (colon !== -1 && colon + 1 < authority.length) {
      const port = slice(authority, colon + 1);
      for (let index = 0; index < port.length; index++) if (!isDigit(code(port, index))) fail();
      parsePort(url, port);
    }
    startPath(url, slice(text, end));
  };
  const parseFileHost = (text) => {
    const host = text === "" ? "" : parseHost(text, false);
    return host === "localhost" ? "" : host;
  };

  const parseFile = (url, text, base) => {
    url.host = "";
    const from = base && isFile(base) ? base : null;
    if (has("/\\", at(text, 0))) {
      if (has("/\\", at(text, 1))) {
        const end = until(text, "/\\", 2);
        const host = slice(text, 2, end);
        if (isDrive(host)) return parsePath(url, slice(text, 2));
        url.host = parseFileHost(host);
        return startPath(url, slice(text, end));
      }
      if (from) {
        url.host = from.host;
        const drive = from.path[0];
        const isKept = !startsWithDrive(slice(text, 1)) && drive !== undefined && isDrive(drive) &&
          at(drive, 1) === ":";
        if (isKept) url.path[0] = drive;
      }
      return parsePath(url, slice(text, 1));
    }
    if (!from) return parsePath(url, text);
    url.host = from.host;
    url.path = copyPath(from.path);
    if (text === "") {
      url.query ??= from.query;
      return;
    }
    if (startsWithDrive(text)) url.path = createList();
    else shorten(url);
    parsePath(url, text);
  };

  const parseRelative = (url, text, base) => {
    if (isSlash(url, at(text, 0)) && isSlash(url, at(text, 1))) {
      let start = 2;
      while (isSpecial(url) && has("/\\", at(text, start))) start++;
      return parseAuthority(url, slice(text, start));
    }
    url.username = base.username;
    url.password = base.password;
    url.host = base.host;
    url.port = base.port;
    if (isSlash(url, at(text, 0))) return parsePath(url, slice(text, 1));
    url.path = copyPath(base.path);
    if (text === "") {
      url.query ??= base.query;
      return;
    }
    shorten(url);
    parsePath(url, text);
  };

  const strip = (text) => {
    if (until(text, "\t\n\r") === text.length) return text;
    return ArrayPrototypeJoin(split(text, "\t\n\r"), "");
  };
  const isOpaque = (url) => typeof url.path === "string";
  const encodeQuery = (url, text) => encode(text, isSpecial(url) ? SPECIAL_QUERY : QUERY);
  const schemeEnd = (text) => {
    if (!isAlpha(code(text, 0))) return -1;
    let index = 1;
    while (isAlpha(code(text, index)) || isDigit(code(text, index)) || has("+-.", at(text, index))) index++;
    return index;
  };

  const parse = (input, base) => {
    let from = 0, to = input.length;
    while (from < to && code(input, from) <= 32) from++;
    while (to > from && code(input, to - 1) <= 32) to--;
    let text = strip(slice(input, from, to));
    /** @type {any} */
    const url = {
      __proto__: null,
      scheme: "",
      username: "",
      password: "",
      host: null,
      port: null,
      path: createList(),
      query: null,
      fragment: null,
    };
    const hash = indexOf(text, "#");
    if (hash !== -1) {
      url.fragment = encode(slice(text, hash + 1), FRAGMENT);
      text = slice(text, 0, hash);
    }
    const end = schemeEnd(text);
    const hasScheme = end > 0 && at(text, end) === ":";
    if (hasScheme) {
      url.scheme = StringPrototypeToLowerCase(slice(text, 0, end));
      text = slice(text, end + 1);
    } else {
      if (!base) fail();
      if (isOpaque(base) && (hash === -1 || text !== "")) fail();
      url.scheme = base.scheme;
    }
    const mark = indexOf(text, "?");
    const query = mark === -1 ? null : slice(text, mark + 1);
    if (mark !== -1) {
      url.query = encodeQuery(url, query);
      text = slice(text, 0, mark);
    }
    if (!hasScheme && isOpaque(base)) {
      url.path = base.path;
      url.query = base.query;
    } else if (isFile(url)) parseFile(url, text, base);
    else if (!hasScheme) parseRelative(url, text, base);
    else if (isSpecial(url)) {
      if (base && base.scheme === url.scheme && !StringPrototypeStartsWith(text, "//")) {
        parseRelative(url, text, base);
      } else {
        let start = 0;
        while (has("/\\", at(text, start))) start++;
        parseAuthority(url, slice(text, start));
      }
    } else if (StringPrototypeStartsWith(text, "//")) parseAuthority(url, slice(text, 2));
    else if (at(text, 0) === "/") parsePath(url, slice(text, 1));
    else {
      url.path = encode(text, "");
      const { length } = url.path;
      const isBeforeMore = mark !== -1 || hash !== -1;
      if (isBeforeMore && code(url.path, length - 1) === 32) {
        url.path = `${slice(url.path, 0, length - 1)}%20`;
      }
    }
    return url;
  };

  const pathOf = (url) => {
    if (isOpaque(url)) return url.path;
    return url.path.length > 0 ? `/${ArrayPrototypeJoin(url.path, "/")}` : "";
  };
  const hostOf = (url) => url.host === null ? "" : url.port === null ? url.host : `${url.host}:${url.port}`;
  const href = (url) => {
    let text = `${url.scheme}:`;
    if (url.host !== null) {
      text += "//";
      if (hasCredentials(url)) {
        text += `${url.username}${url.password === "" ? "" : `:${url.password}`}@`;
      }
      text += hostOf(url);
    } else if (!isOpaque(url) && url.path.length > 1 && url.path[0] === "") text += "/.";
    text += pathOf(url);
    if (url.query !== null) text += `?${url.query}`;
    if (url.fragment !== null) text += `#${url.fragment}`;
    return text;
  };
  const hasNoPort = (url) => url.host === null || url.host === "" || isFile(url);

  // Applications of the parser to one part; a part that does not parse leaves the URL as it was.
  const setHost = (url, text, isHostname) => {
    if (isOpaque(url)) return;
    text = strip(text);
    text = slice(text, 0, until(text, stopsOf(url)));
    if (isFile(url)) {
      url.host = parseFileHost(text);
      return;
    }
    const colon = colonOf(text);
    if (colon !== -1 && isHostname) return;
    const host = colon === -1 ? text : slice(text, 0, colon);
    if (
      host === "" &&
      (colon !== -1 || isSpecial(url) || hasMore(url))
    ) {
      return;
    }
    url.host = parseHost(host, !isSpecial(url));
    if (colon !== -1) setPort(url, slice(text, colon + 1));
  };
  const setPort = (url, text) => {
    let end = 0;
    while (isDigit(code(text, end))) end++;
    if (end > 0) parsePort(url, slice(text, 0, end));
  };
  const setScheme = (url, text) => {
    text = `${strip(text)}:`;
    const end = schemeEnd(text);
    if (end < 1 || at(text, end) !== ":") return;
    const scheme = StringPrototypeToLowerCase(slice(text, 0, end));
    if (isSpecial(url) !== (PORTS[scheme] !== undefined)) return;
    if (scheme === "file" && hasMore(url)) return;
    if (isFile(url) && url.host === "") return;
    url.scheme = scheme;
    if (url.port === PORTS[scheme]) url.port = null;
  };
  const setPath = (url, text) => {
    if (isOpaque(url)) return;
    text = strip(text);
    startPath(url, text);
    if (text === "" && url.host === null) url.path[0] = "";
  };
  const setCredential = (url, part, text) => {
    if (!hasNoPort(url)) url[part] = encode(text, USERINFO);
  };
  const attempt = (change, url, text, flag = false) => {
    try {
      change(url, text, flag);
    } catch {
      // A setter ignores what does not parse.
    }
  };

  // Parameters: a list of alternating names and values.

  const parseForm = (text) => {
    const list = createList();
    const parts = split(text, "&");
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index];
      if (part === "") continue;
      const equals = indexOf(part, "=");
      const read = (piece) => decodePercent(ArrayPrototypeJoin(split(piece, "+"), " "));
      list[list.length] = read(equals === -1 ? part : slice(part, 0, equals));
      list[list.length] = read(equals === -1 ? "" : slice(part, equals + 1));
    }
    return list;
  };
  const formEncode = (text) => {
    if (encode(text, FORM) === text) return text;
    const pieces = split(text, " ");
    for (let index = 0; index < pieces.length; index++) pieces[index] = encode(pieces[index], FORM);
    return ArrayPrototypeJoin(pieces, "+");
  };
  const formText = (list) => {
    const pieces = createList();
    for (let index = 0; index < list.length; index += 2) {
      pieces[pieces.length] = `${formEncode(list[index])}=${formEncode(list[index + 1])}`;
    }
    return ArrayPrototypeJoin(pieces, "&");
  };

  const isPair = (list, index, name, value) =>
    list[index] === name && (value === undefined || list[index + 1] === value);
  const addPair = (list, name, value) => {
    name = usv(name);
    value = usv(value);
    list[list.length] = name;
    list[list.length] = value;
  };
  const findPair = (list, name, value, from) => {
    for (let index = from; index < list.length; index += 2) {
      if (isPair(list, index, name, value)) return index;
    }
    return -1;
  };
  const removePairs = (list, name, value, from) => {
    let kept = from;
    for (let index = from; index < list.length; index += 2) {
      if (isPair(list, index, name, value)) continue;
      list[kept++] = list[index];
      list[kept++] = list[index + 1];
    }
    list.length = kept;
  };

  const iterators = new primordials.SafeWeakMap();
  /** A maker of iterators over alternating names and values: of names (0), values (1) or both (2). */
  const iteratorsOf = internal.iteratorsOf = (name, listOf) => {
    const prototype = ObjectSetPrototypeOf({
      next() {
        return advance(this, listOf);
      },
    }, IteratorPrototype);
    ObjectDefineProperty(prototype, SymbolToStringTag, {
      __proto__: null,
      value: `${name} Iterator`,
      configurable: true,
    });
    return (object, kind) => {
      const iterator = ObjectSetPrototypeOf({}, prototype);
      listOf(object);
      iterators.set(iterator, { __proto__: null, object, kind, index: 0 });
      return iterator;
    };
  };
  const advance = (iterator, listOf) => {
    const state = iterators.get(iterator);
    if (!state) throw new TypeError("Illegal invocation");
    const { index, kind, object } = state;
    const list = listOf(object);
    if (index >= list.length) return { value: undefined, done: true };
    state.index += 2;
    return { value: kind === 2 ? [list[index], list[index + 1]] : list[index + kind], done: false };
  };

  /** Reads what a plugin gives as pairs: an iterable of two values each, or the fields of a record. */
  const readPairs = internal.readPairs = (init, addPair, addField = addPair) => {
    const method = init[SymbolIterator];
    if (method === undefined || method === null) {
      const keys = ReflectOwnKeys(init);
      for (let index = 0; index < keys.length; index++) {
        if (!ReflectGetOwnPropertyDescriptor(init, keys[index])?.enumerable) continue;
        addField(keys[index], init[keys[index]]);
      }
      return;
    }
    iterate(init, method, (pair) => {
      const values = createList();
      const inner = pair?.[SymbolIterator];
      if (typeof pair === "object" && typeof inner === "function") {
        iterate(pair, inner, (value) => {
          if (values.length < 3) values[values.length] = value;
        });
      }
      if (values.length !== 2) throw new TypeError("A pair is not two values");
      addPair(values[0], values[1]);
    });
  };

  const createIterator = iteratorsOf("URLSearchParams", (params) => listOf(params));

  let attach, listOf;
  class URLSearchParams {
    #list = createList();
    #url = null;
    static {
      listOf = (params) => params.#list;
      attach = (url) => {
        const params = new URLSearchParams();
        params.#url = url;
        params.#list = parseForm(url.query ?? "");
        url.refresh = () => params.#list = parseForm(url.query ?? "");
        return params;
      };
      platform[platform.length] = (value) => {
        // deno-lint-ignore prefer-primordials -- a brand check reads no property
        if (#list in value) return formText(value.#list);
      };
    }
    constructor(/** @type {any} */ init = "") {
      const list = this.#list;
      if (init === null || typeof init !== "object" && typeof init !== "function") {
        const text = usv(init);
        this.#list = parseForm(at(text, 0) === "?" ? slice(text, 1) : text);
        return;
      }
      readPairs(init, (name, value) => addPair(list, name, value), (key, value) => {
        // Names that differ only in lone surrogates are one name; the later value wins.
        const name = usv(key);
        value = usv(value);
        let position = findPair(list, name, undefined, 0);
        if (position < 0) position = list.length;
        list[position] = name;
        list[position + 1] = value;
      });
    }
    #update() {
      const url = this.#url;
      if (!url) return;
      const text = formText(this.#list);
      url.query = text === "" ? null : text;
    }
    get size() {
      return this.#list.length / 2;
    }
    append(name, value) {
      required(arguments.length, 2);
      addPair(this.#list, name, value);
      this.#update();
    }
    delete(name, value = undefined) {
      required(arguments.length, 1);
      const list = this.#list;
      name = usv(name);
      if (value !== undefined) value = usv(value);
      removePairs(list, name, value, 0);
      this.#update();
    }
    get(name) {
      required(arguments.length, 1);
      const list = this.#list;
      const index = findPair(list, usv(name), undefined, 0);
      return index < 0 ? null : list[index + 1];
    }
    getAll(name) {
      required(arguments.length, 1);
      const list = this.#list;
      const found = [];
      name = usv(name);
      for (let index = -2; (index = findPair(list, name, undefined, index + 2)) >= 0;) {
        append(found, list[index + 1]);
      }
      return found;
    }
    has(name, value = undefined) {
      required(arguments.length, 1);
      const list = this.#list;
      name = usv(name);
      return findPair(list, name, value === undefined ? value : usv(value), 0) >= 0;
    }
    set(name, value) {
      required(arguments.length, 2);
      const list = this.#list;
      name = usv(name);
      value = usv(value);
      let index = findPair(list, name, undefined, 0);
      if (index < 0) {
        index = list.length;
        list[index] = name;
      }
      list[index + 1] = value;
      removePairs(list, name, undefined, index + 2);
      this.#update();
    }
    sort() {
      const list = this.#list;
      const pairs = createList();
      for (let index = 0; index < list.length; index += 2) {
        pairs[index / 2] = { __proto__: null, name: list[index], value: list[index + 1] };
      }
      ArrayPrototypeSort(
        pairs,
        (left, right) => left.name < right.name ? -1 : left.name > right.name ? 1 : 0,
      );
      for (let index = 0; index < pairs.length; index++) {
        list[2 * index] = pairs[index].name;
        list[2 * index + 1] = pairs[index].value;
      }
      this.#update();
    }
    forEach(callback, thisArg = undefined) {
      required(arguments.length, 1);
      this.#list;
      if (typeof callback !== "function") throw new TypeError("The callback is not a function");
      for (let index = 0; index < this.#list.length; index += 2) {
        ReflectApply(callback, thisArg, [this.#list[index + 1], this.#list[index], this]);
      }
    }
    keys() {
      return createIterator(this, 0);
    }
    values() {
      return createIterator(this, 1);
    }
    entries() {
      return createIterator(this, 2);
    }
    toString() {
      return formText(this.#list);
    }
  }
  configureInterface(URLSearchParams, "URLSearchParams");
  ObjectDefineProperty(URLSearchParams.prototype, SymbolIterator, {
    __proto__: null,
    value: URLSearchParams.prototype.entries,
    writable: true,
    configurable: true,
  });

  const parseWith = (url, base = undefined) => {
    url = usv(url);
    return parse(url, base === undefined ? null : parse(usv(base), null));
  };
  const tryParse = (url, base = undefined) => {
    try {
      return parseWith(url, base);
    } catch {
      return null;
    }
  };
  const TOKEN = {};
  class URL {
    #url;
    #params = null;
    static {
      platform[platform.length] = (value) => {
        // deno-lint-ignore prefer-primordials -- a brand check reads no property
        if (#url in value) return href(value.#url);
      };
    }
    constructor(url, base = undefined) {
      required(arguments.length, 1);
      this.#url = base === TOKEN ? url : parseWith(url, base);
    }
    static parse(url, base = undefined) {
      required(arguments.length, 1);
      const parsed = tryParse(usv(url), base === undefined ? base : usv(base));
      return parsed && new URL(parsed, TOKEN);
    }
    static canParse(url, base = undefined) {
      required(arguments.length, 1);
      return tryParse(usv(url), base === undefined ? base : usv(base)) !== null;
    }
    get href() {
      return href(this.#url);
    }
    set href(value) {
      const { refresh } = this.#url;
      const held = this.#url;
      const parsed = parse(usv(value), null);
      // The record is changed, not replaced: its parameters hold on to it.
      const keys = ReflectOwnKeys(parsed);
      for (let index = 0; index < keys.length; index++) held[keys[index]] = parsed[keys[index]];
      refresh?.();
    }
    get origin() {
      let url = this.#url;
      if (url.scheme === "blob") {
        url = tryParse(pathOf(url));
        if (url?.scheme !== "http" && url?.scheme !== "https") return "null";
      }
      return isSpecial(url) && !isFile(url) ? `${url.scheme}://${hostOf(url)}` : "null";
    }
    get protocol() {
      return `${this.#url.scheme}:`;
    }
    set protocol(value) {
      setScheme(this.#url, usv(value));
    }
    get username() {
      return this.#url.username;
    }
    set username(value) {
      setCredential(this.#url, "username", usv(value));
    }
    get password() {
      return this.#url.password;
    }
    set password(value) {
      setCredential(this.#url, "password", usv(value));
    }
    get host() {
      return hostOf(this.#url);
    }
    set host(value) {
      attempt(setHost, this.#url, usv(value), false);
    }
    get hostname() {
      return this.#url.host ?? "";
    }
    set hostname(value) {
      attempt(setHost, this.#url, usv(value), true);
    }
    get port() {
      return `${this.#url.port ?? ""}`;
    }
    set port(value) {
      const url = this.#url;
      value = usv(value);
      if (hasNoPort(url)) return;
      if (value === "") url.port = null;
      else attempt(setPort, url, strip(value));
    }
    get pathname() {
      return pathOf(this.#url);
    }
    set pathname(value) {
      setPath(this.#url, usv(value));
    }
    get search() {
      const { query } = this.#url;
      return query === null || query === "" ? "" : `?${query}`;
    }
    set search(value) {
      const url = this.#url;
      value = usv(value);
      url.query = value === ""
        ? null
        : encodeQuery(url, strip(at(value, 0) === "?" ? slice(value, 1) : value));
      url.refresh?.();
    }
    get searchParams() {
      return this.#params ??= attach(this.#url);
    }
    get hash() {
      const { fragment } = this.#url;
      return fragment === null || fragment === "" ? "" : `#${fragment}`;
    }
    set hash(value) {
      const url = this.#url;
      value = usv(value);
      url.fragment = value === ""
        ? null
        : encode(strip(at(value, 0) === "#" ? slice(value, 1) : value), FRAGMENT);
    }
    toString() {
      return href(this.#url);
    }
    toJSON() {
      return href(this.#url);
    }
  }
  configureInterface(URL, "URL");

  define("URL", URL);
  define("URLSearchParams", URLSearchParams);
});
