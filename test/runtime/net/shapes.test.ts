import { transform } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { composeParts, createRealm, expressionOf, type Realm } from "../guest/realm.ts";

const BYTES_MAX = 6_000;

// The part with an op that answers by itself: what it was asked for is kept as text.
const PART = `(realm) => {
  const { promiseResolve, JSONStringify, ObjectDefineProperty } = realm.primordials;
  const kept = { __proto__: null, text: "", answer: { __proto__: null, status: 200, statusText: "OK", url: "http://h/final",
    redirected: true, body: "aMOp" } };
  ObjectDefineProperty(globalThis, "$op", { __proto__: null, value: kept });
  realm.op = (name, args) => {
    let text = name;
    for (let i = 0; i < args.length; i++) text += " " + JSONStringify(args[i]);
    kept.text = text;
    const headers = realm.primordials.createList();
    headers[0] = "x-b"; headers[1] = "2"; headers[2] = "x-a"; headers[3] = "1"; headers[4] = "x-b"; headers[5] = "3";
    return promiseResolve({ __proto__: null, ...kept.answer, headers });
  };
  (${expressionOf("endowments/fetch.guest.js")})(realm);
}`;
const PARTS = `${composeParts().slice(0, -1)},\n${PART}]`;

let realm: Realm;
beforeAll(() => realm = createRealm("", PARTS));
afterAll(() => realm.dispose());

/** What a body that may await gives; a string as the realm's own \`run\` gives it. */
function awaited(body: string, within = realm): unknown {
  within.run(
    `globalThis.$out = "pending"; (async () => { ${body} })().then((v) => { $out = v; }, (e) => { $out = "threw " + e.name + ": " + e.message; })`,
  );
  return within.run("return $out");
}

test("[T31] the part stays small when it is minified", async () => {
  const { code } = await transform(`x = ${expressionOf("endowments/fetch.guest.js")}`, {
    minify: true,
    target: "es2024",
    charset: "utf8",
  });
  expect(Buffer.byteLength(code)).toBeLessThanOrEqual(BYTES_MAX);
});

test.each([
  ["pairs", `[["B", "2"], ["a", " 1\\t"], ["b", "3"]]`, [["a", "1"], ["b", "2, 3"]]],
  ["a record", `{ "X-B": 2, "x-a": "\\x80" }`, [["x-a", "\x80"], ["x-b", "2"]]],
  ["another", `new Headers({ a: "1" })`, [["a", "1"]]],
  ["a map", `new Map([["a", "1"]])`, [["a", "1"]]],
  ["nothing", `undefined`, []],
])("Headers from %s", (_title, init, expected) => {
  expect(realm.run(`return [...new Headers(${init})]`)).toEqual(expected);
});

test.each([
  `new Headers([["a"]])`,
  `new Headers([["a", "b", "c"]])`,
  `new Headers(1)`,
  `new Headers(null)`,
  `new Headers({ "a b": "1" })`,
  `new Headers({ "": "1" })`,
  `new Headers({ a: "1\\r\\nb: 2" })`,
  `new Headers({ a: "\\0" })`,
  `new Headers({ a: "\\u20ac" })`,
  `new Headers().get("a:")`,
  `new Headers().get()`,
  `Headers()`,
  `Headers.prototype.get.call({}, "a")`,
])("%s is a TypeError", (expression) => {
  expect(realm.run(expression)).toMatch(/^threw TypeError/);
});

test("Headers: all methods, live iterators, and their names", () => {
  expect(realm.run(`
    const h = new Headers({ b: "1" }), seen = [];
    h.append("B", "2"); h.set("a", "x"); h.append("c", ""); h.delete("none"); h.delete("c"); h.set("a", "y"); h.append("d", "z");
    h.forEach(function (value, name, of) { seen.push([name, value, of === h, this.t]); }, { t: 1 });
    const keys = h.keys(); h.delete("b");
    return [seen, h.has("A"), h.has("c"), h.get("C"), [...keys], [...h.values()], [...h.entries()], h.getSetCookie(), Headers.name,
      Object.prototype.toString.call(h), Object.prototype.toString.call(keys), h.entries === h[Symbol.iterator], Headers.prototype[Symbol.iterator] === Headers.prototype.entries]
  `)).toEqual([
    [["a", "y", true, 1], ["b", "1, 2", true, 1], ["d", "z", true, 1]],
    ...[true, false, null, ["a", "d"], ["y", "z"], [["a", "y"], ["d", "z"]], [], "Headers"],
    ...["[object Headers]", "[object Headers Iterator]", true, true],
  ]);
});

