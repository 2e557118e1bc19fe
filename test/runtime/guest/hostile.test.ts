import { afterAll, beforeAll, expect, test } from "vitest";
import { createRealm, type Realm } from "./realm.ts";

// After the bootstrap a plugin replaces every method, getter and static of the language, deletes the globals, and puts
// setters and getters on the prototypes. Each trap writes its name down: the parts must not run into a single one.
const PRELUDE = `
  const { deleteProperty, ownKeys, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  const Wrong = TypeError;
  const trap = { __proto__: null, names: "" };
  defineProperty(globalThis, "$trap", { value: trap });
  const evil = (name) => function () { trap.names += name + " "; throw new Wrong("hostile " + name); };
  const list = { __proto__: null };
  let total = 0;
  const mark = (target, label) => { list[total++] = { __proto__: null, target, label }; };
  for (const C of [Array, String, RegExp, Map, Set, WeakMap, WeakSet, Promise, Function, Number, Boolean, BigInt, Symbol, Date, Error,
    TypeError, RangeError, ArrayBuffer, DataView, getPrototypeOf(Uint8Array), Uint8Array, Uint16Array, Object]) {
    mark(C.prototype, C.name + ".prototype");
    mark(C, C.name);
  }
  for (const made of [[][Symbol.iterator](), new Map().entries(), new Set().values(), ""[Symbol.iterator](), (function* () {})()]) {
    mark(getPrototypeOf(made), "iterator");
  }
  mark(getPrototypeOf(getPrototypeOf([][Symbol.iterator]())), "Iterator.prototype");
  mark(Math, "Math");
  mark(JSON, "JSON");
  mark(Reflect, "Reflect");
  const protos = [Object.prototype, Array.prototype, String.prototype];
  const props = ["then", "toJSON", "get", "set", "value", "writable", "enumerable", "configurable", "done", "next", "0", "1", "2", "3", "7",
    "capture", "once", "isRemoved", "state", "scheme", "host", "key", "text", "refresh", "sources", "listener"];
  const kept = ["globalThis", "console", "crypto", "performance", "structuredClone", "atob", "btoa", "Event", "EventTarget", "AbortSignal",
    "AbortController", "URL", "URLSearchParams", "TextEncoder", "TextDecoder", "DOMException", "CustomEvent"];
  const gone = ownKeys(globalThis).filter((key) => typeof key === "string" && key[0] !== "$" && !kept.includes(key));
  // From here on nothing is looked up on a prototype: the loops below run while it all falls apart.
  for (let at = 0; at < total; at++) {
    const { target, label } = list[at];
    const keys = ownKeys(target);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i];
      const descriptor = getOwnPropertyDescriptor(target, key);
      if (!descriptor.configurable || key === "name" || key === "message" || key === "length" || key === "prototype") continue;
      const name = label + "." + (typeof key === "symbol" ? "symbol" : key);
      defineProperty(target, key, typeof descriptor.value === "function" && key !== "constructor"
        ? { __proto__: null, value: evil(name), configurable: true, writable: true }
        : { __proto__: null, get: evil("get " + name), set: evil("set " + name), configurable: true });
    }
  }
  for (let p = 0; p < protos.length; p++) for (let i = 0; i < props.length; i++) {
    const key = props[i];
    defineProperty(protos[p], key, { __proto__: null, get: evil("get " + key), set: evil("set " + key), configurable: true });
  }
  for (let i = 0; i < gone.length; i++) deleteProperty(globalThis, gone[i]);
`;

let realm: Realm;
beforeAll(() => realm = createRealm(PRELUDE));
afterAll(() => realm.dispose());

/** Runs a body that gives a string; also says which traps were run into. */
function hostile(body: string): { value: unknown; traps: unknown } {
  realm.run(`$trap.names = ""; return ""`);
  const value = realm.run(body);
  return { value, traps: realm.run(`return $trap.names`) };
}

test("the prelude really has spoiled the language", () => {
  expect(hostile(`[1].map((x) => x)`).value).toBe("threw TypeError: hostile Array.prototype.map");
  expect(hostile(`return "a".slice(1)`).value).toBe("threw TypeError: hostile String.prototype.slice");
  expect(hostile(`for (const x of [1]) ;`).value).toBe("threw TypeError: hostile Array.prototype.symbol");
  expect(hostile(`const a = []; a[0] = 1`).value).toBe("threw TypeError: hostile set 0");
  expect(hostile(`return ({}).then`).value).toBe("threw TypeError: hostile get then");
  expect(hostile(`return typeof Array + typeof Object + typeof Promise`).value).toBe(
    "undefinedundefinedundefined",
  );
});

