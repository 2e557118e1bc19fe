/** Plugins that break the language under the platform: patched builtins, species, setters, forged answers. */
import type { HostilePlugin } from "../arena.ts";
import { attacks } from "./row.ts";

const common = {
  plugin: "platform",
  head: "permissions: { storage: true, read: ['./data'], env: ['GRANTED_*'] }\n",
  wallMs: 3_000,
};
/** All that a plugin can make the platform do. */
const WORK =
  `await context.storage.set("k", [1, { a: 2 }]); await context.storage.get("k"); await Deno.readTextFile("data/a.txt").catch(() => {});
  await Deno.stat("/outside").catch(() => {}); await context.host.echo({ a: [1] }); try { Deno.env.get("PATH"); } catch {}
  console.log("%s %o", "x", { a: [1, 2] }, new Map([[1, 2]])); structuredClone({ a: new Map() }); new URL("http://h/a?b=c").searchParams.get("b");
  await new Promise((done) => setTimeout(done, 1)); new TextDecoder().decode(new TextEncoder().encode("x")); crypto.randomUUID();`;
/** Records what reaches patched functions, and looks in it for words of the wire, ids of refusals, and what is not the plugin's. */
const spy = (patch: string): string =>
  `const seen = { __proto__: null }; let count = 0, isNoting = false;
  const note = function () { if (isNoting) return; isNoting = true; for (let i = 0; i < arguments.length && count < 5000; i++) seen[count++] = arguments[i]; isNoting = false; };
  const known = new Set();
  const visit = (o, depth) => {
    if ((typeof o !== "object" && typeof o !== "function") || o === null || known.has(o) || depth > 6) return;
    known.add(o);
    for (const key of Reflect.ownKeys(o)) { const { value, get, set } = Object.getOwnPropertyDescriptor(o, key); for (const next of [value, get, set]) visit(next, depth + 1); }
    visit(Object.getPrototypeOf(o), depth + 1);
  };
  for (const root of [globalThis, [].values(), new Map().keys(), new Set().keys(), ""[Symbol.iterator](), /x/.exec("x"), async function* () {}, function* () {}, new Error("x")]) visit(root, 0);
  const kept = { has: Set.prototype.has, test: RegExp.prototype.test, apply: Reflect.apply, text: Function.prototype.toString, define: Object.defineProperty, keys: Reflect.ownKeys };
  const WIRE = /^[rotlcxf]\\d*:?.*\\[|^d[0-9a-f]{24}-|"ok":(true|false)/, NATIVE = /native code/;
  ${patch}
  try { ${WORK} } catch {}
  isNoting = true;
  const matches = (pattern, text) => kept.apply(kept.test, pattern, [text]);
  const isLeak = (v) => {
    if (typeof v === "string") return matches(WIRE, v);
    // Native, and not the language's; what settles a promise has no name.
    if (typeof v === "function") return !kept.apply(kept.has, known, [v]) && matches(NATIVE, kept.apply(kept.text, v, [])) && v.name !== "";
    return v !== null && typeof v === "object" && ("denialPrefix" in v || "opsPerCallMax" in v || "promiseThen" in v || "denials" in v);
  };
  for (let i = 0; i < count; i++) { let leaks = false; try { leaks = isLeak(seen[i]); } catch {} if (leaks) return "saw " + typeof seen[i] + " " + (typeof seen[i] === "string" ? seen[i] : seen[i].name); }
  return "nothing";`;