test("Request: method, URL, headers, body, and what it takes from another", () => {
  expect(realm.run(`
    const r = new Request("http://h/a/../b#f", { method: "post", body: "x", headers: { a: "1" } });
    const s = new Request(r, { headers: { b: "2" }, redirect: "manual" });
    return [r.method, r.url, r.bodyUsed, s.bodyUsed, [...s.headers], s.redirect, r.redirect, s.body, r.signal.aborted,
      new Request(new URL("http://h/x")).url, new Request("http://b\\u00fccher.example/").url, new Request("http://h/", { method: "patch" }).method]
  `)).toEqual([
    ...[
      "POST",
      "http://h/b#f",
      true,
      false,
      [["b", "2"], ["content-type", "text/plain;charset=UTF-8"]].slice(0, 1),
      "manual",
      "follow",
    ],
    ...[null, false, "http://h/x", "http://b\u00fccher.example/", "patch"],
  ]);
  for (
    const bad of [
      `new Request("/relative")`,
      `new Request()`,
      `new Request("http://h/", { body: "x" })`,
      `new Request("http://h/", { method: "HEAD", body: "" })`,
      `new Request("http://h/", { method: "a b" })`,
      `new Request("http://h/", { signal: {} })`,
      `new Request("http://h/", { integrity: "sha256-x" })`,
      `new Request("http://h/", { method: "POST", body: {} })`,
    ]
  ) expect(realm.run(bad), bad).toMatch(/^threw TypeError/);
  expect(realm.run(`new Request("http://h/", { method: "POST", body: {} })`)).toMatch(
    /streams, Blob and FormData are not there yet/,
  );
});

test("bodies: every type, once, and a clone's is its own", () => {
  expect(awaited(`
    const bytes = new Uint8Array([104, 105, 33]);
    const all = [];
    for (const body of ["h\\u00e9", new URLSearchParams({ a: "b c" }), bytes.buffer, bytes.subarray(1), new DataView(bytes.buffer, 0, 2), 5, null]) {
      const r = new Response(body);
      all.push([await r.clone().text(), r.headers.get("content-type"), r.bodyUsed]);
    }
    bytes[0] = 0;
    return all`)).toEqual([
    ["h\u00e9", "text/plain;charset=UTF-8", false],
    ["a=b+c", "application/x-www-form-urlencoded;charset=UTF-8", false],
    ["hi!", null, false],
    ["i!", null, false],
    ["hi", null, false],
    ["5", "text/plain;charset=UTF-8", false],
    ["", null, false],
  ]);
  expect(awaited(`
    const r = new Response("\\ufeff{\\"a\\":1}");
    const twin = r.clone();
    const first = [(await r.json()).a, r.bodyUsed, twin.bodyUsed, r.body];
    const again = await r.text().catch((e) => e.name + ": " + e.message);
    let cloned; try { r.clone(); } catch (e) { cloned = e.name; }
    const buffer = await new Response("ab").arrayBuffer();
    const none = new Response(); await none.text(); await none.text();
    const bad = await new Response("{").json().catch((e) => e.name);
    return [...first, again, cloned, buffer instanceof ArrayBuffer, buffer.byteLength, (await new Response("ab").bytes())[1], bad, await twin.text()]
  `)).toEqual([
    1,
    true,
    false,
    null,
    "TypeError: The body was read before",
    "TypeError",
    true,
    2,
    98,
    "SyntaxError",
    '{"a":1}',
  ]);
});