const CASES: readonly (readonly [title: string, body: string, value: string | RegExp])[] = [
  [
    "URL",
    `return new URL("../\u00fc b?x=1 2#f", "HTTP://u:p@EX.com:80/a/b/c").href`,
    "http://u:p@ex.com/a/%C3%BC%20b?x=1%202#f",
  ],
  [
    "URL with addresses",
    `return new URL("http://0x7f.1/").host + new URL("http://[1:0::0:2]:8/").host`,
    "127.0.0.1[1::2]:8",
  ],
  ["URL refused", `new URL("http://a b/")`, /^threw TypeError: Invalid URL/],
  ["URL.canParse", `return "" + URL.canParse("x") + URL.canParse("x:y") + URL.parse("x")`, "falsetruenull"],
  [
    "URL setters",
    `const u = new URL("http://h/p"); u.host = "i:9"; u.pathname = "/a/../b"; u.search = "q=1"; u.hash = "z"; u.protocol = "https"; u.port = "";
    u.username = "a@"; u.href = u.href + "!"; return u.href + u.origin`,
    "https://a%40@i/b?q=1#z!https://i",
  ],
  [
    "URLSearchParams",
    `const p = new URLSearchParams("b=2&a=1+x&b=3"); p.append("c", "\u00fc"); p.set("b", "9"); p.sort(); p.delete("none");
    let all = ""; p.forEach((v, k) => { all += k + v; }); const step = p.entries().next();
    return p.toString() + p.get("a") + p.has("b") + p.getAll("b")[0] + p.size + all + p.keys().next().value + step.value[1]`,
    "a=1+x&b=9&c=%C3%BC1 xtrue93a1 xb9c\u00fca1 x",
  ],
  [
    "URLSearchParams of a record",
    `return new URLSearchParams({ __proto__: null, a: 1, b: "c d" }).toString()`,
    "a=1&b=c+d",
  ],
  [
    "URL's own parameters",
    `const u = new URL("http://h/?a=1"); u.searchParams.append("b", "2"); return u.href`,
    "http://h/?a=1&b=2",
  ],
  [
    "TextEncoder",
    `const b = new TextEncoder().encode("a\u20ac\ud83d\ude00"); return b[0] + "," + b[1] + "," + b[3] + "," + b[7]`,
    "97,226,172,128",
  ],
  [
    "TextEncoder.encodeInto",
    `const b = new TextEncoder().encode("xxxx"); const r = new TextEncoder().encodeInto("\u20ac\u20ac", b); return "" + r.read + r.written + b[2]`,
    "13172",
  ],
  [
    "TextDecoder",
    `return new TextDecoder().decode(new TextEncoder().encode("h\u00e9\ud83d\ude00"))`,
    "h\u00e9\ud83d\ude00",
  ],
  [
    "TextDecoder in pieces",
    `const d = new TextDecoder("utf-16le"), b = new TextEncoder().encode("a\\0b"); return d.decode(b, { stream: true }) + d.decode()`,
    "a\ufffd",
  ],
  [
    "TextDecoder, fatal",
    `new TextDecoder("utf-8", { __proto__: null, fatal: true }).decode($internal.latin1ToBytes("\\xff"))`,
    /^threw TypeError/,
  ],
  ["TextDecoder label", `new TextDecoder("nope")`, /^threw RangeError/],
  ["atob and btoa", `return btoa("h\u00fc?") + atob(" aPw/ ")`, "aPw/h\u00fc?"],
  ["atob refused", `atob("*")`, /^threw InvalidCharacterError/],
  [
    "structuredClone",
    `const o = { a: [1, , "x"], d: { e: null } }; o.self = o; const c = structuredClone(o);
    return "" + (c !== o) + (c.self === c) + c.a[0] + (1 in c.a) + c.a[2] + c.d.e + c.a.length`,
    "truetrue1truexnull3",
  ],
  [
    "structuredClone of bytes",
    `const b = new TextEncoder().encode("abc"), c = structuredClone({ b }).b; return "" + (c !== b) + c[0] + c[2] + c[3]`,
    "true9799undefined",
  ],
  [
    "structuredClone of an error",
    `let e; try { null.x; } catch (error) { e = error; } return structuredClone(e).message`,
    /^Cannot read properties of null/,
  ],
  ["structuredClone refused", `structuredClone({ f() {} })`, /^threw DataCloneError/],
  [
    "EventTarget",
    `const t = new EventTarget(); let n = ""; t.addEventListener("x", (e) => { n += e.type; }); t.addEventListener("x", () => { n += "2"; });
    t.dispatchEvent(new Event("x")); return n`,
    "x2",
  ],
  [
    "EventTarget, a throwing listener",
    `const t = new EventTarget(); let n = ""; t.addEventListener("x", () => { null.x; }); t.addEventListener("x", () => { n = "next"; });
    t.dispatchEvent(new Event("x")); return n`,
    "next",
  ],
  [
    "AbortController",
    `const c = new AbortController(); let n = ""; c.signal.addEventListener("abort", () => { n += "a"; }); c.signal.onabort = () => { n += "b"; };
    c.abort(); return n + c.signal.aborted + c.signal.reason.name`,
    "abtrueAbortError",
  ],
  [
    "AbortSignal.timeout",
    `const s = AbortSignal.timeout(5); $fire(); return "" + s.aborted + s.reason.name`,
    "trueTimeoutError",
  ],
  ["AbortSignal.abort", `return "" + AbortSignal.abort(4).reason`, "4"],
  [
    "DOMException",
    `const e = new DOMException("m", "DataCloneError"); return e.name + e.message + e.code`,
    "DataCloneErrorm25",
  ],
  [
    "console",
    `console.log("%s %d %o", "a", 3, { b: [1, 2, { c: "d\\n" }] }, [1, , 2], () => 1, 5n, null); console.group("g"); console.groupEnd();
    console.count("c"); console.time("t"); console.timeEnd("t"); console.assert(false, "x"); return ""`,
    "",
  ],
  [
    "console, a table and a trace",
    `console.table([{ a: 1 }, { a: 2 }]); console.trace("t"); console.dir({ a: 1 }); return ""`,
    "",
  ],
  [
    "console, an error",
    `try { null.x; } catch (error) { console.log(error, new DOMException("m")); } return ""`,
    "",
  ],
  [
    "crypto",
    `const b = new TextEncoder().encode("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"); crypto.getRandomValues(b); return "" + crypto.randomUUID().length + (b[0] + b[1] + b[2] + b[3] !== 388)`,
    "36true",
  ],
  ["performance", `return typeof performance.now() + (performance.timeOrigin > 1e12)`, "numbertrue"],
  [
    "promises of the primordials",
    `const { promiseThen, newPromise, newResolvers, promiseResolve } = $primordials; globalThis.$out = "";
    promiseThen(newPromise((r) => r(1)), (v) => { $out += v; }); const w = newResolvers(); promiseThen(w.promise, null, (e) => { $out += e; }); w.reject("no");
    promiseThen(promiseThen(promiseResolve("p"), (v) => v + "q"), (v) => { $out += v; }); return ""`,
    "",
  ],
  ["their outcome", `return $out`, "1nopq"],
  [
    "safe collections",
    `const { SafeMap, SafeSet } = $primordials; const m = new SafeMap(), s = new SafeSet(); m.set(1, "a"); s.add(2);
    let n = ""; m.forEach((v, k) => { n += k + v; }); return n + m.get(1) + m.size + s.has(2) + s.size`,
    "1aa1true1",
  ],
];