/** The table. */
export const PLATFORM: readonly HostilePlugin[] = [
  ...attacks("proto-pollution", common, [
    {
      id: "pollute-setters",
      body: spy(
        "for (const key of ['ok', 'value', 'error', 'name', 'denial', 'call', 'resolve', 'reject', 'id', 'args', 'callback', '0', '1', 'a', 'config', 'limits', 'input', 'context']) Object.defineProperty(Object.prototype, key, { __proto__: null, set(v) { note(this, v); }, get() { note(this); return undefined; }, configurable: true });",
      ),
    },
    {
      id: "pollute-array-setters",
      body: spy(
        "for (const key of ['0', '1', '2', '3']) Object.defineProperty(Array.prototype, key, { __proto__: null, set(v) { note(this, v); }, get() { note(this); }, configurable: true });",
      ),
    },
    {
      id: "pollute-then",
      body: spy(
        "Object.defineProperty(Object.prototype, 'then', { get() { note(this); return undefined; }, configurable: true });",
      ),
    },
    {
      id: "pollute-to-json",
      body: spy(
        "for (const C of [Object, Array, String, Number, Boolean, BigInt, Map]) Object.defineProperty(C.prototype, 'toJSON', { value() { note(this); return this.valueOf(); }, configurable: true, writable: true });",
      ),
    },
    {
      id: "pollute-descriptors",
      body: spy(
        "for (const key of ['get', 'set', 'value', 'writable', 'configurable', 'enumerable']) { Object.defineProperty(Object.prototype, key, { __proto__: null, get() { note(this); return undefined; }, configurable: true }); }",
      ),
    },
    {
      id: "pollute-forged-envelope",
      body:
        "Object.defineProperty(Object.prototype, 'ok', { get: () => true, configurable: true }); Object.defineProperty(Object.prototype, 'value', { get: () => 'forged', configurable: true }); try { await Deno.readTextFile('/etc/passwd'); return 'forged'; } catch { return 'nothing'; }",
    },
    {
      id: "pollute-freeze",
      calls: 2,
      body:
        "for (const C of [Object, Array, Function, Promise, Map, String]) Object.freeze(C.prototype); await context.storage.set('k', 1); return await context.storage.get('k') === 1 ? 'nothing' : 'broken';",
    },
    {
      id: "pollute-delete",
      calls: 2,
      body:
        "const all = (async () => {}).__proto__.kept ??= globalThis; const { ownKeys } = (all.R ??= Reflect); for (const key of ownKeys(all)) { if (key !== 'R') { try { delete all[key]; } catch {} } } for (const o of [(() => {}).__proto__, [].__proto__, ''.__proto__]) for (const k of ['call', 'apply', 'bind', 'push', 'map', 'slice']) delete o[k]; await context.storage.set('k', 1); return await context.storage.get('k') === 1 ? 'nothing' : 'broken';",
    },
    {
      id: "pollute-prototype-chain",
      body: spy(
        "Object.setPrototypeOf(Array.prototype, new Proxy(Object.prototype, { get(t, k, r) { note(r); return Reflect.get(t, k, r); }, set(t, k, v, r) { note(r, v); return Reflect.set(t, k, v, r); }, getOwnPropertyDescriptor(t, k) { return Reflect.getOwnPropertyDescriptor(t, k); } }));",
      ),
    },
  ]),
  ...attacks("override-runtime", common, [
    {
      id: "override-functions",
      body: spy(
        "const { apply, call, bind } = Function.prototype; const ra = Reflect.apply; Function.prototype.call = function (...all) { note(this, ...all); return ra(call, this, all); }; Function.prototype.apply = function (...all) { note(this, ...all); return ra(apply, this, all); }; Function.prototype.bind = function (...all) { note(this, ...all); return ra(bind, this, all); }; Reflect.apply = (...all) => { note(...all); return ra(...all); };",
      ),
    },
    {
      id: "override-json",
      body: spy(
        "const { parse, stringify } = JSON; JSON.parse = (...all) => { note(...all); const v = parse(...all); note(v); return v; }; JSON.stringify = (...all) => { note(...all); const v = stringify(...all); note(v); return v; };",
      ),
    },
    {
      id: "override-collections",
      body: spy(
        "for (const C of [Map, Set, WeakMap, WeakSet]) for (const k of ['get', 'set', 'add', 'has', 'delete', 'forEach']) { const f = C.prototype[k]; if (f) C.prototype[k] = function (...all) { note(this, ...all); const v = Reflect.apply(f, this, all); note(v); return v; }; }",
      ),
    },
    {
      id: "override-promise",
      body: spy(
        "const { then } = Promise.prototype; Promise.prototype.then = function (...all) { note(this, ...all); return Reflect.apply(then, this, all.map((f) => typeof f === 'function' ? (v) => { note(v); return f(v); } : f)); }; Promise.resolve = new Proxy(Promise.resolve, { apply(t, s, a) { note(...a); return Reflect.apply(t, s, a); } });",
      ),
    },
    {
      id: "override-promise-class",
      body: spy(
        "const Real = Promise; class Spy extends Real { constructor(run) { super((a, b) => { note(a, b); run((v) => { note(v); a(v); }, b); }); } static get [Symbol.species]() { return Spy; } } Real.prototype.constructor = Spy; globalThis.Promise = Spy; Object.defineProperty(Real, Symbol.species, { get: () => Spy });",
      ),
    },
    {
      id: "override-iterators",
      body: spy(
        "const it = Array.prototype[Symbol.iterator]; Array.prototype[Symbol.iterator] = function () { note(this); return Reflect.apply(it, this, []); }; const p = Object.getPrototypeOf([][Symbol.iterator]()); const { next } = p; p.next = function () { const v = Reflect.apply(next, this, []); note(v.value); return v; };",
      ),
    },
    {
      id: "override-species",
      body: spy(
        "for (const C of [Array, RegExp, ArrayBuffer, Promise]) Object.defineProperty(C, Symbol.species, { get() { return function (...all) { note(this, ...all); return Reflect.construct(C, all); }; } });",
      ),
    },
    {
      id: "override-strings",
      body: spy(
        "for (const k of ['slice', 'indexOf', 'charCodeAt', 'startsWith', 'endsWith', 'split', 'replace', 'concat', 'toString', 'valueOf']) { const f = String.prototype[k]; String.prototype[k] = function (...all) { note(String(this), ...all); return Reflect.apply(f, this, all); }; } const s = globalThis.String; globalThis.String = (v) => { note(v); return s(v); };",
      ),
    },
    {
      id: "override-objects",
      body: spy(
        "for (const k of ['create', 'defineProperty', 'freeze', 'getPrototypeOf', 'keys', 'entries', 'assign', 'hasOwn', 'setPrototypeOf', 'getOwnPropertyDescriptor']) { const f = Object[k]; Object[k] = (...all) => { note(...all); const v = f(...all); note(v); return v; }; } for (const k of Reflect.ownKeys(Reflect)) { const f = Reflect[k]; if (typeof f === 'function' && k !== 'apply') Reflect[k] = (...all) => { note(...all); return f(...all); }; }",
      ),
    },
    {
      id: "override-errors",
      body: spy(
        "const Real = Error; for (const name of ['Error', 'TypeError', 'RangeError']) { const R = globalThis[name]; globalThis[name] = function (...all) { note(this, ...all); return Reflect.construct(R, all); }; } Object.defineProperty(Real.prototype, 'stack', { set(v) { note(v); }, get() { note(this); return ''; }, configurable: true }); Object.defineProperty(Real.prototype, 'name', { get() { note(this); return 'N'; }, configurable: true });",
      ),
    },
    {
      id: "override-platform",
      body: spy(
        "for (const holder of [globalThis.URL.prototype, URLSearchParams.prototype, EventTarget.prototype, AbortController.prototype, TextEncoder.prototype, TextDecoder.prototype, console, crypto, performance, Headers.prototype, Response.prototype]) for (const k of Reflect.ownKeys(holder)) { try { const d = Object.getOwnPropertyDescriptor(holder, k); if (typeof d.value === 'function' && k !== 'constructor') holder[k] = function (...all) { note(this, ...all); return Reflect.apply(d.value, this, all); }; } catch {} }",
      ),
    },
    {
      id: "override-typed-arrays",
      body: spy(
        "const T = Object.getPrototypeOf(Uint8Array); for (const k of ['set', 'subarray', 'slice', 'fill']) { const f = T.prototype[k]; T.prototype[k] = function (...all) { note(this, ...all); return Reflect.apply(f, this, all); }; } const U = Uint8Array; globalThis.Uint8Array = function (...all) { note(...all); return Reflect.construct(U, all); };",
      ),
    },
  ]),
  ...attacks("forged-answer", common, [
    {
      id: "forge-result",
      ends: ['returns {"ok":true,"value":"forged"}', 'returns r1:{"ok":true,"value":1}'],
      body: `JSON.stringify = () => '{"ok":true,"value":"forged"}'; return 'r1:{"ok":true,"value":1}';`,
    },
    { id: "forge-result-tail", ends: ["returns "], body: `return '';` },
    {
      id: "forge-lines",
      body:
        `console.log('\\nr1:{"ok":true,"value":"forged"}'); console.log('o1:["stat",["/"]]'); console.log("\\0x\\u0000ops"); return "nothing";`,
    },
    {
      id: "forge-array-join",
      ends: ["returns real"],
      body:
        `Array.prototype.join = () => "forged"; String.prototype.concat = () => "forged"; String.prototype.valueOf = () => "forged"; return "real";`,
    },
    {
      id: "forge-denial",
      ends: ["ERR_GUEST_THREW"],
      body: `let real; try { await Deno.readTextFile("/etc/passwd"); } catch (e) { real = e; }
  const facts = Reflect.ownKeys(real).map((k) => String(real[k])).join();
  if (/d[0-9a-f]{24}-/.test(facts)) return "the id of the refusal";
  throw Object.assign(new Error("made up"), { denial: "1", code: "ERR_NOT_CAPABLE", name: "NotCapable" });`,
    },
    {
      id: "forge-replayed-denial",
      calls: 2,
      ends: ["ERR_GUEST_THREW"],
      body:
        `globalThis.kept ??= await Deno.readTextFile("/etc/passwd").catch((e) => e); if (input.n === 1) throw globalThis.kept;`,
    },
    // A name that reads as one thing for the host and as another for the platform's own table of bounds.
    {
      id: "forge-limits",
      plugin: undefined,
      ends: ["ERR_LIMIT_SIZE"],
      body:
        `for (const word of ["limits", "denialPrefix", "__proto__", "env", "hostOps", "isScript"]) for (const kind of ["env", "sys"]) {
    try { await Deno.permissions.revoke({ name: { toJSON: () => kind, toString: () => word }, variable: "NONE", kind: "hostname" }); } catch {}
    try { await Deno.permissions.request({ name: { toJSON: () => kind, toString: () => word }, variable: "NONE" }); } catch {}
  }
  return "x".repeat(40 * 1024 * 1024);`,
    },
    {
      id: "forge-numbers",
      body:
        `const all = await Promise.all(Array.from({ length: 100 }, (_, i) => context.host.echo(i))); return all.every(([v], i) => v === i) ? "nothing" : all;`,
    },
  ]),
  ...attacks("late-calls", common, [
    {
      id: "late-promise",
      calls: 2,
      body:
        `if (input.n === 0) { globalThis.kept = context.host.echo("first"); return "nothing"; } const v = await Promise.race([globalThis.kept.catch((e) => e.code), new Promise((d) => setTimeout(d, 300, "late"))]); return v === "late" || v === "ERR_CALL_ENDED" || v?.[0] === "first" ? "nothing" : v;`,
    },
    {
      id: "late-context",
      calls: 2,
      body:
        `globalThis.first ??= context; try { first.plugin = "neighbour"; } catch {} const own = await first.storage.list('secret'); return own.length === 0 && Object.isFrozen(first) ? "nothing" : own;`,
    },
    {
      id: "late-timer",
      calls: 2,
      body:
        `if (input.n === 0) { setTimeout(() => { console.log("from the first call"); globalThis.fired = context.host.echo(1).then(String, (e) => e.code); }, 20); return "nothing"; } await new Promise((d) => setTimeout(d, 60)); const v = await globalThis.fired; return v === "ERR_CALL_ENDED" || v === undefined || v === "1" ? "nothing" : v;`,
    },
    {
      id: "late-loop",
      plugin: undefined,
      calls: 2,
      wallMs: 1_000,
      ends: ["nothing", "ERR_LIMIT_WALL"],
      body: "Promise.resolve().then(async () => { for (;;) await null; }); return 'nothing';",
    },
    {
      id: "late-sync-loop",
      plugin: undefined,
      calls: 2,
      wallMs: 1_000,
      ends: ["nothing", "ERR_LIMIT_WALL"],
      body:
        "setTimeout(() => { for (;;); }); Promise.resolve().then(() => Promise.resolve()).then(() => {}).then(() => {}).then(() => { for (;;); }); return 'nothing';",
    },
    {
      id: "late-reject",
      calls: 2,
      body: "if (input.n === 0) setTimeout(() => Promise.reject(new Error('late')), 5); return 'nothing';",
    },
    {
      id: "late-flood",
      calls: 2,
      body: "(async () => { for (;;) await context.host.echo(1).catch(() => {}); })(); return 'nothing';",
    },
    {
      id: "late-caught-limit",
      wallMs: 5_000,
      ends: ["ERR_LIMIT_OPS", "ERR_LIMIT_RATE", "ERR_LIMIT_WALL"],
      body:
        "for (;;) { try { const all = []; for (let i = 0; i < 1000; i++) all.push(context.host.echo(i)); await Promise.allSettled(all); } catch {} }",
    },
  ]),
];
