/** Plugins that never stop: by themselves, or in whatever the platform reads of theirs. */
import type { HostilePlugin } from "../arena.ts";
import { attacks } from "./row.ts";

const common = {
  plugin: "cpu",
  head: "permissions: { storage: true, read: ['./data'] }\n",
  wallMs: 300,
  ends: ["ERR_LIMIT_WALL"],
};
const LOOP = "for (;;) {}";

/** The table. */
export const CPU: readonly HostilePlugin[] = [
  ...attacks("cpu-loop", common, [
    { id: "loop-plain", proves: "T32", body: LOOP },
    // The engine unrolls such loops past its own checks for interrupts.
    { id: "loop-unrolled", body: "let a; while (true) { a = new Array(1000); }" },
    { id: "loop-try", body: "for (;;) { try { for (;;) {} } finally { continue; } }" },
    { id: "loop-generator", body: "function* g() { for (;;) yield 1; } for (const x of g()) ;" },
    { id: "loop-spread", body: "return [...{ *[Symbol.iterator]() { for (;;) { if (false) yield 1; } } }];" },
    {
      id: "loop-async-generator",
      body: "async function* g() { for (;;) yield 1; } for await (const x of g()) ;",
    },
    {
      id: "loop-microtasks",
      ends: ["ERR_LIMIT_WALL", "ERR_LIMIT_MEMORY"],
      body: "const f = () => Promise.resolve().then(f); await f();",
    },
    { id: "loop-await", body: "for (;;) await null;" },
    { id: "loop-queue", body: "const f = () => queueMicrotask(f); f(); await new Promise(() => {});" },
    { id: "loop-then", body: "await Promise.resolve().then(() => { for (;;); });" },
    { id: "loop-after-op", body: "await context.storage.get('a'); for (;;) {}" },
    { id: "loop-after-refusal", body: "try { await Deno.readTextFile('/etc/passwd'); } catch { for (;;); }" },
    { id: "loop-in-timer", body: "await new Promise((done) => setTimeout(() => { for (;;); }, 1));" },
    {
      id: "loop-between-timers",
      body:
        "const f = () => { for (let end = Date.now() + 40; Date.now() < end;); setTimeout(f); }; f(); await new Promise(() => {});",
    },
    { id: "loop-at-load", isWarmed: false, module: "for (;;) {}\nexport const attack = () => 1;\n" },
    {
      id: "loop-awaiting-load",
      isWarmed: false,
      module: "await new Promise(() => {});\nexport const attack = () => 1;\n",
    },
  ]),
  ...attacks("cpu-builtin", common, [
    { id: "builtin-regexp", body: "return /^(a+)+$/.test('a'.repeat(40) + '!');" },
    {
      id: "builtin-lookbehind",
      body: "return /(?<=^(\\w+\\s?)*)$/.test('!' + 'a'.repeat(60)) && 0;",
    },
    {
      id: "builtin-sort",
      body: "const a = Array.from({ length: 1e4 }, (_, i) => i); for (;;) a.sort(() => Math.random() - 0.5);",
    },
    { id: "builtin-comparator", body: "[3, 2, 1].sort(() => { for (;;); });" },
    {
      id: "builtin-index-of",
      plugin: undefined,
      body: "return [].indexOf.call({ length: 2 ** 53 - 1 }, 1);",
    },
    { id: "builtin-bigint", body: "for (;;) (7n ** 300000n).toString();" },
    { id: "builtin-normalize", body: "for (;;) '\\u0344\\u1e9b\\u0323'.repeat(1e5).normalize('NFKD');" },
    {
      id: "builtin-date",
      body: "for (;;) new Date('Thu, 01 Jan 1970 00:00:00 GMT+0200' + ' '.repeat(1000)).toLocaleString();",
    },
    {
      id: "builtin-intl",
      plugin: undefined,
      head: "limits: { memoryMb: 256 }\n",
      ends: ["ERR_LIMIT_WALL", "ERR_LIMIT_MEMORY"],
      body: "for (;;) new Intl.DateTimeFormat('de', { dateStyle: 'full' }).format(new Date());",
    },
    { id: "builtin-json", body: "const a = []; a[1e6] = 1; for (;;) JSON.stringify(a);" },
    { id: "builtin-from", body: "return Array.from({ length: 3 }, () => { for (;;); });" },
    { id: "builtin-typed-sort", body: "const a = new Float64Array(1e6); for (;;) a.sort((x, y) => y - x);" },
  ]),
  ...attacks("cpu-in-values", common, [
    { id: "value-getter", body: "return { get a() { for (;;); } };" },
    { id: "value-to-json", body: "return { toJSON() { for (;;); } };" },
    { id: "value-proxy", body: "return new Proxy({}, { ownKeys() { for (;;); } });" },
    { id: "value-then", body: "return { then() { for (;;); } };" },
    { id: "value-then-getter", body: "return { get then() { for (;;); } };" },
    {
      id: "value-endless-json",
      body: "return { get a() { return { get a() { for (;;) JSON.stringify({ toJSON: () => 1 }); } }; } };",
    },
    { id: "value-iterator-probe", body: "return { get next() { for (;;); } };" },
    { id: "value-storage", body: "await context.storage.set('a', { toJSON() { for (;;); } });" },
    { id: "value-host-op", body: "await context.host.echo({ get a() { for (;;); } });" },
    {
      id: "value-path",
      body:
        "await Deno.writeTextFile('x', { __proto__: null, [Symbol.toPrimitive]() { for (;;); } }).catch(() => {}); const u = new URL('file:///x'); await Deno.mkdir(u, { get recursive() { for (;;); } });",
    },
    {
      id: "value-console",
      body: "console.log(new Proxy({}, { ownKeys() { for (;;); }, getPrototypeOf() { for (;;); } }));",
    },
    { id: "value-clone", body: "structuredClone({ get a() { for (;;); } });" },
    {
      id: "value-params",
      body: "new URLSearchParams({ *[Symbol.iterator]() { for (;;) yield ['a', 'b']; } });",
    },
    { id: "value-headers", body: "new Headers({ *[Symbol.iterator]() { for (;;) yield ['a', 'b']; } });" },
    {
      id: "value-listener",
      body: "const c = new AbortController(); c.signal.onabort = () => { for (;;); }; c.abort();",
    },
    { id: "value-fetch", body: "await fetch({ toString() { for (;;); } });" },
    { id: "value-permission", body: "await Deno.permissions.query({ get name() { for (;;); } });" },
  ]),
  ...attacks("cpu-in-errors", common, [
    { id: "error-message-getter", body: "throw { get message() { for (;;); } };" },
    {
      id: "error-stack-getter",
      body: "throw Object.defineProperty(new Error('x'), 'stack', { get() { for (;;); } });",
    },
    { id: "error-name-getter", body: "class E extends Error { get name() { for (;;); } } throw new E('x');" },
    {
      id: "error-proxy",
      body: "throw new Proxy(new Error('x'), { get() { for (;;); }, getPrototypeOf() { for (;;); } });",
    },
    { id: "error-to-string", body: "throw Object.assign(() => 1, { toString() { for (;;); } });" },
    { id: "error-cause", body: "throw { name: 'E', message: 'm', get cause() { for (;;); } };" },
    { id: "error-code", body: "throw { name: 'E', message: 'm', get code() { for (;;); } };" },
  ]),
  ...attacks("cpu-never", common, [
    { id: "never-settles", proves: "T32", body: "await new Promise(() => {});" },
    { id: "never-thenable", body: "return { then(resolve) { resolve(this); } };" },
    { id: "never-timer", body: "await new Promise((done) => setTimeout(done, 2 ** 31 - 1));" },
    { id: "never-interval", body: "setInterval(() => {}, 1); await new Promise(() => {});" },
    { id: "never-host", body: "await context.host.waits();" },
    {
      id: "never-many-hosts",
      body: "await Promise.race(Array.from({ length: 500 }, () => context.host.waits()));",
    },
  ]),
  ...attacks("cpu-budget", {
    head: "permissions: { storage: true }\nlimits: { cpuMs: 200 }\n",
    wallMs: 10_000,
    ends: ["ERR_LIMIT_CPU"],
  }, [
    { id: "budget-loop", proves: "T32", body: "for (;;) {}" },
    { id: "budget-unrolled", body: "let a; while (true) { a = new Array(1000); }" },
    { id: "budget-after-op", proves: "T32", body: "await context.storage.get('a'); for (;;);" },
    {
      id: "budget-in-slices",
      body:
        "for (;;) { const end = Date.now() + 30; while (Date.now() < end); await new Promise((done) => setTimeout(done, 1)); }",
    },
    {
      id: "budget-between-ops",
      body:
        "for (;;) { const end = Date.now() + 30; while (Date.now() < end); await context.storage.get('a'); }",
    },
    { id: "budget-getter", body: "return { get a() { for (;;); } };" },
  ]),
];