test("Response: attributes, statics and their refusals", () => {
  expect(realm.run(`
    const show = (r) => [r.status, r.ok, r.statusText, r.type, r.redirected, r.url, [...r.headers]];
    return [show(new Response("x", { status: 404, statusText: "no", headers: { a: "1" } })), show(Response.error()), show(Response.json({ a: 1 })),
      show(Response.json(1, { status: 201, headers: { "content-type": "x/y" } })), show(Response.redirect("http://h/a", 308)), new Response(null, { status: 204 }).status]
  `)).toEqual([
    [404, false, "no", "default", false, "", [["a", "1"], ["content-type", "text/plain;charset=UTF-8"]]],
    [0, false, "", "error", false, "", []],
    [200, true, "", "default", false, "", [["content-type", "application/json"]]],
    [201, true, "", "default", false, "", [["content-type", "x/y"]]],
    [308, false, "", "default", false, "", [["location", "http://h/a"]]],
    204,
  ]);
  for (
    const bad of [
      `new Response("", { status: 199 })`,
      `new Response("", { status: 600 })`,
      `Response.redirect("http://h/", 200)`,
    ]
  ) {
    expect(realm.run(bad), bad).toMatch(/^threw RangeError/);
  }
  for (
    const bad of [
      `new Response("x", { status: 204 })`,
      `new Response("", { statusText: "a\\nb" })`,
      `Response.json(undefined)`,
      `Response.redirect("nope")`,
      `Response.error().headers.set("a", "b")`,
      `Object.getOwnPropertyDescriptor(Response.prototype, "status").get.call({})`,
    ]
  ) expect(realm.run(bad), bad).toMatch(/^threw TypeError/);
});

test("fetch asks the host by what the guest wrote, and gives what it answered", () => {
  expect(awaited(`
    const r = await fetch("HTTP://h/a/../b", { method: "put", headers: { B: "2", a: "1" }, body: "x", redirect: "error" });
    let locked; try { r.headers.append("a", "b"); } catch (e) { locked = e.name; }
    return [r instanceof Response, r.status, r.ok, r.statusText, r.url, r.redirected, r.type, [...r.headers], await r.text(), locked]
  `)).toEqual([
    true,
    200,
    true,
    "OK",
    "http://h/final",
    true,
    "basic",
    [["x-a", "1"], ["x-b", "2, 3"]],
    "h\u00e9",
    "TypeError",
  ]);
  expect(realm.run("return $op.text")).toMatch(
    /^fetch "HTTP:\/\/h\/a\/\.\.\/b" "PUT" \["a","1","b","2","content-type","text\/plain;charset=UTF-8"\] "eA==" "error" \d+$/,
  );
  expect(awaited(`return await fetch("http://h/", { signal: AbortSignal.abort(new Error("own")) })`)).toBe(
    "threw Error: own",
  );
  expect(awaited(`return await fetch("nowhere")`)).toMatch(/^threw TypeError/);
  expect(awaited(`
    const c = new AbortController(); const p = fetch("http://h/", { signal: c.signal }); c.abort(new Error("late")); return await p;
  `)).toBe("threw Error: late");
  expect(realm.run("return $op.text")).toMatch(/^fetch_abort \d+$/);
});

test("structuredClone refuses them, the console has a word for them", () => {
  for (const value of [`new Headers()`, `new Request("http://h/")`, `new Response()`]) {
    expect(realm.run(`structuredClone(${value})`)).toMatch(/^threw DataCloneError/);
  }
  realm.run(`console.log(new Request("http://h/x"))`);
  expect(realm.lines.at(-1)!.text).toBe('Request "http://h/x"');
});

test("subclasses are what they derive from", () => {
  expect(
    realm.run(
      `class Mine extends Response { own() { return this.status; } } const m = new Mine("x", { status: 201 });
    return [m.own(), m instanceof Response, m.clone() instanceof Response]`,
    ),
  ).toEqual([201, true, true]);
});

// As in guest/hostile.test.ts: everything that the language has on its prototypes and statics becomes a trap that is counted.
const SPOIL = `
  const { deleteProperty, ownKeys, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  const Wrong = TypeError;
  const trap = { __proto__: null, names: "" };
  defineProperty(globalThis, "$trap", { value: trap });
  const evil = (name) => function () { trap.names += name + " "; throw new Wrong("hostile " + name); };
  const list = { __proto__: null };
  let total = 0;
  for (const C of [Array, String, RegExp, Map, WeakMap, Promise, Function, Number, Symbol, Error, TypeError, RangeError, ArrayBuffer,
    getPrototypeOf(Uint8Array), Uint8Array, Object]) {
    list[total++] = { __proto__: null, target: C.prototype, label: C.name + ".prototype" };
    list[total++] = { __proto__: null, target: C, label: C.name };
  }
  for (const made of [[][Symbol.iterator](), new Map().entries(), (function* () {})()]) {
    list[total++] = { __proto__: null, target: getPrototypeOf(made), label: "iterator" };
  }
  for (const [object, label] of [[JSON, "JSON"], [Reflect, "Reflect"], [getPrototypeOf(getPrototypeOf([][Symbol.iterator]())), "Iterator"],
    [URL.prototype, "URL"], [URLSearchParams.prototype, "Params"], [AbortController.prototype, "Controller"], [AbortSignal.prototype, "Signal"]]) {
    list[total++] = { __proto__: null, target: object, label };
  }
  const protos = [Object.prototype, Array.prototype, String.prototype];
  const props = ["then", "toJSON", "get", "set", "value", "writable", "enumerable", "configurable", "done", "next", "0", "1", "2", "3",
    "url", "list", "method", "headers", "status", "statusText", "body", "bytes", "isLocked", "redirect", "signal", "integrity", "spelled"];
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
    defineProperty(protos[p], props[i], { __proto__: null, get: evil("get " + props[i]), set: evil("set " + props[i]), configurable: true });
  }
  for (const key of ["URL", "URLSearchParams", "AbortController", "AbortSignal", "Uint8Array", "TypeError", "Promise", "WeakMap"]) deleteProperty(globalThis, key);
`;

