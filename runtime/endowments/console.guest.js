// console: formatted here, so that only text leaves the guest. The inspector reads descriptors, never a getter of the plugin,
// and has a bound on depth, entries and length; a proxy's traps may run, and may throw without harm.
((realm) => {
  "use strict";
  const { primordials, define, internal, post } = realm;
  const {
    ArrayBufferIsView,
    ArrayBufferPrototype,
    ArrayBufferPrototypeGetByteLength,
    ArrayIsArray,
    ArrayPrototypeJoin,
    ArrayPrototypePop,
    createList,
    DateNow,
    DatePrototype,
    DatePrototypeToISOString,
    Error,
    ErrorIsError,
    FunctionPrototypeToString,
    JSONStringify,
    ownDescriptor,
    MapPrototype,
    MapPrototypeForEach,
    MapPrototypeGetSize,
    MathMax,
    MathMin,
    NumberIsInteger,
    NumberParseFloat,
    NumberParseInt,
    ObjectDefineProperty,
    ObjectGetPrototypeOf,
    ObjectIs,
    ObjectPrototype,
    ObjectPrototypeIsPrototypeOf,
    ReflectApply,
    ReflectOwnKeys,
    RegExpPrototype,
    RegExpPrototypeGetSource,
    SafeMap,
    SetPrototype,
    SetPrototypeForEach,
    SetPrototypeGetSize,
    StringPrototypeCharCodeAt,
    StringPrototypeIndexOf,
    StringPrototypePadEnd,
    StringPrototypeRepeat,
    StringPrototypeSlice,
    StringPrototypeStartsWith,
    SymbolPrototypeToString,
    SymbolToStringTag,
    TypedArrayPrototypeGetLength,
    TypedArrayPrototypeGetSymbolToStringTag,
  } = primordials;
  const { domExceptionState, flagsOf, platform, unboxed, unitsThatFit } = internal;

  const LINE_BYTES_MAX = 8192;
  const TEXT_UNITS_MAX = 262144;
  const INSPECT_UNITS_MAX = 32768;
  const ENTRIES_MAX = 100;
  const PROTOTYPES_MAX = 32;
  const LABELS_MAX = 1000;
  const DEPTH = 3;

  const slice = StringPrototypeSlice;
  const inherits = ObjectPrototypeIsPrototypeOf;
  const stackGetter = ownDescriptor(new Error(), "stack")?.get;

  /** A data property, own or inherited; undefined for an accessor. Says through `isRead` whether a getter stood in the way. */
  let isRead = true;
  const peek = (object, key) => {
    for (let hops = 0; object !== null && hops < PROTOTYPES_MAX; hops++) {
      const descriptor = ownDescriptor(object, key);
      if (descriptor) {
        isRead = descriptor.writable !== undefined;
        return descriptor.value;
      }
      object = ObjectGetPrototypeOf(object);
    }
    isRead = true;
    return undefined;
  };

  const isWord = (unit, isFirst) =>
    unit === 36 || unit === 95 || unit >= 65 && unit <= 90 || unit >= 97 && unit <= 122 ||
    !isFirst && unit >= 48 && unit <= 57;
  const isIdentifier = (text) => {
    for (let index = 0; index < text.length; index++) {
      if (!isWord(StringPrototypeCharCodeAt(text, index), index === 0)) return false;
    }
    return text !== "";
  };
  // On a primitive string this looks nothing up. What a terminal must not see is escaped where text is shown, by the host.
  const quote = JSONStringify;
  const brief = (text, state) => {
    const room = MathMax(state.left, 0);
    if (text.length <= room) return quote(text);
    return `${quote(slice(text, 0, room))}... ${text.length - room} more characters`;
  };

  const formatPrimitive = (value, state) => {
    switch (typeof value) {
      case "string":
        return brief(value, state);
      case "symbol":
        return SymbolPrototypeToString(value);
      case "bigint":
        return `${value}n`;
      case "number":
        return ObjectIs(value, -0) ? "-0" : `${value}`;
      default:
        return `${value}`;
    }
  };

  const classNameOf = (value) => {
    const prototype = ObjectGetPrototypeOf(value);
    if (prototype === ObjectPrototype) return "Object";
    if (prototype === primordials.ArrayPrototype) return "Array";
    for (let object = value, hops = 0; object !== null && hops < PROTOTYPES_MAX; hops++) {
      const constructor = ownDescriptor(object, "constructor")?.value;
      const made = typeof constructor === "function" ? peek(constructor, "prototype") : undefined;
      // isPrototypeOf throws for undefined, and an arrow function has no prototype.
      if (made && inherits(made, value)) {
        const name = peek(constructor, "name");
        if (typeof name === "string" && name !== "") return name;
      }
      object = ObjectGetPrototypeOf(object);
    }
    return "";
  };
  const headOf = (value, fallback) => {
    const name = classNameOf(value);
    const tag = peek(value, SymbolToStringTag);
    const head = name === "" ? `[${fallback}: null prototype]` : name;
    return typeof tag === "string" && tag !== "" && tag !== name ? `${head} [${tag}]` : head;
  };

  const formatFunction = (value) => {
    const name = peek(value, "name");
    const isClass = StringPrototypeStartsWith(FunctionPrototypeToString(value), "class");
    const text = typeof name === "string" && name !== "" ? name : "(anonymous)";
    return isClass ? `[class ${text}]` : `[Function${text === "(anonymous)" ? " " : ": "}${text}]`;
  };

  const isPlainWord = (value) => value === undefined || typeof value === "string";
  const formatError = (value) => {
    const platformState = domExceptionState(value);
    const name = platformState ? platformState.name : peek(value, "name");
    let isSafe = platformState || isRead && isPlainWord(name);
    const message = platformState ? platformState.message : peek(value, "message");
    isSafe = platformState || isSafe && isRead && isPlainWord(message);
    const head = `${isPlainWord(name) && name || "Error"}${
      isPlainWord(message) && message ? `: ${message}` : ""
    }`;
    const own = ownDescriptor(value, "stack");
    let stack = own?.value;
    // The engine writes the stack at the first look, and reads name and message then: not if they are the plugin's getters.
    if (own && stack === undefined && isSafe && stackGetter && own.get === stackGetter) {
      stack = ReflectApply(stackGetter, value, []);
    }
    return typeof stack === "string" && stack !== "" ? stack : `[${head}]`;
  };

  const attempt = (read, value) => {
    try {
      return read(value);
    } catch {
      return undefined;
    }
  };

  const inspect = (value, state, depth) => {
    if (value === null || typeof value !== "object" && typeof value !== "function") {
      return formatPrimitive(value, state);
    }
    if (state.left <= 0) return "...";
    for (let index = 0; index < state.seen.length; index++) {
      if (state.seen[index] === value) return "[Circular]";
    }
    state.seen[state.seen.length] = value;
    try {
      return inspectObject(value, state, depth);
    } catch {
      return "[Inaccessible]";
    } finally {
      ArrayPrototypePop(state.seen);
    }
  };

  const inspectObject = (value, state, depth) => {
    const parts = createList();
    let open = "{", close = "}", head = "", count = 0, skipsIndexes = false, isWhole = true;
    const isFull = () => parts.length >= ENTRIES_MAX || state.left <= 0;
    const add = (text) => {
      state.left -= text.length + 2;
      parts[parts.length] = text;
    };
    const more = (rest) => {
      if (rest > 0) parts[parts.length] = `... ${rest} more item${rest > 1 ? "s" : ""}`;
    };
    const inner = (item) => inspect(item, state, depth + 1);
    const isTooDeep = !(depth <= state.depth);

    if (typeof value === "function") head = formatFunction(value);
    else if (ArrayIsArray(value)) {
      const name = headOf(value, "Array");
      const { length } = value;
      head = name === "Array" ? "" : `${name}(${length})`;
      if (isTooDeep) return `[${name}]`;
      open = "[";
      close = "]";
      skipsIndexes = true;
      isWhole = false;
      let index = 0, holes = 0;
      for (; index < length && (!isFull() || holes > 0); index++) {
        const descriptor = ownDescriptor(value, index);
        if (descriptor === undefined) {
          // A sparse array of any length costs no more than its bound.
          if (holes++ < 10000) continue;
          holes += length - index - 1;
          index = length;
        }
        if (holes > 0) add(`<${holes} empty item${holes > 1 ? "s" : ""}>`);
        holes = 0;
        if (descriptor && isFull()) break;
        if (descriptor) add(formatDescriptor(descriptor, inner));
      }
      if (holes > 0) add(`<${holes} empty item${holes > 1 ? "s" : ""}>`);
      more(length - index);
    } else if (ArrayBufferIsView(value)) {
      const tag = TypedArrayPrototypeGetSymbolToStringTag(value);
      if (tag === undefined) {
        head = "DataView";
        add(`byteLength: ${primordials.DataViewPrototypeGetByteLength(value)}`);
      } else {
        const length = TypedArrayPrototypeGetLength(value);
        head = `${tag}(${length})`;
        if (isTooDeep) return `[${tag}]`;
        open = "[";
        close = "]";
        skipsIndexes = true;
        isWhole = false;
        let index = 0;
        for (; index < length && !isFull(); index++) add(formatPrimitive(value[index], state));
        more(length - index);
      }
    } else if (ErrorIsError(value)) {
      head = formatError(value);
      const hidden = ["cause", "errors"];
      for (let index = 0; index < 2 && !isTooDeep; index++) {
        const descriptor = ownDescriptor(value, hidden[index]);
        if (descriptor && !descriptor.enumerable) {
          add(`[${hidden[index]}]: ${formatDescriptor(descriptor, inner)}`);
        }
      }
    } else {
      const time = inherits(DatePrototype, value) && attempt(primordials.DatePrototypeGetTime, value);
      const source = inherits(RegExpPrototype, value) && attempt(RegExpPrototypeGetSource, value);
      const mapSize = inherits(MapPrototype, value) ? attempt(MapPrototypeGetSize, value) : undefined;
      const setSize = inherits(SetPrototype, value) ? attempt(SetPrototypeGetSize, value) : undefined;
      const bytes = inherits(ArrayBufferPrototype, value)
        ? attempt(ArrayBufferPrototypeGetByteLength, value)
        : undefined;
      if (typeof time === "number") head = time === time ? DatePrototypeToISOString(value) : "Invalid Date";
      else if (typeof source === "string") head = `/${source}/${flagsOf(value)}`;
      else if (mapSize !== undefined || setSize !== undefined) {
        const name = headOf(value, mapSize === undefined ? "Set" : "Map");
        head = `${name}(${mapSize ?? setSize})`;
        if (isTooDeep) return `[${name}]`;
        isWhole = false;
        const addItem = (item, key) => {
          if (isFull()) count++;
          else add(mapSize === undefined ? inner(item) : `${inner(key)} => ${inner(item)}`);
        };
        if (mapSize === undefined) SetPrototypeForEach(value, addItem);
        else MapPrototypeForEach(value, addItem);
        more(count);
      } else if (bytes !== undefined) {
        head = "ArrayBuffer";
        add(`byteLength: ${bytes}`);
      } else {
        const box = unboxed(value);
        let words;
        for (let index = 0; index < platform.length && words === undefined; index++) {
          words = platform[index](value);
        }
        if (box) {
          head = `[${box.kind}: ${formatPrimitive(box.value, { __proto__: null, left: 1000 })}]`;
          skipsIndexes = true;
        } else {
          const name = headOf(value, "Object");
          head = name === "Object" ? "" : name;
          if (words) head += ` ${quote(words)}`;
          else if (isTooDeep) return `[${name}]`;
          isWhole = !!words;
        }
      }
    }
    const keys = isTooDeep ? [] : ReflectOwnKeys(value);
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index];
      // Index keys come first and were shown as items.
      if (skipsIndexes && typeof key === "string" && NumberIsInteger(+key) && key !== "") continue;
      if (isFull()) {
        more(keys.length - index);
        break;
      }
      const descriptor = ownDescriptor(value, key);
      if (!descriptor?.enumerable) continue;
      const name = typeof key === "symbol"
        ? SymbolPrototypeToString(key)
        : isIdentifier(key)
        ? key
        : quote(key);
      add(`${name}: ${formatDescriptor(descriptor, inner)}`);
    }
    return assemble(head, open, close, parts, isWhole);
  };

  const formatDescriptor = (descriptor, inner) => {
    if (descriptor.writable !== undefined) return inner(descriptor.value);
    return descriptor.get ? descriptor.set ? "[Getter/Setter]" : "[Getter]" : "[Setter]";
  };

  const assemble = (head, open, close, parts, isWhole) => {
    if (parts.length === 0 && isWhole) return head;
    const prefix = head === "" ? "" : `${head} `;
    if (parts.length === 0) return prefix + open + close;
    let width = prefix.length + parts.length, isFlat = StringPrototypeIndexOf(head, "\n") === -1;
    for (let index = 0; index < parts.length; index++) {
      width += parts[index].length;
      if (StringPrototypeIndexOf(parts[index], "\n") !== -1) isFlat = false;
    }
    if (isFlat && width <= 76) {
      return `${prefix}${open} ${ArrayPrototypeJoin(parts, ", ")} ${close}`;
    }
    for (let index = 0; index < parts.length; index++) parts[index] = indent(parts[index]);
    return `${prefix}${open}\n${ArrayPrototypeJoin(parts, ",\n")}\n${close}`;
  };

  const lines = (text) => {
    const list = createList();
    let from = 0;
    for (;;) {
      const end = StringPrototypeIndexOf(text, "\n", from);
      list[list.length] = slice(text, from, end === -1 ? text.length : end);
      if (end === -1) return list;
      from = end + 1;
    }
  };
  const indent = (text) => `  ${ArrayPrototypeJoin(lines(text), "\n  ")}`;

  /** The text that console shows for a value; never throws, at most some 32 KiB. */
  const show = (value, depth = DEPTH) =>
    inspect(value, { __proto__: null, depth, left: INSPECT_UNITS_MAX, seen: createList() }, 0);

  const specifiers = {
    __proto__: null,
    s(value) {
      if (typeof value === "string") return value;
      return show(value, 0);
    },
    d: (value) => toNumber(value, (given) => +given),
    i: (value) => toNumber(value, (given) => NumberParseInt(given, 10)),
    f: (value) => toNumber(value, NumberParseFloat),
    o: (value) => show(value, DEPTH + 1),
    O: (value) => show(value),
    j(value) {
      try {
        return `${JSONStringify(value)}`;
      } catch {
        return "[Not JSON]";
      }
    },
    c: () => "",
  };
  const toNumber = (value, convert) => {
    if (typeof value === "bigint") return `${value}n`;
    if (
      typeof value === "object" && value !== null || typeof value === "symbol" || typeof value === "function"
    ) return "NaN";
    return formatPrimitive(convert(value), null);
  };

  const format = (args) => {
    let text = "", used = 0;
    if (args.length > 1 && typeof args[0] === "string") {
      const template = args[0];
      let from = 0;
      used = 1;
      for (;;) {
        const at = StringPrototypeIndexOf(template, "%", from);
        if (at === -1 || used >= args.length || text.length > TEXT_UNITS_MAX) break;
        const letter = slice(template, at + 1, at + 2);
        const specifier = specifiers[letter];
        text += slice(template, from, at);
        if (letter === "%") text += "%";
        else if (specifier) text += specifier(args[used++]);
        else text += `%${letter}`;
        from = at + 2;
      }
      text += slice(template, from);
    }
    for (; used < args.length; used++) {
      const value = args[used];
      if (text.length > TEXT_UNITS_MAX) break;
      text += `${used > 0 ? " " : ""}${typeof value === "string" ? value : show(value)}`;
    }
    return text;
  };

  let groups = "";
  const print = (level, text) => {
    if (text.length > TEXT_UNITS_MAX) {
      text = `${slice(text, 0, TEXT_UNITS_MAX)}\n... ${text.length - TEXT_UNITS_MAX} more characters`;
    }
    const list = lines(text);
    let held = "";
    for (let index = 0; index < list.length; index++) {
      let line = groups + list[index];
      if (line.length * 3 > LINE_BYTES_MAX && unitsThatFit(line, LINE_BYTES_MAX) < line.length) {
        const kept = unitsThatFit(line, LINE_BYTES_MAX - 40);
        line = `${slice(line, 0, kept)}... ${line.length - kept} more characters`;
      }
      // Lines travel together while they fit; the bound is on units here, times three it is one on bytes.
      if (index > 0 && (held.length + line.length + 1) * 3 > LINE_BYTES_MAX) {
        post(level, held);
        held = line;
      } else held = index === 0 ? line : `${held}\n${line}`;
    }
    post(level, held);
  };

  const counts = new SafeMap();
  const timers = new SafeMap();
  const labelOf = (label) => slice(`${label}`, 0, 256);
  const tellTime = (label, text) => {
    if (!timers.has(label)) return print("warn", `Timer '${label}' does not exist`);
    print("log", `${label}: ${DateNow() - timers.get(label)}ms${text === "" ? "" : ` ${text}`}`);
  };
  const keep = (map, label, value) => {
    if (map.has(label) || map.size < LABELS_MAX) map.set(label, value);
  };

  // Calls each(key, descriptor) for the own enumerable string keys, up to the bound.
  const eachOwn = (object, each) => {
    const keys = ReflectOwnKeys(object);
    for (let index = 0; index < MathMin(keys.length, ENTRIES_MAX); index++) {
      const descriptor = typeof keys[index] === "string" && ownDescriptor(object, keys[index]);
      if (descriptor && descriptor.enumerable) each(keys[index], descriptor);
    }
  };
  const table = (data) => {
    const columns = createList();
    const rows = createList();
    const put = (row, name, text) => {
      let column = 0;
      while (column < columns.length && columns[column].name !== name) column++;
      columns[column] ??= { __proto__: null, name, width: name.length };
      columns[column].width = MathMax(columns[column].width, text.length);
      row[column] = text;
    };
    const show0 = (value) => show(value, 0);
    eachOwn(data, (key, descriptor) => {
      const row = rows[rows.length] = createList();
      const { value } = descriptor;
      put(row, "(index)", key);
      if (value === null || typeof value !== "object") {
        put(row, "Values", formatDescriptor(descriptor, show0));
      } else eachOwn(value, (name, cell) => put(row, name, formatDescriptor(cell, show0)));
    });
    let out = "";
    for (let row = -1; row < rows.length; row++) {
      if (row >= 0) out += "\n";
      for (let column = 0; column < columns.length; column++) {
        const { name, width } = columns[column];
        const text = StringPrototypePadEnd(row < 0 ? name : rows[row][column] ?? "", width);
        out += column === 0 ? text : ` │ ${text}`;
      }
    }
    return out;
  };

  const console = {
    log: (...args) => print("log", format(args)),
    info: (...args) => print("info", format(args)),
    debug: (...args) => print("debug", format(args)),
    warn: (...args) => print("warn", format(args)),
    error: (...args) => print("error", format(args)),
    trace(...args) {
      const { stack } = new Error();
      const end = typeof stack === "string" ? StringPrototypeIndexOf(stack, "\n") : -1;
      const message = format(args);
      print("error", `Trace${message === "" ? "" : `: ${message}`}${end === -1 ? "" : slice(stack, end)}`);
    },
    assert(condition = false, ...args) {
      if (condition) return;
      if (args.length > 0 && typeof args[0] === "string") args[0] = `Assertion failed: ${args[0]}`;
      const text = format(args);
      print(
        "error",
        typeof args[0] === "string" ? text : `Assertion failed${text === "" ? "" : `: ${text}`}`,
      );
    },
    count(label = "default") {
      label = labelOf(label);
      const count = (counts.get(label) ?? 0) + 1;
      keep(counts, label, count);
      print("log", `${label}: ${count}`);
    },
    countReset(label = "default") {
      label = labelOf(label);
      if (counts.delete(label)) return;
      print("warn", `Count for '${label}' does not exist`);
    },
    time(label = "default") {
      label = labelOf(label);
      if (timers.has(label)) print("warn", `Timer '${label}' already exists`);
      else keep(timers, label, DateNow());
    },
    timeLog: (label = "default", ...args) => tellTime(labelOf(label), format(args)),
    timeEnd(label = "default") {
      label = labelOf(label);
      tellTime(label, "");
      timers.delete(label);
    },
    group(...args) {
      if (args.length > 0) print("log", format(args));
      if (groups.length < 64) groups = StringPrototypeRepeat(" ", groups.length + 2);
    },
    groupCollapsed: (...args) => ReflectApply(openGroup, undefined, args),
    groupEnd() {
      groups = slice(groups, 2);
    },
    dir(value, options) {
      const depth = options?.depth;
      print("log", show(value, depth === null ? 10 : typeof depth === "number" ? MathMin(depth, 10) : DEPTH));
    },
    table(data) {
      let text;
      try {
        text = data !== null && typeof data === "object" ? table(data) : format([data]);
      } catch {
        text = show(data);
      }
      print("log", text);
    },
  };
  const openGroup = console.group;
  ObjectDefineProperty(console, SymbolToStringTag, { __proto__: null, value: "console", configurable: true });

  internal.inspect = show;
  /** What a listener threw has nobody to catch it: it is said aloud. */
  internal.report = (error) => print("error", `Uncaught ${show(error)}`);
  define("console", console);
});
