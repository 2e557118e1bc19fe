/** Plugins that ask for more, or say more, than anybody wants to hear. */
import type { HostilePlugin } from "../arena.ts";
import { attacks } from "./row.ts";

const common = {
  plugin: "floods",
  head: "permissions: { storage: true, read: ['./data'] }\n",
  wallMs: 2_500,
};
/** Which bound is met first depends on the machine; `flood-ops` and `flood-timers` are the ones that always meet their own. */
const ops = { ends: ["ERR_LIMIT_OPS", "ERR_LIMIT_RATE", "ERR_LIMIT_WALL"] };

/** The table. */
export const FLOODS: readonly HostilePlugin[] = [
  ...attacks("flood-ops", { ...common, ...ops }, [
    {
      id: "flood-ops",
      proves: "T32",
      ends: ["ERR_LIMIT_OPS"],
      body:
        "for (let i = 0; i < 1e6; i++) context.host.echo(i).catch(() => {}); await null; return 'nothing';",
    },
    {
      id: "flood-in-flight",
      proves: "T32",
      ends: ["nothing"],
      body:
        "const all = await Promise.allSettled(Array.from({ length: 3000 }, (_, i) => context.host.echo(i))); const codes = new Set(all.map(({ reason }) => reason?.code)); return codes.has('ERR_LIMIT_OPS') && codes.has(undefined) && codes.size === 2 ? 'nothing' : [...codes];",
    },
    {
      id: "flood-ops-awaited",
      body: "for (;;) await Promise.allSettled(Array.from({ length: 1000 }, () => Deno.stat('data/a.txt')));",
    },
    {
      id: "flood-refusals",
      body:
        "for (;;) await Promise.allSettled(Array.from({ length: 1000 }, () => Deno.readTextFile('/etc/passwd')));",
    },
    { id: "flood-sync-refusals", body: "for (;;) { try { Deno.env.get('PATH'); } catch {} }" },
    { id: "flood-code", body: "for (;;) { try { eval('1'); } catch {} }" },
    {
      id: "flood-questions",
      body:
        "for (;;) await Promise.allSettled(Array.from({ length: 1000 }, (_, i) => Deno.permissions.request({ name: 'read', path: '/x' + i })));",
    },
    {
      id: "flood-fetch",
      body:
        "for (;;) await Promise.allSettled(Array.from({ length: 500 }, () => fetch('http://127.0.0.1:$PORT/')));",
    },
    {
      id: "flood-storage",
      ends: ["ERR_LIMIT_OPS", "ERR_LIMIT_RATE", "ERR_LIMIT_WALL"],
      body:
        "for (let i = 0;; i++) await Promise.allSettled(Array.from({ length: 500 }, (_, k) => context.storage.set('k' + k, i)));",
    },
    {
      id: "flood-op-bytes",
      plugin: undefined,
      ends: ["ERR_LIMIT_OPS", "ERR_LIMIT_MEMORY"],
      body:
        "const text = 'x'.repeat(4e6); for (let i = 0; i < 1000; i++) context.host.echo(text).catch(() => {}); await new Promise(() => {});",
    },
    {
      id: "flood-op-huge",
      ends: ["nothing"],
      body:
        "for (const n of [9e6, 3e7]) { try { await context.host.echo('x'.repeat(n)); return 'passed'; } catch (e) { if (e.code !== 'ERR_LIMIT_SIZE') return e.code; } } return 'nothing';",
    },
    {
      id: "flood-controllers",
      ends: ["nothing", "ERR_LIMIT_OPS", "ERR_LIMIT_RATE"],
      body:
        "for (let i = 0; i < 3000; i++) { const c = new AbortController(); fetch('http://127.0.0.1:$PORT/', { signal: c.signal }).catch(() => {}); c.abort(); } return 'nothing';",
    },
  ]),
  ...attacks("flood-timers", { ...common, ...ops }, [
    { id: "flood-timers", ends: ["ERR_LIMIT_OPS"], body: "for (;;) setTimeout(() => {}, 1e6);" },
    {
      id: "flood-timers-caught",
      body:
        "for (let i = 0; i < 1e5; i++) { try { setTimeout(() => {}, 1e6); } catch {} } await new Promise(() => {});",
    },
    {
      id: "flood-intervals",
      ends: ["nothing"],
      body:
        "let n = 0; for (let i = 0; i < 900; i++) setInterval(() => n++, 1); await new Promise((done) => setTimeout(done, 300)); return n > 0 ? 'nothing' : 'starved';",
    },
    {
      id: "flood-timer-churn",
      plugin: undefined,
      ends: ["nothing", "ERR_LIMIT_WALL"],
      body: "for (let i = 0; i < 3e4; i++) clearTimeout(setTimeout(() => {}, 1e6)); return 'nothing';",
    },
    {
      id: "flood-timer-values",
      ends: ["nothing"],
      body:
        "const ids = [NaN, -1, Infinity, 2 ** 40, '5', null, {}, [], 1e-9].map((d) => setTimeout(() => {}, d)); ids.forEach(clearTimeout); clearTimeout({}); clearTimeout('x'); clearInterval(2 ** 53); clearTimeout(-1); return 'nothing';",
    },
  ]),
  ...attacks("flood-output", common, [
    { id: "flood-lines", body: "for (let i = 0; i < 1e6; i++) console.log(i); return 'nothing';" },
    {
      id: "flood-long-lines",
      body:
        "const text = 'y'.repeat(1e6); for (let i = 0; i < 1000; i++) console.error(text); return 'nothing';",
    },
    {
      id: "flood-tables",
      ends: ["nothing", "ERR_LIMIT_WALL"],
      body:
        "const row = Object.fromEntries(Array.from({ length: 200 }, (_, i) => ['k' + i, 'v'.repeat(1000)])); for (let i = 0; i < 20; i++) console.table(Array(200).fill(row)); return 'nothing';",
    },
    {
      id: "flood-groups",
      body:
        "for (let i = 0; i < 1e5; i++) console.group('g' + i); console.log('deep'); for (let i = 0; i < 1e5; i++) { console.count('c' + i); console.time('t' + i); } return 'nothing';",
    },
    {
      id: "flood-console-values",
      body:
        "const wide = new Map(Array.from({ length: 1e5 }, (_, i) => [i, { i }])); const o = {}; o.self = o; console.log(wide, o, new Proxy({}, { ownKeys: () => { throw 1; } }), Object.create(new Proxy({}, { get() { throw 1; }, getPrototypeOf() { return Array.prototype; } })), new Array(1e6)); return 'nothing';",
    },
    { id: "flood-result", ends: ["ERR_LIMIT_SIZE"], body: "return 'r'.repeat(9 * 1024 * 1024);" },
    {
      id: "flood-result-unicode",
      ends: ["ERR_LIMIT_SIZE"],
      body: "return '\\u20ac'.repeat(4 * 1024 * 1024);",
    },
    {
      id: "flood-result-escapes",
      ends: ["ERR_LIMIT_SIZE"],
      body: "return '\\u0001'.repeat(2 * 1024 * 1024);",
    },
    {
      id: "flood-result-frames",
      plugin: undefined,
      ends: ["ERR_LIMIT_SIZE", "ERR_LIMIT_MEMORY"],
      body: "return 'r'.repeat(100 * 1024 * 1024);",
    },
    {
      id: "flood-result-entries",
      plugin: undefined,
      ends: ["ERR_LIMIT_SIZE", "ERR_RESULT_INVALID", "ERR_LIMIT_MEMORY"],
      body: "return Array(5e6).fill(1);",
    },
    {
      id: "flood-microtasks",
      plugin: undefined,
      ends: ["nothing", "ERR_LIMIT_MEMORY", "ERR_LIMIT_WALL"],
      body: "for (let i = 0; i < 1e6; i++) queueMicrotask(() => {}); return 'nothing';",
    },
    {
      id: "flood-random",
      body:
        "for (let i = 0; i < 2000; i++) crypto.getRandomValues(new Uint8Array(65536)); try { crypto.getRandomValues(new Uint8Array(65537)); return 'more'; } catch { return 'nothing'; }",
    },
    {
      id: "flood-events",
      body:
        "const t = new EventTarget(); let n = 0; const f = () => { if (n++ < 1e5) t.dispatchEvent(new Event('x')); }; t.addEventListener('x', f); try { f(); } catch {} return 'nothing';",
    },
  ]),
];