test.each(CASES)("%s works, and runs into no trap", (_title, body, value) => {
  const outcome = hostile(body);
  if (typeof value === "string") expect(outcome.value).toBe(value);
  else expect(outcome.value).toMatch(value);
  expect(outcome.traps).toBe("");
});

test("what iterates a plugin's array throws cleanly, with the plugin's own error", () => {
  expect(hostile(`AbortSignal.any([])`).value).toBe("threw TypeError: hostile Array.prototype.symbol");
  expect(hostile(`new URLSearchParams([])`).value).toBe("threw TypeError: hostile Array.prototype.symbol");
  expect(hostile(`structuredClone(1, { transfer: [] })`).value).toBe(
    "threw TypeError: hostile Array.prototype.symbol",
  );
  expect(hostile(`return new URL("http://still/works").href`)).toEqual({
    value: "http://still/works",
    traps: "",
  });
});

test("console lines of the spoiled realm are right", () => {
  const from = realm.lines.length;
  hostile(`console.log("%s %d", "a", 3, { b: [1, { c: "d" }] }, [1, , 2], 5n); return ""`);
  expect(realm.lines.slice(from)).toEqual([{
    level: "log",
    text: 'a 3 { b: [ 1, { c: "d" } ] } [ 1, <1 empty item>, 2 ] 5n',
  }]);
});

test("the classes themselves may be torn apart: what others rely on still works", () => {
  const inner = createRealm(`
    for (const C of [Event, EventTarget, AbortSignal, AbortController, URL, URLSearchParams, DOMException, TextEncoder, TextDecoder]) {
      for (const key of Reflect.ownKeys(C.prototype)) Reflect.deleteProperty(C.prototype, key);
      for (const key of Reflect.ownKeys(C)) Reflect.deleteProperty(C, key);
      Object.setPrototypeOf(C.prototype, null);
    }
  `);
  expect(
    inner.run(
      `const c = new AbortController(); let n = ""; $internal.abort.add($internal.abort.state(c) ?? AbortSignal, () => {});`,
    ),
  ).toMatch(/^threw TypeError/);
  expect(
    inner.run(
      `return $internal.decodeUtf8($internal.encodeUtf8("\u00fc")) + $internal.bytesToBase64($internal.encodeUtf8("a"))`,
    ),
  ).toBe("\u00fcYQ==");
  expect(
    inner.run(
      `console.log({ a: new URL("http://h/") }, new DOMException("m", "N")); return structuredClone({ a: 1 }).a`,
    ),
  ).toBe(1);
  expect(inner.lines.at(-1)?.text).toMatch(/^\{ a: .*"http:\/\/h\/" \} N: m|^\{/);
  inner.dispose();
});
