import { afterAll, beforeAll, expect, test } from "vitest";
import { createRealm, type Realm } from "./realm.ts";

let realm: Realm;
beforeAll(() => realm = createRealm());
afterAll(() => realm.dispose());

// Describes a value of any type as text, the same way on both sides.
const DESCRIBE = `
  const describe = (value, seen = new Map()) => {
    if (typeof value === "bigint") return value + "n";
    if (Object.is(value, -0)) return "-0";
    if (value === null || typeof value !== "object") return typeof value + ":" + String(value);
    if (seen.has(value)) return "#" + seen.get(value);
    seen.set(value, seen.size);
    const tag = Object.prototype.toString.call(value);
    const proto = Object.getPrototypeOf(value)?.constructor?.name;
    let inner = "";
    if (value instanceof Date) inner = String(value.getTime());
    else if (value instanceof RegExp) inner = String(value) + value.lastIndex;
    else if (value instanceof Map) inner = [...value].map(([k, v]) => describe(k, seen) + "=>" + describe(v, seen)).join();
    else if (value instanceof Set) inner = [...value].map((v) => describe(v, seen)).join();
    else if (value instanceof ArrayBuffer) inner = [...new Uint8Array(value)].join();
    else if (value instanceof DataView) inner = value.byteOffset + "," + value.byteLength + describe(value.buffer, seen);
    else if (ArrayBuffer.isView(value)) return tag + value.byteOffset + "," + value.length + describe(value.buffer, seen);
    else if (value instanceof Error) inner = value.name + value.message + typeof value.stack + describe(value.cause, seen) + Object.keys(value);
    else if (/Number|String|Boolean|BigInt/.test(tag)) inner = String(value.valueOf());
    const keys = Array.isArray(value) ? "length" + value.length : "";
    return tag + proto + keys + "(" + inner + "){" +
      Object.keys(value).map((k) => k + ":" + describe(value[k], seen)).join() + "}";
  };
  const cloned = (make) => { try { return describe(structuredClone(make())); } catch (e) { return "threw " + e.name + (e.code ?? ""); } };
`;

const VALUES: readonly string[] = [
  ..."1|-0|NaN|'text'|true|null|undefined|10n|Symbol('s')|() => 1|class A {}".split("|"),
  "new Number(3)",
  "new String('abc')",
  "new Boolean(false)",
  "Object(5n)",
  "Object(Symbol('s'))",
  "new Date(5)",
  "new Date(NaN)",
  "/a(b)/giu",
  "Object.assign(/x/g, {lastIndex: 3})",
  "/y/dgimsuy",
  "/z/v",
  "[1, 2, 3]",
  "[1, , 3]",
  "Object.assign([1], {extra: 2})",
  "new Array(5)",
  "[[[]]]",
  "({a: {b: [1, {c: 2}]}})",
  "Object.create(null)",
  "Object.create({inherited: 1})",
  "({get a() { return 5; }})",
  "({[Symbol('s')]: 1, visible: 2})",
  "Object.defineProperty({}, 'hidden', {value: 1})",
  "new (class Point { x = 1; #y = 2 })()",
  "({a: Symbol('x')})",
  "({f() {}})",
  "[() => 1]",
  "(() => { const o = {}; o.self = o; return o; })()",
  "(() => { const a = []; a.push(a, {a}); return a; })()",
  "(() => { const s = {}; return [s, s, {s}]; })()",
  "new Map([[1, {a: 1}], ['k', new Map()]])",
  "new Set([1, 'a', {b: 1}])",
  "(() => { const m = new Map(); m.set(m, m); return m; })()",
  "new Map([[1, () => 1]])",
  "Object.assign(new Map(), {x: 1})",
  "new (class M extends Map {})([[1, 2]])",
  "new ArrayBuffer(3)",
  "new Uint8Array([1, 2, 3])",
  "new Uint8Array([1, 2, 3, 4]).subarray(1, 3)",
  "new DataView(new ArrayBuffer(8), 2, 4)",
  "(() => { const b = new ArrayBuffer(8); return [new Uint8Array(b, 1, 2), new Float64Array(b), b]; })()",
  "new BigInt64Array([1n, -1n])",
  "new Float32Array([1.5])",
  "new Uint8ClampedArray([300])",
  "new Float16Array([1.5])",
  "new Error('m')",
  "new TypeError('m')",
  "new RangeError()",
  "Object.assign(new Error('m'), {name: 'Custom', extra: 1})",
  "new Error('m', {cause: {deep: 1}})",
  "new (class MyError extends TypeError {})('m')",
  "new AggregateError([1], 'm')",
  "Object.defineProperty(new Error('m'), 'message', {value: 7})",
  "new URIError('u')",
  "new DOMException('m', 'AbortError')",
  "new WeakMap()",
  "new WeakSet()",
  "Promise.resolve(1)",
  "(() => { const b = new ArrayBuffer(4); structuredClone(b, {transfer: [b]}); return b; })()",
  "(() => { const b = new ArrayBuffer(4); const v = new Uint8Array(b); structuredClone(b, {transfer: [b]}); return v; })()",
  "Object.freeze({a: 1})",
  "JSON.parse('{\"__proto__\": 1}')",
];

test("structuredClone copies and refuses what Node's does", () => {
  const script = `${DESCRIBE} return [${VALUES.map((value) => `cloned(() => (${value}))`).join(",\n")}];`;
  const node = new Function(script)() as string[];
  const guest = realm.run(script) as string[];
  const wrong = VALUES.map((value, index) => ({ value, node: node[index], guest: guest[index] })).filter((
    c,
  ) => c.node !== c.guest);
  expect(wrong).toEqual([]);
});

test("structuredClone transfers buffers, and leaves them alone when it fails", () => {
  const script = `${DESCRIBE}
    const out = [];
    const buffer = new Uint8Array([1, 2, 3]).buffer, view = new Uint8Array(buffer, 1);
    const copy = structuredClone({ view, buffer }, { transfer: [buffer] });
    out.push(describe(copy), buffer.byteLength, view.length, copy.view.buffer === copy.buffer);
    const kept = new ArrayBuffer(2);
    for (const [value, transfer] of [[() => 1, [kept]], [1, [kept, kept]], [1, [{}]], [1, [buffer]], [1, new Set([kept])]]) {
      try { structuredClone(value, { transfer }); out.push("done " + kept.byteLength); } catch (e) { out.push(e.name + kept.byteLength); }
    }
    return out;
  `;
  expect(realm.run(script)).toEqual(new Function(script)());
});

test("structuredClone refuses objects of the platform", () => {
  for (
    const value of [
      "new URL('http://h')",
      "new URLSearchParams()",
      "new TextEncoder()",
      "new TextDecoder()",
      "crypto",
      "performance",
      "new AbortController()",
      "AbortSignal.abort()",
      "new EventTarget()",
      "new Event('x')",
    ]
  ) {
    expect(realm.run(`structuredClone(${value})`)).toMatch(/^threw DataCloneError/);
  }
  expect(realm.run(`structuredClone({ url: { href: "x" } }); return "done"`)).toBe("done");
});

test("structuredClone of a very deep value ends in a RangeError", () => {
  expect(realm.run(`let v = {}; for (let i = 0; i < 200000; i++) v = { v }; structuredClone(v)`)).toMatch(
    /^threw RangeError/,
  );
});
