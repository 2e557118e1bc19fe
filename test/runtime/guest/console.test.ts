import { inspect } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRealm, type Realm } from "./realm.ts";

let realm: Realm;
beforeAll(() => realm = createRealm());
afterAll(() => realm.dispose());

function logged(body: string): string[] {
  const from = realm.lines.length;
  const answer = realm.run(body);
  if (typeof answer === "string" && answer.startsWith("threw")) throw new Error(answer);
  return realm.lines.slice(from).map(({ level, text }) => `${level}: ${text}`);
}

test("levels, format specifiers and plain arguments", () => {
  expect(logged(`
    console.log("a", 1, true, null, undefined, 2n, Symbol("s"), -0);
    console.info("%s is %d and %i and %f", "x", "4.5", "4.9px", "1.5e1", "rest");
    console.debug("%o|%O|%j|%c|%%|%x|%s", [1], { a: 1 }, { b: 2 }, "css", { deep: { er: 1 } });
    console.warn("100%", 1); console.error("%s"); console.log(); console.log("%d %i", 5n, {});
  `)).toEqual([
    "log: a 1 true null undefined 2n Symbol(s) -0",
    "info: x is 4.5 and 4 and 15 rest",
    'debug: [ 1 ]|{ a: 1 }|{"b":2}||%|%x|{ deep: [Object] }',
    "warn: 100% 1",
    "error: %s",
    "log: ",
    "log: 5n NaN",
  ]);
});

test("values look as they do in Node", () => {
  const values = [
    "[1, 'a', [2, [3]]]",
    "[]",
    "{}",
    "({a: 1, 'b-c': 'x', [Symbol('s')]: null})",
    "[1, , , 4]",
    "new Map([['a', {b: 1}]])",
    "new Set([1, 'x'])",
    "new Map()",
    "() => 1",
    "function named() {}",
    "class A {}",
    "Symbol('x')",
    "10n",
    "new Date(0)",
    "/a+/gi",
    "new Uint8Array([1, 2])",
    "({get a() { return 1; }, set b(v) {}, get c() { return 1; }, set c(v) {}})",
    "Object.create(null)",
    "new (class Point { x = 1 })()",
    "[undefined, null, NaN, -0]",
    "['a\\nb', '\\\\']",
    "new Number(3)",
    "new String('x')",
    "new Date(NaN)",
    "({a: {b: {c: {}}}})",
    "Object.assign(() => {}, {x: 1})",
    "[new (class extends Array {})()]",
    "({ f() {}, g: class {} })",
    "Object.assign([1], { k: 2 })",
    "new BigInt64Array([1n])",
  ];
  for (const value of values) {
    const wanted: unknown = new Function(`return ${value.startsWith("{") ? `(${value})` : value}`)();
    const shown = logged(`console.dir(${value.startsWith("{") ? `(${value})` : value}, { depth: 3 })`);
    expect(shown).toEqual([`log: ${inspect(wanted, { depth: 3 }).replaceAll("'", '"')}`]);
  }
});

test("errors show their stack, cause and own properties", () => {
  const [line] = logged(
    `console.log(Object.assign(new TypeError("bad", { cause: new Error("why") }), { code: "E" }))`,
  );
  expect(line).toMatch(/^log: TypeError: bad\n {4}at [^]*\{\n {2}\[cause\]: Error: why\n[^]*code: "E"\n\}$/);
  expect(logged(`console.log(new DOMException("m", "AbortError"))`)[0]).toMatch(
    /^log: AbortError: m\n {4}at/,
  );
  expect(logged(`console.log(new URL("http://h/x"), new Event("click"), new AbortController())`)[0])
    .toBe(`log: URL "http://h/x" Event "click" AbortController {}`);
});

test("a getter of the plugin is never called, a proxy may throw", () => {
  expect(
    logged(`
    let calls = 0;
    const call = () => { calls++; return "called"; };
    const trap = { get a() { return call(); }, get [Symbol.toStringTag]() { return call(); }, get constructor() { return call(); } };
    class E extends Error { get name() { return call(); } }
    class F extends Error { get message() { return call(); } get stack() { return call(); } }
    const f = new F(); Object.defineProperty(f, "stack", { get: call });
    console.log(trap, [trap], new Map([[trap, trap]]), new E("m"), f, Object.defineProperty([1], 0, { get: call }));
    const named = () => {}; Object.defineProperty(named, "name", { get: call }); console.log(named);
    console.log(Object.defineProperty(new Error("x"), "cause", { get: call }));
    console.log(Object.defineProperty(new Error("x"), "stack", { get: call }));
    const bomb = () => { throw new Error("trap"); };
    console.log(new Proxy({}, { ownKeys: bomb }), new Proxy({}, { getPrototypeOf: bomb }), [new Proxy({}, { getOwnPropertyDescriptor: bomb, ownKeys: bomb })]);
    const revoked = Proxy.revocable({}, {}); revoked.revoke(); console.log("%o %s", revoked.proxy, revoked.proxy);
    console.table(revoked.proxy);
    console.log({ toString() { calls++; }, toJSON() { calls++; }, [Symbol.toPrimitive]() { calls++; } } && calls);
  `).at(-1),
  ).toBe("log: 0");
  expect(realm.lines.at(-4)?.text).toBe("[Inaccessible] [Inaccessible] [ [Inaccessible] ]");
  expect(realm.lines.at(-3)?.text).toBe("[Inaccessible] [Inaccessible]");
});