test("a plugin that has replaced the language and the other parts' classes changes nothing", () => {
  const C = `{ __proto__: null, `;
  const spoiled = createRealm(
    // Iteration is the plugin's own act, and so are the options it gives: without a prototype, or every read is a trap.
    SPOIL.replace(
      /for \(const (\w+) of \["URL"[^;]*;/,
      `const gone = { __proto__: null, 0: "URL", 1: "URLSearchParams", 2: "AbortController",
      3: "AbortSignal", 4: "Uint8Array", 5: "TypeError", 6: "Promise", 7: "WeakMap" };
      for (let i = 0; i < 8; i++) deleteProperty(globalThis, gone[i]);`,
    ),
    PARTS,
  );
  const cases: readonly (readonly [string, string])[] = [
    [
      `const h = new Headers(${C}b: "1", a: " x " }); h.append("b", "2"); h.set("c", "3"); h.delete("c"); return h.get("a") + h.get("b") + h.has("c")`,
      "x1, 2false",
    ],
    [
      `let all = ""; new Headers(${C}b: "1", a: "2" }).forEach((v, k) => { all += k + v; }); return all`,
      "a2b1",
    ],
    [
      `const i = new Headers(${C}b: "1", a: "2" }).keys(); return i.next().value + i.next().value + i.next().done`,
      "abtrue",
    ],
    [
      `const r = new Request("http://h/a/../b", ${C}method: "post", body: "x", headers: new Headers(${C}a: "1" }), redirect: undefined, signal: undefined, integrity: undefined }); return r.url + r.method + r.headers.get("a") + r.bodyUsed`,
      "http://h/bPOST1false",
    ],
    [
      `const r = new Response("x", ${C}status: 201, statusText: undefined, headers: undefined }).clone(); return "" + r.status + r.ok + r.headers.get("content-type")`,
      "201truetext/plain;charset=UTF-8",
    ],
    [`return Response.redirect("http://h/a/../b").headers.get("location")`, "http://h/b"],
    [
      `return Response.json("a", ${C}status: undefined, statusText: undefined, headers: undefined }).headers.get("content-type")`,
      "application/json",
    ],
    [`new Request("no")`, "threw TypeError: Invalid URL"],
    [`new Headers(${C}a: "\\n" + "b\\nc" })`, "threw TypeError: Invalid header value"],
    [
      `$trap.out = ""; const { promiseThen } = $primordials; promiseThen(new Response("h\\u00e9").text(), (text) => { $trap.out += text; }); return ""`,
      "",
    ],
    [`return $trap.out`, "h\u00e9"],
    [
      `const { promiseThen } = $primordials; promiseThen(fetch("http://h/", ${C}method: "POST", body: "x" , headers: undefined, redirect: undefined, signal: undefined, integrity: undefined }), undefined, (e) => { $trap.out = "rejected " + e.message; }); return ""`,
      "",
    ],
  ];
  for (const [body, value] of cases) {
    spoiled.run(`$trap.names = ""; return ""`);
    expect(spoiled.run(body), body).toBe(value);
    // Settling a promise with an object asks it for "then"; the response's own chain ends at the plugin's Object.prototype.
    expect(String(spoiled.run("return $trap.names")).replaceAll("get then ", ""), body).toBe("");
  }
  expect(spoiled.run("return $op.text")).toMatch(
    /^fetch "http:\/\/h\/" "POST" \["content-type","text\/plain;charset=UTF-8"\] "eA==" "follow" \d+$/,
  );
  spoiled.dispose();
});