test("depth, entries, cycles and length are bounded, every line at 8 KiB", () => {
  expect(logged(`const a = { n: [] }; a.self = a; a.n.push(a); console.log(a)`)).toEqual([
    "log: { n: [ [Circular] ], self: [Circular] }",
  ]);
  expect(logged(`let d = {}; for (let i = 0; i < 9; i++) d = { d }; console.log(d)`)[0]).toContain(
    "[Object]",
  );
  expect(logged(`console.log(Array.from({ length: 250 }, (_, i) => i))`).join("")).toContain(
    "... 150 more items",
  );
  expect(logged(`console.log(new Map(Array.from({ length: 150 }, (_, i) => [i, i])))`).join("")).toContain(
    "... 50 more items",
  );
  expect(
    logged(`console.log(Object.fromEntries(Array.from({ length: 150 }, (_, i) => ["k" + i, i])))`).join(""),
  ).toContain("... 50 more items");
  expect(logged(`console.log(new Array(4294967295), new Uint8Array(1e6))`).join("")).toContain(
    "999900 more items",
  );
  const wide =
    `let w = "leaf"; for (let i = 0; i < 12; i++) w = Array(100).fill(w); console.dir(w, { depth: null });`;
  expect(logged(wide).join("").length).toBeLessThan(400_000);
  logged(
    `console.log("x".repeat(1e6)); console.log("\u20ac".repeat(20000)); console.log({ s: "y".repeat(1e6) }); console.log("z\\n".repeat(1e6)); console.log("\ud83d\ude00".repeat(9000))`,
  );
  const sizes = realm.lines.map(({ text }) => Buffer.byteLength(text));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(8192);
  expect(Math.max(...sizes)).toBeGreaterThan(8000);
  expect(realm.lines.some(({ text }) => /\.\.\. \d+ more characters$/.test(text))).toBe(true);
});

test("odd constructors, depths and argument lists do no harm", () => {
  expect(
    logged(`class A {} const a = new A(); a.constructor = () => 1; console.log(a, { constructor: null })`),
  ).toEqual([
    "log: A { constructor: [Function (anonymous)] } { constructor: null }",
  ]);
  expect(logged(`let d = {}; for (let i = 0; i < 99; i++) d = { d }; console.dir(d, { depth: NaN })`))
    .toEqual(["log: [Object]"]);
  const many = `console.log("%s".repeat(2000), ...Array(2000).fill(Array(90).fill("x".repeat(300))))`;
  expect(logged(many).join("").length).toBeLessThan(400_000);
});

test("many lines stay whole: they leave in several posts", () => {
  const text = Array.from({ length: 3000 }, (_, index) => `line ${index}`).join("\n");
  const posts = logged(`console.log(${JSON.stringify(text)})`);
  expect(posts.length).toBeGreaterThan(1);
  expect(posts.map((post) => post.slice(5)).join("\n")).toBe(text);
});

test("groups, counts, timers, assert, trace, dir and table", () => {
  expect(logged(`
    console.group("g"); console.log("in\\nside"); console.group(); console.warn("deeper"); console.groupEnd(); console.groupEnd(); console.groupEnd();
    console.groupCollapsed("h"); console.groupEnd(); console.log("out");
    console.count(); console.count("a"); console.count(); console.countReset(); console.count(); console.countReset("none");
    console.assert(true, "no"); console.assert(false, "yes %s", 1); console.assert(); console.assert(0, { a: 1 });
    console.timeEnd("none"); console.dir({ a: { b: { c: 1 } } }, { depth: 0 });
  `)).toEqual([
    "log: g",
    "log:   in\n  side",
    "warn:     deeper",
    "log: h",
    "log: out",
    "log: default: 1",
    "log: a: 1",
    "log: default: 2",
    "log: default: 1",
    "warn: Count for 'none' does not exist",
    "error: Assertion failed: yes 1",
    "error: Assertion failed",
    "error: Assertion failed: { a: 1 }",
    "warn: Timer 'none' does not exist",
    "log: { a: [Object] }",
  ]);
  expect(
    logged(
      `console.time("t"); console.timeLog("t", { x: 1 }); console.timeEnd("t"); console.trace("here", 1)`,
    ),
  ).toEqual([
    expect.stringMatching(/^log: t: \d+ms \{ x: 1 \}$/),
    expect.stringMatching(/^log: t: \d+ms$/),
    expect.stringMatching(/^error: Trace: here 1\n {4}at/),
  ]);
  expect(logged(`console.table([{ a: 1, b: "x" }, { a: 2, c: true }]); console.table(5)`)).toEqual([
    'log: (index) │ a │ b   │ c   \n0       │ 1 │ "x" │     \n1       │ 2 │     │ true',
    "log: 5",
  ]);
});

test("methods work when taken off the console", () => {
  expect(
    logged(
      `const { log, group, groupCollapsed, groupEnd } = console; [1].forEach(() => log("free")); group(); groupEnd(); groupCollapsed(); groupEnd(); `,
    ),
  ).toEqual(["log: free"]);
});
